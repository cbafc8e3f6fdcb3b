"""Narrow views of the pod a node runs."""

from typing import Literal

from aim_engine.local.node.container_spec import Container, RestartPolicy
from aim_engine.local.node.pod_status import PodStatus
from aim_engine.local.node.volume_spec import Volume
from aim_engine.objects import ObjectMeta, Wire


class PodMeta(ObjectMeta):
    """Metadata of a pod; the grace period is there once its deletion was asked for."""

    deletion_grace_period_seconds: int | None = None


class ReadinessGate(Wire):
    """A condition that somebody else sets before the pod counts as ready."""

    condition_type: str


class PodSecurityContext(Wire):
    """Who the processes of all containers are."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    fs_group: int | None = None
    supplemental_groups: tuple[int, ...] = ()


class PodSpec(Wire):
    """What a pod asks of its node."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    restart_policy: RestartPolicy = "Always"
    service_account_name: str = ""
    host_network: bool = False
    hostname: str = ""
    subdomain: str = ""
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None
    readiness_gates: tuple[ReadinessGate, ...] = ()
    security_context: PodSecurityContext = PodSecurityContext()
    enable_service_links: bool = True


class Pod(Wire):
    """A pod bound to one of our nodes."""

    api_version: str = "v1"
    kind: Literal["Pod"] = "Pod"
    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def title(self) -> str:
        """The pod as a kubelet names it in messages: `name_namespace(uid)`."""
        return f"{self.metadata.name}_{self.metadata.namespace}({self.metadata.uid})"


def sidecar(container: Container) -> bool:
    """Whether an init container keeps running beside the main ones."""
    return container.restart_policy == "Always"


def restarts(pod: Pod, container: Container, exit_code: int) -> bool:
    """Whether a container that ended with this code is started again."""
    policy = container.restart_policy or pod.spec.restart_policy
    if policy == "Always" and container.restart_policy is None and container in pod.spec.init_containers:
        policy = "OnFailure"  # an init container that succeeded is done, whatever the pod's policy
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)
