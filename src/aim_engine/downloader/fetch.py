"""Fetches files side by side, in parts where the source allows, and goes on where an earlier attempt stopped."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from aim_engine.downloader import parts as parted
from aim_engine.downloader.failures import NetworkFailure, RateLimited
from aim_engine.downloader.files import Manifest, RemoteFile, largest_first
from aim_engine.downloader.gauge import Gauge
from aim_engine.downloader.parts import Part, Parts
from aim_engine.downloader.speech import warn
from aim_engine.downloader.volume import Volume, disk_full, make_way

SMALL = 256 * 1024
"""A file up to this size is read whole and written in one go."""
FIRST_PAUSE = 0.5


class Source(Protocol):
    """Where the bytes come from."""

    part_bytes: int
    """Into parts of which size a file is cut."""
    workers: int
    tries: int
    """How often in a row a part may break off without a single new byte."""

    def blocks(self, file: RemoteFile, first: int, end: int) -> Iterator[memoryview]:
        """Yield the bytes `first` to `end` of a file in order; a block is valid until the next one.

        Raises NetworkFailure or RateLimited for what may pass, any other Failure for what will not.
        """
        ...


@dataclass
class Fetch:
    """One walk over everything that is missing."""

    source: Source
    volume: Volume
    gauge: Gauge
    longest_wait: float
    """How many seconds a source may ask to wait."""
    check: Callable[[RemoteFile], None] | None = None
    """Called with every file that was fetched, raises if it is wrong."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _failures: list[BaseException] = field(default_factory=list[BaseException])

    def run(self, manifest: Manifest) -> None:
        """Bring every file of the manifest onto the volume; raise the first failure."""
        missing = [file for file in manifest.files if not self.volume.whole(file, self.gauge.tick)]
        contents = [_Content(file, self.volume, self.source.part_bytes) for file in largest_first(missing)]
        self.volume.drop_unfinished(keep=[self.volume.unfinished(file) for file in missing])
        left = sum(content.left for content in contents)
        self.gauge.start(manifest.size - left, manifest.size)
        self.volume.require_space(left, len(missing))
        tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        for content in contents:
            for task in self._tasks(content):
                tasks.put(task)
        threads = [
            threading.Thread(target=self._work, args=(tasks,), name=f"fetch-{number}", daemon=True)
            for number in range(min(self.source.workers, tasks.qsize()))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _work(self, tasks: "queue.SimpleQueue[Callable[[], None]]") -> None:
        while not self._stop.is_set():
            try:
                task = tasks.get_nowait()
            except queue.Empty:
                return
            try:
                task()
            except BaseException as error:  # a thread that died in silence would look like success
                full = disk_full(error, self.volume.target) if isinstance(error, OSError) else None
                self._failures.append(full or error)
                self._stop.set()

    def _tasks(self, content: "_Content") -> list[Callable[[], None]]:
        if content.file.size <= SMALL:
            return [lambda: self._small(content.file)]
        missing = [part for part in content.plan if part.position < part.end]
        if not missing:
            return [lambda: self._publish(content)]
        return [lambda part=part: self._part(content, part) for part in missing]

    def _small(self, file: RemoteFile) -> None:
        content = bytearray()

        def begin() -> int:
            self.gauge.add(-len(content))
            content.clear()
            return 0

        def take(block: memoryview) -> None:
            content.extend(block)
            self.gauge.add(len(block))

        if file.size and not self._patiently(file, begin, file.size, take):
            return
        location = self.volume.location(file)
        make_way(location, self.volume.target)
        location.write_bytes(content)
        self._accept(file)

    def _part(self, content: "_Content", part: Part) -> None:
        parts = content.opened()

        def take(block: memoryview) -> None:
            parts.write(part, block)
            self.gauge.add(len(block))

        if self._patiently(content.file, lambda: part.position, part.end, take) and content.closed_by_last():
            self._publish(content)

    def _publish(self, content: "_Content") -> None:
        self.volume.publish(content.file, self.volume.unfinished(content.file))
        self._accept(content.file)

    def _accept(self, file: RemoteFile) -> None:
        if self.check:
            self.check(file)
        self.volume.keeper.remember(file)

    def _patiently(
        self, file: RemoteFile, position: Callable[[], int], end: int, take: Callable[[memoryview], None]
    ) -> bool:
        """Take a range to its end, through breaks and requests to slow down; false if another failure came first."""
        broken, waited = 0, 0.0
        while not self._stop.is_set():
            start = at = position()
            try:
                for block in self.source.blocks(file, start, end):
                    take(block)
                    at += len(block)
                    if self._stop.is_set():
                        return at == end
                if at == end:
                    return True
                raise NetworkFailure(f"Network failure: the source sent {at - start} of {end - start} bytes")
            except RateLimited as limit:
                pause = limit.seconds if limit.seconds is not None else FIRST_PAUSE * 2**broken
                waited, broken = waited + pause, broken + 1
                if waited > self.longest_wait or broken >= self.source.tries:
                    raise
                warn(f"The source asks for fewer requests; going on in {pause:g} s")
                self._pause(pause)
            except NetworkFailure as failure:
                broken = 1 if at > start else broken + 1
                if broken >= self.source.tries:
                    raise
                warn(f"{failure} ({file.path}); going on at byte {at}")
                self._pause(FIRST_PAUSE * 2 ** (broken - 1))
        return False

    def _pause(self, seconds: float) -> None:
        """Wait, and say all the while that this is no stall."""
        until = time.monotonic() + seconds
        while not self._stop.is_set() and (left := until - time.monotonic()) > 0:
            self.gauge.tick()
            self._stop.wait(min(left, 1.0))


class _Content:
    """A file that has to be fetched, and its unfinished content once a thread needs it."""

    def __init__(self, file: RemoteFile, volume: Volume, part_bytes: int) -> None:
        self.file = file
        self._location = volume.unfinished(file)
        self.plan = parted.plan(self._location, file.size, part_bytes if file.size > SMALL else SMALL)
        self.left = file.size - sum(part.done for part in self.plan)
        self._parts: Parts | None = None
        self._lock = threading.Lock()

    def opened(self) -> Parts:
        """Return the content, open for writing."""
        with self._lock:
            if self._parts is None:
                self._parts = Parts(self._location, self.plan)
            return self._parts

    def closed_by_last(self) -> bool:
        """Close the content when every byte is there; true for exactly one caller."""
        with self._lock:
            if self._parts is None or not self._parts.complete():
                return False
            self._parts.close()
            self._parts = None
            return True
