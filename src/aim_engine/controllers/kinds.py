"""Every kind the operator reads or writes, by the name the API server knows it under."""

from typing import Any, Final

from aim_engine.api import kinds, names
from aim_engine.api.artifact import AIMArtifact, AIMModelCache
from aim_engine.api.model import AIMClusterModel, AIMModel
from aim_engine.api.model_source import AIMClusterModelSource
from aim_engine.api.runtime_config import AIMClusterRuntimeConfig, AIMRuntimeConfig
from aim_engine.api.service import AIMService
from aim_engine.api.template import AIMClusterServiceTemplate, AIMServiceTemplate
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.kube.resource import Resource

_OURS: Final = {
    kind.type: Resource(names.GROUP, names.VERSION, kind.plural, kind.name, kind.namespaced) for kind in kinds.KINDS
}


def resource(kind: type[Any]) -> Resource:
    """The resource of one of our kinds."""
    return _OURS[kind]


SERVICES: Final = resource(AIMService)
MODELS: Final = resource(AIMModel)
CLUSTER_MODELS: Final = resource(AIMClusterModel)
MODEL_SOURCES: Final = resource(AIMClusterModelSource)
TEMPLATES: Final = resource(AIMServiceTemplate)
CLUSTER_TEMPLATES: Final = resource(AIMClusterServiceTemplate)
TEMPLATE_CACHES: Final = resource(AIMTemplateCache)
ARTIFACTS: Final = resource(AIMArtifact)
MODEL_CACHES: Final = resource(AIMModelCache)
RUNTIME_CONFIGS: Final = resource(AIMRuntimeConfig)
CLUSTER_RUNTIME_CONFIGS: Final = resource(AIMClusterRuntimeConfig)

PODS: Final = Resource("", "v1", "pods", "Pod")
NODES: Final = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SECRETS: Final = Resource("", "v1", "secrets", "Secret")
SERVICE_ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount")
CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
EVENTS: Final = Resource("", "v1", "events", "Event")
JOBS: Final = Resource("batch", "v1", "jobs", "Job")
ROLE_BINDINGS: Final = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
AUTOSCALERS: Final = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
INFERENCE_SERVICES: Final = Resource("serving.kserve.io", "v1beta1", "inferenceservices", "InferenceService")
ROUTES: Final = Resource("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")
