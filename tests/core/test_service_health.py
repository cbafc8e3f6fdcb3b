"""What a service says of KServe, the Gateway API and its autoscaler."""

from typing import Any

import msgspec
import pytest

from aim_engine.api.foreign import Event, HorizontalPodAutoscaler, InferenceService
from aim_engine.api.status import AIMStatus
from aim_engine.core import service_health
from aim_engine.core.problems import Category, invalid_spec


def served(ready: str | None = None, since: str = "2026-01-01T00:00:00Z") -> InferenceService:
    conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": since}] if ready else []
    content = {"metadata": {"name": "i", "namespace": "n", "uid": "u"}, "status": {"conditions": conditions}}
    return msgspec.convert(content, InferenceService)


def said(reason: str, message: str, at: str = "2026-01-02T00:00:00Z") -> Event:
    about = {"kind": "InferenceService", "namespace": "n", "name": "i", "uid": "u"}
    content = {"involvedObject": about, "type": "Warning", "reason": reason, "message": message, "lastTimestamp": at}
    return msgspec.convert(content, Event)


@pytest.mark.parametrize(
    ("found", "events", "state", "reason"),
    [
        pytest.param(None, [], AIMStatus.PROGRESSING, "CreatingRuntime", id="not made yet"),
        pytest.param(served("True"), [], AIMStatus.READY, "RuntimeReady", id="ready"),
        pytest.param(served("False"), [], AIMStatus.PROGRESSING, "CreatingRuntime", id="on its way"),
        pytest.param(
            served("False"),
            [said("ServerlessModeRejected", "no knative")],
            AIMStatus.FAILED,
            "ServerlessModeRejected",
            id="KServe runs in the wrong mode",
        ),
        pytest.param(
            served("False"), [said("InternalError", "boom")], AIMStatus.FAILED, "InternalError", id="KServe complains"
        ),
        pytest.param(
            served("False"),
            [said("InternalError", "Operation cannot be fulfilled on x")],
            AIMStatus.PROGRESSING,
            "CreatingRuntime",
            id="a conflict is no complaint",
        ),
        pytest.param(
            served("False"),
            [said("InternalError", 'failed to get KEDA autoscaler: no matches for kind "ScaledObject" in version "x"')],
            AIMStatus.PROGRESSING,
            "CreatingRuntime",
            id="without KEDA the autoscaler's condition tells",
        ),
        pytest.param(
            served("False"),
            [said("InternalError", 'ScaledObject.keda.sh "i" is invalid: spec.triggers: Required value')],
            AIMStatus.FAILED,
            "InternalError",
            id="what KEDA refuses is a complaint",
        ),
        pytest.param(
            served("False", since="2026-01-03T00:00:00Z"),
            [said("InternalError", "boom")],
            AIMStatus.PROGRESSING,
            "CreatingRuntime",
            id="a complaint from before the last change",
        ),
        pytest.param(
            served("True"), [said("InternalError", "boom")], AIMStatus.READY, "RuntimeReady", id="ready in spite of it"
        ),
    ],
)
def test_what_kserve_reports(found: Any, events: list[Event], state: AIMStatus, reason: str) -> None:
    told = service_health.inference_service(found, events, "i", installed=True)
    assert (told.effective_state, told.effective_reason, told.blocks) == (state, reason, False)


def test_a_cluster_without_kserve_is_told_and_blocks_nothing_else() -> None:
    told = service_health.inference_service(None, [], "i", installed=False)
    assert (told.effective_reason, told.blocks) == ("KServeNotInstalled", False)
    assert told.has(Category.INFRASTRUCTURE)
    assert "install KServe" in told.effective_message


def test_a_name_that_cannot_be_is_an_invalid_spec_and_blocks() -> None:
    told = service_health.inference_service(None, [], invalid_spec("InvalidSpec", "too long"), installed=True)
    assert (told.effective_state, told.effective_message, told.blocks) == (AIMStatus.FAILED, "too long", True)


def scaler(**conditions: str) -> HorizontalPodAutoscaler:
    listed = [{"type": name, "status": status, "message": "why"} for name, status in conditions.items()]
    return msgspec.convert({"spec": {"maxReplicas": 3}, "status": {"conditions": listed}}, HorizontalPodAutoscaler)


@pytest.mark.parametrize(
    ("found", "is_served", "reason"),
    [
        pytest.param(None, True, "HPANotFound", id="KEDA has made none"),
        pytest.param(scaler(), False, "WaitingForMetrics", id="nothing to measure yet"),
        pytest.param(scaler(ScalingActive="False"), True, "MetricsFailed", id="no metrics though pods are ready"),
        pytest.param(
            scaler(ScalingActive="True", AbleToScale="False"), True, "ScaleTargetNotReady", id="it cannot scale"
        ),
        pytest.param(scaler(ScalingActive="True", AbleToScale="True"), True, "HPAOperational", id="it scales"),
    ],
)
def test_what_the_autoscaler_reports(found: Any, is_served: bool, reason: str) -> None:
    assert service_health.autoscaler(found, served=is_served).effective_reason == reason
