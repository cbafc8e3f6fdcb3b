"""Events as users see them in `kubectl describe`: repeated ones are counted, similar ones combined, floods cut off.

`record` returns at once; what is written, and whether that works, never touches the pass that recorded it.
"""

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, Literal, NamedTuple

import structlog
from typing_extensions import TypeVar

from aim_engine.kube.backoff import pause
from aim_engine.kube.client import Client
from aim_engine.kube.errors import KubeError, NotFound, ServerError, TooManyRequests, Unreachable
from aim_engine.kube.resource import EVENTS
from aim_engine.kube.timings import Timings
from aim_engine.objects import Key, Manifest

Level = Literal["Normal", "Warning"]

SIMILAR = 10
"""So many events that differ only in their message are written one by one; further ones are combined."""
BURST = 25
"""So many events one source may write about one object before it has to slow down."""
REMEMBERED = 4096
"""Of how many events, series and objects the recent past is kept."""
LANES = 4
"""So many events are written at the same time: a burst of one sort must not keep users waiting for all others."""
ATTEMPTS = 5
LONGEST = 32 * 1024
"""Of a message: enough for a long list of what was considered, and never so much that it weighs on etcd."""
COMBINED = "(combined from similar events): "

log = structlog.get_logger("events")

V = TypeVar("V")


