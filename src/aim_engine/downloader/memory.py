"""How much memory there is to use: the container's limit decides how much is under way at once."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
EVENT_FILES = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
NO_LIMIT = 1 << 50
INTERPRETER = 96 * 1024 * 1024
"""What the two processes need before the first byte."""
PER_WORKER = 4 * 1024 * 1024
XET_STREAM = 128 * 1024 * 1024
"""What hf_xet holds of one large file: two pieces of the content store, each up to 64 MiB."""
XET_STREAMS = 3
"""How many such files are under way at once where no limit is set."""


def limit() -> int | None:
    """Return the container's memory limit in bytes; None if there is none."""
    for name in LIMIT_FILES:
        try:
            value = Path(name).read_text().strip()
        except OSError:
            continue
        if value.isdecimal() and int(value) < NO_LIMIT:
            return int(value)
    return None


def spare() -> int | None:
    """Return how many bytes of the limit may be used for what is under way."""
    most = limit()
    return None if most is None else max(most - INTERPRETER, 0)


def at_most(workers: int) -> int:
    """Return how many of the wanted workers fit into the memory, at least one."""
    room = spare()
    return workers if room is None else max(1, min(workers, room // PER_WORKER))


def xet_environment() -> dict[str, str]:
    """Return the variables that keep hf_xet's buffers small; its own defaults go by the memory of the whole machine."""
    half = XET_STREAM // 2
    return {
        "HF_XET_RECONSTRUCTION_DOWNLOAD_BUFFER_SIZE": str(half),
        "HF_XET_RECONSTRUCTION_DOWNLOAD_BUFFER_PERFILE_SIZE": str(half // 4),
        "HF_XET_RECONSTRUCTION_DOWNLOAD_BUFFER_LIMIT": str(half),
        "HF_XET_RECONSTRUCTION_MIN_RECONSTRUCTION_FETCH_SIZE": str(half),
        "HF_XET_RECONSTRUCTION_MAX_RECONSTRUCTION_FETCH_SIZE": str(half),
    }


class Budget:
    """Bytes of memory that threads take before they begin and give back when they are done."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size
        self._changed = threading.Condition()

    @contextmanager
    def take(self, wanted: int) -> Generator[None]:
        """Wait until the memory is there; more than there is at all counts as all of it."""
        wanted = min(wanted, self._size)
        with self._changed:
            self._changed.wait_for(lambda: self._left >= wanted)
            self._left -= wanted
        try:
            yield
        finally:
            with self._changed:
                self._left += wanted
                self._changed.notify_all()


def xet_budget() -> Budget:
    """Return the memory that hf_xet may use."""
    room = spare()
    return Budget(XET_STREAMS * XET_STREAM if room is None else min(max(room, 1), XET_STREAMS * XET_STREAM))


def kills() -> int:
    """Count the processes that this container lost for its memory."""
    for name in EVENT_FILES:
        try:
            lines = Path(name).read_text().splitlines()
        except OSError:
            continue
        return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return 0
