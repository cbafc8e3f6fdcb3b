"""One informer per kind that the operator reads, and of some kinds one per selection."""

from collections.abc import Collection
from typing import Any, TypeVar

from aim_engine.api import foreign, names
from aim_engine.api.artifact import AIMArtifact, AIMModelCache
from aim_engine.api.model import AIMClusterModel, AIMModel
from aim_engine.api.model_source import AIMClusterModelSource
from aim_engine.api.runtime_config import AIMClusterRuntimeConfig, AIMRuntimeConfig
from aim_engine.api.service import AIMService
from aim_engine.api.template import AIMClusterServiceTemplate, AIMServiceTemplate
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.controllers import kinds
from aim_engine.kube.client import EVERYTHING, Client, Selection
from aim_engine.kube.informer import Informer
from aim_engine.kube.resource import Resource
from aim_engine.kube.store import HasMetadata

T = TypeVar("T", bound=HasMetadata)

MODEL_OWNERS = ("model", "cluster-model", "service")
DOWNLOAD_OWNERS = ("artifact", "model-cache")
TEMPLATE_OWNERS = ("service-template", "cluster-service-template")


class Followed:
    """What is followed; the controllers named with a kind are those that apply objects of it."""

    def __init__(self, client: Client) -> None:
        self.informers: list[Informer[Any]] = []
        self._client = client
        self._by_kind: dict[tuple[str, str], Informer[Any]] = {}

        self.runtime_configs = self._follow(kinds.RUNTIME_CONFIGS, AIMRuntimeConfig)
        self.cluster_runtime_configs = self._follow(kinds.CLUSTER_RUNTIME_CONFIGS, AIMClusterRuntimeConfig)
        self.services = self._follow(kinds.SERVICES, AIMService)
        self.models = self._follow(kinds.MODELS, AIMModel)
        self.cluster_models = self._follow(kinds.CLUSTER_MODELS, AIMClusterModel)
        self.model_sources = self._follow(kinds.MODEL_SOURCES, AIMClusterModelSource)
        self.templates = self._follow(kinds.TEMPLATES, AIMServiceTemplate, MODEL_OWNERS)
        self.cluster_templates = self._follow(kinds.CLUSTER_TEMPLATES, AIMClusterServiceTemplate, MODEL_OWNERS)
        self.template_caches = self._follow(kinds.TEMPLATE_CACHES, AIMTemplateCache, ("service", "service-template"))
        self.artifacts = self._follow(kinds.ARTIFACTS, AIMArtifact, ("template-cache",))
        self.model_caches = self._follow(kinds.MODEL_CACHES, AIMModelCache)

        self.jobs = self._follow(kinds.JOBS, foreign.Job, (*DOWNLOAD_OWNERS, *TEMPLATE_OWNERS))
        self.claims = self._follow(kinds.CLAIMS, foreign.PersistentVolumeClaim, DOWNLOAD_OWNERS)
        self.role_bindings = self._follow(kinds.ROLE_BINDINGS, foreign.RoleBinding, DOWNLOAD_OWNERS)
        self.inference_services = self._follow(kinds.INFERENCE_SERVICES, foreign.InferenceService, ("service",))
        self.routes = self._follow(kinds.ROUTES, foreign.HTTPRoute, ("service",))
        self.autoscalers = self._follow(kinds.AUTOSCALERS, foreign.HorizontalPodAutoscaler)
        self.pods = self._follow(kinds.PODS, foreign.Pod)
        self.nodes = self._follow(kinds.NODES, foreign.Node)
        self.namespaces = self._follow(kinds.NAMESPACES, foreign.Namespace)
        self.service_accounts = self._follow(kinds.SERVICE_ACCOUNTS, foreign.ServiceAccount)

        self.secrets = self._watch(kinds.SECRETS, foreign.SecretMetadata, metadata_only=True)
        self.pod_events = self._events_about("Pod")
        self.claim_events = self._events_about("PersistentVolumeClaim")
        self.inference_service_events = self._events_about("InferenceService")
        self.replica_set_events = self._events_about("ReplicaSet")

    def informer(self, api_version: str, kind: str) -> Informer[Any]:
        """The informer that follows the kind a manifest names."""
        return self._by_kind[api_version, kind]

    def _follow(self, resource: Resource, into: type[T], controllers: Collection[str] = ()) -> Informer[T]:
        managers = [names.field_owner(controller) for controller in controllers]
        informer = self._watch(resource, into, managers=managers)
        self._by_kind[resource.api_version, resource.kind] = informer
        return informer

    def _events_about(self, kind: str) -> Informer[foreign.Event]:
        return self._watch(kinds.EVENTS, foreign.Event, selection=Selection(fields=f"involvedObject.kind={kind}"))

    def _watch(
        self,
        resource: Resource,
        into: type[T],
        *,
        selection: Selection = EVERYTHING,
        managers: Collection[str] = (),
        metadata_only: bool = False,
    ) -> Informer[T]:
        informer = Informer(
            self._client, resource, into, selection=selection, managers=managers, metadata_only=metadata_only
        )
        self.informers.append(informer)
        return informer
