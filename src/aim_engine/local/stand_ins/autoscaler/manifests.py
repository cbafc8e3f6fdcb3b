"""What the autoscaler writes: the HorizontalPodAutoscaler, and both statuses."""

from typing import Any, Final

from aim_engine.api.quantity import canonical
from aim_engine.local.stand_ins.autoscaler.objects import (
    AUTOSCALERS,
    DEPLOYMENTS,
    SCALED_OBJECTS,
    KedaCondition,
    ScaledObject,
    ScaledObjectStatus,
)
from aim_engine.local.stand_ins.autoscaler.scaling import Decision, Reading
from aim_engine.objects import Condition, Manifest

METRIC: Final = "s{}-external"
"""KEDA numbers the metrics of a ScaledObject."""

COLLECTORS: Final[Manifest] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "opentelemetrycollectors.opentelemetry.io"},
    "spec": {
        "group": "opentelemetry.io",
        "scope": "Namespaced",
        "names": {
            "kind": "OpenTelemetryCollector",
            "listKind": "OpenTelemetryCollectorList",
            "plural": "opentelemetrycollectors",
            "singular": "opentelemetrycollector",
        },
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
"""KServe describes for the OpenTelemetry operator what a collector beside each pod is to send to KEDA, and goes no
further where that kind is unknown. Nothing here needs a collector, so any description will do; the operator's own
schema refuses KServe's until a webhook of the operator has completed it."""


def name_of(item: ScaledObject) -> str:
    return f"keda-hpa-{item.metadata.name}"


def autoscaler(item: ScaledObject, version: str) -> Manifest:
    """The HorizontalPodAutoscaler of a ScaledObject, as KEDA makes it."""
    name, metadata, behavior = (
        name_of(item),
        item.metadata,
        item.spec.advanced.horizontal_pod_autoscaler_config.behavior,
    )
    labels = {
        "app.kubernetes.io/name": name[:63].rstrip("-."),
        "app.kubernetes.io/version": version,
        "app.kubernetes.io/part-of": metadata.name,
        "app.kubernetes.io/managed-by": "keda-operator",
        **metadata.labels,
    }
    owner = {
        "apiVersion": SCALED_OBJECTS.api_version,
        "kind": SCALED_OBJECTS.kind,
        "name": metadata.name,
        "uid": metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    target = {"apiVersion": DEPLOYMENTS.api_version, "kind": "Deployment", "name": item.spec.scale_target_ref.name}
    return {
        "apiVersion": AUTOSCALERS.api_version,
        "kind": AUTOSCALERS.kind,
        "metadata": {
            "name": name,
            "namespace": metadata.namespace,
            "labels": labels,
            "annotations": metadata.annotations,
            "ownerReferences": [owner],
        },
        "spec": {
            "scaleTargetRef": target,
            "minReplicas": max(1, item.spec.min_replica_count),
            "maxReplicas": item.spec.max_replica_count,
            "metrics": [_metric(item, number) for number in range(len(item.spec.triggers))],
            **({"behavior": behavior} if behavior else {}),
        },
    }


def _metric(item: ScaledObject, number: int) -> Manifest:
    trigger = item.spec.triggers[number]
    kind = trigger.metric_type
    target = {"type": kind, "value" if kind == "Value" else "averageValue": trigger.metadata.get("targetValue", "0")}
    return {"type": "External", "external": {"metric": _named(item, number), "target": target}}


def _named(item: ScaledObject, number: int) -> Manifest:
    selector = {"matchLabels": {"scaledobject.keda.sh/name": item.metadata.name}}
    return {"name": METRIC.format(number), "selector": selector}


def current_metrics(item: ScaledObject, readings: list[Reading], replicas: int) -> list[Manifest]:
    """The readings as the HorizontalPodAutoscaler shows them."""
    found: list[Manifest] = []
    for number, reading in enumerate(readings):
        value = reading.total / max(1, replicas) if reading.per_pod else reading.total
        shown: dict[str, Any] = {"averageValue" if reading.per_pod else "value": canonical(f"{round(value * 1000)}m")}
        found.append({"type": "External", "external": {"metric": _named(item, number), "current": shown}})
    return found


def conditions(problem: str | None, decision: Decision, current: int) -> list[Condition]:
    """What the HorizontalPodAutoscaler says of itself."""
    if problem is not None:
        active = _said("ScalingActive", False, "FailedGetExternalMetric", problem)
    else:
        words = "the HPA was able to successfully calculate a replica count from external metrics"
        active = _said("ScalingActive", True, "ValidMetricFound", words)
    if decision.replicas == current:
        able = _said("AbleToScale", True, "ReadyForNewScale", "recommended size matches current size")
    else:
        words = f"the HPA controller was able to update the target scale to {decision.replicas}"
        able = _said("AbleToScale", True, "SucceededRescale", words)
    return [able, active, _said("ScalingLimited", decision.limited, decision.reason, decision.message)]


def status(item: ScaledObject, replicas: int | None, problem: str | None, active: bool) -> ScaledObjectStatus:
    """KEDA's words on a ScaledObject; `problem` is why it can't scale at all."""
    if problem is not None:
        ready = KedaCondition(type="Ready", status="False", reason="ScaledObjectCheckFailed", message=problem)
    else:
        words = "ScaledObject is defined correctly and is ready for scaling"
        ready = KedaCondition(type="Ready", status="True", reason="ScaledObjectReady", message=words)
    told = ("True", "ScalerActive", "Scaling is performed because triggers are active")
    quiet = ("False", "ScalerNotActive", "Scaling is not performed because triggers are not active")
    state, reason, words = told if active else quiet
    before = item.status.original_replica_count
    return ScaledObjectStatus(
        conditions=(
            ready,
            KedaCondition(type="Active", status=state, reason=reason, message=words),
            KedaCondition(type="Fallback", status="False", reason="NoFallbackFound", message="No fallbacks are active"),
            KedaCondition(type="Paused", status="Unknown"),
        ),
        hpa_name="" if problem else name_of(item),
        original_replica_count=replicas if before is None else before,
        scale_target_kind=f"{DEPLOYMENTS.api_version}.Deployment",
        external_metric_names=tuple(METRIC.format(number) for number in range(len(item.spec.triggers))),
    )


def _said(kind: str, holds: bool, reason: str, message: str) -> Condition:
    return Condition(type=kind, status="True" if holds else "False", reason=reason, message=message)
