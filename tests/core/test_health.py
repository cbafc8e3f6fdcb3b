"""What a component says when it leaves things out."""

import pytest

from aim_engine.api.status import AIMStatus
from aim_engine.core import health
from aim_engine.core.health import Component
from aim_engine.core.problems import Category, Dependency, Failure, Problem


def broken(*categories: Category) -> tuple[Problem, ...]:
    return tuple(Problem(category, f"{category}Reason", f"{category} message") for category in categories)


@pytest.mark.parametrize(
    ("categories", "expected"),
    [
        pytest.param((), AIMStatus.READY, id="no problem"),
        pytest.param((Category.AUTH,), AIMStatus.FAILED, id="auth"),
        pytest.param((Category.INVALID_SPEC,), AIMStatus.FAILED, id="invalid spec"),
        pytest.param((Category.RESOURCE_EXHAUSTION,), AIMStatus.FAILED, id="out of memory or space"),
        pytest.param((Category.MISSING_UPSTREAM,), AIMStatus.DEGRADED, id="missing reference"),
        pytest.param((Category.INFRASTRUCTURE,), AIMStatus.DEGRADED, id="infrastructure"),
        pytest.param((Category.MISSING_DOWNSTREAM,), AIMStatus.PROGRESSING, id="not made yet"),
        pytest.param((Category.UNKNOWN,), AIMStatus.PROGRESSING, id="unknown"),
        pytest.param(
            (Category.UNKNOWN, Category.INFRASTRUCTURE, Category.AUTH), AIMStatus.FAILED, id="the worst counts"
        ),
    ],
)
def test_state_follows_from_problems(categories: tuple[Category, ...], expected: AIMStatus) -> None:
    assert Component(name="X", problems=broken(*categories)).effective_state is expected


def test_a_given_state_wins_over_problems() -> None:
    assert (
        Component(name="X", state=AIMStatus.PENDING, problems=broken(Category.AUTH)).effective_state
        is AIMStatus.PENDING
    )


def test_reason_and_message_come_from_the_first_problem_unless_given() -> None:
    problems = broken(Category.UNKNOWN, Category.AUTH)
    silent = Component(name="X", problems=problems)
    assert (silent.effective_reason, silent.effective_message) == ("UnknownReason", "Unknown message")
    spoken = Component(name="X", reason="Mine", message="my words", problems=problems)
    assert (spoken.effective_reason, spoken.effective_message) == ("Mine", "my words")
    assert (Component(name="X").effective_reason, Component(name="X").effective_message) == ("Ready", "")


@pytest.mark.parametrize(
    ("state", "dependency", "expected"),
    [
        pytest.param(AIMStatus.STARTING, Dependency.DOWNSTREAM, AIMStatus.PROGRESSING, id="starting downstream"),
        pytest.param(AIMStatus.PROGRESSING, Dependency.UPSTREAM, AIMStatus.PENDING, id="upstream on its way: we wait"),
        pytest.param(AIMStatus.PROGRESSING, Dependency.UNSPECIFIED, AIMStatus.PROGRESSING, id="unspecified on its way"),
        pytest.param(AIMStatus.PENDING, Dependency.DOWNSTREAM, AIMStatus.PENDING, id="pending stays"),
        pytest.param(AIMStatus.NOT_AVAILABLE, Dependency.UPSTREAM, AIMStatus.NOT_AVAILABLE, id="not available stays"),
        pytest.param(AIMStatus.READY, Dependency.UPSTREAM, AIMStatus.READY, id="ready"),
    ],
)
def test_word_for_the_overall_status(state: AIMStatus, dependency: Dependency, expected: AIMStatus) -> None:
    assert Component(name="X", state=state, dependency=dependency).word is expected


def test_statuses_rank_from_failed_to_running_and_none_is_as_bad_as_failed() -> None:
    assert [health.rank(status) for status in health.WORST_FIRST] == list(range(8))
    assert health.rank(None) == 0


def test_an_unreadable_object_is_a_component_with_a_problem() -> None:
    component = health.of_failed_fetch("Model", Failure(text="", status=404), Dependency.UPSTREAM)
    assert component.condition == "ModelReady"
    assert (component.effective_state, component.effective_reason) == (AIMStatus.DEGRADED, "ReferenceNotFound")
