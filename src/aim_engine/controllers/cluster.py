"""All that reconcilers read, as one object: a store per kind, what can be asked of them, and what passes remember."""

import msgspec
import structlog

from aim_engine.api import foreign
from aim_engine.api.model_source import AIMClusterModelSource
from aim_engine.api.template import Template
from aim_engine.controllers import kinds
from aim_engine.controllers.followed import Followed
from aim_engine.controllers.scans import Scans
from aim_engine.controllers.waiting_line import WaitingLine
from aim_engine.core import gpus, model_sources, node_gpus, route_conflicts, shortage
from aim_engine.core.node_gpus import Inventory
from aim_engine.kube.client import Client
from aim_engine.kube.errors import KubeError
from aim_engine.kube.store import Change, HasMetadata
from aim_engine.objects import Key, Wire
from aim_engine.registry.client import Registry
from aim_engine.registry.credentials import PullSecret

log = structlog.get_logger("cluster")


class Cluster(Followed):
    """The world as the stores know it; `operator_namespace` is where cluster-scoped work is done."""

    def __init__(self, client: Client, operator_namespace: str, registry: Registry) -> None:
        super().__init__(client)
        self.operator_namespace = operator_namespace
        self.registry = registry
        self.waiting_for_discovery = WaitingLine()
        self.scans = Scans()
        self._gpus: Inventory | None = None
        self._unknown_gpus: set[str] = set()
        self.nodes.listen(self._forget_gpus)

        self.models_by_image = self.models.store.index(
            lambda one: [(one.metadata.namespace, one.spec.image)] if one.spec else []
        )
        self.cluster_models_by_image = self.cluster_models.store.index(lambda one: [one.spec.image] if one.spec else [])
        self.device_pods = self.pods.store.index(
            lambda pod: [pod.spec.node_name] if pod.spec.node_name and shortage.keeps_devices(pod) else []
        )
        self.routes_by_place = self.routes.store.index(route_conflicts.places)
        self.said_of_replica_sets = self.replica_set_events.store.index(
            lambda event: [Key(event.involved_object.namespace, event.involved_object.name.rpartition("-")[0])]
        )
        self._said = [
            informer.store.index(lambda event: [event.involved_object.uid])
            for informer in (self.pod_events, self.claim_events, self.inference_service_events)
        ]
        self._sources_by_label = self.model_sources.store.index(lambda one: [model_sources.label(one.metadata.name)])
        self._templates_by_model = self.templates.store.index(_model_of)
        self._cluster_templates_by_model = self.cluster_templates.store.index(_model_of)

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


class _Secret(Wire):
    """A Secret as it is read for one request; it is not kept."""

    type: str = ""
    data: dict[str, bytes] = msgspec.field(default={})


def _model_of(template: Template) -> list[Key]:
    return [Key(template.metadata.namespace, template.spec.model_name)] if template.spec else []
