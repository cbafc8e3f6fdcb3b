"""What a pass over a service reads: first what it refers to, then what was made for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aim_engine.api import names
from aim_engine.api.artifact import DownloadObject
from aim_engine.api.foreign import Event, HorizontalPodAutoscaler, HTTPRoute, InferenceService, Pod
from aim_engine.api.service import CachingMode
from aim_engine.api.template import Template
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.controllers import configs, template_cache
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.service.resolving import find_model, find_template
from aim_engine.core import inference_pods, naming, service_cache, shortage
from aim_engine.core.inference_pods import Surroundings
from aim_engine.core.pod_failure import LOG_LINES
from aim_engine.core.problems import Problem
from aim_engine.core.route_conflicts import Place
from aim_engine.core.runtime_config import Resolution
from aim_engine.core.service import Service
from aim_engine.core.service_model import ModelChoice
from aim_engine.core.service_template import TemplateChoice
from aim_engine.kube.store import HasMetadata
from aim_engine.objects import Key


@dataclass(frozen=True)
class Served:
    """What KServe runs for a service."""

    name: str | Problem
    installed: bool
    inference_service: InferenceService | None = None
    events: Sequence[Event] = ()
    pods: Sequence[Pod] = ()
    around_pods: Surroundings = field(default_factory=Surroundings)
    autoscaler: HorizontalPodAutoscaler | None = None


@dataclass(frozen=True)
class Routed:
    """What leads to a service, and who else uses the gateway."""

    name: str
    installed: bool
    route: HTTPRoute | None
    at: Callable[[Place], Sequence[HTTPRoute]]
    """All routes at a place of a gateway."""


@dataclass(frozen=True)
class Cached:
    """Where the weights of a service are."""

    mode: CachingMode
    cache: AIMTemplateCache | None = None
    """The one that the service may use."""
    all: Sequence[AIMTemplateCache] = ()
    """Those of the namespace."""
    downloads: Sequence[DownloadObject] = ()
    """Those of the namespace."""


@dataclass(frozen=True)
class Seen:
    """All of it."""

    config: Resolution
    model: ModelChoice
    template: TemplateChoice
    served: Served
    routed: Routed
    cached: Cached
    has_secret: Callable[[str], bool]
    """Whether the service's namespace has a secret of that name."""
    has_account: Callable[[str], bool]
    """The same of service accounts."""


def is_ours(service: Service, found: HasMetadata) -> bool:
    """Whether no other object controls what was found."""
    return owns(service, found) or not any(owner.controller for owner in found.metadata.owner_references)


def owns(service: Service, found: HasMetadata) -> bool:
    """Whether what was found belongs to the service."""
    return found.metadata.is_owned_by(service.metadata.uid)


async def fetch(service: Service, cluster: Cluster) -> Seen:
    metadata = service.metadata
    model = find_model(service, cluster)
    template = find_template(service, model.model, cluster)
    return Seen(
        config=configs.resolve(metadata, service.spec.runtime_config_name, cluster, found="RuntimeConfigResolved"),
        model=model,
        template=template,
        served=await see_served(service, cluster),
        routed=see_routed(service, cluster),
        cached=see_cached(service, template.template, cluster),
        has_secret=lambda name: Key(metadata.namespace, name) in cluster.secrets.store,
        has_account=lambda name: Key(metadata.namespace, name) in cluster.service_accounts.store,
    )


async def see_served(service: Service, cluster: Cluster) -> Served:
    """The InferenceService with its pods and its autoscaler."""
    namespace = service.metadata.namespace
    name, installed = naming.inference_service(service.metadata.name, namespace), cluster.inference_services.installed
    if isinstance(name, Problem):
        return Served(name, bool(installed))
    found = cluster.inference_services.store.get(Key(namespace, name))
    if found is None:
        return Served(name, bool(installed))
    its_pods = [
        pod
        for pod in cluster.pods.store.labelled(names.LABEL_INFERENCE_SERVICE, name)
        if pod.metadata.namespace == namespace
    ]
    said = cluster.said_of(found, *its_pods)
    return Served(
        name,
        bool(installed),
        found,
        said,
        its_pods,
        await see_around(found, its_pods, said, cluster),
        cluster.autoscalers.store.get(Key(namespace, naming.autoscaler(name))),
    )


async def see_around(
    found: InferenceService, its_pods: Sequence[Pod], said: Sequence[Event], cluster: Cluster
) -> Surroundings:
    """What tells more of pods than they do themselves; read only where something is wrong."""
    namespace, born = found.metadata.namespace, found.metadata.creation_timestamp
    wanted = inference_pods.wanted_log(its_pods)
    refusals = [
        event
        for event in cluster.said_of_replica_sets[Key(namespace, naming.predictor(found.metadata.name))]
        if event.type == "Warning" and not (born and event.seen_at and event.seen_at < born)
    ]
    unplaced = inference_pods.unplaced(its_pods, said)
    return Surroundings(
        events=said,
        log=await cluster.log(Key(namespace, wanted.pod), wanted.container, tail=LOG_LINES) if wanted else None,
        refusals=() if its_pods else refusals,
        shortage=shortage.explained(*unplaced, cluster.nodes.store, cluster.device_pods.__getitem__)
        if unplaced
        else "",
    )


def see_routed(service: Service, cluster: Cluster) -> Routed:
    """The route of a service, and all others."""
    name = naming.http_route(service.metadata.name, service.metadata.namespace)
    return Routed(
        name,
        bool(cluster.routes.installed),
        cluster.routes.store.get(Key(service.metadata.namespace, name)),
        lambda place: cluster.routes_by_place[place],
    )


def see_cached(service: Service, template: Template | None, cluster: Cluster) -> Cached:
    """The cache of the template found now, or of the one found before."""
    mode, namespace = service_cache.mode(service.spec), service.metadata.namespace
    caches = cluster.template_caches.store.in_namespace(namespace)
    before = service.status.resolved_template
    if template is not None:
        name, scope = template.metadata.name, service_cache.scope_of(template)
    elif before is not None and before.name:
        name, scope = before.name, service_cache.scope_of_reference(before)
    else:
        return Cached(mode)
    cache = service_cache.find(service, mode, name, scope, caches)
    return Cached(mode, cache, caches, template_cache.downloads(namespace, cluster))
