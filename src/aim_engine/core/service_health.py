"""What KServe and the autoscaler say of a service's pods, as components."""

from collections.abc import Sequence
from typing import Final

from aim_engine.api.foreign import Event, ForeignCondition, HorizontalPodAutoscaler, InferenceService
from aim_engine.api.status import AIMStatus
from aim_engine.core import events
from aim_engine.core.health import Component
from aim_engine.core.problems import Dependency, Problem, infrastructure

SERVERLESS: Final = "ServerlessModeRejected"
HARMLESS: Final = ("the object has been modified", "Operation cannot be fulfilled")
UNKNOWN_SCALER: Final = 'no matches for kind "ScaledObject"'

NOT_INSTALLED: Final = infrastructure(
    "KServeNotInstalled",
    "KServe is not installed: the API server knows no InferenceServices; install KServe to serve models",
)
NO_GATEWAY_API: Final = infrastructure(
    "GatewayAPINotInstalled",
    "The Gateway API is not installed: the API server knows no HTTPRoutes; install it, or switch routing off",
)


def inference_service(
    found: InferenceService | None, said: Sequence[Event], name: str | Problem, *, installed: bool, laggards: str = ""
) -> Component:
    """What serves the model, as KServe reports it; `laggards` tells what some of its pods wait for."""
    if isinstance(name, Problem):
        return Component(name="InferenceService", problems=(name,), dependency=Dependency.DOWNSTREAM)
    if not installed:
        return _served(problems=(NOT_INSTALLED,))
    if found is None:
        return _served(AIMStatus.PROGRESSING, "CreatingRuntime", "InferenceService not found")
    ready = next((c for c in found.status.conditions if c.type == "Ready"), None)
    if ready and ready.status == "True":
        return _served(AIMStatus.READY, "RuntimeReady", "InferenceService is ready")
    if any(event.reason == SERVERLESS for event in events.about(found.metadata, said)):
        hint = "Knative is not available. Configure KServe to use RawDeployment mode."
        return _served(AIMStatus.FAILED, SERVERLESS, hint)
    if error := _internal_error(found, said, ready):
        return _served(AIMStatus.FAILED, "InternalError", error.message)
    cause = laggards or (ready.message if ready else "")
    said_so = f"InferenceService is not ready: {cause}" if cause else "InferenceService is not ready"
    return _served(AIMStatus.PROGRESSING, "CreatingRuntime", said_so)


def _internal_error(found: InferenceService, said: Sequence[Event], ready: ForeignCondition | None) -> Event | None:
    """KServe's last complaint, unless it is outlived, harmless, or about a scaler that is missing."""
    errors = [
        event
        for event in events.about(found.metadata, said)
        if event.type == "Warning"
        and event.reason == "InternalError"
        and not any(text in event.message for text in HARMLESS)
        and UNKNOWN_SCALER not in event.message
    ]
    error = events.newest(errors)
    since = ready.last_transition_time if ready else None
    if error and since and error.seen_at and error.seen_at < since:
        return None
    return error


def _served(
    state: AIMStatus | None = None, reason: str = "", message: str = "", problems: tuple[Problem, ...] = ()
) -> Component:
    return Component(
        name="InferenceService",
        state=state,
        reason=reason,
        message=message,
        problems=problems,
        dependency=Dependency.DOWNSTREAM,
        blocks=False,
    )


def autoscaler(found: HorizontalPodAutoscaler | None, *, served: bool) -> Component:
    """The autoscaler that KEDA keeps; `served` tells whether the pods are ready to be measured."""
    if found is None:
        waiting = "Waiting for KEDA to create HorizontalPodAutoscaler"
        return _scaled(AIMStatus.PROGRESSING, "HPANotFound", waiting)
    said = {condition.type: condition for condition in found.status.conditions}
    active, able = said.get("ScalingActive"), said.get("AbleToScale")
    if active is None or active.status != "True":
        if not served:
            waiting = "Waiting for InferenceService to be ready before metrics are available"
            return _scaled(AIMStatus.PROGRESSING, "WaitingForMetrics", waiting)
        why = f"HPA cannot get metrics: {active.message}" if active else "HPA ScalingActive condition not found"
        return _scaled(AIMStatus.FAILED, "MetricsFailed", why)
    if able and able.status != "True":
        return _scaled(AIMStatus.PROGRESSING, "ScaleTargetNotReady", f"HPA cannot update scale target: {able.message}")
    return _scaled(AIMStatus.READY, "HPAOperational", "HorizontalPodAutoscaler is actively scaling")


def _scaled(state: AIMStatus, reason: str, message: str) -> Component:
    return Component(
        name="HPA", state=state, reason=reason, message=message, dependency=Dependency.DOWNSTREAM, blocks=False
    )
