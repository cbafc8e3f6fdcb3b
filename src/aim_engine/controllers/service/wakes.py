"""What wakes a service: all it refers to, all that was made for it, and those who use its path."""

from collections.abc import Iterable, Sequence
from typing import Any

from aim_engine.api import names
from aim_engine.api.artifact import DownloadObject
from aim_engine.api.foreign import Event, HorizontalPodAutoscaler, HTTPRoute, InferenceService, Pod
from aim_engine.api.model import AIMModel
from aim_engine.api.service import AIMService
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.controllers import configs, kinds
from aim_engine.controllers.cluster import Cluster
from aim_engine.core import naming, route_conflicts, service_cache, service_model
from aim_engine.core.derived_name import label_value
from aim_engine.kube.controller import Wake, owners
from aim_engine.kube.store import Change
from aim_engine.objects import Key

ANYWHERE = None


class Wakes:
    """The indexes of services, and the questions asked of them."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        store = cluster.services.store
        self.by_template = store.index(templates_of)
        self.by_model = store.index(models_of)
        self.by_image = store.index(images_of)
        self.without_place = store.index(lambda one: [ANYWHERE] if is_refused_a_place(one) else [])
        self.without_model = store.index(lambda one: [one.metadata.namespace] if is_refused_a_model(one) else [])
        self.by_label = store.index(lambda one: [(one.metadata.namespace, label_value(one.metadata.name))])
        self.own = owners(kinds.SERVICES)

    def all(self) -> Sequence[Wake[Any]]:
        cluster = self.cluster
        return (
            Wake(cluster.inference_services, self.own),
            Wake(cluster.routes, self.of_route),
            Wake(cluster.templates, self.of_template),
            Wake(cluster.cluster_templates, self.of_template),
            Wake(cluster.models, self.of_model),
            Wake(cluster.cluster_models, self.of_model),
            Wake(cluster.template_caches, self.of_cache),
            Wake(cluster.pods, self.of_pod),
            Wake(cluster.pod_events, self.of_pod_event),
            Wake(cluster.inference_service_events, self.of_event),
            Wake(cluster.replica_set_events, self.of_replica_set_event),
            Wake(cluster.artifacts, self.of_download),
            Wake(cluster.model_caches, self.of_download),
            Wake(cluster.autoscalers, self.of_autoscaler),
            *configs.wakes(cluster.services, cluster, lambda one: one.spec.runtime_config_name if one.spec else None),
        )

    def of_template(self, change: Change[Any]) -> Iterable[Key]:
        """Who names it, runs by it, or may have it selected; also who made it."""
        yield from self.own(change)
        where = change.key.namespace or ANYWHERE
        yield from keys(self.by_template[where, change.key.name])
        template = change.new or change.old
        if template and template.spec:
            yield from keys(self.by_model[where, template.spec.model_name])

    def of_model(self, change: Change[Any]) -> Iterable[Key]:
        """Who names it, or its image, or describes it, or waits for a name."""
        where = change.key.namespace or ANYWHERE
        model = change.new or change.old
        yield from keys(self.by_model[where, change.key.name])
        if model and model.spec:
            yield from keys(self.by_image[where, model.spec.image])
        yield from keys(self.without_model[change.key.namespace])
        if isinstance(model, AIMModel):
            for service in self.cluster.services.store.in_namespace(change.key.namespace):
                custom = service.spec.model.custom if service.spec else None
                if custom and service_model.matches(model, custom):
                    yield service.metadata.key

    def of_cache(self, change: Change[AIMTemplateCache]) -> Iterable[Key]:
        """Who runs by its template, and who made it."""
        yield from self.own(change)
        cache = change.new or change.old
        if cache and cache.spec:
            for service in self.by_template[change.key.namespace, cache.spec.template_name]:
                yield service.metadata.key

    def of_route(self, change: Change[HTTPRoute]) -> Iterable[Key]:
        """Who made it, and who waits for the place it leaves or takes."""
        yield from self.own(change)
        if change.old and change.new and listens(change.old) == listens(change.new):
            return
        yield from keys(self.without_place[ANYWHERE])
        for place in {place for one in change[1:] if one for place in route_conflicts.places(one)}:
            for route in self.cluster.routes_by_place[place]:
                yield Key(route.metadata.namespace, route_conflicts.service_of(route))

    def of_pod(self, change: Change[Pod]) -> Iterable[Key]:
        pod = change.new or change.old
        return self.behind(pod.metadata.namespace, pod.metadata.labels) if pod else ()

    def of_pod_event(self, change: Change[Event]) -> Iterable[Key]:
        about = change.new.involved_object if change.new else None
        pod = self.cluster.pods.store.get(Key(about.namespace, about.name)) if about else None
        return self.behind(pod.metadata.namespace, pod.metadata.labels) if pod else ()

    def behind(self, namespace: str, labels: dict[str, str]) -> Iterable[Key]:
        """The service whose InferenceService a pod belongs to."""
        name = labels.get(names.LABEL_INFERENCE_SERVICE)
        found = self.cluster.inference_services.store.get(Key(namespace, name)) if name else None
        return self.made_by(found) if found else ()

    def of_event(self, change: Change[Event]) -> Iterable[Key]:
        event = change.new
        if event is None or event.type != "Warning":
            return ()
        about = event.involved_object
        found = self.cluster.inference_services.store.get(Key(about.namespace, about.name))
        return self.made_by(found) if found else ()

    def of_replica_set_event(self, change: Change[Event]) -> Iterable[Key]:
        """The service whose pods cannot be made."""
        event = change.new
        if event is None or event.type != "Warning":
            return ()
        about = event.involved_object
        name = about.name.rpartition("-")[0].removesuffix(naming.predictor(""))
        found = self.cluster.inference_services.store.get(Key(about.namespace, name))
        return self.made_by(found) if found else ()

    def of_download(self, change: Change[DownloadObject]) -> Iterable[Key]:
        """Who waits for a download that was given up: its cache may have called it failed before."""
        item = change.new
        if item is None or not service_cache.failed_for_good(item):
            return
        for cache in self.cluster.template_caches.store.in_namespace(change.key.namespace):
            if cache.spec and service_cache.held_by(cache, [item]):
                yield from keys(self.by_template[change.key.namespace, cache.spec.template_name])

    def made_by(self, found: InferenceService) -> Iterable[Key]:
        return self.own(Change(found.metadata.key, None, found))

    def of_autoscaler(self, change: Change[HorizontalPodAutoscaler]) -> Iterable[Key]:
        """The service a changed number of replicas belongs to."""
        if change.old and change.new and (change.old.spec, change.old.status) == (change.new.spec, change.new.status):
            return ()
        one = change.new or change.old
        label = one.metadata.labels.get(names.LABEL_SERVICE) if one else None
        return keys(self.by_label[change.key.namespace, label]) if label else ()


def listens(route: HTTPRoute) -> object:
    """All that decides which other routes are in the way of one."""
    return set(route_conflicts.places(route)), set(route.spec.hostnames)


def keys(services: Iterable[AIMService]) -> Iterable[Key]:
    return (service.metadata.key for service in services)


def is_refused_a_place(service: AIMService) -> bool:
    """Whether another service has the path this one asks for."""
    return service.status is not None and any(one.reason == "RouteConflict" for one in service.status.conditions)


def is_refused_a_model(service: AIMService) -> bool:
    """Whether another model has the name of the one this service needs."""
    conditions = service.status.conditions if service.status else ()
    return any((one.type, one.reason) == ("ModelReady", "NameConflict") for one in conditions)


def templates_of(service: AIMService) -> Iterable[tuple[str | None, str]]:
    """The templates a service names and runs by, in its namespace and anywhere."""
    resolved = service.status.resolved_template if service.status else None
    named = service.spec.template.name if service.spec and service.spec.template else None
    for name in {named, resolved.name if resolved else None} - {None, ""}:
        yield service.metadata.namespace, str(name)
        yield ANYWHERE, str(name)


def models_of(service: AIMService) -> Iterable[tuple[str | None, str]]:
    """The models a service names and serves."""
    resolved = service.status.resolved_model if service.status else None
    named = service_model.wanted_name(service.spec) if service.spec else ""
    for name in {named, resolved.name if resolved else None} - {None, ""}:
        yield service.metadata.namespace, str(name)
        yield ANYWHERE, str(name)


def images_of(service: AIMService) -> Iterable[tuple[str | None, str]]:
    """The image a service asks for."""
    image = (service.spec.model.image or "").strip() if service.spec else ""
    return ((service.metadata.namespace, image), (ANYWHERE, image)) if image else ()
