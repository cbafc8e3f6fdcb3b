"""A few numbers in memory that a download process writes and the process that watches it reads."""

import mmap
import os
import struct
import tempfile
import threading
from pathlib import Path

LAYOUT = struct.Struct("qqq")
LENGTH = 4096


class Gauge:
    """How far a download is.

    `on_volume` are the source's bytes that lie on the volume, `total` those it has, and `activity` grows with
    everything that is progress but no new byte, such as hashing; a download is stalled when neither grows.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        """Make new numbers, or look at those behind a descriptor that another process handed over."""
        if descriptor is None:
            descriptor, name = tempfile.mkstemp()
            Path(name).unlink()
            os.ftruncate(descriptor, LENGTH)
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, LENGTH)
        self._lock = threading.Lock()

    def _read(self) -> tuple[int, int, int]:
        on_volume, total, activity = LAYOUT.unpack_from(self._memory)
        return on_volume, total, activity

    @property
    def on_volume(self) -> int:
        return self._read()[0]

    @property
    def total(self) -> int:
        return self._read()[1]

    @property
    def activity(self) -> int:
        return self._read()[2]

    def add(self, count: int) -> None:
        """Count bytes that were written; a negative count takes back bytes that turned out to be useless."""
        with self._lock:
            on_volume, total, activity = self._read()
            LAYOUT.pack_into(self._memory, 0, on_volume + count, total, activity)

    def tick(self, count: int = 1) -> None:
        """Count work that is no new byte."""
        with self._lock:
            on_volume, total, activity = self._read()
            LAYOUT.pack_into(self._memory, 0, on_volume, total, activity + count)

    def start(self, on_volume: int, total: int) -> None:
        """Set where a download begins."""
        with self._lock:
            LAYOUT.pack_into(self._memory, 0, on_volume, total, self._read()[2] + 1)


def measured(directory: Path) -> int:
    """Add up the sizes of all files below a directory, as `du -sb` does; holes of unfinished files do not count."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                status = Path(folder, name).lstat()
            except FileNotFoundError:
                continue
            total += min(status.st_size, status.st_blocks * 512) if name.endswith(".incomplete") else status.st_size
    return total
