"""The state engine: components in, conditions and overall status out. No other place writes conditions.

One pass goes

    components                     -> conditions.judge    -> notes, overall status, decision
    plan, if the decision allows   -> carried out         -> what went wrong, if anything
    notes, what went wrong         -> transitions.settle  -> conditions to store, occurrences to tell
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from aim_engine.api import reasons
from aim_engine.api.status import AIMStatus
from aim_engine.core.health import BAD, Component, rank
from aim_engine.core.problems import BLOCKING, FINAL, UNREACHABLE, Category, Problem
from aim_engine.core.transitions import PARENTS, Level, Note, Verdict, unreachable
from aim_engine.objects import Condition

GRACE: Final = timedelta(seconds=10)
"""How long a component that cannot be reached keeps the status it had."""

SERVICE_WORDS: Final[Mapping[AIMStatus, AIMStatus]] = {
    AIMStatus.PROGRESSING: AIMStatus.STARTING,
    AIMStatus.READY: AIMStatus.RUNNING,
    AIMStatus.NOT_AVAILABLE: AIMStatus.PENDING,
}
"""The common vocabulary in the words of an AIMService; the API server refuses any other there."""

_NO_TRANSLATION: Final[Mapping[AIMStatus, AIMStatus]] = {}


class Retry(StrEnum):
    """What to do about problems that no watch may ever tell the end of."""

    NONE = "none"
    SLOW_RECHECK = "slow re-check"
    BACK_OFF = "back-off"


class Decision(msgspec.Struct, frozen=True):
    """Whether the plan may be carried out, and whether to look again."""

    may_apply: bool
    retry: Retry
    cause: str = ""
    """Of a back-off, for the log."""


class Judgement(msgspec.Struct, frozen=True):
    """What a pass makes of its components."""

    status: AIMStatus
    notes: tuple[Note, ...]
    decision: Decision


def judge(
    components: Sequence[Component],
    stored: Sequence[Condition],
    now: datetime,
    *,
    extras: Sequence[Note] = (),
    words: Mapping[AIMStatus, AIMStatus] = _NO_TRANSLATION,
    grace: timedelta = GRACE,
) -> Judgement:
    """Say what is true of an object whose parts are these.

    `extras` are a kind's own conditions; one of the type of a component's condition takes its place.
    """
    before = {condition.type: condition for condition in stored}
    problems = [problem for component in components for problem in component.problems]
    in_grace = _in_grace(before.get(reasons.DEPENDENCIES_REACHABLE), now, grace)
    notes: dict[str, Note] = {}
    for note in (
        *_reachability(problems, before),
        *(_component_note(component, before, in_grace) for component in components),
        *_validity(problems, before),
        *extras,
    ):
        notes[note.type] = note
    states = {component.condition: component.word for component in components}
    words_of = [(note, _word(note, states)) for note in notes.values() if _enters_the_overall_status(note)]
    status, ready = _overall(words_of, problems)
    return Judgement(words.get(status, status), (*notes.values(), ready), decide(components))


def decide(components: Sequence[Component]) -> Decision:
    """Whether the plan may be carried out and what to retry, for kinds that write their own status."""
    everywhere = [(component, problem) for component in components for problem in component.problems]
    may_apply = not any(component.blocks and problem.category in BLOCKING for component, problem in everywhere)
    for component, problem in everywhere:
        if problem.category in UNREACHABLE:
            return Decision(may_apply, Retry.BACK_OFF, f"{component.name}: {problem.message}")
    waits = any(problem.category in FINAL - {Category.INVALID_SPEC} for _, problem in everywhere)
    return Decision(may_apply, Retry.SLOW_RECHECK if waits else Retry.NONE)


def _in_grace(reachable: Condition | None, now: datetime, grace: timedelta) -> bool:
    """Whether things have been out of reach for less than the grace period; they may be so only since now.

    A clock that was set back does not make it longer.
    """
    if reachable is None or reachable.status != "False" or reachable.last_transition_time is None:
        return True
    return abs(now - reachable.last_transition_time) < grace


def _reachability(problems: Sequence[Problem], before: Mapping[str, Condition]) -> list[Note]:
    if any(problem.category in UNREACHABLE for problem in problems):
        return [unreachable("Cannot reach dependencies")]
    return _recovered(before, reasons.DEPENDENCIES_REACHABLE, reasons.REACHABLE, "All dependencies are reachable")


def _validity(problems: Sequence[Problem], before: Mapping[str, Condition]) -> list[Note]:
    categories = {problem.category for problem in problems}
    if Category.AUTH in categories:
        auth = [_bad_parent(reasons.AUTH_VALID, *_FATAL[Category.AUTH])]
    else:
        auth = _recovered(
            before,
            reasons.AUTH_VALID,
            reasons.AUTHENTICATION_VALID,
            "Authentication and authorization successful",
        )
    wrong = next((c for c in (Category.INVALID_SPEC, Category.MISSING_UPSTREAM) if c in categories), None)
    if wrong:
        return [*auth, _bad_parent(reasons.CONFIG_VALID, *_FATAL[wrong])]
    return [
        *auth,
        *_recovered(before, reasons.CONFIG_VALID, reasons.CONFIGURATION_VALID, "Configuration is valid"),
    ]


def _bad_parent(name: str, reason: str, message: str) -> Note:
    return Note(type=name, status="False", reason=reason, message=message, level=Level.ERROR)


def _recovered(before: Mapping[str, Condition], name: str, reason: str, message: str) -> list[Note]:
    """A healthy object that never had the problem does not speak of it."""
    return [Note(type=name, status="True", reason=reason, message=message)] if name in before else []


def _component_note(component: Component, before: Mapping[str, Condition], in_grace: bool) -> Note:
    status: Verdict = "True" if component.effective_state is AIMStatus.READY else "False"
    previous = before.get(component.condition)
    if in_grace and previous and component.has(Category.INFRASTRUCTURE):
        status = previous.status
    return Note(
        type=component.condition,
        status=status,
        reason=component.effective_reason,
        message=component.effective_message,
        level=Level.ERROR if component.effective_state in BAD else Level.INFO,
    )


def _enters_the_overall_status(note: Note) -> bool:
    return note.counts and note.type.endswith(reasons.READY) and note.type not in (reasons.READY, *PARENTS)


def _word(note: Note, states: Mapping[str, AIMStatus]) -> AIMStatus:
    if note.status == "True":
        return AIMStatus.READY
    return note.word or states.get(note.type, AIMStatus.PROGRESSING)


_FATAL: Final = {
    Category.AUTH: (reasons.AUTH_ERROR, "Authentication or authorization failure"),
    Category.INVALID_SPEC: (reasons.INVALID_SPEC, "Configuration validation failed"),
    Category.MISSING_UPSTREAM: (reasons.REFERENCE_NOT_FOUND, "Referenced resource not found"),
}
"""What an object says when somebody has to act, most urgent first."""


def _overall(words: Sequence[tuple[Note, AIMStatus]], problems: Sequence[Problem]) -> tuple[AIMStatus, Note]:
    """The overall status and the Ready condition; both follow from the same facts."""
    categories = {problem.category for problem in problems}
    fatal = next((category for category in _FATAL if category in categories), None)
    if fatal:
        return AIMStatus.FAILED, _not_ready(*_FATAL[fatal], Level.ERROR)
    worst = min((word for _, word in words), key=rank, default=AIMStatus.READY)
    if worst is AIMStatus.READY:
        return worst, Note(
            type=reasons.READY,
            status="True",
            reason=reasons.ALL_COMPONENTS_READY,
            message="All components are ready",
        )
    unreachable = bool(categories & UNREACHABLE)
    return AIMStatus.DEGRADED if unreachable else worst, _cause(words, unreachable)


def _cause(words: Sequence[tuple[Note, AIMStatus]], unreachable: bool) -> Note:
    culprit = next((note for note, word in words if word in BAD), None)
    if culprit:
        name = culprit.type.removesuffix(reasons.READY)
        return _not_ready(culprit.reason, f"Component {name} is not ready: {culprit.message}", Level.ERROR)
    if unreachable:
        return _not_ready(reasons.INFRASTRUCTURE_ERROR, "Infrastructure error - waiting for retry", Level.ERROR)
    return _not_ready(reasons.PROGRESSING, "Waiting for components to become ready", Level.INFO)


def _not_ready(reason: str, message: str, level: Level) -> Note:
    return Note(type=reasons.READY, status="False", reason=reason, message=message, level=level)
