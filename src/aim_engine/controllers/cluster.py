"""All that reconcilers read, as one read-only object: a store per kind, filled and kept up to date by an informer."""

from collections.abc import Collection
from typing import Any, TypeVar

import msgspec
import structlog

from aim_engine.api import foreign, names
from aim_engine.api.artifact import AIMArtifact, AIMModelCache
from aim_engine.api.model import AIMClusterModel, AIMModel
from aim_engine.api.model_source import AIMClusterModelSource
from aim_engine.api.runtime_config import AIMClusterRuntimeConfig, AIMRuntimeConfig
from aim_engine.api.service import AIMService
from aim_engine.api.template import AIMClusterServiceTemplate, AIMServiceTemplate, Template
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.controllers import kinds
from aim_engine.controllers.scans import Scans
from aim_engine.controllers.waiting_line import WaitingLine
from aim_engine.core import gpus, model_sources, node_gpus, route_conflicts, shortage
from aim_engine.core.node_gpus import Inventory
from aim_engine.kube.client import EVERYTHING, Client, Selection
from aim_engine.kube.errors import KubeError
from aim_engine.kube.informer import Informer
from aim_engine.kube.resource import Resource
from aim_engine.kube.store import Change, HasMetadata
from aim_engine.objects import Key, Wire
from aim_engine.registry.client import Registry
from aim_engine.registry.credentials import PullSecret

log = structlog.get_logger("cluster")

T = TypeVar("T", bound=HasMetadata)

MODEL_OWNERS = ("model", "cluster-model", "service")
DOWNLOAD_OWNERS = ("artifact", "model-cache")


