"""The queue with 10,000 keys: woken three times each, taken by 8 workers, woken again after a time."""

import asyncio
import time
from collections.abc import Awaitable

from rich.console import Console
from rich.table import Table

from aim_engine.kube.metrics import Metrics
from aim_engine.kube.queue import Closed, Queue
from aim_engine.kube.timings import Timings
from aim_engine.objects import Key

KEYS = [Key("team", f"object-{number}") for number in range(10_000)]


def run() -> None:
    asyncio.run(_run())


async def _run() -> None:
    table = Table("10,000 keys", "time in all", "time each", "passes")
    queue = Queue("bench", Timings(), Metrics())
    passes = 0

    def wake() -> None:
        for _ in range(3):
            for key in KEYS:
                queue.wake(key)

    async def work() -> None:
        nonlocal passes
        try:
            while True:
                key = await queue.take()
                passes += 1
                queue.settle(key)
                queue.done(key)
                if passes == len(KEYS):
                    queue.close()
        except Closed:
            return

    def row(name: str, seconds: float, calls: int, passes: int | None = None) -> None:
        each = f"{seconds / calls * 1e6:.1f} µs"
        table.add_row(name, f"{seconds * 1000:.0f} ms", each, "" if passes is None else f"{passes:,}")

    begin = time.perf_counter()
    wake()
    row("woken three times", time.perf_counter() - begin, 3 * len(KEYS))
    seconds = await _timed(asyncio.gather(*(work() for _ in range(8))))
    row("taken and done by 8 workers", seconds, len(KEYS), passes)

    queue = Queue("bench later", Timings(), Metrics())
    begin = time.perf_counter()
    for key in KEYS:
        queue.wake_after(key, 0.5)
    row("woken for later", time.perf_counter() - begin, len(KEYS))
    for key in KEYS:
        assert await queue.take()
        queue.done(key)
    late = time.perf_counter() - begin - 0.5
    table.add_row("last one after its time", f"{late * 1000:.0f} ms", "", "")
    Console(width=110).print(table)


async def _timed(work: Awaitable[object]) -> float:
    begin = time.perf_counter()
    await work
    return time.perf_counter() - begin
