"""How many replicas a service has, and what decides that."""

from aim_engine.api import names
from aim_engine.api.foreign import HorizontalPodAutoscaler
from aim_engine.api.service import AIMServiceSpec, ServiceReplicas
from aim_engine.core.naming import predictor

METRICS_PORT = "8000"


def is_automatic(spec: AIMServiceSpec) -> bool:
    """Whether any field of automatic scaling is set; `replicas` always has a value and decides nothing."""
    return spec.auto_scaling is not None or spec.min_replicas is not None or spec.max_replicas is not None


def bounds(spec: AIMServiceSpec) -> tuple[int, int]:
    """Fewest and most replicas."""
    if not is_automatic(spec):
        fixed = 1 if spec.replicas is None else spec.replicas
        return fixed, fixed
    fewest = spec.min_replicas or 1
    return fewest, fewest if spec.max_replicas is None else spec.max_replicas


def annotations(spec: AIMServiceSpec, inference_service: str) -> dict[str, str]:
    """What tells KServe who scales."""
    if not is_automatic(spec):
        return {names.ANNOTATION_AUTOSCALER_CLASS: "none"}
    return {
        names.ANNOTATION_AUTOSCALER_CLASS: "keda",
        names.ANNOTATION_METRICS_SIDECAR: predictor(inference_service),
        names.ANNOTATION_METRICS_PORT: METRICS_PORT,
    }


def replicas(spec: AIMServiceSpec, autoscaler: HorizontalPodAutoscaler | None) -> ServiceReplicas:
    """The replicas for the status: the autoscaler's numbers, else what is configured.

    KServe leaves the autoscaler behind when automatic scaling is switched off; then its numbers mean nothing.
    """
    if autoscaler is not None and is_automatic(spec):
        fewest, most = autoscaler.spec.min_replicas or 1, autoscaler.spec.max_replicas
        current = autoscaler.status.current_replicas or 0
        desired = autoscaler.status.desired_replicas or 0
    else:
        fewest, most = bounds(spec)
        current = desired = fewest
    text = str(fewest) if fewest == most else f"{current}/{desired} ({fewest}-{most})"
    return ServiceReplicas(
        current_replicas=current, desired_replicas=desired, min_replicas=fewest, max_replicas=most, replicas=text
    )
