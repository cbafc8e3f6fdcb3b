"""The process that containers are forked from: small, single-threaded and without anything of the agent in it.

A fork of the agent itself would copy its threads' locks, its memory and its secrets; a new interpreter for each
container would cost more than the container. The launcher holds no state: once forked, a container's init speaks with
the agent by a socket of its own, and lives on if the launcher dies.
"""

import gc
import os
import signal
import socket
import sys

import msgspec

from aim_engine.local.container import init, kernel
from aim_engine.local.container.messages import Order, Refused, line


def main() -> None:
    """Fork one init for each order; end when the agent closes the socket or dies."""
    descriptor, agent = map(int, sys.argv[1:])
    os.set_inheritable(descriptor, False)
    kernel.die_with_parent()
    if os.getppid() != agent:
        return
    kernel.adopt_orphans()  # the process between the launcher and an init ends at once
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for an init: the kernel forgets it
    gc.collect()
    gc.freeze()  # keeps the collector from touching, and so copying, the memory shared with the forks
    with socket.socket(fileno=descriptor) as orders:
        while (received := socket.recv_fds(orders, 1, 2, socket.MSG_CMSG_CLOEXEC))[0]:
            text, connection = received[1]
            with os.fdopen(text, "rb") as order, socket.socket(fileno=connection) as container:
                _launch(orders, order.read(), container)


def _launch(orders: socket.socket, text: bytes, container: socket.socket) -> None:
    try:
        child = os.fork()
    except OSError as failure:
        container.sendall(line(Refused(f"no process can be made: {failure.strerror}")))
        return
    if child == 0:
        orders.close()
        init.begin(msgspec.json.decode(text, type=Order), container)
        os._exit(0)
