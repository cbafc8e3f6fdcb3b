"""Tells what passes found: Events for users, and lines in the log.

A condition that changed is told at once. One that stays wrong is told to the log in every pass, and to users once in a
while: of all that is wrong with an object, the most telling one.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import structlog

from aim_engine.api import reasons
from aim_engine.controllers.concept import AimObject, Concept
from aim_engine.core.transitions import PARENTS, Occurrence
from aim_engine.kube.events import Recorder, Reference
from aim_engine.objects import Key

log = structlog.get_logger("pipeline")

GENERAL = (reasons.READY, *PARENTS)
"""Conditions that only sum up what others say in detail."""


Subject: TypeAlias = tuple[str, str]
LASTING: Final[Subject] = ("", "")
"""All conditions of an object that stay wrong, as one subject; every remark is one of its own."""


class Heard(NamedTuple):
    """When users heard of what about an object."""

    uid: str
    times: dict[Subject, float]


@dataclass(frozen=True)
class Teller:
    """Speaks for one concept."""

    concept: Concept[Any, Any, Any]
    recorder: Recorder
    pause: float
    """Seconds in which what stays wrong with an object becomes at most one Event, and so does a remark that stays."""
    clock: Callable[[], float] = time.monotonic
    heard: dict[Key, Heard] = field(default_factory=dict[Key, Heard])

    def tell(self, item: AimObject, occurrences: Sequence[Occurrence]) -> None:
        """Events for users, and a line in the log for each condition that changed or is wrong."""
        for one in occurrences:
            line = log.info if one.type == "Normal" else log.error
            about = {"condition": one.condition, "status": one.status, "reason": one.reason}
            line(one.message, **{name: value for name, value in about.items() if value})
        if self.concept.tells:
            for one in self.for_users(item, occurrences):
                self.recorder.record(self.concept.owner, self.reference(item), one.type, one.reason, one.message)

    def wrote(self, writes: int) -> None:
        """A line in the log for a pass that did something."""
        if writes:
            log.info("reconciled", writes=writes)

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self.heard.pop(key, None)

    def for_users(self, item: AimObject, occurrences: Sequence[Occurrence]) -> list[Occurrence]:
        """What is worth an Event now: all that is new, and of what lasts as much as the pause allows."""
        key, uid, now = item.metadata.key, item.metadata.uid, self.clock()
        before = self.heard.get(key)
        times = before.times if before and before.uid == uid else {}
        news = [one for one in occurrences if one.condition and not one.recurring]
        lasting = [one for one in occurrences if one.condition and one.recurring]
        remarks = {(one.reason, one.message): one for one in occurrences if not one.condition}
        due = {subject for subject in (LASTING, *remarks) if now - times.get(subject, -math.inf) >= self.pause}
        told = [*news, *(one for subject, one in remarks.items() if subject in due)]
        if lasting and not news and LASTING in due:
            told.append(next((one for one in lasting if one.condition not in GENERAL), lasting[0]))
        wrong = [LASTING] if lasting or any(one.type == "Warning" for one in news) else []
        fresh = {*due, LASTING} if news else due
        self.forget(key)
        if wrong or remarks:
            self.heard[key] = Heard(uid, {one: now if one in fresh else times[one] for one in (*wrong, *remarks)})
        return told

    def reference(self, item: AimObject) -> Reference:
        """The object as Events name it."""
        resource, metadata = self.concept.resource, item.metadata
        return Reference(resource.api_version, resource.kind, metadata.namespace, metadata.name, metadata.uid)
