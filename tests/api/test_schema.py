"""The schema field by field: defaults, limits, allowed values, list maps and rules."""

from typing import Any

import pytest

from aim_engine.api import schema

ROOTS: dict[str, dict[str, Any]] = {
    definition["spec"]["names"]["kind"]: definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for definition in schema.crds()
}
MODELS = ("AIMModel", "AIMClusterModel")
TEMPLATES = ("AIMServiceTemplate", "AIMClusterServiceTemplate")
DOWNLOADS = ("AIMArtifact", "AIMModelCache")
CONFIGS = ("AIMRuntimeConfig", "AIMClusterRuntimeConfig")

RESOURCE_STATES = ["Pending", "Progressing", "Ready", "Degraded", "Failed", "NotAvailable"]
ALL_STATES = ["Pending", "Starting", "Progressing", "Ready", "Running", "Degraded", "NotAvailable", "Failed"]
PRECISIONS = ["auto", "fp4", "fp8", "fp16", "fp32", "bf16", "int4", "int8"]
PROFILE_TYPES = ["optimized", "preview", "unoptimized"]
MODEL_ID = r"^[a-zA-Z0-9_-]+/[a-zA-Z0-9._-]+$"
SOURCE_URI = r"^(hf|s3)://[^ \t\r\n]+$"


def at(kind: str, path: str) -> dict[str, Any]:
    """The schema at a path such as `spec.filters[].image`."""
    node = ROOTS[kind]
    for step in path.replace("[]", ".[]").split("."):
        node = (node.get("items") or node["additionalProperties"]) if step == "[]" else node["properties"][step]
    return node


def each(kinds: tuple[str, ...] | str, path: str, *expected: Any) -> list[Any]:
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    return [pytest.param(kind, path, *expected, id=f"{kind} {path}") for kind in kinds]


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        *each(MODELS, "spec.discovery.extractMetadata", True),
        *each(MODELS, "spec.discovery.createServiceTemplates", True),
        *each(MODELS, "spec.customTemplates[].type", "unoptimized"),
        *each(MODELS, "spec.custom.hardware.gpu.resourceName", "amd.com/gpu"),
        *each(MODELS, "status.status", "Pending"),
        *each("AIMClusterModelSource", "spec.registry", "docker.io"),
        *each("AIMClusterModelSource", "spec.syncInterval", "1h"),
        *each("AIMClusterModelSource", "spec.maxModels", 100),
        *each("AIMServiceTemplate", "spec.caching.enabled", False),
        *each(TEMPLATES, "spec.gpu.resourceName", "amd.com/gpu"),
        *each(TEMPLATES, "status.status", "Pending"),
        *each("AIMService", "spec.caching.mode", "Auto"),
        *each("AIMService", "spec.replicas", 1),
        *each("AIMService", "spec.storage.pvcHeadroomPercent", 10),
        *each("AIMService", "spec.routing.gatewayRef.group", "gateway.networking.k8s.io"),
        *each("AIMService", "spec.routing.gatewayRef.kind", "Gateway"),
        *each("AIMService", "spec.autoScaling.metrics[].podmetric.metric.backend", "opentelemetry"),
        *each("AIMService", "spec.imagePullSecrets[].name", ""),
        *each("AIMService", "spec.env[].valueFrom.secretKeyRef.name", ""),
        *each("AIMService", "spec.env[].valueFrom.configMapKeyRef.name", ""),
        *each("AIMService", "spec.env[].valueFrom.fileKeyRef.optional", False),
        *each("AIMService", "status.status", "Pending"),
        *each("AIMTemplateCache", "spec.mode", "Shared"),
        *each("AIMTemplateCache", "status.status", "Pending"),
        *each("AIMArtifact", "spec.modelDownloadImage", "ghcr.io/silogen/aim-artifact-downloader:0.2.0"),
        *each("AIMModelCache", "spec.modelDownloadImage", "kserve/storage-initializer:v0.16.0"),
        *each(DOWNLOADS, "status.status", "Pending"),
        *each(CONFIGS, "spec.storage.pvcHeadroomPercent", 10),
        *each(CONFIGS, "spec.labelPropagation.enabled", False),
    ],
)
def test_default(kind: str, path: str, value: Any) -> None:
    assert at(kind, path)["default"] == value


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        *each(TEMPLATES, "spec.type"),
        *each(MODELS, "spec.custom.type"),
        *each("AIMClusterModelSource", "status.status"),
        *each("AIMService", "spec.cacheModel"),
        *each("AIMService", "spec.template.allowUnoptimized"),
        *each("AIMService", "spec.autoScaling.metrics[].podmetric.metric.serverAddress"),
        *each("AIMTemplateCache", "spec.templateScope"),
        *each(CONFIGS, "spec.routing.enabled"),
        *each(CONFIGS, "spec.model.autoDiscovery"),
        *each(CONFIGS, "spec.pvcHeadroomPercent"),
    ],
)
def test_no_default_where_absent_means_something(kind: str, path: str) -> None:
    assert "default" not in at(kind, path)


