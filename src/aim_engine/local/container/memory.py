"""How much memory the processes of a container use, read from /proc.

Control groups would be exact, but an ordinary user can't make them everywhere, and a limit on the address space makes
`malloc` fail where a container would be killed. So the processes are looked at: ten times a second while memory is
changing or more than half used, less often at rest. A program that allocates faster than that gets past its limit for a
moment before it is killed; one that stays below is never touched.
"""

from collections.abc import Iterable
from pathlib import Path

SOONEST = 0.1
LATEST = 1.0
"""Seconds between two looks."""

STEADY = 0.05
"""A change of less than this part of the limit is rest."""


class Watch:
    """Looks after one limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.interval = SOONEST
        self._last = 0

    def exceeded(self, processes: Iterable[int]) -> bool:
        """Whether the processes together use more than the limit; sets how soon to look again."""
        numbers = list(processes)
        used = sum(private(number) for number in numbers)
        calm = used < self.limit / 2 and abs(used - self._last) < self.limit * STEADY
        self._last = used
        self.interval = min(self.interval * 2, LATEST) if calm else SOONEST
        # Pages shared after a fork count for every process above, and once here, where counting costs more.
        return used > self.limit and sum(proportional(number) for number in numbers) > self.limit


def private(process: int) -> int:
    """Bytes in memory that are the process's own and not a file's; 0 for a process that is gone."""
    return _sum(process, "status", ("RssAnon", "RssShmem"))


def proportional(process: int) -> int:
    """The same, with each page divided by the number of processes that share it."""
    return _sum(process, "smaps_rollup", ("Pss_Anon", "Pss_Shmem")) or private(process)


def _sum(process: int, file: str, fields: tuple[str, ...]) -> int:
    try:
        lines = Path("/proc", str(process), file).read_text().splitlines()
    except OSError:
        return 0
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    return sum(int(values[field].split()[0]) * 1024 for field in fields if field in values)
