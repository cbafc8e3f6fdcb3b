"""How the discovery of one template stands: its Job, its failures so far, and its result.

no Job ──► Job runs ──► output read ──► discovered, for as long as what was asked stays the same
  ▲           │              │
  └── pause ◄─┴── failed ◄───┘          60 s, doubling with every failure up to an hour
"""

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from aim_engine.api import reasons
from aim_engine.api.foreign import Event, Job
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import DiscoveryState, Template, TemplateStatus
from aim_engine.core import discovery, durations, jobs, masking, pods, profiles
from aim_engine.core.discovery import Moment, Question
from aim_engine.core.downloads import JobSeen
from aim_engine.core.health import Component
from aim_engine.core.problems import Dependency, invalid_spec
from aim_engine.core.profiles import Discovered, Unreadable
from aim_engine.core.transitions import Level, Note
from aim_engine.objects import Condition

_JOB = "DiscoveryJob"
_PODS = "DiscoveryPods"
_SUCCEEDED = "Discovery job completed successfully"


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """Where discovery stands, and what follows for the template."""

    components: tuple[Component, ...] = ()
    note: Note
    state: DiscoveryState | None = None
    result: Discovered | None = None
    """What was read in this pass."""
    wants_job: bool = False
    gives_up: bool = False
    """Whether the Job is to make room."""
    look_again: timedelta | None = None


def of(template: Template, question: Question | None, seen: JobSeen, said: Sequence[Event], at: Moment) -> Course:
    """How the discovery of a template stands; no question means that nothing is to be asked, or nobody can be."""
    assert template.spec is not None
    if template.spec.model_sources:
        return inline()
    if question is None:
        return unknown(template.status)
    if is_settled(template.status, question.hash):
        return settled(template.status, question.hash)
    if seen.job and seen.job.metadata.name != question.job_name(template.metadata.name):
        return outdated(template.status, question.hash)
    return under_way(template.status, question.hash, seen, said, at)


def is_settled(status: TemplateStatus | None, wanted: str) -> bool:
    """Whether discovery has succeeded for what is asked now; a result from before hashes were kept counts too.

    Such a result may come without a condition that tells of it: then the template's own word is enough.
    """
    if status is None or status.profile is None:
        return False
    done, known = _discovered(status), status.discovery.spec_hash if status.discovery else None
    if done and done.status == "True":
        return done.reason == reasons.DISCOVERY_COMPLETE and known in (None, wanted)
    return known is None and status.status is AIMStatus.READY


def inline() -> Course:
    """Nothing is to be discovered: the spec names the sources."""
    said = "Model sources provided in-line in spec"
    return Course(note=_note("True", reasons.INLINE_MODEL_SOURCES, said))


def unknown(status: TemplateStatus | None) -> Course:
    """It cannot be told what to ask, because there is no model; what is known stays."""
    before = _discovered(status)
    state = status.discovery if status else None
    if before and before.status == "True":
        return Course(note=_note("True", before.reason, before.message), state=state)
    return Course(components=(_not_created(),), note=_awaiting(), state=state)


def settled(status: TemplateStatus | None, wanted: str) -> Course:
    """Discovery is done and its traces are gone."""
    before = _discovered(status)
    said = before.message if before and before.status == "True" else _SUCCEEDED
    return Course(note=_note("True", reasons.DISCOVERY_COMPLETE, said), state=DiscoveryState(spec_hash=wanted))


def outdated(status: TemplateStatus | None, wanted: str) -> Course:
    """The Job that is there asks something else than what is asked now: it makes room for the right one."""
    state = _relevant(status.discovery if status else None, wanted)
    return Course(components=(_not_created(),), note=_awaiting(), state=_unless_blank(state), gives_up=True)


def under_way(status: TemplateStatus | None, wanted: str, seen: JobSeen, said: Sequence[Event], at: Moment) -> Course:
    """How far discovery is."""
    state = _relevant(status.discovery if status else None, wanted)
    if seen.job is None:
        return _without_job(state, at)
    its_pods = (pods.inspect(_PODS, seen.pods, said, seen.failure_log, blocks=False),) if seen.pods else ()
    if jobs.is_complete(seen.job):
        return _complete(state, wanted, seen, its_pods, at)
    if failed := jobs.failure(seen.job):
        why = failed.message or failed.reason or "Unknown failure"
        after = _counted(state, seen.job, wanted, why, at)
        job = msgspec.structs.replace(jobs.inspect(_JOB, seen.job), blocks=False)
        return Course(
            components=(job, *its_pods), note=_awaiting(after, at), state=after, look_again=at.rest_of_pause(after)
        )
    return _running(state, wanted, seen, its_pods, at)