@pytest.mark.parametrize(
    ("kind", "path", "names"),
    [
        *each(MODELS, "spec", ["image"]),
        *each(MODELS, "spec.modelSources[]", ["modelId", "sourceUri"]),
        *each(MODELS, "spec.custom.hardware.cpu", ["requests"]),
        *each(MODELS, "status.conditions[]", ["type", "status", "reason", "message", "lastTransitionTime"]),
        *each("AIMClusterModelSource", "spec", ["filters"]),
        *each("AIMClusterModelSource", "spec.filters[]", ["image"]),
        *each(TEMPLATES, "spec", ["modelName"]),
        *each("AIMService", "spec", ["model"]),
        *each("AIMService", "spec.model.custom", ["baseImage", "modelSources", "hardware"]),
        *each("AIMService", "spec.routing.gatewayRef", ["name"]),
        *each("AIMService", "spec.autoScaling.metrics[]", ["type"]),
        *each("AIMService", "spec.autoScaling.metrics[].podmetric", ["metric", "target"]),
        *each("AIMService", "spec.autoScaling.metrics[].podmetric.target", ["type"]),
        *each("AIMService", "spec.env[]", ["name"]),
        *each("AIMTemplateCache", "spec", ["templateName"]),
        *each("AIMTemplateCache", "status.artifacts[]", ["uid", "name", "model", "status"]),
        *each("AIMTemplateCache", "status.modelCaches[]", ["uid", "name", "model", "status"]),
        *each(DOWNLOADS, "spec", ["sourceUri"]),
    ],
)
def test_required(kind: str, path: str, names: list[str]) -> None:
    assert at(kind, path)["required"] == names


@pytest.mark.parametrize(
    ("kind", "path", "values"),
    [
        *each(MODELS, "status.status", RESOURCE_STATES),
        *each(MODELS, "status.sourceType", ["Image", "Custom"]),
        *each(MODELS, "spec.customTemplates[].profile.metric", ["latency", "throughput"]),
        *each(MODELS, "spec.customTemplates[].profile.precision", PRECISIONS),
        *each(MODELS, "spec.customTemplates[].type", PROFILE_TYPES),
        *each(MODELS, "status.resolvedRuntimeConfig.scope", ["Namespace", "Cluster", "Merged", "Unknown"]),
        *each("AIMClusterModelSource", "status.status", ALL_STATES),
        *each(TEMPLATES, "status.status", RESOURCE_STATES),
        *each(TEMPLATES, "status.profile.metadata.precision", PRECISIONS),
        *each(TEMPLATES, "status.profile.metadata.type", PROFILE_TYPES),
        *each("AIMService", "status.status", ["Pending", "Starting", "Running", "Degraded", "Failed"]),
        *each("AIMService", "spec.caching.mode", ["Auto", "Always", "Never", "Dedicated", "Shared"]),
        *each("AIMService", "spec.autoScaling.metrics[].type", ["PodMetric"]),
        *each(
            "AIMService",
            "spec.autoScaling.metrics[].podmetric.target.type",
            ["Value", "AverageValue", "Utilization"],
        ),
        *each("AIMTemplateCache", "spec.templateScope", ["Namespace", "Cluster", "Unknown"]),
        *each("AIMTemplateCache", "spec.mode", ["Dedicated", "Shared"]),
        *each("AIMTemplateCache", "status.status", RESOURCE_STATES),
        *each(DOWNLOADS, "status.status", RESOURCE_STATES),
        *each(DOWNLOADS, "status.mode", ["Dedicated", "Shared"]),
    ],
)
def test_allowed_values(kind: str, path: str, values: list[str]) -> None:
    assert at(kind, path)["enum"] == values


