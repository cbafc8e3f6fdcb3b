"""The conditions of a pod, with a kubelet's reasons and messages."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from aim_engine.local.node.facts import Facts, Statuses, has_started
from aim_engine.local.node.pod_spec import Pod, sidecar
from aim_engine.local.node.pod_status import ContainerStatus, Phase, PodCondition

_TERMINAL_REASON: dict[Phase, str] = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}


def conditions(
    pod: Pod, statuses: Statuses, phase: Phase, facts: Facts, before: Sequence[PodCondition]
) -> tuple[PodCondition, ...]:
    """Return every condition a node owns; the time of one whose status stays is the one it had."""
    known = {each.type: each for each in before}

    def dated(condition: PodCondition) -> PodCondition:
        old = known.get(condition.type)
        same = old is not None and old.status == condition.status
        since = old.last_transition_time if old and same else facts.now
        return msgspec.structs.replace(
            condition, last_transition_time=since, observed_generation=pod.metadata.generation or None
        )

    return tuple(dated(each) for each in _all(pod, statuses, phase, facts, before))


def _all(
    pod: Pod, statuses: Statuses, phase: Phase, facts: Facts, before: Sequence[PodCondition]
) -> Iterator[PodCondition]:
    if facts.failure and facts.failure.disruption:
        yield PodCondition(
            type="DisruptionTarget", status="True", reason="TerminationByKubelet", message=facts.failure.message
        )
    yield PodCondition(type="PodReadyToStartContainers", status="True" if facts.sandbox else "False")
    yield _initialized(pod, statuses, phase)
    containers_ready = _containers_ready(pod, statuses, phase)
    yield _ready(pod, containers_ready, before)
    yield containers_ready
    yield PodCondition(type="PodScheduled", status="True")


def _initialized(pod: Pod, statuses: Statuses, phase: Phase) -> PodCondition:
    if phase == "Succeeded":
        return PodCondition(type="Initialized", status="True", reason="PodCompleted")
    incomplete = [each.name for each in pod.spec.init_containers if not _done(statuses[each.name], sidecar(each))]
    if has_started(pod, statuses) or not incomplete:
        return PodCondition(type="Initialized", status="True")
    return PodCondition(
        type="Initialized",
        status="False",
        reason="ContainersNotInitialized",
        message=f"containers with incomplete status: [{' '.join(incomplete)}]",
    )


def _done(status: ContainerStatus, beside: bool) -> bool:
    return bool(status.started) if beside else status.ready


def _containers_ready(pod: Pod, statuses: Statuses, phase: Phase) -> PodCondition:
    if phase in _TERMINAL_REASON:
        return PodCondition(type="ContainersReady", status="False", reason=_TERMINAL_REASON[phase])
    counted = (*(each for each in pod.spec.init_containers if sidecar(each)), *pod.spec.containers)
    unready = [each.name for each in counted if not statuses[each.name].ready]
    if not unready:
        return PodCondition(type="ContainersReady", status="True")
    return PodCondition(
        type="ContainersReady",
        status="False",
        reason="ContainersNotReady",
        message=f"containers with unready status: [{' '.join(unready)}]",
    )


def _ready(pod: Pod, containers_ready: PodCondition, before: Sequence[PodCondition]) -> PodCondition:
    if containers_ready.status != "True":
        return msgspec.structs.replace(containers_ready, type="Ready")
    theirs = {each.type: each.status for each in (*before, *pod.status.conditions)}
    problems = [_gate(gate.condition_type, theirs) for gate in pod.spec.readiness_gates]
    problems = [problem for problem in problems if problem]
    if not problems:
        return PodCondition(type="Ready", status="True")
    return PodCondition(type="Ready", status="False", reason="ReadinessGatesNotReady", message=", ".join(problems))


def _gate(name: str, theirs: Mapping[str, str]) -> str:
    if name not in theirs:
        return f'corresponding condition of pod readiness gate "{name}" does not exist.'
    if theirs[name] != "True":
        return f'the status of pod readiness gate "{name}" is not "True", but {theirs[name]}'
    return ""
