"""Scaling of a service by metrics of its pods, through KServe and KEDA."""

from enum import StrEnum
from typing import Annotated

from aim_engine.api.declare import INT32, default, doc
from aim_engine.objects import Wire


class MetricSourceType(StrEnum):
    """Where a metric comes from."""

    POD_METRIC = "PodMetric"


class MetricBackend(StrEnum):
    """What collects the metric."""

    OPEN_TELEMETRY = "opentelemetry"


class MetricTargetType(StrEnum):
    """How the target is given."""

    VALUE = "Value"
    AVERAGE_VALUE = "AverageValue"
    UTILIZATION = "Utilization"


class PodMetricQuery(Wire):
    """The metric to read."""

    backend: Annotated[
        MetricBackend | None, doc("What collects the metric."), default(MetricBackend.OPEN_TELEMETRY.value)
    ] = None
    server_address: Annotated[str | None, doc("Address of the backend; KServe's default if empty.")] = None
    metric_names: Annotated[
        tuple[str, ...], doc("Metrics to collect from the pods, for example vllm:num_requests_running.")
    ] = ()
    query: Annotated[
        str | None, doc("Query in the language of the backend, for example vllm:num_requests_running.")
    ] = None
    operation_over_time: Annotated[
        str | None, doc("How values over time become one: last_one, avg, max, min, rate or count; last_one if empty.")
    ] = None


class MetricTarget(Wire):
    """The value to hold."""

    type: Annotated[MetricTargetType, doc("Which of the values below counts.")]
    value: Annotated[str | None, doc("For Value: the metric itself, for example 1 or 100m.")] = None
    average_value: Annotated[str | None, doc("For AverageValue: the mean over all pods.")] = None
    average_utilization: Annotated[
        int | None,
        INT32,
        doc("For Utilization: percent of what is requested. KServe takes it for resource metrics only."),
    ] = None


class PodMetric(Wire):
    """A metric of each pod and the value to hold."""

    metric: Annotated[PodMetricQuery, doc("The metric to read.")]
    target: Annotated[MetricTarget, doc("The value to hold.")]


class ScalingMetric(Wire):
    """One metric to scale by."""

    type: Annotated[MetricSourceType, doc("Where the metric comes from.")]
    podmetric: Annotated[PodMetric | None, doc("For PodMetric: the metric of each pod and the value to hold.")] = None


class AutoScaling(Wire):
    """Metrics that decide the number of replicas."""

    metrics: Annotated[
        tuple[ScalingMetric, ...], doc("Metrics to scale by; the one that asks for most replicas decides.")
    ] = ()
