"""All parts together: start, lead, work, end."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

import pytest
from tests.durations import shortened
from tests.kube import manifests
from tests.kube.peer import peer, says, waits
from tests.kube.world import MAPS, maps_of, until

from aim_engine.kube.client import Client
from aim_engine.kube.connection import Connection
from aim_engine.kube.controller import Controller
from aim_engine.kube.events import Recorder, Reference
from aim_engine.kube.lease import Elector, Lease, LeaseFence, LeaseLost
from aim_engine.kube.resource import LEASES
from aim_engine.kube.runtime import Runtime
from aim_engine.objects import Key

QUICK = shortened(0.1)


Reconcile: TypeAlias = Callable[[Key], Awaitable[None]]


class Process:
    """A runtime with its clients, as `main` would build it."""

    def __init__(
        self, connection: Connection, namespace: str, identity: str, reconcile: Callable[[Key], Awaitable[None]]
    ):
        self.fence = LeaseFence()
        self.free = Client(connection, QUICK)
        self.client = Client(connection, QUICK, fence=self.fence)
        self.lease = Key(namespace, "leader")
        informer = maps_of(self.client, namespace)
        self.stop = asyncio.Event()
        self.runtime = Runtime(
            informers=[informer],
            controllers=[Controller("maps", informer, reconcile, timings=QUICK)],
            recorder=Recorder(self.client),
            elector=Elector(self.free, self.lease, identity, self.fence),
            timings=QUICK,
        )

    async def run(self) -> None:
        async with self.free, self.client:
            await self.runtime.run(self.stop)


async def nothing(_: Key) -> None:
    return


async def test_it_fills_its_stores_leads_works_and_hands_over(connection: Connection, client: Client, namespace: str):
    seen: list[str] = []

    async def reconcile(key: Key) -> None:
        seen.append(key.name)

    await client.create(MAPS, manifests.config_map(namespace, "one"))
    first = Process(connection, namespace, "first", reconcile)
    second = Process(connection, namespace, "second", reconcile)
    async with asyncio.TaskGroup() as group:
        group.create_task(first.run())
        await until(lambda: "one" in seen)
        seen.clear()
        group.create_task(second.run())
        await until(lambda: second.runtime.synced)
        assert "one" not in seen, "who does not lead does not reconcile"
        first.stop.set()
        await until(lambda: "one" in seen)
        second.stop.set()
    assert (await client.get(LEASES, first.lease, Lease)).spec.holder_identity == ""


async def test_stopping_waits_for_running_passes(connection: Connection, client: Client, namespace: str):
    entered, finished = asyncio.Event(), asyncio.Event()

    async def reconcile(_: Key) -> None:
        entered.set()
        await asyncio.sleep(0.3)
        finished.set()

    await client.create(MAPS, manifests.config_map(namespace, "one"))
    process = Process(connection, namespace, "me", reconcile)
    async with asyncio.TaskGroup() as group:
        group.create_task(process.run())
        await entered.wait()
        process.stop.set()
    assert finished.is_set()


async def test_a_pass_that_does_not_end_is_abandoned_and_the_lease_kept_for_its_length(
    connection: Connection, client: Client, namespace: str
):
    entered = asyncio.Event()

    async def reconcile(_: Key) -> None:
        entered.set()
        await asyncio.sleep(3600)

    await client.create(MAPS, manifests.config_map(namespace, "one"))
    process = Process(connection, namespace, "me", reconcile)
    async with asyncio.TaskGroup() as group:
        group.create_task(process.run())
        await entered.wait()
        process.stop.set()
    assert (await client.get(LEASES, process.lease, Lease)).spec.holder_identity == "me"


async def test_events_that_nobody_takes_do_not_keep_the_lease_when_all_passes_are_done(
    connection: Connection, client: Client, namespace: str
):
    async def reconcile(key: Key) -> None:
        process.runtime.recorder.record("toys", Reference("v1", "ConfigMap", *key), "Normal", "Fine", "it is")

    await client.create(MAPS, manifests.config_map(namespace, "one"))
    process = Process(connection, namespace, "me", reconcile)
    process.runtime.timings = replace(QUICK, shutdown=3.0)
    async with peer(waits(3600, says({}))) as deaf, Client(deaf.connection) as writer:
        process.runtime.recorder = Recorder(writer)
        async with asyncio.TaskGroup() as group:
            group.create_task(process.run())
            await until(lambda: bool(deaf.seen))
            process.stop.set()
    assert (await client.get(LEASES, process.lease, Lease)).spec.holder_identity == ""


async def test_losing_the_lease_ends_everything_at_once(connection: Connection, client: Client, namespace: str):
    entered = asyncio.Event()

    async def reconcile(_: Key) -> None:
        entered.set()
        await asyncio.sleep(3600)

    await client.create(MAPS, manifests.config_map(namespace, "one"))
    process = Process(connection, namespace, "me", reconcile)
    running = asyncio.create_task(process.run())
    await entered.wait()
    await client.patch(LEASES, process.lease, {"spec": {"holderIdentity": "thief"}})
    async with asyncio.timeout(120):
        with pytest.raises(LeaseLost):
            await running


@pytest.mark.parametrize("holder", ["another", ""], ids=["while it waits for the lease", "while it leads"])
async def test_it_ends_when_asked(connection: Connection, client: Client, namespace: str, holder: str):
    process = Process(connection, namespace, "me", nothing)
    if holder:
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 3600, "renewTime": "2020-01-01T00:00:00.000000Z"}
        metadata = {"namespace": namespace, "name": "leader"}
        await client.create(LEASES, {"metadata": metadata, "spec": spec})
    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        group.create_task(process.run())
        await until(lambda: process.runtime.synced)
        process.stop.set()


async def test_it_ends_when_asked_although_the_server_never_answered():
    process = Process(Connection(server="http://127.0.0.1:1"), "team", "me", nothing)
    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        group.create_task(process.run())
        await asyncio.sleep(0.1)
        process.stop.set()
