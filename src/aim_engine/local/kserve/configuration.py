"""KServe's own configuration: Deployments instead of Knative, and no ingress, because the operator makes the routes."""

from typing import Any, Final

import msgspec

from aim_engine.objects import Manifest

NAMESPACE: Final = "kserve"
CONFIG_MAP: Final = "inferenceservice-config"

_SMALL: Final = {"cpuRequest": "100m", "cpuLimit": "1", "memoryRequest": "100Mi", "memoryLimit": "1Gi"}

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "deploy": {"defaultDeploymentMode": "Standard"},
    "ingress": {
        "disableIngressCreation": True,
        "disableIstioVirtualHost": True,
        "enableGatewayApi": False,
        "ingressGateway": "kserve/none",  # demanded, and never looked at
        "ingressDomain": "example.com",
        "domainTemplate": "{{ .Name }}-{{ .Namespace }}.{{ .IngressDomain }}",
        "urlScheme": "http",
    },
    "inferenceService": {"resource": {}},  # as an installation for us has it: requests and limits are the operator's
    "autoscaler": {"scaleUpStabilizationWindowSeconds": "0", "scaleDownStabilizationWindowSeconds": "300"},
    "opentelemetryCollector": {
        "scrapeInterval": "5s",
        "metricReceiverEndpoint": "keda-otel-scaler.keda.svc:4317",
        "metricScalerEndpoint": "keda-otel-scaler.keda.svc:4318",
        "resource": {"cpuRequest": "200m", "cpuLimit": "1", "memoryRequest": "512Mi", "memoryLimit": "2Gi"},
    },
    "metricsAggregator": {"enableMetricAggregation": "false", "enablePrometheusScraping": "false"},
    "security": {"autoMountServiceAccountToken": True},
    "localModel": {"enabled": False},
    # None of these ever comes into our pods, but the webhook of pods reads them all.
    "storageInitializer": {"image": "kserve/storage-initializer:latest", "enableModelcar": True, **_SMALL},
    "credentials": {"storageSpecSecretName": "storage-config"},
    "logger": {"image": "kserve/agent:latest", "defaultUrl": "http://default-broker", **_SMALL},
    "batcher": {"image": "kserve/agent:latest", "maxBatchSize": "32", "maxLatency": "5000", **_SMALL},
    "agent": {"image": "kserve/agent:latest", **_SMALL},
    "router": {"image": "kserve/router:latest", "imagePullPolicy": "IfNotPresent", **_SMALL},
}
"""The keys and values are those that KServe ships, apart from the first three."""


def namespace() -> Manifest:
    # The label keeps KServe's webhook of pods away from its own.
    labels = {"control-plane": "kserve-controller-manager"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}


def config_map() -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": NAMESPACE},
        "data": {name: msgspec.json.encode(value).decode() for name, value in SETTINGS.items()},
    }
