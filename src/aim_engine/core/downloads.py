"""One download object: what is around it, what its parts report, and which of its Jobs have had their time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from aim_engine.api import names, reasons
from aim_engine.api.artifact import AIMArtifactSpec, DownloadObject, DownloadStatus
from aim_engine.api.foreign import Event, Job, PersistentVolumeClaim, Pod
from aim_engine.api.status import AIMStatus
from aim_engine.core import check_size, jobs, pods, sizes, volumes
from aim_engine.core.download_kinds import DownloadKind
from aim_engine.core.health import Component
from aim_engine.core.problems import Category, Problem
from aim_engine.objects import ObjectMeta


@dataclass(frozen=True)
class Timings:
    """How long things around a download take at the most."""

    again: timedelta = timedelta(seconds=10)
    """How often a download that is under way is looked at, beside all that wakes it."""
    check_kept_for: timedelta = timedelta(minutes=5)
    """How long a finished check-size Job stays; when it goes, a failed one is tried again."""
    fetch_kept_for: timedelta = timedelta(minutes=10)
    """The same for a download Job."""
    margin: timedelta = timedelta(seconds=30)
    """What Kubernetes gets on top before we clean up: we only step in where its own clean-up is off."""

    def __mul__(self, factor: float) -> "Timings":
        """The same proportions, faster or slower."""
        return Timings(
            self.again * factor, self.check_kept_for * factor, self.fetch_kept_for * factor, self.margin * factor
        )


class Download(msgspec.Struct, frozen=True):
    """A download object of either kind, complete: the pipeline lets none through that has no spec."""

    kind: DownloadKind
    metadata: ObjectMeta
    spec: AIMArtifactSpec
    status: DownloadStatus
    """Blank before the first pass."""


def of(item: DownloadObject, kind: DownloadKind) -> Download:
    """The object as everything here takes it."""
    assert item.spec is not None
    return Download(kind, item.metadata, item.spec, item.status or DownloadStatus())


class JobSeen(msgspec.Struct, frozen=True):
    """One Job of a download object with its pods, and the end of the log that tells why one failed."""

    job: Job | None = None
    pods: Sequence[Pod] = ()
    failure_log: str | None = None
    output: str | None = None
    """The last line of a check-size Job that is complete; None if it could not be read."""

    @property
    def is_complete(self) -> bool:
        return self.job is not None and jobs.is_complete(self.job)

    @property
    def has_failed(self) -> bool:
        """Whether the Job gave up, or one of its pods failed while it goes on."""
        gave_up = self.job is not None and jobs.failure(self.job) is not None
        return gave_up or any(pod.status.phase == "Failed" for pod in self.pods)


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What there is around a download object."""

    claim: PersistentVolumeClaim | None = None
    may_report: bool = False
    """Whether pods of the namespace may report their progress."""
    check: JobSeen = JobSeen()
    fetch: JobSeen = JobSeen()
    events: Sequence[Event] = ()
    spent: tuple[Job, ...] = ()
    """Jobs that have to make room for new ones; they count as gone already."""


class Size(msgspec.Struct, frozen=True):
    """What is known of the size of a source."""

    written: int | None
    """From the spec."""
    discovered: int | None
    """By a check-size Job, in this pass or before."""
    problem: Problem | None = None

    @property
    def effective(self) -> int | None:
        return self.written or self.discovered


def needs_check(download: Download) -> bool:
    """Whether a Job has to find out the size."""
    return not sizes.in_bytes(download.spec.size) and not download.status.discovered_size_bytes


def size(download: Download, check: JobSeen) -> Size:
    """The size of the source, as far as it is known."""
    if not needs_check(download) or not check.is_complete or check.output is None:
        return Size(sizes.in_bytes(download.spec.size), download.status.discovered_size_bytes or None)
    found = check_size.read(check.output)
    return Size(None, None, found) if isinstance(found, Problem) else Size(None, found)


def cleared(seen: Surroundings, timings: Timings, now: datetime) -> Surroundings:
    """The surroundings once the Jobs are gone that have to make room.

    These are Jobs that Kubernetes should have removed, a download that ended on a volume which was replaced since, and
    one on a volume that is being deleted: Kubernetes keeps a claim as long as there are pods of it, even ended ones,
    and lets no new pod have it, so that the Job and the claim would wait for each other.
    """
    check_spent = _is_over(time_left_of_check(seen, timings, now))
    fetch_spent = _is_over(time_left_of_fetch(seen, timings, now)) or _is_stale(seen)
    spent = ((seen.check.job, check_spent), (seen.fetch.job, fetch_spent))
    return msgspec.structs.replace(
        seen,
        check=JobSeen() if check_spent else seen.check,
        fetch=JobSeen() if fetch_spent else seen.fetch,
        spent=tuple(job for job, is_spent in spent if job and is_spent),
    )