@pytest.mark.parametrize(
    ("kind", "path", "limits"),
    [
        *each(MODELS, "spec.image", {"minLength": 1}),
        *each(MODELS, "spec.customTemplates", {"maxItems": 16}),
        *each(MODELS, "spec.customTemplates[].name", {"maxLength": 63}),
        *each(MODELS, "spec.customTemplates[].env", {"maxItems": 64}),
        *each(MODELS, "spec.modelSources", {"maxItems": 1}),
        *each(MODELS, "spec.modelSources[].modelId", {"pattern": MODEL_ID}),
        *each(MODELS, "spec.modelSources[].sourceUri", {"pattern": SOURCE_URI}),
        *each("AIMClusterModelSource", "spec.filters", {"minItems": 1, "maxItems": 100}),
        *each("AIMClusterModelSource", "spec.filters[].image", {"maxLength": 512}),
        *each("AIMClusterModelSource", "spec.maxModels", {"minimum": 1, "maximum": 10000}),
        *each(TEMPLATES, "spec.modelName", {"minLength": 1}),
        *each(TEMPLATES, "spec.gpu.requests", {"minimum": 0}),
        *each(TEMPLATES, "spec.hardware.gpu.model", {"maxLength": 64}),
        *each(TEMPLATES, "spec.modelSources", {}),
        *each("AIMService", "spec.model.custom.modelSources", {"minItems": 1, "maxItems": 1}),
        *each("AIMService", "spec.replicas", {}),
        *each("AIMService", "spec.minReplicas", {"minimum": 1}),
        *each("AIMService", "spec.maxReplicas", {"minimum": 1}),
        *each("AIMService", "spec.storage.pvcHeadroomPercent", {"minimum": 0}),
        *each("AIMService", "spec.routing.gatewayRef.port", {"minimum": 1, "maximum": 65535}),
        *each("AIMService", "spec.routing.gatewayRef.name", {"minLength": 1, "maxLength": 253}),
        *each("AIMTemplateCache", "spec.templateName", {"minLength": 1}),
        *each(DOWNLOADS, "spec.sourceUri", {"minLength": 1, "pattern": SOURCE_URI}),
        *each(DOWNLOADS, "spec.modelId", {"pattern": MODEL_ID}),
        *each(DOWNLOADS, "status.progress.percentage", {"minimum": 0, "maximum": 100}),
        *each(CONFIGS, "spec.pvcHeadroomPercent", {}),
    ],
)
def test_limits(kind: str, path: str, limits: dict[str, Any]) -> None:
    words = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern")
    assert {word: value for word, value in at(kind, path).items() if word in words} == limits


@pytest.mark.parametrize("kind", ROOTS)
def test_env_and_conditions_and_claims_are_maps_by_their_key(kind: str) -> None:
    keys = {"env": "name", "conditions": "type", "claims": "name"}
    atomic = {"nodeSelectorTerms", "matchExpressions", "matchFields", "values"}
    for path, node in _walk(ROOTS[kind]):
        field = path.rsplit(".", 1)[-1]
        if node.get("type") != "array":
            continue
        if field in keys:
            assert node["x-kubernetes-list-type"] == "map", path
            assert node["x-kubernetes-list-map-keys"] == [keys[field]], path
        elif "NodeAffinity" in path and (field in atomic or field.startswith("preferred")):
            assert node["x-kubernetes-list-type"] == "atomic", path
        else:
            assert "x-kubernetes-list-type" not in node, path


@pytest.mark.parametrize("kind", ROOTS)
def test_nothing_but_the_output_of_discovery_is_kept_unseen(kind: str) -> None:
    free = {path for path, node in _walk(ROOTS[kind]) if node.get("x-kubernetes-preserve-unknown-fields")}
    expected = {".status.profile.engine_args", ".status.profile.originalDiscoveryOutput"}
    assert free == (expected if kind in TEMPLATES else set())


@pytest.mark.parametrize("kind", ROOTS)
def test_statuses_carry_no_rule_but_that_hardware_is_something(kind: str) -> None:
    rules = {
        (path, rule["rule"])
        for path, node in _walk(ROOTS[kind]["properties"]["status"], ".status")
        for rule in node.get("x-kubernetes-validations", [])
    }
    expected = {(".status.resolvedHardware", "has(self.gpu) || has(self.cpu)")}
    assert rules == (expected if kind in TEMPLATES else set())


@pytest.mark.parametrize(
    ("kind", "path", "format_"),
    [
        *each("AIMService", "spec.replicas", "int32"),
        *each("AIMService", "status.observedGeneration", "int64"),
        *each("AIMService", "status.cache.retryAttempts", None),
        *each("AIMClusterModelSource", "spec.maxModels", None),
        *each("AIMClusterModelSource", "status.lastSyncTime", "date-time"),
        *each(DOWNLOADS, "status.progress.totalBytes", "int64"),
        *each(DOWNLOADS, "status.lastUsed", "date-time"),
    ],
)
def test_formats(kind: str, path: str, format_: str | None) -> None:
    assert at(kind, path).get("format") == format_


def test_cluster_templates_have_no_caching() -> None:
    assert "caching" not in at("AIMClusterServiceTemplate", "spec")["properties"]


def _walk(node: dict[str, Any], path: str = "") -> list[tuple[str, dict[str, Any]]]:
    found = [(path, node)]
    for name, child in node.get("properties", {}).items():
        found += _walk(child, f"{path}.{name}")
    for inner in (node.get("items"), node.get("additionalProperties")):
        found += _walk(inner, f"{path}[]") if inner else []
    return found
