"""The log file of a container: one record per line, as container runtimes write it, bounded in size.

    2026-01-02T03:04:05.123456789Z stdout F a whole line
    2026-01-02T03:04:05.223456789Z stderr P the beginning of a very long line

A file that reaches its limit is renamed to `<name>.1`, which replaces the one before it, so that a container keeps
between one and two limits of its newest output. No asyncio here: the init process of each container writes its own log.
"""

import os
import time
from typing import Literal, NamedTuple

Stream = Literal["stdout", "stderr"]

FILE_LIMIT = 10 * 1024 * 1024
LINE_LIMIT = 16 * 1024
"""Longer lines are written in parts, so that a stream without line ends needs no memory."""


class Record(NamedTuple):
    """One line of the file."""

    timestamp: bytes
    whole: bool
    text: bytes
    stream: bytes


class Journal:
    """Writes both streams of one container; a line is written when it is complete, very long, or the last one."""

    def __init__(self, directory: int, name: str, *, file_limit: int = FILE_LIMIT) -> None:
        """Open `name` in the directory with that descriptor: after the root has changed, its path leads nowhere."""
        self.directory = directory
        self.name = name
        self.file_limit = file_limit
        self._begun: dict[Stream, bytes] = {}
        self._open(os.O_APPEND)

    def write(self, stream: Stream, data: bytes) -> None:
        """Take what the container printed; a full disk loses output but never stops the container."""
        *lines, rest = (self._begun.get(stream, b"") + data).split(b"\n")
        cut = len(rest) - len(rest) % LINE_LIMIT
        self._begun[stream] = rest[cut:]
        self._append(stream, [*_parts(lines), *((piece, b"P") for piece in _pieces(rest[:cut]))])

    def close(self) -> None:
        """Write what was begun and close the file."""
        for stream, rest in self._begun.items():
            self._append(stream, list(_parts([rest])) if rest else [])
        self._begun.clear()
        os.close(self._file)

    def _append(self, stream: Stream, parts: list[tuple[bytes, bytes]]) -> None:
        if not parts:
            return
        head = b"%s %s " % (stamp(time.time_ns()).encode(), stream.encode())
        data = b"".join(b"%s%s %s\n" % (head, tag, text) for text, tag in parts)
        try:
            if self._size and self._size + len(data) > self.file_limit:
                self._rotate()
            self._size += os.write(self._file, data)
        except OSError:
            return

    def _rotate(self) -> None:
        os.rename(self.name, f"{self.name}.1", src_dir_fd=self.directory, dst_dir_fd=self.directory)
        os.close(self._file)
        self._open(os.O_TRUNC)

    def _open(self, how: int) -> None:
        self._file = os.open(self.name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, 0o640, dir_fd=self.directory)
        self._size = os.fstat(self._file).st_size


def stamp(nanoseconds: int) -> str:
    """A time as RFC 3339 with nine digits, always in UTC, so that the order of texts is the order of times."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{fraction:09d}Z"


def parse(line: bytes) -> Record | None:
    """The record in a line of the file, without its line end; None for a line that is none."""
    timestamp, _, rest = line.partition(b" ")
    stream, _, rest = rest.partition(b" ")
    tag, separator, text = rest.partition(b" ")
    return Record(timestamp, tag == b"F", text, stream) if separator else None


def _parts(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Lines as texts with their tags: P for each part but the last, F for the last."""
    return [
        (piece, b"F" if last else b"P")
        for line in lines
        for pieces in [_pieces(line) or [b""]]
        for last, piece in ((index == len(pieces) - 1, piece) for index, piece in enumerate(pieces))
    ]


def _pieces(text: bytes) -> list[bytes]:
    return [text[start : start + LINE_LIMIT] for start in range(0, len(text), LINE_LIMIT)]
