"""Users hear of changes at once, and of what stays wrong once in five minutes."""

from typing import Any

from tests.controllers.stage import concept

from aim_engine.api.artifact import AIMArtifact
from aim_engine.controllers.telling import Teller
from aim_engine.core.transitions import Occurrence
from aim_engine.objects import Key, ObjectMeta

WEIGHTS = AIMArtifact(metadata=ObjectMeta(name="weights", namespace="team", uid="u"))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def teller(clock: Clock) -> Teller:
    unused: Any = None
    return Teller(concept(), unused, pause=300.0, clock=clock)


def wrong(condition: str, *, recurring: bool) -> Occurrence:
    return Occurrence(
        type="Warning",
        reason="ConfigNotFound",
        message=condition,
        condition=condition,
        status="False",
        recurring=recurring,
    )


FAILS = [wrong(condition, recurring=False) for condition in ("ConfigValid", "RuntimeConfigReady", "Ready")]
STILL_FAILS = [wrong(condition, recurring=True) for condition in ("ConfigValid", "RuntimeConfigReady", "Ready")]


def told(speaker: Teller, *occurrences: Occurrence) -> list[str]:
    return [one.message for one in speaker.for_users(WEIGHTS, occurrences)]


def test_what_stays_wrong_is_told_once_in_five_minutes_by_its_most_telling_condition() -> None:
    clock = Clock()
    speaker = teller(clock)
    assert told(speaker, *FAILS) == ["ConfigValid", "RuntimeConfigReady", "Ready"]
    heard: list[tuple[float, str]] = []
    while clock.now < 3600:
        clock.now += 10
        heard += [(clock.now, message) for message in told(speaker, *STILL_FAILS)]
    assert heard == [(300.0 * number, "RuntimeConfigReady") for number in range(1, 13)]


def test_after_a_restart_what_is_wrong_is_told_once() -> None:
    speaker = teller(Clock())
    assert told(speaker, *STILL_FAILS) == ["RuntimeConfigReady"]
    assert told(speaker, *STILL_FAILS) == []


def test_a_change_is_told_at_once_whatever_was_told_before() -> None:
    speaker = teller(Clock())
    told(speaker, *STILL_FAILS)
    news = Occurrence(type="Normal", reason="Found", message="found", condition="Ready", status="True", recurring=False)
    assert told(speaker, news) == ["found"]
    assert told(speaker, *FAILS) == ["ConfigValid", "RuntimeConfigReady", "Ready"]


def test_a_remark_is_told_beside_conditions_and_once_in_five_minutes() -> None:
    clock = Clock()
    speaker = teller(clock)
    remark = Occurrence(type="Normal", reason="UnknownGPUModel", message="GPU AMD-1234 is unknown")
    assert told(speaker, *FAILS, remark) == ["ConfigValid", "RuntimeConfigReady", "Ready", remark.message]
    clock.now = 299
    assert told(speaker, *STILL_FAILS, remark) == []
    clock.now = 300
    assert told(speaker, *STILL_FAILS, remark) == [remark.message, "RuntimeConfigReady"]


def test_a_new_object_of_the_same_name_has_been_told_nothing() -> None:
    speaker = teller(Clock())
    told(speaker, *STILL_FAILS)
    successor = AIMArtifact(metadata=ObjectMeta(name="weights", namespace="team", uid="v"))
    assert [one.message for one in speaker.for_users(successor, STILL_FAILS)] == ["RuntimeConfigReady"]


def test_what_is_gone_or_well_is_not_remembered() -> None:
    speaker = teller(Clock())
    told(speaker, *STILL_FAILS)
    speaker.forget(Key("team", "weights"))
    assert told(speaker, *STILL_FAILS) == ["RuntimeConfigReady"]
    told(speaker)
    assert speaker.heard == {}