def time_left_of_check(seen: Surroundings, timings: Timings, now: datetime) -> timedelta | None:
    """How long a check-size Job that ended may stay; it is only looked at while its size is wanted."""
    job = seen.check.job
    ended = jobs.ended_at(job) if job else None
    return ended + timings.check_kept_for + timings.margin - now if ended else None


def time_left_of_fetch(seen: Surroundings, timings: Timings, now: datetime) -> timedelta | None:
    """How long a failed download Job stays before the next attempt; None if it has not failed."""
    job = seen.fetch.job
    failed = jobs.ended_at(job) if job and jobs.failure(job) else None
    return failed + timings.fetch_kept_for + timings.margin - now if failed else None


def _is_over(left: timedelta | None) -> bool:
    return left is not None and left <= timedelta(0)


def _is_stale(seen: Surroundings) -> bool:
    job, claim = seen.fetch.job, seen.claim
    if job is None or claim is None:
        return False
    if is_going(claim):
        return True
    if jobs.is_active(job):
        return False
    made, began = claim.metadata.creation_timestamp, job.metadata.creation_timestamp
    return made is not None and began is not None and made > began


def is_going(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim is being deleted."""
    return claim.metadata.deletion_timestamp is not None


def is_downloaded(download: Download, claim: PersistentVolumeClaim | None) -> bool:
    """Whether an earlier pass saw the weights complete on the volume that is there now."""
    if download.status.status is not AIMStatus.READY or claim is None:
        return False
    verified = next((c for c in download.status.conditions if c.type == reasons.DOWNLOAD_COMPLETE), None)
    since, made = verified.last_transition_time if verified else None, claim.metadata.creation_timestamp
    return since is None or made is None or made <= since


def components(download: Download, seen: Surroundings, known: Size) -> tuple[Component, ...]:
    """What the parts of a download report."""
    check = _check_parts(seen, known) if needs_check(download) else ()
    return (*check, *(_fetch_parts(download, seen) if known.effective else ()))


def _check_parts(seen: Surroundings, known: Size) -> list[Component]:
    parts = [jobs.inspect("CheckSizeJob", seen.check.job)]
    if seen.check.job:
        parts.append(_pods("CheckSizeJobPods", seen.check, seen))
    if known.problem:
        parts.append(Component(name="CheckSizeOutput", problems=(known.problem,)))
    elif seen.check.is_complete and not known.effective:
        waiting = "Waiting for the output of the check-size job"
        parts.append(
            Component(name="CheckSizeOutput", state=AIMStatus.PROGRESSING, reason="OutputPending", message=waiting)
        )
    return _without_double_blame(parts, "CheckSizeJob", "CheckSizeJobPods")


def _fetch_parts(download: Download, seen: Surroundings) -> list[Component]:
    parts = [volumes.inspect("CachePvc", seen.claim, seen.events)]
    if is_downloaded(download, seen.claim):
        return parts
    parts.append(jobs.inspect("DownloadJob", seen.fetch.job))
    if seen.fetch.job:
        parts.append(_pods("DownloadJobPods", seen.fetch, seen))
    return _without_double_blame(parts, "DownloadJob", "DownloadJobPods")


def _pods(name: str, job: JobSeen, seen: Surroundings) -> Component:
    """The pods of a Job; those that failed before one succeeded count no more."""
    if job.is_complete:
        return Component(name=name, state=AIMStatus.READY, reason="PodsReady", message="Pods are ready")
    return pods.inspect(name, job.pods, seen.events, job.failure_log)


def _without_double_blame(parts: list[Component], job: str, its_pods: str) -> list[Component]:
    """A Job that failed because its pods ran out of something is not blamed too: the pods tell what to do."""
    exhausted = any(part.name == its_pods and part.has(Category.RESOURCE_EXHAUSTION) for part in parts)
    return [_blameless(part) if exhausted and part.name == job and part.problems else part for part in parts]


def _blameless(part: Component) -> Component:
    return msgspec.structs.replace(
        part, state=AIMStatus.PROGRESSING, reason=part.effective_reason, message=part.effective_message, problems=()
    )


def headroom(download: Download, configured: int | None) -> int:
    """Percent of extra space: what a service asked for, else the runtime config's, else 10; 0 is an answer too."""
    asked = download.metadata.annotations.get(names.ANNOTATION_HEADROOM, "")
    if asked.isascii() and asked.isdecimal():
        return int(asked)
    return names.DEFAULT_HEADROOM_PERCENT if configured is None else configured
