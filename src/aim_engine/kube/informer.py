"""Keeps a store like the API server's state of one kind, by one list and one long watch.

              list                     stream ended, cut or silent
    START ────────────► WATCHING ◄───────────────────────────────┐
      │ ▲  410 or such     │ └───────────────────────────────────┘
      │ └──────────────────┘          (resumes where it was)
      │ 404                │ 404, twice
      ▼                    ▼
    ABSENT: the kind is not installed; looked for again and again, so that a CRD that appears later is picked up

A list replaces everything: what is no longer in it was deleted while we did not look, and is told as a deletion.
"""

import asyncio
import random
from collections.abc import Callable, Collection
from contextlib import aclosing
from typing import Generic

import msgspec
import structlog
from typing_extensions import TypeVar

from aim_engine.kube.backoff import Backoff
from aim_engine.kube.client import Client, decode
from aim_engine.kube.errors import KubeError, NotFound, Unparsable
from aim_engine.kube.resource import Resource
from aim_engine.kube.selection import EVERYTHING, PartialObject, Selection, WatchEvent
from aim_engine.kube.snapshot import Snapshot, take
from aim_engine.kube.store import Change, HasMetadata, Store, number
from aim_engine.objects import Key, Wire

T = TypeVar("T", bound=HasMetadata)

RESUMABLE = (0, 401, 403, 429, 500, 502, 503)
"""A watch that failed so is taken up where it was; every other refusal means that our place in the stream is lost."""

log = structlog.get_logger("informer")


class IdentityMeta(Wire):
    namespace: str = ""
    name: str = ""
    resource_version: str = ""


class Identity(Wire):
    """As much of an object as is needed to say which one it is."""

    metadata: IdentityMeta

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name)


