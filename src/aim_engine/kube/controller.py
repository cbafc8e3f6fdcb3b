"""Workers that look at objects one key at a time, and the map of what wakes which key."""

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import structlog
from structlog.contextvars import bound_contextvars
from typing_extensions import TypeVar

from aim_engine.kube.errors import KubeError
from aim_engine.kube.informer import Informer
from aim_engine.kube.metrics import Metrics
from aim_engine.kube.queue import Closed, Queue
from aim_engine.kube.resource import Resource
from aim_engine.kube.store import Change, HasMetadata
from aim_engine.kube.timings import Timings
from aim_engine.objects import Key

T = TypeVar("T", bound=HasMetadata)

log = structlog.get_logger("controller")


@dataclass(frozen=True)
class Wake(Generic[T]):
    """A change of any object of `informer` wakes the keys that `keys` names."""

    informer: Informer[T]
    keys: Callable[[Change[T]], Iterable[Key]]


def owners(resource: Resource) -> Callable[[Change[Any]], Iterable[Key]]:
    """Wakes the owners of this kind, both those an object had and those it has."""

    def keys(change: Change[Any]) -> Iterable[Key]:
        for item in (one for one in change[1:] if one is not None):
            for owner in item.metadata.owner_references:
                if owner.kind == resource.kind and owner.api_version.partition("/")[0] == resource.group:
                    yield Key(item.metadata.namespace if resource.namespaced else "", owner.name)

    return keys


class Controller:
    """Calls `reconcile` with the key of every object that changed, or whose surroundings did.

    What `reconcile` returns decides: None is done, a number of seconds is when to look again (0: at once).
    What it raises is logged, and the key comes back after a pause that doubles with every failure.
    """

    def __init__(
        self,
        name: str,
        primary: Informer[Any],
        reconcile: Callable[[Key], Awaitable[float | None]],
        *,
        wakes: Sequence[Wake[Any]] = (),
        workers: int = 8,
        timings: Timings | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.name = name
        self._primary = primary
        self._reconcile = reconcile
        self._workers = workers
        self._timings = timings or Timings()
        metrics = metrics or Metrics()
        self._metrics = metrics.controller(name, workers)
        self.queue = Queue(name, self._timings, metrics)
        self.sources: tuple[Informer[Any], ...] = (primary, *(wake.informer for wake in wakes))
        primary.listen(lambda change: self.queue.wake(change.key))
        for wake in wakes:
            wake.informer.listen(lambda change, wake=wake: self._wake_by(wake, change))
        for informer in self.sources:
            informer.listen_installed(self.wake_everything)

    def wake_everything(self) -> None:
        """Have every object looked at."""
        self._wake_all(self._primary.store.all_keys())

    def stop(self) -> None:
        """Start no pass any more; `run` returns when the running ones are done."""
        self.queue.close()

    async def run(self) -> None:
        """Work until stopped or cancelled."""
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(self._work(), name=f"{self.name} {n}") for n in range(self._workers)]
            resync = group.create_task(self._resync(), name=f"{self.name} resync")
            await asyncio.wait(workers)
            resync.cancel()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.take()
            except Closed:
                return
            try:
                with bound_contextvars(
                    controller=self.name,
                    controllerKind=self._primary.resource.kind,
                    namespace=key.namespace,
                    name=key.name,
                    reconcileID=str(uuid.uuid4()),
                ):
                    await self._pass(key)
            finally:
                self.queue.done(key)

    async def _pass(self, key: Key) -> None:
        started = time.perf_counter()
        self._metrics.active.inc()
        result = "error"
        deadline = asyncio.timeout(self._timings.one_pass)
        try:
            async with deadline:
                after = await self._reconcile(key)
            self.queue.settle(key)
            result = "success" if after is None else "requeue_after" if after > 0 else "requeue"
            if after is not None:
                self.queue.wake_after(key, max(0.0, after))
        except KubeError as error:
            self._failed(key, str(error), error.retry_after or 0.0)
        except Exception as error:
            if isinstance(error, TimeoutError) and deadline.expired():
                self._failed(key, f"the pass took longer than {self._timings.one_pass:g} s and was ended")
            else:
                self._failed(key, f"{type(error).__name__}: {error}", cause=error)
        finally:
            self._metrics.active.dec()
            self._metrics.ended(result, time.perf_counter() - started)

    def _failed(self, key: Key, said: str, at_least: float = 0.0, cause: Exception | None = None) -> None:
        wait = self.queue.retry(key, at_least)
        log.error("pass failed", error=said, retryAfter=round(wait, 3), exc_info=cause)

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(self._timings.resync * random.uniform(0.9, 1.1))
            self.wake_everything()

    def _wake_by(self, wake: Wake[T], change: Change[T]) -> None:
        """Wake what a change concerns; if that cannot be told, everything, so that nothing is missed."""
        try:
            concerned = [*wake.keys(change)]
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            what = {"controller": self.name, "resource": str(wake.informer.resource), "object": str(change.key)}
            log.error("what a change concerns is not known, so all is looked at", error=said, exc_info=error, **what)
            self.wake_everything()
        else:
            self._wake_all(concerned)

    def _wake_all(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self.queue.wake(key)
