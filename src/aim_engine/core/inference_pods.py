"""The pods that serve a model: how they do, and the deepest cause that can be told of what keeps them from it."""

from collections.abc import Sequence
from typing import Final

import msgspec

from aim_engine.api.foreign import ContainerStatus, Event, Pod, Terminated
from aim_engine.core import events, masking, pods
from aim_engine.core.health import Component
from aim_engine.core.pod_failure import LogSource, telling_lines

NAME: Final = "InferenceServicePods"
CRASHING: Final = "CrashLoopBackOff"
REFUSED: Final = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "InvalidImageName"}
)


class Surroundings(msgspec.Struct, frozen=True):
    """What is known beside the pods themselves."""

    events: Sequence[Event] = ()
    log: str | None = None
    """Of the container that `wanted_log` names."""
    refusals: Sequence[Event] = ()
    """What was said when pods could not even be made."""
    shortage: str = ""
    """What is needed and what is free, if no node takes a pod for want of devices."""


def wanted_log(its_pods: Sequence[Pod]) -> LogSource | None:
    """The log that `inspect` wants to see: of a container that failed, or that fails again and again."""
    if wanted := pods.wanted_log(its_pods):
        return wanted
    ended = ((pod, status) for pod in its_pods for status in _containers(pod) if _end(status))
    return next((LogSource(pod.metadata.name, status.name) for pod, status in ended), None)


def inspect(its_pods: Sequence[Pod], around: Surroundings) -> Component:
    """One component for all the pods, with the cause behind what the pods themselves say."""
    found = pods.inspect(NAME, its_pods, around.events, around.log, blocks=False)
    cause = {
        "NoPods": _refusal(around.refusals),
        "FailedScheduling": around.shortage,
        "PodsStarting": _struggle(its_pods, around.log),
        "PodsPending": _struggle(its_pods, around.log),
    }.get(found.effective_reason, "")
    return msgspec.structs.replace(found, message=f"{found.effective_message}: {cause}") if cause else found


def laggards(its_pods: Sequence[Pod], around: Surroundings) -> str:
    """What keeps the pods that are not ready while others are; one that is suffices for `inspect`."""
    waiting = [pod for pod in its_pods if not pods.is_ready(pod)]
    return inspect(waiting, around).effective_message if 0 < len(waiting) < len(its_pods) else ""


def unplaced(its_pods: Sequence[Pod], said: Sequence[Event]) -> tuple[Pod, str] | None:
    """A pod that no node takes, and the scheduler's last words on it."""
    for pod in its_pods:
        refused = [event for event in events.about(pod.metadata, said) if event.reason == "FailedScheduling"]
        if pod.status.phase == "Pending" and (last := events.newest(refused)):
            return pod, last.message
    return None


def _refusal(said: Sequence[Event]) -> str:
    last = events.newest(said)
    return last.message if last else ""


def _struggle(its_pods: Sequence[Pod], log: str | None) -> str:
    """What is wrong with the first container that cannot start or does not stay."""
    for status in (status for pod in its_pods for status in _containers(pod)):
        waiting = status.state.waiting
        if waiting and waiting.reason in REFUSED:
            return f"container {status.name} cannot be started: {waiting.message or waiting.reason}"
        if end := _end(status):
            return f"container {status.name} ended with {_words(end)}{_last_line(end, log)}"
    return ""


def _end(status: ContainerStatus) -> Terminated | None:
    """How a container ended that is to run again."""
    waiting, ended = status.state.waiting, status.state.terminated
    if ended and ended.exit_code:
        return ended
    return status.last_state.terminated if waiting and waiting.reason == CRASHING else None


def _words(end: Terminated) -> str:
    why = f" ({end.reason})" if end.reason not in ("", "Error") else ""
    return f"exit code {end.exit_code}{why} and is started again"


def _last_line(end: Terminated, log: str | None) -> str:
    lines = telling_lines(log)
    told = end.message.strip() or (lines[-1].strip() if lines else "")
    return f": {masking.excerpt(told)}" if told else ""


def _containers(pod: Pod) -> tuple[ContainerStatus, ...]:
    return (*pod.status.init_container_statuses, *pod.status.container_statuses)
