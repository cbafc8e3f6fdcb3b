"""Reads the logs that `journal` writes, as `kubectl logs` asks for them."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from aim_engine.local.container.journal import Record, parse, stamp

POLL_SECONDS = 0.1
"""How often a follower looks for more; a look is one read of a few bytes, and costs nothing while nobody follows."""

BLOCK = 64 * 1024
MESSAGE_LIMIT = 4096
FALLBACK_LINES = 80
FALLBACK_LIMIT = 2048
"""Kubernetes' limits for termination messages, from the file and from the end of the log."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a log is wanted; the options of `kubectl logs` that concern one file.

    `--previous` is no option here: every start of a container has its own file, so the previous one is another path.
    """

    follow: bool = False
    tail: int | None = None
    """At most that many lines from the end; `since` is applied to what they leave."""
    since: datetime | None = None
    limit_bytes: int | None = None
    timestamps: bool = False


async def read(path: Path, selection: Selection, ended: Callable[[], bool]) -> AsyncIterator[bytes]:
    """The selected part of a container's log, piece by piece.

    A follower gets new lines as they come and finishes when `ended` says that the container has ended and all is read.
    A log that is not there yet is an empty one.
    """
    left = selection.limit_bytes
    render = Renderer(selection)
    with Tailing(path, selection.tail) as file:
        while True:
            last_look = not selection.follow or ended()
            while records := file.records():
                if piece := render(records)[:left]:
                    yield piece
                left = None if left is None else left - len(piece)
                if left == 0:
                    return
                await asyncio.sleep(0)
            if last_look:
                return
            await asyncio.sleep(POLL_SECONDS)


def termination_message(file: Path, *, fall_back_to: Path | None = None) -> str:
    """A container's last words: the file it wrote or, if that is empty and a log is given, the end of the log."""
    message = file.read_bytes()[:MESSAGE_LIMIT] if file.exists() else b""
    if not message and fall_back_to is not None:
        with Tailing(fall_back_to, FALLBACK_LINES) as log:
            render = Renderer(Selection())
            message = b"".join(render(records) for records in iter(log.records, []))[-FALLBACK_LIMIT:]
    return message.decode(errors="replace")


class Renderer:
    """Turns records into what a reader sees: parts of a long line are joined, timestamps only if wanted."""

    def __init__(self, selection: Selection) -> None:
        self.timestamps = selection.timestamps
        self.since = b"" if selection.since is None else stamp(_nanoseconds(selection.since)).encode()
        self.inside: set[bytes] = set()

    def __call__(self, records: Iterable[Record]) -> bytes:
        return b"".join(self._text(record) for record in records if record.timestamp >= self.since)

    def _text(self, record: Record) -> bytes:
        continued = record.stream in self.inside
        (self.inside.discard if record.whole else self.inside.add)(record.stream)
        head = record.timestamp + b" " if self.timestamps and not continued else b""
        return head + record.text + (b"\n" if record.whole else b"")


class Tailing:
    """A log file and its predecessor as one, read from some line on, across renames of the writer."""

    def __init__(self, path: Path, tail: int | None) -> None:
        self.path = path
        self.rest = b""
        older = _open(path.with_name(f"{path.name}.1"))
        newer = _open(path)
        if older and newer and os.path.samestat(os.fstat(older.fileno()), os.fstat(newer.fileno())):
            newer.close()  # renamed between the two opens; what follows it is found by path later
            newer = None
        self.files = [file for file in (older, newer) if file]
        if tail is not None:
            self._skip_to(tail)

    def __enter__(self) -> "Tailing":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files:
            file.close()

    def records(self) -> list[Record]:
        """The next whole records, or an empty list if there are none now."""
        while True:
            if not self.files and not self._reopen():
                return []
            data = self.files[0].read(BLOCK)
            if not data and (len(self.files) > 1 or self._renamed()):
                data = self.files[0].read(BLOCK)  # written between the last read and the rename
                if not data:
                    self.files.pop(0).close()
                    self.rest = b""
                    continue
            *lines, self.rest = (self.rest + data).split(b"\n")
            if lines or not data:
                return [record for line in lines if (record := parse(line))]

    def _renamed(self) -> bool:
        try:
            return not os.path.samestat(os.fstat(self.files[0].fileno()), self.path.stat())
        except FileNotFoundError:
            return False

    def _reopen(self) -> bool:
        file = _open(self.path)
        if file:
            self.files.append(file)
        return file is not None

    def _skip_to(self, tail: int) -> None:
        """Leave only the last `tail` records to be read."""
        for index in range(len(self.files) - 1, -1, -1):
            tail = _seek_back(self.files[index], tail)
            if tail <= 0:
                for file in self.files[:index]:
                    file.close()
                del self.files[:index]
                return


def _seek_back(file: BinaryIO, lines: int) -> int:
    """Place the file so that its last `lines` whole lines follow; return how many it does not have."""
    end = file.seek(0, os.SEEK_END)
    position, found, block = end, 0, b""
    while position > 0:
        size = min(BLOCK, position)
        position -= size
        file.seek(position)
        block = file.read(size)
        ends = block.count(b"\n")
        if found + ends > lines:
            surplus = found + ends - lines
            at = -1
            for _ in range(surplus):
                at = block.index(b"\n", at + 1)
            file.seek(position + at + 1)
            return 0
        found += ends
    file.seek(0)
    return lines - found


def _open(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None


def _nanoseconds(time: datetime) -> int:
    return int(time.timestamp() * 1_000_000) * 1000
