"""How a container's processes are found and their memory is counted."""

import asyncio
import os

import pytest
from tests.local.containers import until

from aim_engine.local.container import memory, processes
from aim_engine.local.container.memory import LATEST, SOONEST, Watch


async def test_descendants_are_found_by_children_and_by_parents() -> None:
    script = "sh -c 'sleep 50 & sleep 50 & wait' & wait"
    process = await asyncio.create_subprocess_exec("/bin/sh", "-c", script, start_new_session=True)
    try:
        await until(lambda: len(processes.descendants(process.pid)) == 3, "three descendants")
        assert processes.descendants_by_parent(process.pid) == processes.descendants(process.pid)
    finally:
        os.killpg(process.pid, 9)
        await process.wait()


def test_a_process_that_is_gone_uses_no_memory_and_has_no_descendants() -> None:
    gone = 2**22 + 1  # above the largest number of a process
    assert memory.private(gone) == memory.proportional(gone) == 0
    assert processes.descendants(gone) == set()


def test_memory_grows_with_what_a_process_holds() -> None:
    before = memory.private(os.getpid())
    held = bytearray(os.urandom(40 << 20))
    assert memory.private(os.getpid()) - before > len(held) * 0.9
    assert memory.proportional(os.getpid()) <= memory.private(os.getpid()) * 1.1


def test_a_calm_process_is_looked_at_less_and_less_often() -> None:
    watch = Watch(limit=memory.private(os.getpid()) * 10)
    intervals: list[float] = []
    for _ in range(8):
        assert not watch.exceeded([os.getpid()])
        intervals.append(watch.interval)
    assert intervals[-1] == LATEST and intervals == sorted(intervals)


def test_a_process_near_its_limit_is_looked_at_often() -> None:
    watch = Watch(limit=int(memory.private(os.getpid()) * 1.5))
    for _ in range(4):
        assert not watch.exceeded([os.getpid()])
        assert watch.interval == SOONEST


@pytest.mark.parametrize("part", [0.5, 0.9])
def test_a_process_above_its_limit_is_noticed(part: float) -> None:
    assert Watch(limit=int(memory.private(os.getpid()) * part)).exceeded([os.getpid()])
