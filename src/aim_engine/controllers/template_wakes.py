"""What wakes a service template: its Job and pods, its model and what that names, GPUs, caches, configs, its turn."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from aim_engine.api import names
from aim_engine.api.foreign import Event, Job, Node, Pod
from aim_engine.api.model import AIMClusterModel, Model
from aim_engine.api.template import AIMClusterServiceTemplate, AIMServiceTemplate, Template
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.controllers import configs, kinds
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.job_reading import JOB_NAME
from aim_engine.core import discovery, gpu_check, jobs, node_gpus, pods, templates
from aim_engine.core.discovery import Waiting
from aim_engine.kube.controller import Wake, owners
from aim_engine.kube.store import Change, Index, Store
from aim_engine.objects import Key

ANY_GPU = "any"


def wakes(
    cluster: Cluster,
    kind: type[AIMServiceTemplate] | type[AIMClusterServiceTemplate],
    next_in_line: Callable[[], list[Waiting]],
) -> Sequence[Wake[Any]]:
    """All that may change what becomes of a template."""
    resource = kinds.resource(kind)
    informer = cluster.informer(resource.api_version, resource.kind)
    found = Finder(cluster, informer.store)

    def of_place(change: Change[Job]) -> Iterable[Key]:
        if not frees_a_place(change):
            return ()
        return (one.key for one in next_in_line() if one.kind == resource.kind)

    return (
        Wake(cluster.jobs, owners(resource)),
        Wake(cluster.jobs, of_place),
        Wake(cluster.pods, found.of_pod),
        Wake(cluster.pod_events, found.of_event),
        Wake(cluster.nodes, found.of_node),
        *((Wake(cluster.models, found.of_model),) if resource.namespaced else ()),
        Wake(cluster.cluster_models, found.of_model),
        Wake(cluster.secrets, found.of_secret),
        Wake(cluster.service_accounts, found.of_account),
        *((Wake(cluster.template_caches, found.of_cache),) if resource.namespaced else ()),
        *configs.wakes(informer, cluster, lambda one: one.spec.runtime_config_name if one.spec else None),
    )


class Finder:
    """The templates of one kind that a change of something else concerns."""

    def __init__(self, cluster: Cluster, store: Store[Any]) -> None:
        self._cluster = cluster
        self._by_label = store.index(lambda one: [(self._work_namespace(one), label(one))])
        self._by_model = store.index(lambda one: [one.spec.model_name] if one.spec else [])
        self._by_gpu = store.index(lambda one: [ANY_GPU] if needs_gpu(one) else [])
        self._models_by_secret = cluster.cluster_models.store.index(
            lambda one: [reference.name for reference in one.spec.image_pull_secrets] if one.spec else []
        )
        self._models_by_account = cluster.cluster_models.store.index(
            lambda one: [one.spec.service_account_name] if one.spec and one.spec.service_account_name else []
        )

    def _work_namespace(self, template: Template) -> str:
        return template.metadata.namespace or self._cluster.operator_namespace

    def of_pod(self, change: Change[Pod]) -> Iterable[Key]:
        return self._of_pod(change.new or change.old) if pods.tells_more(change.old, change.new) else ()

    def of_event(self, change: Change[Event]) -> Iterable[Key]:
        about = change.new.involved_object if change.new else None
        return self._of_pod(self._cluster.pods.store.get(Key(about.namespace, about.name))) if about else ()

    def _of_pod(self, pod: Pod | None) -> Iterable[Key]:
        """The templates of a dry run's pod; pods that serve have the same label, but no Job."""
        if pod is None or JOB_NAME not in pod.metadata.labels:
            return ()
        name = pod.metadata.labels.get(names.LABEL_TEMPLATE)
        return (one.metadata.key for one in self._by_label[pod.metadata.namespace, name])

    def of_node(self, change: Change[Node]) -> Iterable[Key]:
        if change.old and change.new and not node_gpus.changed(change.old, change.new):
            return ()
        return (one.metadata.key for one in self._by_gpu[ANY_GPU])

    def of_model(self, change: Change[Model]) -> Iterable[Key]:
        if change.old and change.new and visible(change.old) == visible(change.new):
            return ()
        namespace = change.key.namespace
        named = self._by_model[change.key.name]
        return (one.metadata.key for one in named if namespace in ("", one.metadata.namespace))

    def of_secret(self, change: Change[Any]) -> Iterable[Key]:
        return self._using(change, self._models_by_secret)

    def of_account(self, change: Change[Any]) -> Iterable[Key]:
        return self._using(change, self._models_by_account)

    def _using(self, change: Change[Any], models: Index[AIMClusterModel]) -> Iterable[Key]:
        """The templates in whose namespace something came or went that their model, one of the cluster, names."""
        if change.old and change.new:
            return
        for model in models[change.key.name]:
            for one in self._by_model[model.metadata.name]:
                if one.metadata.namespace == change.key.namespace:
                    yield one.metadata.key

    def of_cache(self, change: Change[AIMTemplateCache]) -> Iterable[Key]:
        cache = change.new or change.old
        if cache is None:
            return
        for owner in cache.metadata.owner_references:
            if owner.kind == AIMServiceTemplate.__name__:
                yield Key(cache.metadata.namespace, owner.name)
        if cache.spec:
            yield Key(cache.metadata.namespace, cache.spec.template_name)


def label(template: Template) -> str:
    return discovery.template_label(template.metadata.name)


def needs_gpu(template: Template) -> bool:
    return template.spec is not None and gpu_check.is_required(gpu_check.wanted(template.spec))


def visible(model: Model) -> tuple[Any, ...]:
    """What a template can see of its model: of its state only whether it fails by itself, which is seldom."""
    return model.metadata.uid, model.spec, templates.model_component(model, in_namespace=True)


def frees_a_place(change: Change[Job]) -> bool:
    """Whether a discovery Job ended or went, so that another one may begin."""
    old, new = change.old, change.new
    if old is None or not discovery.is_discovery(old) or not jobs.is_active(old):
        return False
    return new is None or not jobs.is_active(new)
