"""Leader election among processes on the real API server: killed, frozen, woken, asked to leave."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.kube.manifests import CONFIG_MAPS
from tests.kube.world import until

from aim_engine.kube.client import Client
from aim_engine.kube.connection import Connection
from aim_engine.kube.errors import Fenced, NotFound, Timeout
from aim_engine.kube.informer import Informer
from aim_engine.kube.lease import Elector, Lease, LeaseFence, LeaseLost, LeaseSpec, manifest, steady
from aim_engine.kube.lock import Lock
from aim_engine.kube.resource import LEASES
from aim_engine.kube.selection import PartialObject, Selection
from aim_engine.kube.timings import Timings
from aim_engine.local.control_plane import Cluster
from aim_engine.objects import Key

UNHURRIED = Timings(release=60)
QUICK = replace(UNHURRIED, lock=5.0, lease=6.0, renew_deadline=4.0, lease_retry=0.4)


class Contender:
    """A process of `tests.kube.contender`, and what it said."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[str] = []

    async def listen(self) -> None:
        assert self.process.stdout
        async for line in self.process.stdout:
            self.said.append(line.decode().strip())

    async def says(self, word: str) -> None:
        await until(lambda: word in self.said)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)


@asynccontextmanager
async def contender(cluster: Cluster, namespace: str, identity: str) -> AsyncGenerator[Contender]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.kube.contender", str(cluster.kubeconfig), namespace, identity),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    made = Contender(process)
    async with asyncio.TaskGroup() as group:
        group.create_task(made.listen())
        try:
            await made.says("waiting")
            yield made
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


class Record:
    """Every state the lease had, from a watch: who held it, as of which version of the server's state."""

    def __init__(self, informer: Informer[Lease]) -> None:
        self.states: list[tuple[str, int]] = []
        informer.listen(
            lambda change: (
                self.states.append((change.new.spec.holder_identity or "", int(change.new.metadata.resource_version)))
                if change.new
                else None
            )
        )

    def taken_by(self, identity: str) -> int:
        """The version with which a contender first held the lease; 0 if it never did."""
        return next((version for holder, version in self.states if holder == identity), 0)


@asynccontextmanager
async def recorded(client: Client, namespace: str) -> AsyncGenerator[Record]:
    informer = Informer(client, LEASES, Lease, selection=Selection(namespace))
    record = Record(informer)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(informer.run())
        await informer.wait_synced()
        yield record
        running.cancel()


async def versions_written(client: Client, namespace: str, identity: str) -> list[int]:
    """The versions of the server's state in which a contender wrote; its objects are never changed after that."""
    maps = await client.list(CONFIG_MAPS, Selection(namespace), PartialObject)
    mine = [one.metadata for one in maps.items if one.metadata.name.startswith(f"{identity}-")]
    return sorted(int(metadata.resource_version) for metadata in mine)


async def test_a_leader_frozen_past_its_lease_writes_nothing_when_it_wakes(
    cluster: Cluster, client: Client, namespace: str
):
    async with AsyncExitStack() as stack:
        record = await stack.enter_async_context(recorded(client, namespace))
        old = await stack.enter_async_context(contender(cluster, namespace, "old"))
        await old.says("leading")
        new = await stack.enter_async_context(contender(cluster, namespace, "new"))
        await until(lambda: _writes(client, namespace, "old"))
        old.signal(signal.SIGUSR1)
        await new.says("leading")
        await until(lambda: _writes(client, namespace, "new"))
        old.signal(signal.SIGCONT)
        await old.says("lost")
        await old.says("fenced")
        await until(lambda: record.taken_by("new") > 0)
        taken = record.taken_by("new")
        before = await versions_written(client, namespace, "old")
        after = await versions_written(client, namespace, "new")
        assert before[-1] < taken, "the server saw no write of the old one after the new one took over"
        assert after[0] > taken
        assert {holder for holder, version in record.states if version >= taken} == {"new"}


async def _writes(client: Client, namespace: str, identity: str) -> bool:
    return bool(await versions_written(client, namespace, identity))


async def test_a_killed_leader_is_followed_when_its_lease_is_over(cluster: Cluster, namespace: str):
    async with contender(cluster, namespace, "old") as old, contender(cluster, namespace, "new") as new:
        await until(lambda: "leading" in old.said or "leading" in new.said)
        first, second = (old, new) if "leading" in old.said else (new, old)
        first.signal(signal.SIGKILL)
        await second.says("leading")


async def test_a_leader_that_is_asked_to_end_hands_over_at_once(cluster: Cluster, client: Client, namespace: str):
    async with recorded(client, namespace) as record, contender(cluster, namespace, "old") as old:
        await old.says("leading")
        async with contender(cluster, namespace, "new") as new:
            await until(lambda: _writes(client, namespace, "old"))
            old.signal(signal.SIGTERM)
            await old.says("released")
            await new.says("leading")
        await until(lambda: any(not holder for holder, _ in record.states))
        released = max(version for holder, version in record.states if holder == "")
        assert (await versions_written(client, namespace, "old"))[-1] < released


def lease_of(holder: str, renewed: datetime) -> LeaseSpec:
    return LeaseSpec(holder_identity=holder, lease_duration_seconds=1, acquire_time=renewed, renew_time=renewed)


