"""One place of the cache that is filled once, completely or not at all, also when two processes want it at once."""

import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from aim_engine.local import locks


async def filled(place: Path, fill: Callable[[Path], Awaitable[None]]) -> Path:
    """Return `place`, calling `fill` with an empty directory that becomes it if nobody has filled it yet."""
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    async with locks.awaited(place.with_name(f"{place.name}.lock")):
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