def _running(state: DiscoveryState, wanted: str, seen: JobSeen, its_pods: tuple[Component, ...], at: Moment) -> Course:
    assert seen.job is not None
    components = (jobs.inspect(_JOB, seen.job), *its_pods)
    if stuck := discovery.cannot_start(seen.pods, at):
        after = _counted(state, seen.job, wanted, stuck, at)
        return Course(
            components=components,
            note=_awaiting(after, at),
            state=after,
            gives_up=True,
            look_again=at.rest_of_pause(after),
        )
    # Nothing tells that a pod has been failing to start for too long.
    waits = [left for pod in seen.pods if pod.status.phase == "Pending" and (left := at.rest_of_patience(pod))]
    return Course(
        components=components, note=_awaiting(), state=_unless_blank(state), look_again=min(waits, default=None)
    )


def _without_job(state: DiscoveryState, at: Moment) -> Course:
    left = at.rest_of_pause(state)
    note = _awaiting(state, at) if left else _awaiting()
    return Course(
        components=(_not_created(),),
        note=note,
        state=_unless_blank(state),
        wants_job=left is None,
        look_again=left,
    )


def _complete(state: DiscoveryState, wanted: str, seen: JobSeen, its_pods: tuple[Component, ...], at: Moment) -> Course:
    assert seen.job is not None
    if not _is_new(state, seen.job):
        return _failed(state, its_pods, at)
    outcome = _outcome(seen)
    if outcome is None:
        waiting = Component(
            name=_JOB,
            state=AIMStatus.PROGRESSING,
            reason="ReadingOutput",
            message="Discovery job is complete, but its output cannot be read yet",
            dependency=Dependency.DOWNSTREAM,
        )
        return Course(
            components=(waiting, *its_pods),
            note=_awaiting(),
            state=_unless_blank(state),
            look_again=at.timings.read_again,
        )
    if isinstance(outcome, Unreadable):
        return _failed(_counted(state, seen.job, wanted, outcome.message, at), its_pods, at)
    told = "; ".join((_SUCCEEDED, *outcome.remarks))
    return Course(
        components=(jobs.inspect(_JOB, seen.job), *its_pods),
        note=_note("True", reasons.DISCOVERY_COMPLETE, told),
        state=DiscoveryState(spec_hash=wanted),
        result=outcome,
    )


def _outcome(seen: JobSeen) -> Discovered | Unreadable | None:
    """What the output says; None if it may yet be read."""
    if seen.output is not None:
        return profiles.read(seen.output)
    # The Job may be seen to have ended before its pod is.
    if any(pod.status.phase != "Failed" for pod in seen.pods):
        return None
    return Unreadable("the pod of the discovery job was gone before its output could be read")


def _failed(state: DiscoveryState, its_pods: tuple[Component, ...], at: Moment) -> Course:
    why = state.last_failure_reason or "Unknown failure"
    job = Component(
        name=_JOB,
        problems=(invalid_spec(reasons.DISCOVERY_FAILED, why),),
        dependency=Dependency.DOWNSTREAM,
        blocks=False,
    )
    note = _note("False", reasons.DISCOVERY_FAILED, why, Level.WARNING)
    return Course(components=(job, *its_pods), note=note, state=state, look_again=at.rest_of_pause(state))


def _not_created() -> Component:
    return Component(
        name=_JOB,
        state=AIMStatus.PENDING,
        reason="JobNotCreated",
        message="Discovery job has not been created yet",
        dependency=Dependency.DOWNSTREAM,
    )


def _relevant(state: DiscoveryState | None, wanted: str) -> DiscoveryState:
    """What was counted for what is asked now."""
    return state if state and state.spec_hash == wanted else DiscoveryState()


def _unless_blank(state: DiscoveryState) -> DiscoveryState | None:
    return None if state == DiscoveryState() else state


def _is_new(state: DiscoveryState, job: Job) -> bool:
    """Whether this Job has not been counted as a failure."""
    created = job.metadata.creation_timestamp
    return state.last_attempt_time is None or (created is not None and created > state.last_attempt_time)


def _counted(state: DiscoveryState, job: Job, wanted: str, why: str, at: Moment) -> DiscoveryState:
    """The state with this failure in it, once."""
    if not _is_new(state, job):
        return state
    return DiscoveryState(
        attempts=(state.attempts or 0) + 1,
        last_attempt_time=at.now.replace(microsecond=0),
        last_failure_reason=masking.message(why),
        spec_hash=wanted,
    )


def _awaiting(state: DiscoveryState | None = None, at: Moment | None = None) -> Note:
    attempts = state.attempts if state else None
    if not attempts or at is None:
        return _note("False", reasons.AWAITING_DISCOVERY, "Waiting for discovery to complete")
    pause = durations.text(at.timings.pause(attempts))
    said = f"Waiting {pause} before retry (attempt {attempts} failed)"
    return _note("False", reasons.AWAITING_DISCOVERY, said)


def _note(status: str, reason: str, message: str, level: Level = Level.INFO) -> Note:
    verdict = "True" if status == "True" else "False"
    return Note(type=reasons.DISCOVERED, status=verdict, reason=reason, message=message, level=level)


def _discovered(status: TemplateStatus | None) -> Condition | None:
    conditions = status.conditions if status else ()
    return next((condition for condition in conditions if condition.type == reasons.DISCOVERED), None)
