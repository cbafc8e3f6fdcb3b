"""What a pass over a service reads: first what it refers to, then what was made for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aim_engine.api import names
from aim_engine.api.artifact import DownloadObject
from aim_engine.api.foreign import Event, HorizontalPodAutoscaler, HTTPRoute, InferenceService, Pod
from aim_engine.api.model import Model
from aim_engine.api.service import AIMService, AIMServiceSpec, CachingMode
from aim_engine.api.status import AIMStatus, ResolutionScope
from aim_engine.api.template import Template
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.controllers import configs, template_cache
from aim_engine.controllers.cluster import Cluster
from aim_engine.core import naming, pods, selection, service_cache, service_model, service_template
from aim_engine.core.pod_failure import LOG_LINES
from aim_engine.core.problems import Problem
from aim_engine.core.route_conflicts import Place
from aim_engine.core.runtime_config import Resolution
from aim_engine.core.selection import Outcome
from aim_engine.core.service_model import ModelChoice
from aim_engine.core.service_template import TemplateChoice
from aim_engine.objects import Key


@dataclass(frozen=True)
class Served:
    """What KServe runs for a service."""

    name: str | Problem
    installed: bool
    inference_service: InferenceService | None = None
    events: Sequence[Event] = ()
    pods: Sequence[Pod] = ()
    failure_log: str | None = None
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
    cache: AIMTemplateCache | None
    downloads: Sequence[DownloadObject]


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


async def fetch(service: AIMService, cluster: Cluster) -> Seen:
    assert service.spec is not None
    spec, metadata = service.spec, service.metadata
    model = find_model(service, spec, cluster)
    template = find_template(service, spec, model.model, cluster)
    return Seen(
        config=configs.resolve(metadata, spec.runtime_config_name, cluster, found="RuntimeConfigResolved"),
        model=model,
        template=template,
        served=await see_served(service, cluster),
        routed=see_routed(service, cluster),
        cached=see_cached(service, spec, template.template, cluster),
        has_secret=lambda name: Key(metadata.namespace, name) in cluster.secrets.store,
        has_account=lambda name: Key(metadata.namespace, name) in cluster.service_accounts.store,
    )


def find_model(service: AIMService, spec: AIMServiceSpec, cluster: Cluster) -> ModelChoice:
    """The model: the one found before while it is ready, else by name, image or weights."""
    namespace = service.metadata.namespace
    if sticky := resolved_model(service, cluster):
        return service_model.found(sticky)
    if name := service_model.wanted_name(spec):
        namespaced = cluster.models.store.get(Key(namespace, name))
        return service_model.by_name(name, namespace, namespaced, cluster.cluster_models.store.get(Key("", name)))
    if spec.model.image is not None:
        image = spec.model.image.strip()
        return service_model.by_image(
            image, cluster.models_by_image[namespace, image], cluster.cluster_models_by_image[image]
        )
    if spec.model.custom is not None:
        return service_model.by_weights(spec.model.custom, cluster.models.store.in_namespace(namespace))
    return service_model.by_name("", namespace, None, None)


def resolved_model(service: AIMService, cluster: Cluster) -> Model | None:
    """The model of an earlier pass, if it is still there and ready."""
    before = service.status.resolved_model if service.status else None
    if before is None or not before.name:
        return None
    if before.scope is ResolutionScope.NAMESPACE:
        model = cluster.models.store.get(Key(service.metadata.namespace, before.name))
    else:
        model = cluster.cluster_models.store.get(Key("", before.name))
    return model if model and model.status and model.status.status is AIMStatus.READY else None


def find_template(service: AIMService, spec: AIMServiceSpec, model: Model | None, cluster: Cluster) -> TemplateChoice:
    """The template: the one found before while it is ready, else the one named, else the best there is."""
    if sticky := resolved_template(service, cluster):
        return service_template.found(sticky)
    named = spec.template.name.strip() if spec.template and spec.template.name else ""
    if not named and model and model.spec and model.spec.default_service_template:
        fallback = model.spec.default_service_template
        named = fallback if template_named(fallback, service, cluster) else ""
    if named:
        return explicit_template(service, spec, named, cluster)
    return selected_template(service, spec, model, cluster)


def resolved_template(service: AIMService, cluster: Cluster) -> Template | None:
    """The template of an earlier pass, if it is still there and ready."""
    before = service.status.resolved_template if service.status else None
    if before is None or not before.name:
        return None
    if before.scope is ResolutionScope.NAMESPACE:
        template = cluster.templates.store.get(Key(service.metadata.namespace, before.name))
    else:
        template = cluster.cluster_templates.store.get(Key("", before.name))
    return template if template and template.status and template.status.status is AIMStatus.READY else None


def template_named(name: str, service: AIMService, cluster: Cluster) -> Template | None:
    """The namespace's template of a name, else the cluster's."""
    namespaced = cluster.templates.store.get(Key(service.metadata.namespace, name))
    return namespaced or cluster.cluster_templates.store.get(Key("", name))


def explicit_template(service: AIMService, spec: AIMServiceSpec, name: str, cluster: Cluster) -> TemplateChoice:
    """The template a service names, with its overrides if it has any."""
    final = service_template.final_name(name, spec)
    if final == name:
        template = template_named(name, service, cluster)
        return service_template.found(template) if template else service_template.missing(name)
    if derived := cluster.templates.store.get(Key(service.metadata.namespace, final)):
        return service_template.found(derived)
    base = template_named(name, service, cluster)
    return service_template.derive(final, base) if base else service_template.missing(name)


def selected_template(
    service: AIMService, spec: AIMServiceSpec, model: Model | None, cluster: Cluster
) -> TemplateChoice:
    """The best template for the model, the overrides and the cluster's GPUs."""
    if model is None:
        return service_template.unresolved_model()
    name = model.metadata.name
    candidates: list[Template] = [
        *cluster.templates_by_model[service.metadata.namespace, name],
        *cluster.cluster_templates_by_model[name],
    ]
    wish = selection.Wish(
        *([spec.overrides] if spec.overrides else []),
        allow_unoptimized=bool(spec.template and spec.template.allow_unoptimized),
    )
    choice = selection.choose(candidates, wish, cluster.gpus)
    if choice.template is None:
        return or_kept(service, service_template.none_selected(choice, name), cluster)
    final = service_template.final_name(choice.template.metadata.name, spec)
    if service_template.open_wishes(choice.template, spec.overrides):
        derived = cluster.templates.store.get(Key(service.metadata.namespace, final))
        return (
            service_template.found(derived, choice)
            if derived
            else service_template.derive(final, choice.template, choice)
        )
    return service_template.found(choice.template, choice)


