"""The one loop for all kinds: look at the world, judge it, plan, carry the plan out, report.

fetch ──► observe ──► judge ──► plan        a Walk: data, nothing written yet
                                  │
                     carry out ◄──┘         only if the judgement allows it
                         │
                         ▼
                status, events, log         once, and only what changed
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Generic, NamedTuple
from weakref import WeakValueDictionary

import msgspec

from aim_engine.api import quantity
from aim_engine.controllers.carrying_out import Executor, Outcome
from aim_engine.controllers.concept import AimObject, Concept, Seen, Status, T, V
from aim_engine.controllers.failures import PassFailed
from aim_engine.controllers.telling import Teller
from aim_engine.core import conditions, discovery, downloads, plan, transitions
from aim_engine.core.conditions import Judgement, Retry
from aim_engine.core.health import Component
from aim_engine.core.parent import Parent
from aim_engine.core.plan import Plan
from aim_engine.core.problems import invalid_spec
from aim_engine.core.transitions import Occurrence
from aim_engine.kube.errors import Conflict, NotFound
from aim_engine.kube.events import Recorder
from aim_engine.kube.informer import Informer
from aim_engine.kube.lock import Lock
from aim_engine.objects import Condition, Key, Manifest

AT_ONCE = 0.0


@dataclass(frozen=True)
class Timings:
    """When to look again, in seconds."""

    recheck: float = 60.0
    """A reference or right that is missing: not all of them are watched."""
    conflict: float = 0.05
    """Another writer was faster; its change is on the way to our store."""
    locked: float = 2.0
    """Others keep the lock of an exclusive plan."""
    recurrence: float = 300.0
    """How often users are told again of what stays wrong."""
    weights: downloads.Timings = field(default_factory=downloads.Timings)
    """What concerns download objects only."""
    templates: discovery.Timings = discovery.USUAL
    """What concerns the discovery of templates only."""

    def scaled(self, factor: float) -> "Timings":
        """The same proportions, faster or slower."""
        return replace(self, **{each.name: getattr(self, each.name) * factor for each in fields(self)})


@dataclass(frozen=True)
class Walk(Generic[V]):
    """One look at the world, and what to do about it."""

    view: V
    judgement: Judgement
    plan: Plan


class Reported(NamedTuple):
    """What became of a status: whether it is stored as it should be, and how many writes that took."""

    stored: bool
    writes: int


@dataclass(frozen=True)
class Pipeline(Generic[T, Seen, V]):
    """Reconciles the objects of one kind."""

    concept: Concept[T, Seen, V]
    executor: Executor
    recorder: Recorder
    timings: Timings = Timings()
    lock: Lock | None = None
    """Kept while an exclusive plan is made and carried out."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    crowded: Callable[[], bool] = lambda: False
    """Whether other objects wait for a pass."""
    put_off: set[Key] = field(default_factory=set[Key])
    """Objects whose first status was left to their next pass."""
    turns: WeakValueDictionary[Hashable, asyncio.Lock] = field(
        default_factory=WeakValueDictionary[Hashable, asyncio.Lock]
    )

    async def reconcile(self, key: Key) -> float | None:
        """One pass over one object; tells after how many seconds to look again, if at all."""
        item = self.informer.store.get(key)
        if item is None:
            self.teller.forget(key)
            self.put_off.discard(key)
            return None
        if item.metadata.deletion_timestamp:
            return await self.let_go(item)
        if self.concept.finalizers and self.concept.finalizers[0] not in item.metadata.finalizers:
            wanted = plan.with_finalizer(item.metadata, self.concept.finalizers[0])
            return await self.write_finalizers(item, wanted.wanted) or AT_ONCE
        if plan.is_paused(item.metadata):
            return None
        now = self.clock()
        if item.spec is None and self.concept.blank:
            return await self.refuse(item, "spec is missing; write what you want", self.concept.blank(), now)
        try:
            return await self.work_on(item, now)
        except quantity.Malformed as mistake:
            if self.concept.blank is None:
                raise
            return await self.refuse(item, str(mistake), self.concept.blank(), now)

    async def work_on(self, item: T, now: datetime) -> float | None:
        """Look, carry out and tell."""
        key = item.metadata.key
        async with self.turn(item):
            walk = await self.look(item, now)
            if self.lock and self.concept.exclusive and self.concept.exclusive(walk.plan):
                async with self.lock.held() as obtained:
                    if not obtained:
                        return self.timings.locked
                    walk = await self.look(item, now)
                    outcome = await self.carry_out(item, walk)
            else:
                outcome = await self.carry_out(item, walk)
        if self.can_wait(item, walk, outcome):
            self.put_off.add(key)
            self.teller.wrote(outcome.writes)
            return AT_ONCE
        self.put_off.discard(key)
        status = self.concept.counts(self.concept.status(item, walk.view, walk.judgement), outcome.deleted)
        announced = self.concept.announces(walk.view)
        reported = await self.report(item, status, walk.judgement, outcome, now, announced)
        self.teller.wrote(outcome.writes + reported.writes)
        return self.look_again(walk, outcome, reported.stored)

    def can_wait(self, item: T, walk: Walk[V], outcome: Outcome) -> bool:
        """Whether the first status of an object can be left to its next pass, once, because others wait for theirs.

        A pass that made something is followed by one that sees it and tells more. So of many objects that come at
        once, each gets what it needs before the first is told of the way there.
        """
        made = outcome.writes > 0 and not outcome.error and walk.judgement.decision.retry is Retry.NONE
        first = item.status is None and item.metadata.key not in self.put_off
        return made and first and not outcome.deleted and self.crowded()

    @asynccontextmanager
    async def turn(self, item: T) -> AsyncGenerator[None]:
        """The time in which no other object that the concept keeps apart from this one is worked on."""
        if self.concept.apart is None:
            yield
            return
        lock = self.turns.setdefault(self.concept.apart(item), asyncio.Lock())
        async with lock:
            yield

    async def refuse(self, item: T, why: str, blank: Any, now: datetime) -> float | None:
        """Tell an object that the API server lets through why nothing can be made of it."""
        spec = Component(name="Spec", problems=(invalid_spec("InvalidSpec", why),))
        judgement = conditions.judge([spec], stored_conditions(item), now, words=self.concept.words)
        status: Any = msgspec.structs.replace(item.status or blank, status=judgement.status)
        reported = await self.report(item, status, judgement, Outcome(), now)
        self.teller.wrote(reported.writes)
        return None if reported.stored else self.timings.conflict

    async def look(self, item: T, now: datetime) -> Walk[V]:
        """Read the world, judge it and plan; nothing is written."""
        seen = await self.concept.fetch(item, self.executor.cluster)
        view = self.concept.observe(item, seen, now)
        judgement = conditions.judge(
            view.components, stored_conditions(item), now, extras=view.notes, words=self.concept.words
        )
        return Walk(view, judgement, self.concept.plan(item, view))

    async def carry_out(self, item: T, walk: Walk[V]) -> Outcome:
        """Do what was planned, if nothing forbids it."""
        if not walk.judgement.decision.may_apply:
            return Outcome()
        parent = Parent(self.concept.resource.kind, self.concept.controller, item.metadata)
        steps = plan.steps(walk.plan, parent, walk.view.config.label_propagation)
        return await self.executor.carry_out(walk.plan, steps, self.concept.owner, force=self.concept.force)

    async def report(
        self,
        item: T,
        status: Any,
        judgement: Judgement,
        outcome: Outcome,
        now: datetime,
        announced: tuple[Occurrence, ...] = (),
    ) -> Reported:
        """Write the status if it changed, and tell what changed."""
        settled = transitions.settle(
            judgement.notes,
            stored_conditions(item),
            item.metadata.generation,
            now,
            write_error=outcome.error,
        )
        status = msgspec.structs.replace(
            status, conditions=settled.conditions, observed_generation=item.metadata.generation
        )
        changed = status != item.status
        stored = await self.write_status(item, status) if changed else True
        if stored:
            news = changed or bool(outcome.writes)
            self.teller.tell(item, (*settled.occurrences, *(announced if news else ())))
        return Reported(stored, int(changed and stored))

    def look_again(self, walk: Walk[V], outcome: Outcome, stored: bool) -> float | None:
        """The earliest of all reasons to look again; raises PassFailed for what needs a growing pause."""
        decision = walk.judgement.decision
        if decision.retry is Retry.BACK_OFF:
            raise PassFailed(decision.cause)
        if outcome.error:
            raise PassFailed(outcome.error)
        reasons = (
            walk.plan.requeue_after.total_seconds() if walk.plan.requeue_after is not None else None,
            self.timings.recheck if decision.retry is Retry.SLOW_RECHECK else None,
            None if stored and not outcome.outrun else self.timings.conflict,
        )
        return min((seconds for seconds in reasons if seconds is not None), default=None)

    async def let_go(self, item: T) -> float | None:
        """Clean up after an object that is being deleted, then take our finalizers off."""
        left = plan.without_finalizers(item.metadata, *self.concept.finalizers)
        if not left.changed:
            return None
        if self.concept.cleanup:
            self.teller.wrote(await self.executor.clean_up(self.concept.cleanup(item, self.executor.cluster)))
        return await self.write_finalizers(item, left.wanted)

    async def write_finalizers(self, item: T, finalizers: tuple[str, ...]) -> float | None:
        """Set the finalizers of an object that nobody changed meanwhile; tells when to look again if somebody did."""
        change = {"metadata": {"resourceVersion": item.metadata.resource_version, "finalizers": finalizers}}
        try:
            answer = await self.executor.client.patch(
                self.concept.resource, item.metadata.key, change, msgspec.Raw, manager=self.concept.owner
            )
        except NotFound:
            return None
        except Conflict:
            return self.timings.conflict
        self.teller.wrote(1)
        if finalizers or not item.metadata.deletion_timestamp:
            self.informer.learn(answer)
        return None

    async def write_status(self, item: T, status: Status) -> bool:
        """Store the status; false if somebody else changed the object meanwhile."""
        manifest: Manifest = {
            "apiVersion": self.concept.resource.api_version,
            "kind": self.concept.resource.kind,
            "metadata": identity(item),
            "status": msgspec.to_builtins(status),
        }
        try:
            answer = await self.executor.client.replace(
                self.concept.resource, manifest, msgspec.Raw, manager=self.concept.owner, subresource="status"
            )
        except NotFound:
            return True
        except Conflict:
            return False
        self.informer.learn(answer)
        return True

    @cached_property
    def teller(self) -> Teller:
        return Teller(self.concept, self.recorder, self.timings.recurrence)

    @property
    def informer(self) -> Informer[T]:
        return self.concept.informer(self.executor.cluster)


def stored_conditions(item: AimObject) -> tuple[Condition, ...]:
    """The conditions of the last pass."""
    return item.status.conditions if item.status else ()


def identity(item: AimObject) -> Manifest:
    """Which object is meant, and in which version."""
    metadata = item.metadata
    named = {"name": metadata.name, "uid": metadata.uid, "resourceVersion": metadata.resource_version}
    return {**named, "namespace": metadata.namespace} if metadata.namespace else named
