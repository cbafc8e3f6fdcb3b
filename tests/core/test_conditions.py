"""What users read in status and conditions, from what the parts of the world report."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from aim_engine.api.status import AIMStatus
from aim_engine.core import conditions
from aim_engine.core.conditions import Decision, Judgement, Retry
from aim_engine.core.health import Component
from aim_engine.core.problems import Category, Dependency, Problem
from aim_engine.core.transitions import Level, Note
from aim_engine.objects import Condition

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
Row = tuple[str, str, str, str]


def broken(category: Category) -> Problem:
    return Problem(category, f"{category}Reason", f"{category} message")


def part(name: str = "Part", *categories: Category, state: AIMStatus | None = None, **fields: object) -> Component:
    problems = tuple(broken(category) for category in categories)
    return Component(name=name, state=state, problems=problems, **fields)


def judged(*components: Component, stored: Sequence[Condition] = (), **options: object) -> Judgement:
    return conditions.judge(components, stored, NOW, **options)


def row(judgement: Judgement, condition: str) -> Row | None:
    return next(((n.type, n.status, n.reason, n.message) for n in judgement.notes if n.type == condition), None)


def condition(name: str, status: str = "True", reason: str = "Ready", ago: float = 3600) -> Condition:
    since = NOW - timedelta(seconds=ago)
    return Condition(type=name, status=status, reason=reason, message="", last_transition_time=since)


READY = part(state=AIMStatus.READY)


@pytest.mark.parametrize(
    ("components", "status", "ready"),
    [
        pytest.param([READY], "Ready", ("True", "AllComponentsReady", "All components are ready"), id="all are ready"),
        pytest.param([], "Ready", ("True", "AllComponentsReady", "All components are ready"), id="nothing to wait for"),
        pytest.param(
            [READY, part("Job", state=AIMStatus.PROGRESSING)],
            "Progressing",
            ("False", "Progressing", "Waiting for components to become ready"),
            id="one is on its way",
        ),
        pytest.param(
            [part("Model", state=AIMStatus.PROGRESSING, dependency=Dependency.UPSTREAM)],
            "Pending",
            ("False", "Progressing", "Waiting for components to become ready"),
            id="what the user refers to is on its way",
        ),
        pytest.param(
            [part("Pods", state=AIMStatus.STARTING, dependency=Dependency.DOWNSTREAM)],
            "Progressing",
            ("False", "Progressing", "Waiting for components to become ready"),
            id="starting counts as progressing",
        ),
        pytest.param(
            [part("GPU", state=AIMStatus.NOT_AVAILABLE, reason="GPUNotAvailable", message="no GPU")],
            "NotAvailable",
            ("False", "GPUNotAvailable", "Component GPU is not ready: no GPU"),
            id="hardware is missing",
        ),
        pytest.param(
            [
                part("A", state=AIMStatus.PENDING),
                part("B", state=AIMStatus.DEGRADED, reason="BReason", message="b"),
                part("C", state=AIMStatus.FAILED, reason="CReason", message="c"),
            ],
            "Failed",
            ("False", "BReason", "Component B is not ready: b"),
            id="the worst gives the status, the first bad one the reason",
        ),
        pytest.param(
            [part("A", Category.INVALID_SPEC), part("B", Category.AUTH), part("C", Category.MISSING_UPSTREAM)],
            "Failed",
            ("False", "AuthError", "Authentication or authorization failure"),
            id="auth comes before everything",
        ),
        pytest.param(
            [part("A", Category.MISSING_UPSTREAM), part("B", Category.INVALID_SPEC)],
            "Failed",
            ("False", "InvalidSpec", "Configuration validation failed"),
            id="an invalid spec comes before a missing reference",
        ),
        pytest.param(
            [part("A", Category.MISSING_UPSTREAM)],
            "Failed",
            ("False", "ReferenceNotFound", "Referenced resource not found"),
            id="a degraded component, a failed object: a missing reference",
        ),
        pytest.param(
            [part("A", Category.INFRASTRUCTURE)],
            "Degraded",
            ("False", "InfrastructureReason", "Component A is not ready: Infrastructure message"),
            id="infrastructure",
        ),
        pytest.param(
            [part("A", Category.UNKNOWN)],
            "Degraded",
            ("False", "InfrastructureError", "Infrastructure error - waiting for retry"),
            id="unknown errors count as infrastructure, without a culprit",
        ),
        pytest.param(
            [part("A", Category.INFRASTRUCTURE), part("B", state=AIMStatus.FAILED, reason="BReason")],
            "Degraded",
            ("False", "InfrastructureReason", "Component A is not ready: Infrastructure message"),
            id="infrastructure lowers a failed object to degraded, it may only look so",
        ),
        pytest.param(
            [part("A", Category.MISSING_DOWNSTREAM)],
            "Progressing",
            ("False", "Progressing", "Waiting for components to become ready"),
            id="not made yet",
        ),
        pytest.param(
            [part("A", Category.RESOURCE_EXHAUSTION)],
            "Failed",
            ("False", "ResourceExhaustionReason", "Component A is not ready: ResourceExhaustion message"),
            id="out of memory or space",
        ),
    ],
)
def test_overall_status_and_ready(components: list[Component], status: str, ready: tuple[str, str, str]) -> None:
    judgement = judged(*components)
    assert judgement.status == status
    assert row(judgement, "Ready") == ("Ready", *ready)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(AIMStatus.READY, "Running", id="ready is running"),
        pytest.param(AIMStatus.PROGRESSING, "Starting", id="progressing is starting"),
        pytest.param(AIMStatus.NOT_AVAILABLE, "Pending", id="not available is pending"),
        pytest.param(AIMStatus.DEGRADED, "Degraded", id="others stay"),
    ],
)
def test_a_service_has_words_of_its_own(state: AIMStatus, expected: str) -> None:
    assert judged(part(state=state), words=conditions.SERVICE_WORDS).status == expected


def test_every_state_but_ready_makes_a_component_condition_false() -> None:
    for state in AIMStatus:
        expected = "True" if state is AIMStatus.READY else "False"
        assert judged(part("X", state=state)).notes[0].status == expected


PARENTS = ("DependenciesReachable", "AuthValid", "ConfigValid")


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        pytest.param(
            Category.INFRASTRUCTURE,
            ("DependenciesReachable", "False", "InfrastructureError", "Cannot reach dependencies"),
            id="infrastructure",
        ),
        pytest.param(
            Category.UNKNOWN,
            ("DependenciesReachable", "False", "InfrastructureError", "Cannot reach dependencies"),
            id="unknown",
        ),
        pytest.param(
            Category.AUTH,
            ("AuthValid", "False", "AuthError", "Authentication or authorization failure"),
            id="auth",
        ),
        pytest.param(
            Category.INVALID_SPEC,
            ("ConfigValid", "False", "InvalidSpec", "Configuration validation failed"),
            id="invalid spec",
        ),
        pytest.param(
            Category.MISSING_UPSTREAM,
            ("ConfigValid", "False", "ReferenceNotFound", "Referenced resource not found"),
            id="missing reference",
        ),
        pytest.param(Category.MISSING_DOWNSTREAM, None, id="not made yet is nobody's fault"),
        pytest.param(Category.RESOURCE_EXHAUSTION, None, id="exhaustion shows on the component only"),
    ],
)
def test_parent_condition_of_a_category(category: Category, expected: Row | None) -> None:
    judgement = judged(part("A", category))
    assert [row(judgement, parent) for parent in PARENTS if row(judgement, parent)] == ([expected] if expected else [])


def test_a_healthy_object_never_speaks_of_parents() -> None:
    assert [note.type for note in judged(READY).notes] == ["PartReady", "Ready"]


def test_parents_turn_true_on_recovery_and_stay() -> None:
    stored = [condition(parent, "False", "X") for parent in PARENTS]
    recovered = judged(READY, stored=stored)
    assert [row(recovered, parent) for parent in PARENTS] == [
        ("DependenciesReachable", "True", "Reachable", "All dependencies are reachable"),
        ("AuthValid", "True", "AuthenticationValid", "Authentication and authorization successful"),
        ("ConfigValid", "True", "ConfigurationValid", "Configuration is valid"),
    ]
    assert judged(READY, stored=[condition(parent) for parent in PARENTS]).notes == recovered.notes


@pytest.mark.parametrize(
    ("unreachable_for", "category", "component", "status"),
    [
        pytest.param(None, Category.INFRASTRUCTURE, "True", "Ready", id="just now"),
        pytest.param(9.9, Category.INFRASTRUCTURE, "True", "Ready", id="still inside the grace period"),
        pytest.param(10, Category.INFRASTRUCTURE, "False", "Degraded", id="grace is over at its end"),
        pytest.param(-3600, Category.INFRASTRUCTURE, "False", "Degraded", id="a clock set back does not prolong it"),
        pytest.param(None, Category.UNKNOWN, "False", "Degraded", id="unknown errors get no grace"),
    ],
)
def test_a_ready_object_stays_ready_for_a_while(
    unreachable_for: float | None, category: Category, component: str, status: str
) -> None:
    stored = [condition("PartReady"), condition("Ready")]
    if unreachable_for is not None:
        stored.append(condition("DependenciesReachable", "False", "InfrastructureError", ago=unreachable_for))
    judgement = judged(part("Part", category), stored=stored)
    assert row(judgement, "PartReady") == ("PartReady", component, f"{category}Reason", f"{category} message")
    assert row(judgement, "DependenciesReachable") is not None
    assert judgement.status == status


def test_an_object_that_was_not_ready_is_degraded_at_once() -> None:
    stored = [condition("PartReady", "False", "Progressing")]
    assert judged(part("Part", Category.INFRASTRUCTURE), stored=stored).status == "Degraded"


def test_grace_keeps_only_the_components_that_cannot_be_reached() -> None:
    stored = [condition("AReady"), condition("BReady")]
    judgement = judged(part("A", Category.INFRASTRUCTURE), part("B", state=AIMStatus.FAILED), stored=stored)
    assert [note.status for note in judgement.notes if note.type in ("AReady", "BReady")] == ["True", "False"]


@pytest.mark.parametrize(
    ("components", "expected"),
    [
        pytest.param([READY], Decision(True, Retry.NONE), id="healthy"),
        pytest.param([part("A", Category.MISSING_DOWNSTREAM)], Decision(True, Retry.NONE), id="not made yet"),
        pytest.param([part("A", Category.RESOURCE_EXHAUSTION)], Decision(True, Retry.NONE), id="exhaustion"),
        pytest.param(
            [part("A", Category.INVALID_SPEC)], Decision(False, Retry.NONE), id="invalid spec waits for an edit"
        ),
        pytest.param([part("A", Category.AUTH)], Decision(False, Retry.SLOW_RECHECK), id="auth"),
        pytest.param(
            [part("A", Category.MISSING_UPSTREAM)], Decision(False, Retry.SLOW_RECHECK), id="missing reference"
        ),
        pytest.param(
            [part("A", Category.AUTH), part("B", Category.INFRASTRUCTURE)],
            Decision(False, Retry.BACK_OFF, "B: Infrastructure message"),
            id="infrastructure among others backs off",
        ),
        pytest.param(
            [part("A", Category.UNKNOWN)], Decision(False, Retry.BACK_OFF, "A: Unknown message"), id="unknown"
        ),
        pytest.param(
            [part("Pods", Category.AUTH, blocks=False)],
            Decision(True, Retry.SLOW_RECHECK),
            id="a component that does not block lets the repair through",
        ),
        pytest.param(
            [part("Pods", Category.INFRASTRUCTURE, blocks=False)],
            Decision(True, Retry.BACK_OFF, "Pods: Infrastructure message"),
            id="it is retried all the same",
        ),
    ],
)
def test_decision(components: list[Component], expected: Decision) -> None:
    assert judged(*components).decision == expected == conditions.decide(components)


def note(name: str, status: str = "False", **fields: object) -> Note:
    return Note(type=name, status=status, reason="Mine", **fields)


@pytest.mark.parametrize(
    ("extra", "status"),
    [
        pytest.param(note("DownloadComplete"), "Ready", id="only types that end in Ready count"),
        pytest.param(note("CacheReady", counts=False), "Ready", id="one that is not to count does not"),
        pytest.param(note("CacheReady"), "Progressing", id="a false one counts as on the way"),
        pytest.param(note("CacheReady", word=AIMStatus.DEGRADED), "Degraded", id="one with a word of its own"),
        pytest.param(note("CacheReady", "True", word=AIMStatus.DEGRADED), "Ready", id="a true one is ready"),
    ],
)
def test_conditions_of_a_kind_enter_the_overall_status(extra: Note, status: str) -> None:
    judgement = judged(READY, extras=[extra])
    assert judgement.status == status
    assert extra in judgement.notes


def test_a_condition_of_a_kind_takes_the_place_of_its_component() -> None:
    failed = part("Artifacts", state=AIMStatus.FAILED)
    judgement = judged(failed, READY, extras=[note("ArtifactsReady", message="2 of 3")])
    assert [n.type for n in judgement.notes] == ["ArtifactsReady", "PartReady", "Ready"]
    assert row(judgement, "ArtifactsReady") == ("ArtifactsReady", "False", "Mine", "2 of 3")
    assert (judgement.status, row(judgement, "Ready")) == (
        "Failed",
        ("Ready", "False", "Mine", "Component Artifacts is not ready: 2 of 3"),
    )


def test_stale_conditions_do_not_count() -> None:
    assert judged(READY, stored=[condition("GoneReady", "False")]).status == "Ready"


def test_levels_follow_from_state() -> None:
    judgement = judged(part("A", state=AIMStatus.DEGRADED), part("B", state=AIMStatus.PENDING), READY)
    assert [(n.type, n.level) for n in judgement.notes] == [
        ("AReady", Level.ERROR),
        ("BReady", Level.INFO),
        ("PartReady", Level.INFO),
        ("Ready", Level.ERROR),
    ]
