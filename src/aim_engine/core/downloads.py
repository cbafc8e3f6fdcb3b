"""One download object: how far it is, what its parts report, and which step comes next."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from aim_engine.api import names, reasons
from aim_engine.api.artifact import CacheMode, DownloadObject, DownloadProgress, DownloadState, DownloadStatus
from aim_engine.api.foreign import Event, Job, PersistentVolumeClaim, Pod
from aim_engine.api.status import AIMStatus
from aim_engine.core import check_size, jobs, pods, sizes, volumes
from aim_engine.core.health import Component
from aim_engine.core.problems import Category, Problem
from aim_engine.core.transitions import Level, Note

FETCH_KEPT_FOR: Final = timedelta(minutes=10)
"""How long a finished download Job stays; its end is when a failed download is tried again."""
CHECK_KEPT_FOR: Final = timedelta(minutes=5)
"""The same for a check-size Job."""


class JobSeen(msgspec.Struct, frozen=True):
    """One Job of a download object with its pods, and the end of the log that tells why one failed."""

    job: Job | None = None
    pods: Sequence[Pod] = ()
    failure_log: str | None = None
    output: str | None = None
    """The last line of a check-size Job that is complete; None if it could not be read."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What there is around a download object."""

    claim: PersistentVolumeClaim | None = None
    may_report: bool = False
    """Whether pods of the namespace may report their progress."""
    check: JobSeen = JobSeen()
    fetch: JobSeen = JobSeen()
    events: Sequence[Event] = ()


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


def size(artifact: DownloadObject, check: JobSeen) -> Size:
    """The size of the source, as far as it is known."""
    assert artifact.spec is not None
    written = sizes.in_bytes(artifact.spec.size)
    stored = artifact.status.discovered_size_bytes if artifact.status else None
    if written or stored or check.job is None or not jobs.is_complete(check.job) or check.output is None:
        return Size(written, stored or None)
    found = check_size.read(check.output)
    return Size(None, None, found) if isinstance(found, Problem) else Size(None, found)


def is_downloaded(artifact: DownloadObject, claim: PersistentVolumeClaim | None) -> bool:
    """Whether an earlier pass saw the weights complete on the volume that is there now."""
    if artifact.status is None or artifact.status.status is not AIMStatus.READY or claim is None:
        return False
    verified = next((c for c in artifact.status.conditions if c.type == reasons.DOWNLOAD_COMPLETE), None)
    since, made = verified.last_transition_time if verified else None, claim.metadata.creation_timestamp
    return since is None or made is None or made <= since


def components(artifact: DownloadObject, seen: Surroundings, known: Size) -> tuple[Component, ...]:
    """What the parts of a download report."""
    return (*_check_parts(artifact, seen, known), *(_fetch_parts(artifact, seen) if known.effective else ()))


def _check_parts(artifact: DownloadObject, seen: Surroundings, known: Size) -> list[Component]:
    stored = artifact.status.discovered_size_bytes if artifact.status else None
    if known.written or stored:
        return []
    parts = [jobs.inspect("CheckSizeJob", seen.check.job)]
    if seen.check.job:
        parts.append(pods.inspect("CheckSizeJobPods", seen.check.pods, seen.events, seen.check.failure_log))
    if known.problem:
        parts.append(Component(name="CheckSizeOutput", problems=(known.problem,)))
    elif seen.check.job and jobs.is_complete(seen.check.job) and not known.effective:
        waiting = "Waiting for the output of the check-size job"
        parts.append(
            Component(name="CheckSizeOutput", state=AIMStatus.PROGRESSING, reason="OutputPending", message=waiting)
        )
    return _without_double_blame(parts, "CheckSizeJob", "CheckSizeJobPods")


def _fetch_parts(artifact: DownloadObject, seen: Surroundings) -> list[Component]:
    parts = [volumes.inspect("CachePvc", seen.claim, seen.events)]
    if is_downloaded(artifact, seen.claim):
        return parts
    parts.append(jobs.inspect("DownloadJob", None if is_stale(seen) else seen.fetch.job))
    if seen.fetch.job is None or is_stale(seen):
        return parts
    if jobs.is_complete(seen.fetch.job):
        done = Component(name="DownloadJobPods", state=AIMStatus.READY, reason="PodsReady", message="Pods are ready")
        return [*parts, done]
    parts.append(pods.inspect("DownloadJobPods", seen.fetch.pods, seen.events, seen.fetch.failure_log))
    return _without_double_blame(parts, "DownloadJob", "DownloadJobPods")


def is_stale(seen: Surroundings) -> bool:
    """Whether a download that succeeded filled a volume that has been replaced since."""
    job, claim = seen.fetch.job, seen.claim
    if job is None or claim is None or not jobs.is_complete(job):
        return False
    made, filled = claim.metadata.creation_timestamp, job.metadata.creation_timestamp
    return made is not None and filled is not None and made > filled


