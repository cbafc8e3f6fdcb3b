"""How a group of pods is doing, for instance those of a Job or of an InferenceService."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from aim_engine.api import reasons
from aim_engine.api.foreign import ContainerStatus, Event, Pod
from aim_engine.api.status import AIMStatus
from aim_engine.core import events, image_pull, pod_failure
from aim_engine.core.health import Component
from aim_engine.core.image_pull import PullTrouble
from aim_engine.core.pod_failure import LogSource
from aim_engine.core.problems import Category, Problem

_PULLING = frozenset({"ImagePullBackOff", "ErrImagePull"})
_HELD_UP = frozenset({"FailedScheduling", "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"})
_LONG_AGO = datetime.min.replace(tzinfo=UTC)

_PULL_PROBLEMS: Final = {
    PullTrouble.AUTH: (Category.AUTH, reasons.IMAGE_PULL_AUTH_FAILURE),
    PullTrouble.NOT_FOUND: (Category.MISSING_UPSTREAM, reasons.IMAGE_NOT_FOUND),
    PullTrouble.OTHER: (Category.INFRASTRUCTURE, reasons.IMAGE_PULL_BACK_OFF),
}


class _Seen(msgspec.Struct, frozen=True):
    pods: Sequence[Pod]
    events: Sequence[Event]
    log: str | None


class _Finding(msgspec.Struct, frozen=True):
    state: AIMStatus | None = None
    reason: str = ""
    message: str = ""
    problems: tuple[Problem, ...] = ()


def wanted_log(pods: Sequence[Pod]) -> LogSource | None:
    """The log that `inspect` wants to see, if it wants one."""
    if _pull_problem(_Seen(pods, (), None)) is not None:
        return None
    failed = _newest_failed(pods)
    return pod_failure.log_source(failed) if failed else None


def inspect(
    name: str, pods: Sequence[Pod], said: Sequence[Event] = (), log: str | None = None, *, blocks: bool = True
) -> Component:
    """One component for all the pods; the first thing worth telling is told.

    `said` are events of the namespace, `log` is the text of `wanted_log` if it could be read.
    """
    seen = _Seen(pods, said, log)
    finding = next(finding for check in _CHECKS if (finding := check(seen)))
    return Component(
        name=name,
        state=finding.state,
        reason=finding.reason,
        message=finding.message,
        problems=finding.problems,
        blocks=blocks,
    )


def _none(seen: _Seen) -> _Finding | None:
    missing = Problem(Category.MISSING_DOWNSTREAM, "NoPods", "No pods found")
    return None if seen.pods else _Finding(problems=(missing,))


def _image_missing(seen: _Seen) -> _Finding | None:
    problem = _pull_problem(seen)
    return _Finding(problems=(problem,)) if problem else None


def _failed(seen: _Seen) -> _Finding | None:
    failed = _newest_failed(seen.pods)
    return _Finding(problems=(pod_failure.problem(failed, seen.log),)) if failed else None


def _ready(seen: _Seen) -> _Finding | None:
    if any(pod.status.phase == "Succeeded" or is_ready(pod) for pod in seen.pods):
        return _Finding(AIMStatus.READY, "PodsReady", "Pods are ready")
    return None


def _starting(seen: _Seen) -> _Finding | None:
    if any(pod.status.phase == "Running" for pod in seen.pods):
        return _Finding(AIMStatus.STARTING, "PodsStarting", "Pods are running, waiting for readiness")
    return None


def _pending(seen: _Seen) -> _Finding | None:
    pending = [pod for pod in seen.pods if pod.status.phase == "Pending"]
    if not pending:
        return None
    said = [event for pod in pending for event in events.about(pod.metadata, seen.events)]
    if held_up := events.newest(event for event in said if event.reason in _HELD_UP):
        return _Finding(AIMStatus.PENDING, held_up.reason, held_up.message)
    if pulling := events.newest(event for event in said if event.reason == "Pulling"):
        return _Finding(AIMStatus.PROGRESSING, pulling.reason, pulling.message)
    return _Finding(AIMStatus.PENDING, "PodsPending", "Pods are pending")


def _progressing(_: _Seen) -> _Finding:
    return _Finding(AIMStatus.PROGRESSING, "PodsProgressing", "Pods are progressing")


_CHECKS: Final[tuple[Callable[[_Seen], _Finding | None], ...]] = (
    _none,
    _image_missing,
    _failed,
    _ready,
    _starting,
    _pending,
    _progressing,
)


def _pull_problem(seen: _Seen) -> Problem | None:
    for pod in seen.pods:
        for status in _containers(pod):
            waiting = status.state.waiting
            if waiting and waiting.reason in _PULLING:
                text = _pull_text(waiting.message, pod, seen.events)
                category, reason = _PULL_PROBLEMS[image_pull.trouble(text)]
                return Problem(category, reason, f"Container {status.name}: {text or waiting.reason}")
    return None


def _pull_text(waiting: str, pod: Pod, seen: Sequence[Event]) -> str:
    """What the kubelet says; between two tries it may say nothing but that it waits, then its last event tells more."""
    if image_pull.trouble(waiting) is not PullTrouble.OTHER:
        return waiting
    said = events.about(pod.metadata, seen)
    failed = events.newest(event for event in said if event.reason == "Failed" and "pull image" in event.message)
    return failed.message if failed else waiting


def _newest_failed(pods: Sequence[Pod]) -> Pod | None:
    failed = [pod for pod in pods if pod.status.phase == "Failed"]
    return max(failed, key=lambda pod: (pod.metadata.creation_timestamp or _LONG_AGO, pod.metadata.name), default=None)


def is_ready(pod: Pod) -> bool:
    """Whether a pod runs and says that it can do its work."""
    return pod.status.phase == "Running" and any(
        condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions
    )


_STUCK = frozenset({*_PULLING, "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError"})


def tells_more(old: Pod | None, new: Pod | None) -> bool:
    """Whether a change of a pod is worth a look: it came with trouble, went, or `inspect` may judge it otherwise."""
    if new is None:
        return True
    if old is None:
        return new.status.phase not in ("", "Pending") or has_issue(new)
    return _outline(old) != _outline(new)


def has_issue(pod: Pod) -> bool:
    """Whether a container cannot start, or no node takes the pod."""
    stuck = any(status.state.waiting and status.state.waiting.reason in _STUCK for status in _containers(pod))
    return stuck or (pod.status.phase == "Pending" and _is_unschedulable(pod))


def _is_unschedulable(pod: Pod) -> bool:
    wanted = ("PodScheduled", "False", "Unschedulable")
    return any((each.type, each.status, each.reason) == wanted for each in pod.status.conditions)


def _outline(pod: Pod) -> tuple[object, ...]:
    waiting = [(status.name, status.state.waiting and status.state.waiting.reason) for status in _containers(pod)]
    return pod.status.phase, is_ready(pod), has_issue(pod), waiting


def _containers(pod: Pod) -> tuple[ContainerStatus, ...]:
    return (*pod.status.container_statuses, *pod.status.init_container_statuses)
