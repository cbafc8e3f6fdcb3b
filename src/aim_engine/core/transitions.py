"""From what is true now to what is stored and told: conditions keep their times, users hear of changes.

What a pass says is compared with what is stored exactly once, so that a condition's time moves only when its status or
reason does, and a pass over an unchanged world changes nothing.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, TypeAlias

import msgspec

from aim_engine.api import reasons
from aim_engine.api.status import AIMStatus
from aim_engine.core import masking
from aim_engine.objects import Condition

Verdict: TypeAlias = Literal["True", "False", "Unknown"]

PARENTS: Final = (reasons.DEPENDENCIES_REACHABLE, reasons.AUTH_VALID, reasons.CONFIG_VALID)
"""Conditions about a whole category of problems; they appear with the first one and stay."""

_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASON_LIMIT = 1024


class Level(StrEnum):
    """How loudly a condition is told: once, once as a warning, again and again, or not at all."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    SILENT = "silent"


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """What one condition says in this pass."""

    type: str
    status: Verdict
    reason: str
    message: str = ""
    level: Level = Level.INFO
    word: AIMStatus | None = None
    """What it contributes to the overall status while it is not True; the component's word, or else Progressing."""
    counts: bool = True
    """False keeps it out of the overall status."""


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """Something worth an Event and a line in the log: what a condition says, or a remark of its own."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    condition: str = ""
    status: Verdict | None = None
    recurring: bool = True
    """It may have been told before; the recorder counts it or drops it."""


class Settled(msgspec.Struct, frozen=True):
    """Conditions to store, and what to tell."""

    conditions: tuple[Condition, ...]
    occurrences: tuple[Occurrence, ...]


def unreachable(message: str) -> Note:
    """Something the operator needs does not answer, or refuses what it is given."""
    return Note(
        type=reasons.DEPENDENCIES_REACHABLE,
        status="False",
        reason=reasons.INFRASTRUCTURE_ERROR,
        message=message,
        level=Level.ERROR,
    )


def settle(
    notes: Sequence[Note], stored: Sequence[Condition], generation: int, now: datetime, *, write_error: str = ""
) -> Settled:
    """Compare what is true now with what is stored; `write_error` tells that applying or deleting failed."""
    told = {note.type: _presentable(note) for note in notes}
    if write_error:
        told[reasons.DEPENDENCIES_REACHABLE] = _presentable(unreachable(write_error))
    before = {condition.type: condition for condition in stored}
    kept = [condition.type for condition in stored if condition.type in told or not _is_stale(condition.type)]
    order = [*kept, *(name for name in told if name not in before)]
    conditions = tuple(
        _condition(told[name], before.get(name), generation, now) if name in told else before[name] for name in order
    )
    occurrences = (_occurrence(note, before.get(note.type)) for note in told.values())
    return Settled(conditions, tuple(occurrence for occurrence in occurrences if occurrence))


def _presentable(note: Note) -> Note:
    """Fit for the API server and for everybody's eyes."""
    return msgspec.structs.replace(note, reason=presentable_reason(note.reason), message=masking.message(note.message))


def presentable_reason(reason: str) -> str:
    """A reason the API server accepts; foreign ones may be empty or hold anything."""
    if _REASON.fullmatch(reason) and len(reason) <= _REASON_LIMIT:
        return reason
    cleaned = re.sub(r"[^A-Za-z0-9_,:]", "_", reason)[:_REASON_LIMIT]
    cleaned = re.sub(r"^[^A-Za-z]+|[^A-Za-z0-9_]+$", "", cleaned)
    return cleaned or "Unknown"


def _is_stale(name: str) -> bool:
    """Whether a condition nobody spoke of in this pass is to go: components are reported in every pass they exist."""
    return name.endswith(reasons.READY) and name not in PARENTS


def _changed(note: Note, before: Condition | None) -> bool:
    return before is None or (before.status, before.reason) != (note.status, note.reason)


def _condition(note: Note, before: Condition | None, generation: int, now: datetime) -> Condition:
    since = before.last_transition_time if before and not _changed(note, before) else None
    return Condition(
        type=note.type,
        status=note.status,
        reason=note.reason,
        message=note.message,
        last_transition_time=since or now.replace(microsecond=0),
        observed_generation=generation,
    )


_HEALTH_WORDS: Final = {"True": "is ready", "False": "is not ready", "Unknown": "status unknown"}


def _occurrence(note: Note, before: Condition | None) -> Occurrence | None:
    changed = _changed(note, before)
    if note.level is Level.SILENT or not (changed or note.level is Level.ERROR):
        return None
    name = note.type.removesuffix(reasons.READY)
    return Occurrence(
        type="Normal" if note.level is Level.INFO else "Warning",
        reason=note.reason,
        message=note.message or f"{name} {_HEALTH_WORDS[note.status]}: {note.reason}",
        condition=note.type,
        status=note.status,
        recurring=not changed,
    )
