"""How a Job is doing."""

from datetime import datetime
from typing import Final

from aim_engine.api.foreign import ForeignCondition, Job
from aim_engine.api.status import AIMStatus
from aim_engine.core.health import Component, of_failed_fetch
from aim_engine.core.problems import Category, Dependency, Failure, Problem

_FAILURES: Final = {
    "BackoffLimitExceeded": (Category.INVALID_SPEC, "JobBackoffLimitExceeded"),
    "DeadlineExceeded": (Category.INVALID_SPEC, "JobDeadlineExceeded"),
    "Evicted": (Category.INFRASTRUCTURE, "JobEvicted"),
}
_OTHERWISE: Final = (Category.INVALID_SPEC, "JobFailed")
FAILURE_REASONS: Final = frozenset(reason for _, reason in (*_FAILURES.values(), _OTHERWISE))


def is_complete(job: Job) -> bool:
    return _condition(job, "Complete") is not None


def failure(job: Job) -> ForeignCondition | None:
    """The condition that tells why it failed for good, if it did."""
    return _condition(job, "Failed")


def ended_at(job: Job) -> datetime | None:
    """When it completed or failed for good; None while it goes on."""
    end = _condition(job, "Complete") or failure(job)
    return end.last_transition_time if end else None


def is_active(job: Job) -> bool:
    return not is_complete(job) and failure(job) is None


def inspect(name: str, job: Job | None) -> Component:
    """One component for a Job that the operator made or is about to make."""
    if job is None:
        return of_failed_fetch(name, Failure(text="", status=404), Dependency.DOWNSTREAM)
    if is_complete(job):
        return Component(name=name, state=AIMStatus.READY, dependency=Dependency.DOWNSTREAM)
    if failed := failure(job):
        category, reason = _FAILURES.get(failed.reason, _OTHERWISE)
        problem = Problem(category, reason, failed.message or "Job failed")
        return Component(name=name, problems=(problem,), dependency=Dependency.DOWNSTREAM)
    return Component(
        name=name,
        state=AIMStatus.PROGRESSING,
        reason="JobRunning",
        message="Job is in progress",
        dependency=Dependency.DOWNSTREAM,
    )


def _condition(job: Job, wanted: str) -> ForeignCondition | None:
    return next((c for c in job.status.conditions if c.type == wanted and c.status == "True"), None)