def or_kept(service: AIMService, choice: TemplateChoice, cluster: Cluster) -> TemplateChoice:
    """A service that runs goes on by the template it was given when nothing else can be selected."""
    outcome = choice.selection.outcome if choice.selection else None
    before = service.status.resolved_template if service.status else None
    if before is None or outcome in (Outcome.NOT_READY, Outcome.AMBIGUOUS):
        return choice
    name = naming.inference_service(service.metadata.name, service.metadata.namespace)
    if isinstance(name, Problem) or Key(service.metadata.namespace, name) not in cluster.inference_services.store:
        return choice
    return TemplateChoice(service_template.kept(before), selection=choice.selection)


async def see_served(service: AIMService, cluster: Cluster) -> Served:
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
    wanted = pods.wanted_log(its_pods)
    log = await cluster.log(Key(namespace, wanted.pod), wanted.container, tail=LOG_LINES) if wanted else None
    return Served(
        name,
        bool(installed),
        found,
        cluster.said_of(found, *its_pods),
        its_pods,
        log,
        cluster.autoscalers.store.get(Key(namespace, naming.autoscaler(name))),
    )


def see_routed(service: AIMService, cluster: Cluster) -> Routed:
    """The route of a service, and all others."""
    name = naming.http_route(service.metadata.name, service.metadata.namespace)
    return Routed(
        name,
        bool(cluster.routes.installed),
        cluster.routes.store.get(Key(service.metadata.namespace, name)),
        lambda place: cluster.routes_by_place[place],
    )


def see_cached(service: AIMService, spec: AIMServiceSpec, template: Template | None, cluster: Cluster) -> Cached:
    """The cache of the template found now, or of the one found before."""
    mode, namespace = service_cache.mode(spec), service.metadata.namespace
    caches = cluster.template_caches.store.in_namespace(namespace)
    before = service.status.resolved_template if service.status else None
    if template is not None:
        name, scope = template.metadata.name, service_cache.scope_of(template)
    elif before is not None and before.name:
        name, scope = before.name, service_cache.scope_of_reference(before)
    else:
        return Cached(mode, None, ())
    cache = service_cache.find(service, mode, name, scope, caches)
    return Cached(mode, cache, template_cache.downloads(namespace, cluster))
