"""Pods and Jobs."""

from datetime import datetime

from aim_engine.api.foreign.common import ForeignCondition, Quantities, Truth
from aim_engine.objects import ObjectMeta, Wire


class Resources(Wire):
    requests: Quantities = {}


class Container(Wire):
    resources: Resources = Resources()


class PodSpec(Wire):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""


class Waiting(Wire):
    reason: str = ""
    message: str = ""


class Terminated(Wire):
    exit_code: int = 0
    reason: str = ""
    message: str = ""


class ContainerState(Wire):
    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(Wire):
    name: str
    ready: bool = False
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodCondition(Wire):
    type: str
    status: Truth
    reason: str = ""


class PodStatus(Wire):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Wire):
    """A store keeps every pod of the cluster, so this view has what the operator reads and not a field more."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class JobSpec(Wire):
    backoff_limit: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool | None = None


class JobStatus(Wire):
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    start_time: datetime | None = None
    completion_time: datetime | None = None
    conditions: tuple[ForeignCondition, ...] = ()


class Job(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()
