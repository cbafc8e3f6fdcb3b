"""A file that is fetched in parts: which bytes of it are on the volume, so that no byte is asked for twice.

The journal beside an unfinished file has one line of fixed width per part: first byte, end, how many are there. The
count is written after the bytes, in place, so that a process may die at any moment. A machine that loses its power may
keep the count without the bytes; the checksum finds that.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

WIDTH = 16
LINE = 3 * (WIDTH + 1)


@dataclass
class Part:
    """A range of a file; `done` of its bytes are on the volume."""

    first: int
    end: int
    done: int
    line: int

    @property
    def position(self) -> int:
        return self.first + self.done


class Parts:
    """The unfinished content of one file and its journal, open for writing by several threads."""

    def __init__(self, location: Path, parts: Sequence[Part]) -> None:
        """Open the content; a file of which nothing is there gets a new journal."""
        self.parts = parts
        location.parent.mkdir(parents=True, exist_ok=True)
        if not any(part.done for part in parts):
            lines = (f"{part.first:016d} {part.end:016d} {0:016d}\n" for part in parts)
            journal_of(location).write_text("".join(lines))
            location.unlink(missing_ok=True)
        self._content = os.open(location, os.O_WRONLY | os.O_CREAT, 0o666)
        self._counts = os.open(journal_of(location), os.O_WRONLY)

    def write(self, part: Part, block: memoryview) -> None:
        """Put the next bytes of a part on the volume, then into the journal."""
        at, left = part.position, block
        while len(left):
            written = os.pwrite(self._content, left, at)
            at, left = at + written, left[written:]
        part.done += len(block)
        os.pwrite(self._counts, f"{part.done:016d}".encode(), part.line * LINE + 2 * (WIDTH + 1))

    def complete(self) -> bool:
        """Tell whether every byte is there."""
        return all(part.position == part.end for part in self.parts)

    def close(self) -> None:
        os.close(self._content)
        os.close(self._counts)


def begin(size: int, part_bytes: int) -> list[Part]:
    """Cut a file into parts of one size, the last one perhaps smaller."""
    starts = range(0, size, part_bytes) if part_bytes < size else (0,)
    return [Part(first, min(first + part_bytes, size), 0, line) for line, first in enumerate(starts)]


def read(journal: Path, size: int) -> list[Part] | None:
    """Read a journal; None if it is not there or does not describe a file of this size."""
    try:
        lines = journal.read_text().splitlines()
        parts = [Part(*(int(word) for word in line.split()), line=number) for number, line in enumerate(lines)]
    except (OSError, ValueError, TypeError):
        return None
    ends = [0, *(part.end for part in parts)]
    fits = ends[-1] == size and all(part.first == end for part, end in zip(parts, ends, strict=False))
    return parts if fits and all(0 <= part.done <= part.end - part.first for part in parts) else None


def plan(location: Path, size: int, part_bytes: int) -> list[Part]:
    """Return the parts that an earlier attempt made and how far they are, or new ones."""
    left = read(journal_of(location), size) if location.exists() else None
    return left if left is not None else begin(size, part_bytes)


def journal_of(location: Path) -> Path:
    return location.with_suffix(".parts" + location.suffix)
