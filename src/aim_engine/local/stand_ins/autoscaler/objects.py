"""As much of the cluster's objects as an autoscaler reads."""

from typing import Any, Final

import msgspec

from aim_engine.kube.resource import Resource
from aim_engine.objects import Condition, ObjectMeta, Wire

SCALED_OBJECTS: Final = Resource("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject")
AUTOSCALERS: Final = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
USUAL_DOWN_WINDOW: Final = 300
DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")


class ScaleTarget(Wire):
    name: str
    kind: str = "Deployment"


class Trigger(Wire):
    """One source of a number to scale by."""

    type: str = ""
    metadata: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    metric_type: str = "AverageValue"


class ScalingRules(Wire):
    stabilization_window_seconds: int | None = None


class Behavior(Wire):
    scale_down: ScalingRules = ScalingRules()


class AutoscalerConfig(Wire):
    behavior: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """Passed on as it is."""

    @property
    def down_window(self) -> int:
        """For how many seconds the most replicas that were wanted are kept."""
        told = msgspec.convert(self.behavior, Behavior).scale_down.stabilization_window_seconds
        return USUAL_DOWN_WINDOW if told is None else told


class Advanced(Wire):
    horizontal_pod_autoscaler_config: AutoscalerConfig = AutoscalerConfig()


class ScaledObjectSpec(Wire):
    scale_target_ref: ScaleTarget
    min_replica_count: int = 0
    max_replica_count: int = 100
    triggers: tuple[Trigger, ...] = ()
    advanced: Advanced = Advanced()


class KedaCondition(Wire):
    """KEDA's conditions have no times."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class ScaledObjectStatus(Wire):
    conditions: tuple[KedaCondition, ...] = ()
    hpa_name: str = ""
    original_replica_count: int | None = None
    scale_target_kind: str = ""
    external_metric_names: tuple[str, ...] = ()


class ScaledObject(Wire):
    metadata: ObjectMeta
    spec: ScaledObjectSpec
    status: ScaledObjectStatus = ScaledObjectStatus()


class AutoscalerStatus(Wire):
    current_replicas: int | None = None
    desired_replicas: int = 0
    observed_generation: int | None = None
    conditions: tuple[Condition, ...] = ()
    current_metrics: tuple[dict[str, Any], ...] | None = None


class Autoscaler(Wire):
    """A HorizontalPodAutoscaler."""

    metadata: ObjectMeta
    status: AutoscalerStatus = AutoscalerStatus()


class Selector(Wire):
    match_labels: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class DeploymentSpec(Wire):
    replicas: int = 1
    selector: Selector = Selector()


class DeploymentStatus(Wire):
    replicas: int = 0


class Deployment(Wire):
    metadata: ObjectMeta
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class PodCondition(Wire):
    type: str
    status: str


class PodStatus(Wire, rename={"pod_ip": "podIP"}):
    pod_ip: str = ""
    conditions: tuple[PodCondition, ...] = ()


class Pod(Wire):
    metadata: ObjectMeta
    status: PodStatus = PodStatus()

    @property
    def is_ready(self) -> bool:
        return self.metadata.deletion_timestamp is None and any(
            one.type == "Ready" and one.status == "True" for one in self.status.conditions
        )