class Cluster:
    """The world as the stores know it; `operator_namespace` is where cluster-scoped work is done."""

    def __init__(self, client: Client, operator_namespace: str, registry: Registry) -> None:
        self.operator_namespace = operator_namespace
        self.registry = registry
        self.waiting_for_discovery = WaitingLine()
        self.scans = Scans()
        self.informers: list[Informer[Any]] = []
        self._client = client
        self._by_kind: dict[tuple[str, str], Informer[Any]] = {}

        self.runtime_configs = self._follow(kinds.RUNTIME_CONFIGS, AIMRuntimeConfig)
        self.cluster_runtime_configs = self._follow(kinds.CLUSTER_RUNTIME_CONFIGS, AIMClusterRuntimeConfig)
        self.services = self._follow(kinds.SERVICES, AIMService)
        self.models = self._follow(kinds.MODELS, AIMModel)
        self.cluster_models = self._follow(kinds.CLUSTER_MODELS, AIMClusterModel)
        self.model_sources = self._follow(kinds.MODEL_SOURCES, AIMClusterModelSource)
        self._sources_by_label = self.model_sources.store.index(lambda one: [model_sources.label(one.metadata.name)])
        self.templates = self._follow(kinds.TEMPLATES, AIMServiceTemplate, MODEL_OWNERS)
        self.cluster_templates = self._follow(kinds.CLUSTER_TEMPLATES, AIMClusterServiceTemplate, MODEL_OWNERS)
        self._templates_by_model = self.templates.store.index(_model_of)
        self._cluster_templates_by_model = self.cluster_templates.store.index(_model_of)
        self.template_caches = self._follow(kinds.TEMPLATE_CACHES, AIMTemplateCache, ("service", "service-template"))
        self.artifacts = self._follow(kinds.ARTIFACTS, AIMArtifact, ("template-cache",))
        self.model_caches = self._follow(kinds.MODEL_CACHES, AIMModelCache)

        self.jobs = self._follow(
            kinds.JOBS, foreign.Job, (*DOWNLOAD_OWNERS, "service-template", "cluster-service-template")
        )
        self.claims = self._follow(kinds.CLAIMS, foreign.PersistentVolumeClaim, DOWNLOAD_OWNERS)
        self.role_bindings = self._follow(kinds.ROLE_BINDINGS, foreign.RoleBinding, DOWNLOAD_OWNERS)
        self.inference_services = self._follow(kinds.INFERENCE_SERVICES, foreign.InferenceService, ("service",))
        self.routes = self._follow(kinds.ROUTES, foreign.HTTPRoute, ("service",))
        self.autoscalers = self._follow(kinds.AUTOSCALERS, foreign.HorizontalPodAutoscaler)
        self.pods = self._follow(kinds.PODS, foreign.Pod)
        self.nodes = self._follow(kinds.NODES, foreign.Node)
        self._gpus: Inventory | None = None
        self._unknown_gpus: set[str] = set()
        self.nodes.listen(self._forget_gpus)
        self.device_pods = self.pods.store.index(
            lambda pod: [pod.spec.node_name] if pod.spec.node_name and shortage.devices(pod) else []
        )
        self.namespaces = self._follow(kinds.NAMESPACES, foreign.Namespace)
        self.service_accounts = self._follow(kinds.SERVICE_ACCOUNTS, foreign.ServiceAccount)
        self.secrets = self._watch(kinds.SECRETS, foreign.SecretMetadata, metadata_only=True)
        self.pod_events = self._events_about("Pod")
        self.claim_events = self._events_about("PersistentVolumeClaim")
        self.inference_service_events = self._events_about("InferenceService")
        self.replica_set_events = self._events_about("ReplicaSet")
        self.said_of_replica_sets = self.replica_set_events.store.index(
            lambda event: [Key(event.involved_object.namespace, event.involved_object.name.rpartition("-")[0])]
        )
        self.models_by_image = self.models.store.index(
            lambda one: [(one.metadata.namespace, one.spec.image)] if one.spec else []
        )
        self.cluster_models_by_image = self.cluster_models.store.index(lambda one: [one.spec.image] if one.spec else [])
        self.templates_by_model = self.templates.store.index(
            lambda one: [(one.metadata.namespace, one.spec.model_name)] if one.spec else []
        )
        self.cluster_templates_by_model = self.cluster_templates.store.index(
            lambda one: [one.spec.model_name] if one.spec else []
        )
        self.routes_by_place = self.routes.store.index(route_conflicts.places)
        self._said = [
            informer.store.index(lambda event: [event.involved_object.uid])
            for informer in (self.pod_events, self.claim_events, self.inference_service_events)
        ]

    def informer(self, api_version: str, kind: str) -> Informer[Any]:
        """The informer that follows the kind a manifest names."""
        return self._by_kind[api_version, kind]

    def is_ending(self, namespace: str) -> bool:
        """Whether a namespace is being deleted, or is gone."""
        found = self.namespaces.store.get(Key("", namespace))
        return found is None or found.metadata.deletion_timestamp is not None

    def said_of(self, *objects: HasMetadata | None) -> list[foreign.Event]:
        """The Events about these very objects."""
        uids = [one.metadata.uid for one in objects if one is not None]
        return [event for uid in uids for index in self._said for event in index[uid]]

    def templates_of(self, model: Key) -> list[Template]:
        """The templates that name a model and are of its scope."""
        return [*(self._templates_by_model if model.namespace else self._cluster_templates_by_model)[model]]

    def sources_labelled(self, label: str) -> list[AIMClusterModelSource]:
        """The model sources that a label of a model stands for."""
        return self._sources_by_label[label]

    async def pull_secret(self, key: Key) -> PullSecret:
        """A Secret with its data, read anew: credentials are kept in no store. Raises a KubeError."""
        found = await self._client.get(kinds.SECRETS, key, _Secret)
        return PullSecret(key.name, found.type, found.data)

    @property
    def gpus(self) -> Inventory:
        """What GPUs the nodes offer."""
        if self._gpus is None:
            self._gpus = node_gpus.inventory(self.nodes.store)
            self._tell_unknown(self._gpus)
        return self._gpus

    def _tell_unknown(self, offered: Inventory) -> None:
        """One warning for every GPU model that nothing is known of."""
        for model in offered:
            if gpus.known(model) is None and model not in self._unknown_gpus:
                self._unknown_gpus.add(model)
                log.warning("GPU model is not known; templates may use it, and it is ranked last", model=model)

    def _forget_gpus(self, change: Change[foreign.Node]) -> None:
        if change.old is None or change.new is None or node_gpus.changed(change.old, change.new):
            self._gpus = None

    async def log(self, pod: Key, container: str, *, tail: int, limit: int | None = None) -> str | None:
        """The last lines a container printed, at most `limit` bytes of them; None if they cannot be read."""
        try:
            return await self._client.logs(pod, container, tail=tail, limit=limit)
        except KubeError:
            return None

    def _follow(self, resource: Resource, into: type[T], controllers: Collection[str] = ()) -> Informer[T]:
        """Everything of a kind; the controllers named are those that apply objects of it."""
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


class _Secret(Wire):
    """A Secret as it is read for one request; it is not kept."""

    type: str = ""
    data: dict[str, bytes] = msgspec.field(default={})


def _model_of(template: Template) -> list[Key]:
    return [Key(template.metadata.namespace, template.spec.model_name)] if template.spec else []
