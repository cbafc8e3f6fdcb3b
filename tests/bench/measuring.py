"""What benchmarks on a real control plane share."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from aim_engine.local.control_plane import Cluster, running

T = TypeVar("T")


@asynccontextmanager
async def control_plane(*crds: Path) -> AsyncGenerator[Cluster]:
    """A control plane for one benchmark, with these CRDs."""
    directory = Path(tempfile.mkdtemp(prefix="aim-bench-"))
    try:
        async with running(directory, crds=crds) as cluster:
            yield cluster
    finally:
        shutil.rmtree(directory, ignore_errors=True)


async def at_once(work: Iterable[T], do: Callable[[T], Awaitable[object]], concurrency: int = 8) -> None:
    """Do the work, so many pieces at a time."""
    pieces = iter(work)

    async def worker() -> None:
        for piece in pieces:
            await do(piece)

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())


def resident() -> float:
    """Memory of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not tell the memory of a process")
