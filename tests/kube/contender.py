"""A process that wants to lead and writes while it does; even after it lost the lease it goes on trying.

python -m tests.kube.contender KUBECONFIG NAMESPACE IDENTITY

On SIGUSR1 it freezes, in the middle of its writes but not between the question to the fence and the system call that
follows: those few microseconds are all that the fence leaves open.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.kube.manifests import CONFIG_MAPS, config_map

from aim_engine.kube.client import Client
from aim_engine.kube.errors import Fenced
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.kube.lease import Elector, LeaseFence, LeaseLost
from aim_engine.kube.timings import Timings
from aim_engine.objects import Key

WRITERS = 8
TIMINGS = Timings(release=60)
"""As in a cluster; only that a busy machine always gives the lease back."""


async def write(client: Client, namespace: str, name: str, stop: asyncio.Event) -> None:
    refused = number = 0
    while refused < 20 and not stop.is_set():
        try:
            await client.create(CONFIG_MAPS, config_map(namespace, f"{name}-{number}"))
        except Fenced:
            refused += 1
        number += 1
        await asyncio.sleep(0.005)
    if refused:
        print("fenced", flush=True)


async def keep(elector: Elector) -> None:
    try:
        await elector.keep()
    except LeaseLost:
        print("lost", flush=True)


async def main(kubeconfig: str, namespace: str, identity: str) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGUSR1, os.kill, os.getpid(), signal.SIGSTOP)
    connection, fence = from_kubeconfig([Path(kubeconfig)]), LeaseFence()
    async with Client(connection, TIMINGS) as free, Client(connection, TIMINGS, fence=fence) as client:
        elector = Elector(free, Key(namespace, "leader"), identity, fence)
        print("waiting", flush=True)
        await elector.acquire()
        print("leading", flush=True)
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(keep(elector))
            names = [f"{identity}-{writer}" for writer in range(WRITERS)]
            await asyncio.wait([group.create_task(write(client, namespace, name, stop)) for name in names])
            keeping.cancel()
        await elector.release()
        print("released", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
