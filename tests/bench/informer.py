"""An informer with 10,000 objects on a real API server: first list, memory, changes, deletions while it looked away."""

import asyncio
import gc
import time
from collections.abc import Callable

import msgspec
from rich.console import Console
from rich.table import Table
from tests.bench.measuring import at_once, control_plane, resident

from aim_engine.kube.client import Client
from aim_engine.kube.informer import Informer
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.kube.resource import Resource
from aim_engine.kube.selection import Selection
from aim_engine.objects import Key, Manifest, ObjectMeta, Wire

MAPS = Resource("", "v1", "configmaps", "ConfigMap")
NUMBER = 10_000
MINE = Selection("default", labels="bench=informer")


class ConfigMap(Wire):
    metadata: ObjectMeta
    data: dict[str, str] = msgspec.field(default_factory=dict[str, str])


def config_map(number: int) -> Manifest:
    labels = {"bench": "informer", "group": f"group-{number % 100}"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "default", "name": f"object-{number}", "labels": labels},
        "data": {f"key-{index}": f"value {index} of object {number}" for index in range(10)},
    }


def run() -> None:
    asyncio.run(_run())


async def _run() -> None:
    table = Table("10,000 objects", "time", "each", "memory")
    async with control_plane() as cluster, Client(from_kubeconfig([cluster.kubeconfig])) as client:
        await at_once(range(NUMBER), lambda number: client.create(MAPS, config_map(number), msgspec.Raw), 16)
        gc.collect()
        before = resident()
        informer = Informer(client, MAPS, ConfigMap, selection=MINE)
        async with asyncio.TaskGroup() as group:
            begin, cpu = time.perf_counter(), time.process_time()
            running = group.create_task(informer.run())
            await informer.wait_synced()
            seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
            gc.collect()
            memory = f"{resident() - before:.0f} MB"
            table.add_row("first list, in pages", f"{seconds:.2f} s", f"{seconds / NUMBER * 1e6:.0f} µs", memory)
            table.add_row("of it our CPU", f"{cpu:.2f} s", f"{cpu / NUMBER * 1e6:.0f} µs", "")
            await _changes(client, informer, table)
            _lookups(informer, table)
            running.cancel()
            await asyncio.wait([running])
    Console(width=110).print(table)


async def _changes(client: Client, informer: Informer[ConfigMap], table: Table) -> None:
    """Change 2,000 objects at concurrency 8, and see when the store has the last change."""
    keys = [Key("default", f"object-{number}") for number in range(2000)]
    left, done = set(keys), asyncio.Event()
    lags: list[float] = []
    written: dict[Key, float] = {}

    def follow(key: Key) -> None:
        if key in left:
            left.discard(key)
            lags.append(time.perf_counter() - written[key])
            if not left:
                done.set()

    informer.listen(lambda change: follow(change.key))

    async def change(key: Key) -> None:
        written[key] = time.perf_counter()
        await client.patch(MAPS, key, {"data": {"key-0": "changed"}}, msgspec.Raw)

    begin = time.perf_counter()
    await at_once(keys, change)
    await done.wait()
    seconds = time.perf_counter() - begin
    table.add_row("2,000 changes, written and seen", f"{seconds:.2f} s", f"{seconds / len(keys) * 1e6:.0f} µs", "")
    lags.sort()
    median, worst = lags[len(lags) // 2], lags[int(len(lags) * 0.99)]
    table.add_row("from a write to its event", f"median {median * 1000:.1f} ms", f"99 % {worst * 1000:.1f} ms", "")


def _lookups(informer: Informer[ConfigMap], table: Table) -> None:
    def look(name: str, do: Callable[[], object], times: int) -> None:
        begin = time.perf_counter()
        for _ in range(times):
            do()
        seconds = time.perf_counter() - begin
        table.add_row(name, f"{seconds:.3f} s for {times:,}", f"{seconds / times * 1e6:.1f} µs", "")

    look("get by key", lambda: informer.store.get(Key("default", "object-77")), 100_000)
    informer.store.labelled("group", "group-1")
    look("100 objects by label", lambda: informer.store.labelled("group", "group-1"), 1_000)
