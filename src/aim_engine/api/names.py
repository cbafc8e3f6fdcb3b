"""Names that users and other programs meet: the API group, labels, annotations, finalizers, fixed objects and paths."""

from typing import Final

GROUP: Final = "aim.eai.amd.com"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

# Labels that the operator writes.
LABEL_MODEL: Final = f"{GROUP}/model"
LABEL_TEMPLATE: Final = f"{GROUP}/template"
LABEL_SERVICE: Final = f"{GROUP}/service"
LABEL_METRIC: Final = f"{GROUP}/metric"
LABEL_PRECISION: Final = f"{GROUP}/precision"
LABEL_ORIGIN: Final = f"{GROUP}/origin"
LABEL_COMPONENT: Final = f"{GROUP}/component"
LABEL_CUSTOM_MODEL: Final = f"{GROUP}/custom-model"
LABEL_TEMPLATE_ALIAS: Final = f"{GROUP}/template.alias"
LABEL_TEMPLATE_NAME: Final = f"{GROUP}/template.name"
LABEL_TEMPLATE_SCOPE: Final = f"{GROUP}/template.scope"
LABEL_TEMPLATE_INDEX: Final = f"{GROUP}/template.index"
LABEL_TEMPLATE_CACHE_NAME: Final = f"{GROUP}/template-cache.name"
LABEL_TEMPLATE_CREATED: Final = "template-created"
LABEL_CACHE_TYPE: Final = f"{GROUP}/cache.type"
LABEL_CACHE_NAME: Final = f"{GROUP}/cache.name"
LABEL_SOURCE_MODEL: Final = f"{GROUP}/source-model"
LABEL_ARTIFACT: Final = f"{GROUP}/artifact"
LABEL_MODEL_SOURCE: Final = f"{GROUP}/model-source"

# Labels of Kubernetes and KServe.
LABEL_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
LABEL_APP_COMPONENT: Final = "app.kubernetes.io/component"
LABEL_APP_NAME: Final = "app.kubernetes.io/name"
LABEL_INFERENCE_SERVICE: Final = "serving.kserve.io/inferenceservice"

# Values of LABEL_ORIGIN.
ORIGIN_AUTO_GENERATED: Final = "auto-generated"
ORIGIN_DERIVED: Final = "derived"

# Values of LABEL_CACHE_TYPE.
CACHE_TYPE_ARTIFACT: Final = "artifact"
CACHE_TYPE_MODEL_CACHE: Final = "model-cache"
CACHE_TYPE_TEMPLATE_CACHE: Final = "template-cache"

# Values of LABEL_COMPONENT.
COMPONENT_INFERENCE: Final = "inference"
COMPONENT_DISCOVERY: Final = "discovery"
COMPONENT_DOWNLOAD: Final = "download"
COMPONENT_CHECK_SIZE: Final = "check-size"

# Values of LABEL_APP_COMPONENT, beside inference and discovery.
COMPONENT_ROUTING: Final = "routing"

# Annotations.
ANNOTATION_PAUSED: Final = f"{GROUP}/reconciliation-paused"
ANNOTATION_SOURCE_REGISTRY: Final = f"{GROUP}/source-registry"
ANNOTATION_SOURCE_REPOSITORY: Final = f"{GROUP}/source-repository"
ANNOTATION_SOURCE_TAG: Final = f"{GROUP}/source-tag"
ANNOTATION_HEADROOM: Final = f"{GROUP}/pvc-headroom-percent"
ANNOTATION_STORAGE_CLASS: Final = f"{GROUP}/storage-class"
ANNOTATION_AUTOSCALER_CLASS: Final = "serving.kserve.io/autoscalerClass"
ANNOTATION_METRICS_SIDECAR: Final = "sidecar.opentelemetry.io/inject"
ANNOTATION_METRICS_PORT: Final = "prometheus.kserve.io/port"

# Finalizers. A template cache may still carry the one of the earlier naming; either is honoured and removed.
FINALIZER_SERVICE: Final = f"{GROUP}/template-cache-cleanup"
FINALIZER_TEMPLATE_CACHE: Final = f"{GROUP}/artifactcleanup"
FINALIZER_TEMPLATE_CACHE_V1: Final = f"{GROUP}/model-cache-cleanup"

# Defaults that schema and operator share.
DEFAULT_RUNTIME_CONFIG: Final = "default"
DEFAULT_GPU_RESOURCE: Final = "amd.com/gpu"
DEFAULT_HEADROOM_PERCENT: Final = 10
DEFAULT_SYNC_INTERVAL: Final = "1h"
DEFAULT_MAX_MODELS: Final = 100
DEFAULT_REGISTRY: Final = "docker.io"
ARTIFACT_DOWNLOADER_IMAGE: Final = "ghcr.io/silogen/aim-artifact-downloader:0.2.0"
MODEL_CACHE_DOWNLOADER_IMAGE: Final = "kserve/storage-initializer:v0.16.0"

CACHE_MOUNT_BASE: Final = "/workspace/model-cache"
"""Where inference pods find the weights, one folder per model id; also the value of AIM_CACHE_PATH."""

# Image labels that describe a model; the first prefix wins per label.
IMAGE_LABEL_PREFIXES: Final = ("com.amd.aim.", "org.amd.silogen.")
IMAGE_LABEL_PREFIX_OCI: Final = "org.opencontainers.image."


def field_owner(controller: str) -> str:
    """Name under which a controller writes: field manager, event source and value of the managed-by label."""
    return f"aim-{controller}-controller"


def parent_label(controller: str) -> str:
    """Key of the label that names the parent on every child a controller makes."""
    return f"{GROUP}/{controller}.name"
