"""Locks on files that the kernel drops when their process ends."""

import asyncio
import fcntl
import os
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from aim_engine.local.errors import LocalError

POLL_SECONDS = 0.1
ASKING_SECONDS = 0.5
"""Who has a file for longer does not only ask whether another holds it."""
SILENT_SECONDS = 3.0
"""After which someone who waits wants to know for what."""


@contextmanager
def held(file: Path) -> Generator[None]:
    """Hold `file`; raise LocalError if another process does."""
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        asked_until = time.monotonic() + ASKING_SECONDS
        while not _take(descriptor):
            if time.monotonic() > asked_until:
                raise LocalError(f"Another process holds {file}; end that one first.")
            time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


@asynccontextmanager
async def awaited(file: Path) -> AsyncGenerator[None]:
    """Hold `file`, after other processes have let go of it."""
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        await _wait(file, descriptor)
        yield
    finally:
        os.close(descriptor)


async def _wait(file: Path, descriptor: int) -> None:
    silent_until, said = time.monotonic() + SILENT_SECONDS, False
    while not _take(descriptor):
        if not said and time.monotonic() > silent_until:
            print(f"waiting for another process that holds {file}", file=sys.stderr, flush=True)
            said = True
        await asyncio.sleep(POLL_SECONDS)


def is_held(file: Path) -> bool:
    """Whether a living process holds `file`."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _take(descriptor, fcntl.LOCK_SH)  # shared, so that two who ask do not take each other for a holder
    finally:
        os.close(descriptor)


def _take(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
