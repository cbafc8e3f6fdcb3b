"""One place of the cache that is filled once, completely or not at all, also when two processes want it at once."""

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aim_engine.local.binaries import progress


async def filled(place: Path, fill: Callable[[Path], Awaitable[None]]) -> Path:
    """Return `place`, calling `fill` with an empty directory that becomes it if nobody has filled it yet."""
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    async with locked(place.with_name(f"{place.name}.lock")):
        if place.is_dir():
            return place
        for leftover in place.parent.glob(f"{place.name}.part-*"):  # of a process that was killed while it filled
            shutil.rmtree(leftover, ignore_errors=True)
        scratch = Path(tempfile.mkdtemp(prefix=f"{place.name}.part-", dir=place.parent))
        try:
            await fill(scratch)
            scratch.rename(place)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return place


@asynccontextmanager
async def locked(file: Path) -> AsyncGenerator[None]:
    """Hold `file` against other processes; the kernel lets go of it however this process ends."""
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        said = False
        while not _taken(descriptor):
            if not said:
                progress.say(f"waiting for another process that holds {file}")
                said = True
            await asyncio.sleep(0.2)
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
