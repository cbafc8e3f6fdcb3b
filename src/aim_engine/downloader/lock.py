"""One download per directory, also when two pods on two machines share the volume.

The lock is that of the file system (`flock`), which NFS and CephFS carry across machines. Not all do, some pretend, and
some have none at all: therefore the holder also writes its name and a number that grows into the lock file. Whoever
gets the lock and finds the name of another machine in it watches the number for a while first; if it grows, the lock is
worth nothing here and the other one is still at work. Without locks the number alone tells, of every other process.
"""

import errno
import fcntl
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from aim_engine.downloader.volume import FULL

NAME = ".aim-download.lock"
BEAT_SECONDS = 5.0
BEATS_TO_WATCH = 3
POLL_SECONDS = 0.5
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""What a file system without locks says."""


class DirectoryLock:
    """The lock on a target directory."""

    def __init__(self, target: Path, beat_seconds: float = BEAT_SECONDS) -> None:
        self.path = target / NAME
        self.owner = f"{socket.gethostname()}:{os.getpid()}"
        self._beat_seconds = beat_seconds
        self._descriptor = -1
        self._beats = 0
        self._beaten_at = float("-inf")

    def acquire(self, waiting: Callable[[str], None]) -> None:
        """Take the lock; `waiting` is called once with the holder's name if there is one."""
        told = False
        while not self._try():
            if not told:
                waiting(self._holder()[0] or "another process")
                told = True
            time.sleep(POLL_SECONDS)
        self.beat()

    def _try(self) -> bool:
        """Take the lock if nobody else has it."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            if error.errno in FULL:
                return True  # nothing can be written here anyway, and the attempt says so better
            raise
        try:
            locked = _lock(descriptor)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        if not self._works_elsewhere(locked) and self._is_file():
            return True
        self._descriptor = -1
        os.close(descriptor)
        return False

    def _is_file(self) -> bool:
        """Tell whether the lock file is still the one at its name; the last holder removes it."""
        try:
            return os.fstat(self._descriptor).st_ino == self.path.stat().st_ino
        except FileNotFoundError:
            return False

    def _works_elsewhere(self, locked: bool) -> bool:
        """Tell whether somebody still counts: another machine although we got the lock, or anybody if there is none."""
        owner, beats = self._holder()
        if not owner or (locked and owner.partition(":")[0] == socket.gethostname()):
            return False
        time.sleep(self._beat_seconds * BEATS_TO_WATCH)
        return self._holder() not in ((owner, beats), ("", 0))

    def _holder(self) -> tuple[str, int]:
        try:
            owner, _, beats = self.path.read_text().partition(" ")
            return owner, int(beats or 0)
        except (OSError, ValueError):
            return "", 0

    def beat(self) -> None:
        """Show that we are still at work; more often than needed does nothing."""
        now = time.monotonic()
        if self._descriptor < 0 or now - self._beaten_at < self._beat_seconds:
            return
        self._beats, self._beaten_at = self._beats + 1, now
        try:
            os.pwrite(self._descriptor, f"{self.owner} {self._beats:016d}".encode(), 0)
            os.ftruncate(self._descriptor, len(self.owner) + 17)
            os.fdatasync(self._descriptor)  # over NFS others see only what has reached the server
        except OSError as error:
            if error.errno not in FULL:
                raise

    def release(self) -> None:
        """Give the lock back and leave nothing behind."""
        if self._descriptor < 0:
            return
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1


def _lock(descriptor: int) -> bool:
    """Lock a file, or raise BlockingIOError if another process has it; false where the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return False
    return True