@pytest.mark.parametrize(
    "offset",
    [
        pytest.param(timedelta(days=-3650), id="the holder's clock is years behind"),
        pytest.param(timedelta(days=3650), id="the holder's clock is years ahead"),
    ],
)
async def test_a_lease_is_over_when_it_was_seen_unchanged_for_its_length_whatever_the_clocks_say(
    connection: Connection, namespace: str, offset: timedelta
):
    key = Key(namespace, "leader")
    async with Client(connection, UNHURRIED) as client:
        await client.create(LEASES, manifest(key, lease_of("dead", datetime.now(UTC) + offset)))
        fence = LeaseFence()
        started = steady()
        await Elector(client, key, "me", fence).acquire()
        assert steady() - started > 1.0
        fence.check()
        lease = await client.get(LEASES, key, Lease)
        assert (lease.spec.holder_identity, lease.spec.lease_transitions) == ("me", 1)


async def test_the_leader_goes_on_while_the_server_is_away_but_not_past_its_deadline(
    connection: Connection, namespace: str
):
    fence = LeaseFence()
    async with Client(connection, QUICK) as client:
        elector = Elector(client, Key(namespace, "leader"), "me", fence)
        await elector.acquire()
        connection.server = "https://127.0.0.1:1"
        deadline = steady() + fence.remaining
        with pytest.raises(LeaseLost):
            await elector.keep()
        assert steady() >= deadline
        with pytest.raises(Fenced):
            fence.check()


async def test_the_fence_is_closed_before_the_lease_is_taken(connection: Connection, namespace: str):
    fence = LeaseFence()
    async with Client(connection, UNHURRIED, fence=fence) as client:
        with pytest.raises(Fenced):
            await client.delete(LEASES, Key(namespace, "leader"))
        fence.open_until(steady() + 60)
        with pytest.raises(NotFound):
            await client.delete(LEASES, Key(namespace, "leader"))


async def test_one_task_of_one_process_has_the_lock(connection: Connection, namespace: str):
    key, inside, most = Key(namespace, "lock"), 0, 0

    async with Client(connection, UNHURRIED) as client:
        locks = [Lock(client, key, "one"), Lock(client, key, "two")]

        async def work(lock: Lock) -> None:
            nonlocal inside, most
            async with lock.held() as obtained:
                assert obtained
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0.02)
                inside -= 1

        async with asyncio.TaskGroup() as group:
            for number in range(6):
                group.create_task(work(locks[number % 2]))
        spec = (await client.get(LEASES, key, Lease)).spec
    assert most == 1
    assert (spec.holder_identity, spec.renew_time, spec.lease_duration_seconds) == (None, None, 30)


async def test_a_lock_that_is_not_free_in_time_is_not_obtained(connection: Connection, namespace: str):
    key = Key(namespace, "lock")
    async with Client(connection, QUICK) as client:
        await client.create(LEASES, manifest(key, lease_of("other", datetime.now(UTC) + timedelta(hours=1))))
        lock = Lock(client, key, "me")
        for attempt in ("first", "second"):
            async with lock.held() as obtained:
                assert not obtained, attempt


async def test_an_expired_lock_and_one_left_from_a_crash_of_ours_are_free(connection: Connection, namespace: str):
    key, now = Key(namespace, "lock"), datetime.now(UTC)
    async with Client(connection, UNHURRIED) as client:
        await client.create(LEASES, manifest(key, lease_of("dead", now - timedelta(seconds=5))))
        async with Lock(client, key, "me").held() as obtained:
            assert obtained
        lease = await client.get(LEASES, key, Lease)
        mine = manifest(key, lease_of("me", now + timedelta(hours=1)), lease.metadata.resource_version)
        await client.replace(LEASES, mine)
        async with Lock(client, key, "me").held() as obtained:
            assert obtained


async def test_a_failure_inside_the_lock_is_the_callers_and_frees_it(connection: Connection, namespace: str):
    key = Key(namespace, "lock")
    async with Client(connection, UNHURRIED) as client:
        with pytest.raises(ZeroDivisionError):
            async with Lock(client, key, "one").held():
                raise ZeroDivisionError
        async with Lock(client, key, "two").held() as obtained:
            assert obtained


async def test_work_that_outlasts_its_lock_is_ended(connection: Connection, namespace: str):
    async with Client(connection, QUICK) as client:
        with pytest.raises(Timeout, match=rf"the work outlasted the lock {namespace}/lock, which is kept for 5 s"):
            async with Lock(client, Key(namespace, "lock"), "one").held():
                await asyncio.sleep(60)


async def test_a_timeout_of_the_work_itself_is_not_taken_for_that_of_its_lock(connection: Connection, namespace: str):
    async with Client(connection, UNHURRIED) as client:
        with pytest.raises(TimeoutError, match="of the work"):
            async with Lock(client, Key(namespace, "lock"), "one").held():
                raise TimeoutError("of the work")


@pytest.mark.parametrize(
    ("holder", "left"),
    [
        pytest.param("me", "", id="given back though a renewal of ours went unheard"),
        pytest.param("other", "other", id="left to another who took it"),
    ],
)
async def test_a_lease_that_changed_unseen_is_given_back_only_if_it_is_ours(
    connection: Connection, namespace: str, holder: str, left: str
):
    key = Key(namespace, "leader")
    async with Client(connection, UNHURRIED) as client:
        elector = Elector(client, key, "me", LeaseFence())
        await elector.acquire()
        ours = await client.get(LEASES, key, Lease)
        changed = lease_of(holder, datetime.now(UTC))
        await client.replace(LEASES, manifest(key, changed, ours.metadata.resource_version))
        await elector.release()
        assert (await client.get(LEASES, key, Lease)).spec.holder_identity == left
