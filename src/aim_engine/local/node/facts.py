"""What the node knows of a pod, from which its status is told."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.pod_status import ContainerStatus

Statuses = Mapping[str, ContainerStatus]
"""Name of a container -> what is known of it."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why the node itself ended a pod."""

    reason: str
    message: str
    disruption: bool = False
    """Whether the pod would have gone on elsewhere: an eviction, not a deadline."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a status says beside the containers."""

    now: datetime
    start_time: datetime
    host_address: str
    pod_address: str = ""
    sandbox: bool = False
    """Whether volumes and address are there, so that containers may start."""
    failure: Failure | None = None
    ending: bool = False
    """Whether no container will be started any more."""


def has_started(pod: Pod, statuses: Statuses) -> bool:
    """Whether a main container ran, now or before: the pod was initialised once."""
    mains = [statuses[each.name] for each in pod.spec.containers]
    return any(each.state.running or each.state.terminated or each.last_state.terminated for each in mains)
