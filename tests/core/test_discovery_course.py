"""How discovery goes: every state of its Job, what is counted, and what users read meanwhile."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from aim_engine.api.foreign import (
    ContainerState,
    ContainerStatus,
    ForeignCondition,
    Job,
    JobStatus,
    Pod,
    PodStatus,
    Waiting,
)
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import DiscoveryState, Profile, TemplateStatus
from aim_engine.core import discovery_course
from aim_engine.core.discovery import Moment
from aim_engine.core.discovery_course import Course
from aim_engine.core.downloads import JobSeen
from aim_engine.objects import Condition, ObjectMeta

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HASH = "5544bf64af2e7cd1"
OUTPUT = json.dumps(
    [
        {
            "profile": {"metadata": {"engine": "vllm", "gpu": "MI300X", "gpu_count": 1, "type": "optimized"}},
            "models": [{"name": "acme/tiny", "source": "hf://acme/tiny", "size_gb": 0.5}],
        }
    ]
)


def job(ended: str = "", reason: str = "", message: str = "", age: float = 5) -> Job:
    conditions = (ForeignCondition(type=ended, status="True", reason=reason, message=message),) if ended else ()
    return Job(
        metadata=ObjectMeta(name="discover-t", creation_timestamp=NOW - timedelta(seconds=age)),
        status=JobStatus(conditions=conditions),
    )


def pod(phase: str, *, waiting: str = "", age: float = 5) -> Pod:
    state = ContainerState(waiting=Waiting(reason=waiting, message="no such image")) if waiting else ContainerState()
    return Pod(
        metadata=ObjectMeta(name="p", creation_timestamp=NOW - timedelta(seconds=age)),
        status=PodStatus(phase=phase, container_statuses=(ContainerStatus(name="discovery", state=state),)),
    )


def failed_before(attempts: int, seconds_ago: float, spec_hash: str = HASH) -> TemplateStatus:
    return TemplateStatus(
        discovery=DiscoveryState(
            attempts=attempts,
            last_attempt_time=NOW - timedelta(seconds=seconds_ago),
            last_failure_reason="it broke",
            spec_hash=spec_hash,
        )
    )


def go(seen: JobSeen, before: TemplateStatus | None = None) -> Course:
    return discovery_course.under_way(before, HASH, seen, (), Moment(NOW))


def job_condition(course: Course) -> tuple[AIMStatus, str]:
    component = course.components[0]
    assert component.name == "DiscoveryJob"
    return component.effective_state, component.effective_reason


def test_at_first_a_job_is_wanted() -> None:
    course = go(JobSeen())
    assert job_condition(course) == (AIMStatus.PENDING, "JobNotCreated")
    assert (course.note.status, course.note.reason) == ("False", "AwaitingDiscovery")
    assert course.note.message == "Waiting for discovery to complete"
    assert course.wants_job
    assert course.state is None


def test_a_running_job_is_waited_for() -> None:
    course = go(JobSeen(job(), [pod("Running")]))
    assert job_condition(course) == (AIMStatus.PROGRESSING, "JobRunning")
    assert not course.wants_job
    assert [component.name for component in course.components] == ["DiscoveryJob", "DiscoveryPods"]


@pytest.mark.parametrize(
    ("reason", "message", "condition", "told"),
    [
        pytest.param(
            "BackoffLimitExceeded", "limit reached", "JobBackoffLimitExceeded", "limit reached", id="back-off"
        ),
        pytest.param("DeadlineExceeded", "", "JobDeadlineExceeded", "DeadlineExceeded", id="its reason if no message"),
        pytest.param("", "", "JobFailed", "Unknown failure", id="nobody knows why"),
        pytest.param("Evicted", "node full", "JobEvicted", "node full", id="evicted"),
    ],
)
def test_a_failure_is_counted_and_makes_the_next_one_wait(reason: str, message: str, condition: str, told: str) -> None:
    course = go(JobSeen(job("Failed", reason, message)))
    assert course.components[0].effective_reason == condition
    assert course.state == DiscoveryState(attempts=1, last_attempt_time=NOW, last_failure_reason=told, spec_hash=HASH)
    assert course.note.message == "Waiting 1m0s before retry (attempt 1 failed)"
    assert course.look_again == timedelta(seconds=60)
    assert not course.wants_job


def test_the_same_failure_is_counted_once() -> None:
    before = failed_before(1, 3)
    assert go(JobSeen(job("Failed", age=5)), before).state == before.discovery


def test_the_next_failure_doubles_the_pause() -> None:
    course = go(JobSeen(job("Failed", age=5)), failed_before(1, 70))
    assert course.state and course.state.attempts == 2
    assert course.look_again == timedelta(seconds=120)


@pytest.mark.parametrize(
    ("attempts", "seconds_ago", "wanted", "left"),
    [
        pytest.param(1, 59, False, 1, id="a second before the pause is over"),
        pytest.param(1, 60, True, None, id="when it is over"),
        pytest.param(3, 100, False, 140, id="in the third pause"),
        pytest.param(20, 3599, False, 1, id="never longer than an hour"),
    ],
)
def test_without_a_job_the_pause_decides(attempts: int, seconds_ago: int, wanted: bool, left: int | None) -> None:
    before = failed_before(attempts, seconds_ago)
    course = go(JobSeen(), before)
    assert course.wants_job is wanted
    assert course.look_again == (timedelta(seconds=left) if left else None)
    assert course.state == before.discovery
    assert job_condition(course) == (AIMStatus.PENDING, "JobNotCreated")


def test_another_question_lifts_the_pause_and_starts_the_count_anew() -> None:
    before = failed_before(5, 1, spec_hash="another")
    assert go(JobSeen(), before).wants_job
    again = go(JobSeen(job("Failed", age=1)), before)
    assert again.state and again.state.attempts == 1


def test_the_output_of_a_complete_job_becomes_the_result() -> None:
    course = go(JobSeen(job("Complete"), [pod("Succeeded")], output=OUTPUT), failed_before(2, 600))
    assert course.result and course.result.sources[0].size == "512Mi"
    assert (course.note.status, course.note.reason) == ("True", "DiscoveryComplete")
    assert course.note.message == "Discovery job completed successfully"
    assert course.state == DiscoveryState(spec_hash=HASH)
    assert job_condition(course) == (AIMStatus.READY, "Ready")


def test_words_the_status_cannot_hold_are_told() -> None:
    odd = OUTPUT.replace('"optimized"', '"magic"')
    course = go(JobSeen(job("Complete"), [pod("Succeeded")], output=odd))
    assert course.result
    assert "magic" in course.note.message
    assert course.note.status == "True"


@pytest.mark.parametrize(
    ("output", "told"),
    [
        pytest.param("", "the dry run printed nothing", id="nothing"),
        pytest.param("hello", "the dry run printed no JSON array of profiles", id="garbage"),
        pytest.param(OUTPUT[:-5], "the dry run printed no JSON array of profiles", id="cut off"),
        pytest.param(
            OUTPUT.replace("hf://acme/tiny", "http://acme/tiny"),
            'models[0].source of the dry run is "http://acme/tiny"',
            id="a source nobody can fetch",
        ),
        pytest.param(
            json.dumps([{"profile": {"engine_args": {"x": "y" * 2_000_000}}, "models": []}]),
            "the dry run printed a profile of",
            id="more than an object can hold",
        ),
    ],
)
def test_output_that_cannot_be_used_is_a_failed_attempt(output: str, told: str) -> None:
    course = go(JobSeen(job("Complete"), [pod("Succeeded")], output=output))
    assert (course.note.status, course.note.reason) == ("False", "DiscoveryFailed")
    assert course.note.message.startswith(told)
    assert job_condition(course) == (AIMStatus.FAILED, "DiscoveryFailed")
    assert course.state and course.state.attempts == 1
    before = TemplateStatus(discovery=course.state)
    later = go(JobSeen(job("Complete"), [pod("Succeeded")], output=output), before)
    assert later.state == course.state
    assert later.note == course.note


def test_output_that_cannot_be_read_yet_is_tried_again_soon() -> None:
    course = go(JobSeen(job("Complete"), [pod("Succeeded")], output=None))
    assert course.look_again == timedelta(seconds=2)
    assert job_condition(course)[0] is AIMStatus.PROGRESSING
    assert course.state is None


@pytest.mark.parametrize("phase", ["Running", "Pending", ""])
def test_a_pod_that_is_not_seen_to_have_ended_is_waited_for(phase: str) -> None:
    course = go(JobSeen(job("Complete"), [pod(phase)]))
    assert job_condition(course) == (AIMStatus.PROGRESSING, "ReadingOutput")
    assert (course.state, course.look_again) == (None, timedelta(seconds=2))


def test_output_of_a_pod_that_is_gone_is_a_failed_attempt() -> None:
    course = go(JobSeen(job("Complete"), []))
    assert course.state and course.state.attempts == 1
    assert "gone" in course.note.message


def test_a_pod_that_cannot_start_gives_its_place_up() -> None:
    course = go(JobSeen(job(age=400), [pod("Pending", waiting="ImagePullBackOff", age=400)]))
    assert course.gives_up
    assert course.state and course.state.last_failure_reason == "ImagePullBackOff: no such image"


def test_a_pod_that_may_yet_start_keeps_its_place() -> None:
    course = go(JobSeen(job(), [pod("Pending", waiting="ImagePullBackOff")]))
    assert not course.gives_up
    assert course.state is None


def ready(spec_hash: str | None, reason: str = "DiscoveryComplete", *, word: AIMStatus | None = None) -> TemplateStatus:
    verdict = "False" if reason == "AwaitingDiscovery" else "True"
    return TemplateStatus(
        status=word,
        conditions=(Condition(type="Discovered", status=verdict, reason=reason, message="done; but"),),
        profile=Profile(),
        discovery=DiscoveryState(spec_hash=spec_hash) if spec_hash else None,
    )


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(ready(HASH), True, id="for what is asked now"),
        pytest.param(ready(None), True, id="before hashes were kept"),
        pytest.param(ready("another"), False, id="for another image"),
        pytest.param(ready(HASH, "InlineModelSources"), False, id="from sources that are no longer given"),
        pytest.param(
            ready(None, "InlineModelSources", word=AIMStatus.READY),
            False,
            id="ready by sources that are no longer given",
        ),
        pytest.param(
            ready(None, "AwaitingDiscovery", word=AIMStatus.READY), True, id="by a version that took its word back"
        ),
        pytest.param(
            TemplateStatus(status=AIMStatus.READY, profile=Profile()), True, id="by a version that did not tell"
        ),
        pytest.param(ready(HASH, "AwaitingDiscovery", word=AIMStatus.READY), False, id="it is to be done again"),
        pytest.param(ready(None, "AwaitingDiscovery", word=AIMStatus.PENDING), False, id="not yet"),
        pytest.param(TemplateStatus(status=AIMStatus.READY), False, id="ready without a profile"),
        pytest.param(TemplateStatus(profile=Profile()), False, id="never"),
        pytest.param(None, False, id="no status at all"),
    ],
)
def test_whether_discovery_is_done(status: TemplateStatus | None, expected: bool) -> None:
    assert discovery_course.is_settled(status, HASH) is expected


def test_what_was_told_with_the_result_stays() -> None:
    course = discovery_course.settled(ready(None), HASH)
    assert course.note.message == "done; but"
    assert course.state == DiscoveryState(spec_hash=HASH)
    assert course.components == ()


def test_what_was_told_before_the_result_does_not_stay() -> None:
    course = discovery_course.settled(ready(None, "AwaitingDiscovery"), HASH)
    assert (course.note.status, course.note.message) == ("True", "Discovery job completed successfully")


def test_a_job_that_asks_something_else_makes_room() -> None:
    course = discovery_course.outdated(failed_before(1, 5), HASH)
    assert course.gives_up
    assert not course.wants_job


def test_without_a_model_what_is_known_stays() -> None:
    assert discovery_course.unknown(ready(HASH)).note.status == "True"
    assert discovery_course.unknown(None).note.reason == "AwaitingDiscovery"
