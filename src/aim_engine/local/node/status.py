"""The status of a pod from what is known of its containers: values in, values out.

The phase as a kubelet tells it:

    Pending ──► Running ──► Succeeded
       │           └──────► Failed
       └──────────────────► Failed     (evicted, past its deadline, or an init container that may not run again)
"""

from collections.abc import Sequence

from aim_engine.local.node.conditions import conditions
from aim_engine.local.node.container_spec import Container
from aim_engine.local.node.facts import Facts, Statuses, has_started
from aim_engine.local.node.pod_spec import Pod, restarts, sidecar
from aim_engine.local.node.pod_status import (
    Address,
    ContainerState,
    ContainerStatus,
    Phase,
    PodCondition,
    PodStatus,
    Waiting,
)

TERMINAL: frozenset[Phase] = frozenset({"Succeeded", "Failed"})


def initial(pod: Pod) -> dict[str, ContainerStatus]:
    """The containers of a pod before anything of it ran."""
    reason = "PodInitializing" if pod.spec.init_containers else "ContainerCreating"
    everyone = (*pod.spec.init_containers, *pod.spec.containers)
    return {container.name: waiting(container, reason) for container in everyone}


def waiting(container: Container, reason: str, message: str = "") -> ContainerStatus:
    """A container that never ran."""
    return ContainerStatus(
        name=container.name,
        ready=False,
        restart_count=0,
        image=container.image,
        image_id="",
        state=ContainerState(waiting=Waiting(reason=reason, message=message)),
        started=False,
    )


def compute(pod: Pod, statuses: Statuses, facts: Facts, before: Sequence[PodCondition]) -> PodStatus:
    """Return the whole status; `before` are the conditions reported last, whose times stay where nothing changed."""
    failure = facts.failure if facts.ending else None  # a pod has not failed as long as something of it runs
    phase_now: Phase = "Failed" if failure else phase(pod, statuses, ending=facts.ending)
    return PodStatus(
        phase=phase_now,
        observed_generation=pod.metadata.generation or None,
        conditions=conditions(pod, statuses, phase_now, facts, before),
        reason=failure.reason if failure else "",
        message=failure.message if failure else "",
        host_ip=facts.host_address,
        host_ips=(Address(ip=facts.host_address),),
        pod_ip=facts.pod_address,
        pod_ips=(Address(ip=facts.pod_address),) if facts.pod_address else (),
        start_time=facts.start_time,
        init_container_statuses=tuple(statuses[each.name] for each in pod.spec.init_containers),
        container_statuses=tuple(statuses[each.name] for each in pod.spec.containers),
    )


def phase(pod: Pod, statuses: Statuses, *, ending: bool = False) -> Phase:
    """Return the phase; `ending` means that no container will be started any more."""
    initialized = has_started(pod, statuses)
    if any(_init_failed(pod, each, statuses[each.name]) for each in pod.spec.init_containers):
        return "Failed"
    if any(_init_pending(each, statuses[each.name], initialized=initialized) for each in pod.spec.init_containers):
        return "Failed" if ending else "Pending"
    mains = [statuses[each.name] for each in pod.spec.containers]
    if any(status.state.waiting and not status.last_state.terminated for status in mains):
        return "Failed" if ending else "Pending"
    helpers = [statuses[each.name] for each in pod.spec.init_containers if sidecar(each)]
    if any(status.state.running for status in (*mains, *helpers)):
        return "Running"
    return _ended(pod, mains, ending=ending)


def _ended(pod: Pod, mains: Sequence[ContainerStatus], *, ending: bool) -> Phase:
    codes = [_exit_code(status) for status in mains]
    if ending:
        return "Succeeded" if all(code == 0 for code in codes) else "Failed"
    again = [restarts(pod, each, code) for each, code in zip(pod.spec.containers, codes, strict=True)]
    if any(again):
        return "Running"
    return "Succeeded" if all(code == 0 for code in codes) else "Failed"


def _exit_code(status: ContainerStatus) -> int:
    ended = status.state.terminated or status.last_state.terminated
    return ended.exit_code if ended else 0


def _init_failed(pod: Pod, container: Container, status: ContainerStatus) -> bool:
    ended = status.state.terminated or (status.last_state.terminated if status.state.waiting else None)
    if sidecar(container) or ended is None or ended.exit_code == 0:
        return False
    return not restarts(pod, container, ended.exit_code)


def _init_pending(container: Container, status: ContainerStatus, *, initialized: bool) -> bool:
    if initialized:
        return False
    if sidecar(container):
        return not status.started and not status.state.terminated and not status.last_state.terminated
    return status.state.terminated is None or status.state.terminated.exit_code != 0
