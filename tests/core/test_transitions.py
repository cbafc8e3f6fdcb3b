"""When times move, when users hear of it, and what never reaches them."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aim_engine.api.status import AIMStatus
from aim_engine.core import conditions, transitions
from aim_engine.core.health import Component
from aim_engine.core.problems import Category, Problem
from aim_engine.core.transitions import Level, Note, Settled
from aim_engine.objects import Condition

THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOW = datetime(2026, 1, 2, 3, 10, 0, 999_000, tzinfo=UTC)


def note(name: str = "PartReady", status: str = "True", reason: str = "Ready", **fields: object) -> Note:
    return Note(type=name, status=status, reason=reason, **fields)


def stored(name: str = "PartReady", status: str = "True", reason: str = "Ready", message: str = "") -> Condition:
    return Condition(
        type=name,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=THEN,
        observed_generation=1,
    )


def settled(notes: Sequence[Note], before: Sequence[Condition] = (), **options: str) -> Settled:
    return transitions.settle(notes, before, 2, NOW, **options)


@pytest.mark.parametrize(
    ("before", "moves"),
    [
        pytest.param([], True, id="a new condition"),
        pytest.param([stored(status="False")], True, id="another status"),
        pytest.param([stored(reason="Other")], True, id="another reason"),
        pytest.param([stored(message="old words")], False, id="another message only"),
        pytest.param([stored()], False, id="nothing changed"),
    ],
)
def test_the_time_moves_with_status_and_reason_only(before: list[Condition], moves: bool) -> None:
    result = settled([note(message="new words")], before)
    assert result.conditions[0].last_transition_time == (NOW.replace(microsecond=0) if moves else THEN)
    assert bool(result.occurrences) is moves
    assert (result.conditions[0].message, result.conditions[0].observed_generation) == ("new words", 2)


def test_conditions_stay_where_they_first_appeared_and_new_ones_follow() -> None:
    result = settled([note("AReady"), note("BReady"), note("Ready")], [stored("Ready"), stored("AReady")])
    assert [condition.type for condition in result.conditions] == ["Ready", "AReady", "BReady"]


def test_what_nobody_spoke_of_goes_if_it_was_a_component_and_stays_otherwise() -> None:
    before = [stored("GoneReady"), stored("DownloadComplete"), stored("AuthValid")]
    result = settled([note("Ready")], before)
    assert [condition.type for condition in result.conditions] == ["DownloadComplete", "AuthValid", "Ready"]
    assert result.conditions[0] == before[1]
    assert [occurrence.condition for occurrence in result.occurrences] == ["Ready"]


@pytest.mark.parametrize(
    ("level", "on_transition", "afterwards"),
    [
        pytest.param(Level.INFO, "Normal", None, id="info once"),
        pytest.param(Level.WARNING, "Warning", None, id="warning once"),
        pytest.param(Level.ERROR, "Warning", "Warning", id="error again and again"),
        pytest.param(Level.SILENT, None, None, id="silent never"),
    ],
)
def test_events_by_level(level: Level, on_transition: str | None, afterwards: str | None) -> None:
    first = settled([note(level=level, message="m")]).occurrences
    again = settled([note(level=level, message="m")], [stored(message="m")]).occurrences
    assert [(event.type, event.recurring) for event in first] == ([(on_transition, False)] if on_transition else [])
    assert [(event.type, event.recurring) for event in again] == ([(afterwards, True)] if afterwards else [])


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param("True", "RuntimeConfig is ready: ConfigFound", id="true"),
        pytest.param("False", "RuntimeConfig is not ready: ConfigFound", id="false"),
        pytest.param("Unknown", "RuntimeConfig status unknown: ConfigFound", id="unknown"),
    ],
)
def test_an_event_without_a_message_is_told_in_words(status: str, expected: str) -> None:
    event = settled([note("RuntimeConfigReady", status, "ConfigFound")]).occurrences[0]
    assert (event.reason, event.message) == ("ConfigFound", expected)


def test_a_failed_write_shows_after_the_fact_and_leaves_ready_alone() -> None:
    before = [stored("Ready"), stored("DependenciesReachable", "True", "Reachable")]
    notes = [note("DependenciesReachable", "True", "Reachable"), note("Ready")]
    result = settled(notes, before, write_error="Failed to apply resources: configmaps is forbidden")
    assert [(c.type, c.status, c.reason, c.message) for c in result.conditions] == [
        ("Ready", "True", "Ready", ""),
        (
            "DependenciesReachable",
            "False",
            "InfrastructureError",
            "Failed to apply resources: configmaps is forbidden",
        ),
    ]


def test_a_write_that_fails_twice_keeps_its_time() -> None:
    first = settled([note("Ready")], write_error="Failed to apply resources: x").conditions
    later = transitions.settle(
        [note("Ready")], first, 2, NOW + timedelta(hours=1), write_error="Failed to apply resources: y"
    )
    assert [condition.last_transition_time for condition in later.conditions] == [NOW.replace(microsecond=0)] * 2


def test_credentials_reach_neither_conditions_nor_events() -> None:
    result = settled([note(message="401 for hf_abcdefghijklmnopqrstuvwxyz", level=Level.ERROR)])
    assert result.conditions[0].message == result.occurrences[0].message == "401 for hf_***"


def test_a_huge_message_is_cut() -> None:
    assert len(settled([note(message="x" * 100_000)]).conditions[0].message) == 32768


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        pytest.param("BackendNotFound", "BackendNotFound", id="good"),
        pytest.param("", "Unknown", id="empty"),
        pytest.param("404 Not Found", "Not_Found", id="blanks and digits in front"),
        pytest.param("A:", "A", id="must not end in a colon"),
        pytest.param("x" * 2000, "x" * 1024, id="too long"),
    ],
)
def test_foreign_reasons_are_made_acceptable(reason: str, expected: str) -> None:
    assert transitions.presentable_reason(reason) == expected


@given(st.text(max_size=40))
def test_any_reason_becomes_one_the_api_server_accepts(reason: str) -> None:
    assert re.fullmatch(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", transitions.presentable_reason(reason))


COMPONENTS = st.lists(
    st.builds(
        Component,
        name=st.sampled_from(["A", "B", "C", "D"]),
        state=st.one_of(st.none(), st.sampled_from(AIMStatus)),
        reason=st.sampled_from(["", "R1", "R2"]),
        message=st.text(max_size=10),
        problems=st.lists(
            st.builds(Problem, st.sampled_from(Category), st.just("P"), st.text(max_size=5)), max_size=2
        ).map(tuple),
    ),
    unique_by=lambda component: component.name,
    max_size=4,
)


def a_pass(components: Sequence[Component], before: Sequence[Condition], now: datetime) -> Settled:
    judgement = conditions.judge(components, before, now)
    return transitions.settle(judgement.notes, before, 7, now)


@given(COMPONENTS, COMPONENTS)
def test_an_unchanged_world_changes_nothing_and_only_errors_recur(
    earlier: list[Component], components: list[Component]
) -> None:
    before = a_pass(earlier, (), THEN).conditions
    first = a_pass(components, before, NOW)
    second = a_pass(components, first.conditions, NOW + timedelta(seconds=1))
    third = a_pass(components, second.conditions, NOW + timedelta(hours=1))
    fourth = a_pass(components, third.conditions, NOW + timedelta(hours=2))
    assert second.conditions == first.conditions
    assert fourth.conditions == third.conditions
    assert all(event.recurring and event.type == "Warning" for event in (*second.occurrences, *fourth.occurrences))


@given(COMPONENTS)
def test_recovery_leaves_only_true_conditions(components: list[Component]) -> None:
    before = a_pass(components, (), THEN).conditions
    healthy = [Component(name=component.name) for component in components]
    after = a_pass(healthy, before, NOW).conditions
    assert {condition.status for condition in after} == {"True"}
    assert {condition.type for condition in before} == {condition.type for condition in after}