class Reference(NamedTuple):
    """The object an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    field_path: str = ""
    """The part of the object that is meant, such as `spec.containers{main}`."""


class Source(NamedTuple):
    """Who tells of an event."""

    component: str
    host: str = ""


class Occurrence(NamedTuple):
    """Something that happened."""

    source: Source
    about: Reference
    level: Level
    reason: str
    message: str


@dataclass(frozen=True)
class Writing:
    """An event to write: the `count`-th of its kind, under a name; a first one is created, later ones are patched."""

    occurrence: Occurrence
    name: str
    count: int


@dataclass(frozen=True)
class Known:
    """What is remembered of an event that was written."""

    name: str
    count: int


class Recent(OrderedDict[object, V], Generic[V]):
    """Forgets what was not touched for longest."""

    def touch(self, key: object, value: V) -> V:
        self[key] = value
        self.move_to_end(key)
        while len(self) > REMEMBERED:
            self.popitem(last=False)
        return value


@dataclass
class Similar:
    """One series of events: when the last came, and the digests of its messages, for their number is what counts."""

    last: float
    digests: set[bytes] = field(default_factory=set[bytes])


@dataclass
class Bucket:
    """How many more events an object may get."""

    tokens: float
    last: float


class Correlator:
    """Decides what becomes of an occurrence; the time, in seconds, is an argument."""

    def __init__(self, timings: Timings) -> None:
        self._timings = timings
        self._series: Recent[Similar] = Recent()
        self._buckets: Recent[Bucket] = Recent()
        self._known: Recent[Known] = Recent()

    def correlate(self, occurrence: Occurrence, now: float) -> Writing | None:
        """What to write; None if the object had too many events lately."""
        combined = self._combine(occurrence, now)
        # All messages of a combined series share one event.
        same = combined[:-1] if combined.message != occurrence.message else _identity(combined)
        before = self._known.get(same)
        known = Known(before.name, before.count + 1) if before else Known(_name(combined), 1)
        allowed = self._allowed(combined, now)
        if allowed or before:
            self._known.touch(same, known)
        return Writing(combined, known.name, known.count) if allowed else None

    def forget(self, writing: Writing) -> None:
        """The event could not be written: the next like it starts anew."""
        for same in (_identity(writing.occurrence), writing.occurrence[:-1]):
            if same in self._known and self._known[same].name == writing.name:
                del self._known[same]

    def _combine(self, occurrence: Occurrence, now: float) -> Occurrence:
        series = self._series.get(occurrence[:-1])
        if series is None or now - series.last > self._timings.event_window:
            series = Similar(now)
        self._series.touch(occurrence[:-1], series)
        series.last = now
        digest = _digest(occurrence.message)
        series.digests.add(digest)
        if len(series.digests) <= SIMILAR:
            return occurrence
        series.digests.discard(digest)
        return occurrence._replace(message=(COMBINED + occurrence.message)[:LONGEST])

    def _allowed(self, occurrence: Occurrence, now: float) -> bool:
        key = occurrence[:2]
        bucket = self._buckets.get(key) or Bucket(BURST, now)
        refilled = bucket.tokens + (now - bucket.last) / self._timings.event_refill
        bucket = self._buckets.touch(key, Bucket(min(float(BURST), refilled), now))
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def _identity(occurrence: Occurrence) -> tuple[object, ...]:
    """Equal for equal events, and short however long the message is."""
    return (*occurrence[:-1], _digest(occurrence.message))


def _digest(message: str) -> bytes:
    return hashlib.blake2b(message.encode(errors="backslashreplace"), digest_size=16).digest()


def _name(occurrence: Occurrence) -> str:
    """Grows with time, so that events of the same second are listed in their order."""
    return f"{occurrence.about.name[:230]}.{time.time_ns():x}{secrets.token_hex(2)}"


Lane = asyncio.Queue[tuple[Occurrence, datetime]]


class Recorder:
    """Writes events beside the passes, in several lanes: those of one object keep their order."""

    def __init__(self, client: Client, *, most_waiting: int = 5_000) -> None:
        """At most so many events wait in each lane."""
        self._client = client
        self._correlator = Correlator(client.timings)
        self._lanes = tuple(Lane(most_waiting) for _ in range(LANES))
        self._work_waits: Callable[[], bool] = lambda: False
        self._alone = asyncio.Lock()

    def give_way(self, work_waits: Callable[[], bool]) -> None:
        """While work waits, write one event at a time instead of several: users want the work, then to hear of it."""
        self._work_waits = work_waits

    def record(self, source: str, about: Reference, level: Level, reason: str, message: str, *, host: str = "") -> None:
        """Tell users about an object; may be combined with similar events, or dropped when there are too many."""
        occurrence = Occurrence(Source(source, host), about, level, reason, message[:LONGEST])
        try:
            self._lanes[hash(about) % LANES].put_nowait((occurrence, datetime.now(UTC)))
        except asyncio.QueueFull:
            log.warning("event dropped, too many wait", kind=about.kind, object=about.name, reason=reason)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for lane in self._lanes:
                group.create_task(self._write_all(lane))

    async def drain(self) -> None:
        """Return when everything recorded so far is written or given up."""
        for lane in self._lanes:
            await lane.join()

    async def _write_all(self, lane: Lane) -> None:
        loop = asyncio.get_running_loop()
        while True:
            occurrence, moment = await lane.get()
            writing = self._correlator.correlate(occurrence, loop.time())
            if writing:
                async with self._alone if self._work_waits() else nullcontext():
                    await self._write(writing, moment)
            lane.task_done()

    async def _write(self, writing: Writing, moment: datetime) -> None:
        for attempt in range(ATTEMPTS):
            try:
                await self._send(writing, moment)
                return
            except (Unreachable, ServerError, TooManyRequests):
                await asyncio.sleep(pause(attempt, self._client.timings.reconnect, self._client.timings.reconnect_most))
            except KubeError as error:
                log.debug("event refused", reason=writing.occurrence.reason, error=str(error))
                break
        self._correlator.forget(writing)

    async def _send(self, writing: Writing, moment: datetime) -> None:
        key = Key(writing.occurrence.about.namespace or "default", writing.name)
        if writing.count > 1:
            news = {"count": writing.count, "lastTimestamp": _second(moment), "message": writing.occurrence.message}
            try:
                await self._client.patch(EVENTS, key, news)
                return
            except NotFound:
                pass  # the server keeps events for an hour or so
        await self._client.create(EVENTS, _manifest(key, writing, moment))


def _manifest(key: Key, writing: Writing, moment: datetime) -> Manifest:
    source, about, level, reason, message = writing.occurrence
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": key.namespace, "name": key.name},
        "involvedObject": {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
            **({"fieldPath": about.field_path} if about.field_path else {}),
        },
        "type": level,
        "reason": reason,
        "message": message,
        "source": {"component": source.component, **({"host": source.host} if source.host else {})},
        "reportingComponent": source.component,
        "reportingInstance": source.host,
        "count": writing.count,
        "firstTimestamp": _second(moment),
        "lastTimestamp": _second(moment),
    }


def _second(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