def _without_double_blame(parts: list[Component], job: str, its_pods: str) -> list[Component]:
    """A Job that failed because its pods ran out of something is not also blamed for a wrong spec."""
    exhausted = any(part.name == its_pods and part.has(Category.RESOURCE_EXHAUSTION) for part in parts)
    return [_blameless(part) if exhausted and part.name == job and part.problems else part for part in parts]


def _blameless(part: Component) -> Component:
    return msgspec.structs.replace(
        part, state=AIMStatus.FAILED, reason=part.effective_reason, message=part.effective_message, problems=()
    )


def overdue(job: Job | None, kept_for: timedelta, now: datetime) -> bool:
    """Whether a failed Job has been there longer than Kubernetes should have kept it."""
    left = time_left(job, kept_for, now)
    return left is not None and left <= timedelta(0)


def time_left(job: Job | None, kept_for: timedelta, now: datetime) -> timedelta | None:
    """How long a failed Job stays before it makes room for the next attempt; None if it has not failed."""
    failed = jobs.failure(job) if job else None
    if failed is None or failed.last_transition_time is None:
        return None
    # Kubernetes gets a little longer than promised: we only step in where its own clean-up is off.
    return failed.last_transition_time + kept_for + timedelta(seconds=30) - now


def completion(artifact: DownloadObject, seen: Surroundings) -> Note | None:
    """The DownloadComplete condition; None while there is no download Job to speak of."""
    job = seen.fetch.job
    if job is None or is_stale(seen):
        return None
    arrived = _percentage(artifact) >= 100
    if jobs.is_complete(job):
        return _told("True", "Verified", "Download and verification complete")
    if _has_failed(seen.fetch):
        reason, said = (
            ("VerificationFailed", "Download completed but verification failed")
            if arrived
            else ("Downloading", "Download failed before completion")
        )
        return _told("False", reason, said, Level.WARNING)
    if arrived:
        return _told("True", "Verifying", "Download complete, verifying integrity...")
    return _told("False", "Downloading", "Download in progress")


def _told(status: str, reason: str, message: str, level: Level = Level.INFO) -> Note:
    verdict = "True" if status == "True" else "False"
    return Note(type=reasons.DOWNLOAD_COMPLETE, status=verdict, reason=reason, message=message, level=level)


def _has_failed(fetch: JobSeen) -> bool:
    gave_up = fetch.job is not None and jobs.failure(fetch.job) is not None
    return gave_up or any(pod.status.phase == "Failed" for pod in fetch.pods)


def _percentage(artifact: DownloadObject) -> int:
    progress = artifact.status.progress if artifact.status else None
    return (progress.percentage if progress else None) or 0


def status(artifact: DownloadObject, seen: Surroundings, known: Size, headroom: int, word: AIMStatus) -> DownloadStatus:
    """The status to store; what download pods write stays as they wrote it, until there is an end to tell."""
    before = artifact.status or DownloadStatus()
    claim = seen.claim
    allocated = before.allocated_size if before.allocated_size and sizes.in_bytes(before.allocated_size) else None
    requested = claim.spec.resources.requests.get("storage") if claim else None
    return msgspec.structs.replace(
        before,
        status=word,
        mode=CacheMode.DEDICATED if artifact.metadata.owner_references else CacheMode.SHARED,
        display_size=sizes.display(known.effective) if known.effective else before.display_size,
        persistent_volume_claim=claim.metadata.name if claim else before.persistent_volume_claim,
        discovered_size_bytes=before.discovered_size_bytes or known.discovered,
        allocated_size=allocated or requested,
        headroom_percent=before.headroom_percent if allocated or not requested else headroom,
        progress=_progress(before.progress, seen, known),
        download=_download(before, seen),
    )


def _progress(before: DownloadProgress | None, seen: Surroundings, known: Size) -> DownloadProgress | None:
    if seen.fetch.job is None or is_stale(seen):
        return before
    if jobs.is_complete(seen.fetch.job):
        total = known.effective
        return DownloadProgress(total_bytes=total, downloaded_bytes=total, percentage=100, display_percentage="100 %")
    if _has_failed(seen.fetch):
        return msgspec.structs.replace(before or DownloadProgress(), display_percentage="N/A")
    return before


def _download(before: DownloadStatus, seen: Surroundings) -> DownloadState | None:
    job = seen.fetch.job
    if before.download and job and jobs.is_complete(job) and not is_stale(seen):
        return msgspec.structs.replace(before.download, message="Complete")
    return before.download


def headroom(artifact: DownloadObject, configured: int | None) -> int:
    """Percent of extra space: what a service asked for, else the runtime config's, else 10; 0 is an answer too."""
    asked = artifact.metadata.annotations.get(names.ANNOTATION_HEADROOM, "")
    if asked.isascii() and asked.isdecimal():
        return int(asked)
    return names.DEFAULT_HEADROOM_PERCENT if configured is None else configured