class Informer(Generic[T]):
    """All objects of one kind (or a selection of them), decoded into `into`, in `store`."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        into: type[T],
        *,
        selection: Selection = EVERYTHING,
        metadata_only: bool = False,
        managers: Collection[str] = (),
    ) -> None:
        self.resource = resource
        self.store: Store[T] = Store()
        self.installed: bool | None = None
        """Whether the server knows the kind; None until it was asked."""
        self.problem: str | None = "not started"
        """Why the store may be behind, as a sentence; None while it follows."""
        self._client = client
        self._into = into
        self._selection = selection
        self._metadata_only = metadata_only
        self._managers = frozenset(managers)
        """Whose applied paths the snapshots keep; none means no snapshots."""
        self._listeners: list[Callable[[Change[T]], None]] = []
        self._installation_listeners: list[Callable[[], None]] = []
        self._synced = asyncio.Event()
        self._since = ""
        self._reached = 0
        self._missed = 0
        self._backoff = Backoff(client.timings.reconnect, client.timings.reconnect_most)

    @property
    def name(self) -> str:
        return f"informer {self.resource}"

    @property
    def synced(self) -> bool:
        """True once the store holds everything there was, or the kind is known to be absent."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    def listen(self, listener: Callable[[Change[T]], None]) -> None:
        """Have every change told, in order, after the store has it."""
        self._listeners.append(listener)

    def listen_installed(self, listener: Callable[[], None]) -> None:
        """Have it told when the kind appears on the server or vanishes from it."""
        self._installation_listeners.append(listener)

    def learn(self, raw: msgspec.Raw) -> None:
        """Take in the answer to a write of ours, so that the next pass does not read the state before it.

        What the watch has passed already, or may never tell of because it is not selected, is left to the watch.
        """
        metadata = decode(raw, PartialObject, f"read {self.resource}").metadata
        selected = metadata.key in self.store or self._selection.surely_has(metadata)
        if selected and number(metadata.resource_version) > self._reached:
            self._take(raw)

    async def run(self) -> None:
        """Follow the server until cancelled."""
        while True:
            try:
                if not self._since:
                    await self._list()
                await self._watch()
                wait = 0.0 if self._backoff.failures == 0 else self._backoff.next()
            except NotFound as error:
                wait = self._not_there(error)
            except KubeError as error:
                self.problem = str(error)
                if error.code not in RESUMABLE:
                    self._since = ""
                wait = max(self._backoff.next(), error.retry_after or 0.0)
                log.debug("watch interrupted", resource=str(self.resource), error=str(error), wait=wait)
            await asyncio.sleep(wait)

    async def _list(self) -> None:
        listing = await self._client.list_each(
            self.resource, self._selection, self._read, metadata_only=self._metadata_only
        )
        self._installed(True)
        found = [read for read in listing.items if read is not None]
        # A server whose count went back was restored from a backup: nothing we know is newer than its list.
        restored = number(listing.resource_version) < self._reached
        self._since, self._reached = listing.resource_version, number(listing.resource_version)
        present = {item.metadata.key for item, _ in found}
        for key in self.store.all_keys():
            if key not in present:
                # What a write of ours taught us after the list was made is not gone; the watch will tell.
                self._told(self.store.drop(key, None if restored else self._reached))
        for item, snapshot in found:
            self._told(self.store.put(item, snapshot, force=restored))
        self.problem = None
        self._synced.set()

    async def _watch(self) -> None:
        events = self._client.watch(
            self.resource,
            self._selection,
            self._since,
            seconds=self._client.timings.watch * random.uniform(1.0, 2.0),
            metadata_only=self._metadata_only,
            opened=self._opened,
        )
        # A failure until something arrives or it has lasted, so that streams that end at once are not hammered.
        self._backoff.failures += 1
        started = asyncio.get_running_loop().time()
        try:
            async with aclosing(events):
                async for event in events:
                    self._backoff.reset()
                    self._follow(event)
        finally:
            if asyncio.get_running_loop().time() - started > self._client.timings.reconnect_most:
                self._backoff.reset()
            self._client.observer.watch_ended(str(self.resource))

    def _opened(self) -> None:
        self._missed = 0
        self.problem = None

    def _follow(self, event: WatchEvent) -> None:
        identity = decode(event.object, Identity, f"watch {self.resource}")
        self._since = identity.metadata.resource_version
        self._reached = max(self._reached, number(self._since))
        if event.type == "DELETED":
            self._told(self.store.drop(identity.key, number(self._since)))
        elif event.type != "BOOKMARK":
            self._take(event.object)

    def _take(self, raw: msgspec.Raw) -> None:
        read = self._read(raw)
        if read is None:
            self._told(self.store.drop(decode(raw, Identity, f"read {self.resource}").key))
        else:
            self._told(self.store.put(*read))

    def _read(self, raw: msgspec.Raw) -> tuple[T, Snapshot | None] | None:
        """The object, or None if its content doesn't fit: then it is logged, and left out of the store."""
        try:
            item = decode(raw, self._into, f"read {self.resource}")
        except Unparsable as error:
            key = decode(raw, Identity, f"read {self.resource}").key
            log.error("object skipped", resource=str(self.resource), object=str(key), error=str(error))
            return None
        return item, take(raw, self._managers) if self._managers else None

    def _not_there(self, error: NotFound) -> float:
        """The kind is not installed; one that was there is believed gone when it is missed twice."""
        self._since = ""
        self._missed += 1
        if self.installed and self._missed < 2:
            self.problem = str(error)
            return self._backoff.next()
        for key in self.store.all_keys():
            self._told(self.store.drop(key))
        self._installed(False)
        self.problem = None
        self._synced.set()
        return self._client.timings.absent * random.uniform(0.9, 1.1)

    def _installed(self, now: bool) -> None:
        before, self.installed = self.installed, now
        if now:
            self._missed = 0
        if before is not None and before != now:
            log.info("kind appeared" if now else "kind vanished", resource=str(self.resource))
        if before != now:
            for listener in self._installation_listeners:
                listener()

    def _told(self, change: Change[T] | None) -> None:
        if change is not None:
            for listener in self._listeners:
                listener(change)
