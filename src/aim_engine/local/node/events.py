"""Events as a kubelet tells them, written beside the work; the same one again counts up instead of adding another."""

import asyncio
import time
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Literal

import msgspec
import structlog

from aim_engine.kube.client import Client
from aim_engine.kube.errors import KubeError, NotFound
from aim_engine.kube.resource import EVENTS
from aim_engine.objects import Key, Manifest

EventType = Literal["Normal", "Warning"]
REMEMBERED = 4096
MESSAGE_LIMIT = 1024
WRITERS = 4

log = structlog.get_logger("node")


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The object an event is about."""

    kind: str
    name: str
    uid: str
    namespace: str = ""
    api_version: str = "v1"
    field_path: str = ""

    def reference(self) -> Manifest:
        plain: Manifest = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "fieldPath": self.field_path,
        }
        return {name: value for name, value in plain.items() if value}


class Told(msgspec.Struct, frozen=True):
    """One event to be written."""

    subject: Subject
    type: EventType
    reason: str
    message: str
    component: str
    host: str
    at: datetime
    number: int
    """Grows from event to event: names in their order sort events of the same second."""


class Recorder:
    """Takes events at once and writes them as the API server has time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._waiting: asyncio.Queue[Told] = asyncio.Queue(maxsize=REMEMBERED)
        self._known: OrderedDict[tuple[str, ...], tuple[Key, int]] = OrderedDict()
        self._last = 0

    def tell(
        self,
        subject: Subject,
        level: EventType,
        reason: str,
        message: str,
        *,
        component: str = "kubelet",
        host: str = "",
    ) -> None:
        """Have an event written; while the API server is far behind, the newest are dropped."""
        told = Told(subject, level, reason, message[:MESSAGE_LIMIT], component, host, datetime.now(UTC), self._number())
        try:
            self._waiting.put_nowait(told)
        except asyncio.QueueFull:
            log.warning("event dropped", reason=reason, object=subject.name)

    def _number(self) -> int:
        self._last = max(time.time_ns(), self._last + 1)
        return self._last

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WRITERS):
                group.create_task(self._write_all())

    async def flushed(self, patience: float) -> None:
        """Wait until everything told so far is written, but no longer than that."""
        try:
            async with asyncio.timeout(patience):
                await self._waiting.join()
        except TimeoutError:
            log.warning("events dropped at the end", count=self._waiting.qsize())

    async def _write_all(self) -> None:
        while True:
            told = await self._waiting.get()
            try:
                await self._write(told)
            except KubeError as error:
                log.debug("event not written", reason=told.reason, error=str(error))
            finally:
                self._waiting.task_done()

    async def _write(self, told: Told) -> None:
        same = (told.subject.uid, told.subject.field_path, told.type, told.reason, told.message)
        key, count = self._known.get(same, (None, 0))
        if key is None:
            name = f"{told.subject.name}.{told.number:x}"
            self._remember(same, Key(told.subject.namespace or "default", name), 1)
            await self._client.create(EVENTS, _manifest(self._known[same][0], told))
            return
        self._remember(same, key, count + 1)
        try:
            await self._client.patch(EVENTS, key, {"count": count + 1, "lastTimestamp": told.at.isoformat()})
        except NotFound:
            self._known.pop(same, None)

    def _remember(self, same: tuple[str, ...], key: Key, count: int) -> None:
        self._known[same] = (key, count)
        self._known.move_to_end(same)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def _manifest(key: Key, told: Told) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": key.namespace, "name": key.name},
        "involvedObject": told.subject.reference(),
        "type": told.type,
        "reason": told.reason,
        "message": told.message,
        "count": 1,
        "firstTimestamp": told.at.isoformat(),
        "lastTimestamp": told.at.isoformat(),
        "source": {"component": told.component, **({"host": told.host} if told.host else {})},
        "reportingComponent": told.component,
        "reportingInstance": told.host,
    }
