"""What an agent makes of pods it finds on its nodes when it starts: their processes ended with the agent before."""

from collections.abc import Mapping

import msgspec

from aim_engine.local.node import status
from aim_engine.local.node.facts import Failure
from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.pod_status import ContainerState, ContainerStatus, Terminated, Waiting

LOST = "The container ended together with the agent that ran it, so how it ended is not known."
_TERMINATED = Failure(
    reason="Terminated", message="The pod's containers ended together with the agent that ran them.", disruption=True
)


def adopted(pod: Pod) -> dict[str, ContainerStatus]:
    """The containers as the API server knows them, those that were running as ended; new ones where it knows none."""
    known = {each.name: each for each in (*pod.status.init_container_statuses, *pod.status.container_statuses)}
    fresh = status.initial(pod)
    return {name: _lost(known[name], fresh[name]) if name in known else fresh[name] for name in fresh}


def lost_for_good(pod: Pod) -> Failure | None:
    """Why the pod can't go on: one that may not be started anew had begun."""
    known = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    began = any(each.state.running or each.state.terminated or each.last_state.terminated for each in known)
    return _TERMINATED if began and pod.spec.restart_policy != "Always" else None


def ended(statuses: Mapping[str, ContainerStatus]) -> dict[str, ContainerStatus]:
    """The same containers when nothing of them will run again: whoever waits for a restart has ended."""

    def end(each: ContainerStatus) -> ContainerStatus:
        over = each.last_state.terminated if each.state.waiting else None
        if over is None:
            return each
        return msgspec.structs.replace(each, state=ContainerState(terminated=over), last_state=ContainerState())

    return {name: end(each) for name, each in statuses.items()}


def _lost(known: ContainerStatus, fresh: ContainerStatus) -> ContainerStatus:
    over = known.state.terminated or known.last_state.terminated
    if known.state.running:
        over = Terminated(
            exit_code=137,
            reason="ContainerStatusUnknown",
            message=LOST,
            started_at=known.state.running.started_at,
            container_id=known.container_id,
        )
    waiting = known.state.waiting or fresh.state.waiting or Waiting(reason="ContainerCreating")
    return msgspec.structs.replace(
        known,
        state=ContainerState(waiting=waiting),
        last_state=ContainerState(terminated=over),
        ready=False,
        started=False,
    )
