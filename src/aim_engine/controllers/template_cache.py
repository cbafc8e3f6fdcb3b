"""AIMTemplateCache: every source of a template on a volume of the namespace, each fetched once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aim_engine.api import names
from aim_engine.api.artifact import DownloadObject
from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.api.status import AIMStatus, ResolvedReference
from aim_engine.api.template import AIMServiceTemplate, Template
from aim_engine.api.template_cache import AIMTemplateCache, AIMTemplateCacheStatus, TemplateScope
from aim_engine.controllers import configs
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.core import template_caches
from aim_engine.core.conditions import Judgement
from aim_engine.core.derived_name import label_value
from aim_engine.core.health import Component
from aim_engine.core.plan import Patch, Plan, aim_target
from aim_engine.core.runtime_config import Resolution
from aim_engine.core.template_caches import Cache, Match
from aim_engine.core.transitions import Note
from aim_engine.kube.controller import Wake
from aim_engine.kube.store import Change
from aim_engine.manifests import artifact
from aim_engine.objects import Key


@dataclass(frozen=True)
class Seen:
    """What a pass reads."""

    config: Resolution
    template: Template | None
    downloads: Sequence[DownloadObject]


@dataclass(frozen=True)
class View:
    """What a pass makes of it."""

    config: RuntimeConfigSpec
    components: tuple[Component, ...]
    notes: tuple[Note, ...]
    reference: ResolvedReference | None
    template: Template | None
    matches: tuple[Match, ...]


async def fetch(cache: Cache, cluster: Cluster) -> Seen:
    return Seen(
        configs.resolve(cache.metadata, cache.spec.runtime_config_name, cluster),
        find_template(cache, cluster),
        downloads(cache.metadata.namespace, cluster),
    )


def find_template(cache: Cache, cluster: Cluster) -> Template | None:
    """The template, where the cache says it is; in the namespace first if it does not say."""
    name, scope = cache.spec.template_name, cache.spec.template_scope
    namespaced = cluster.templates.store.get(Key(cache.metadata.namespace, name))
    everywhere = cluster.cluster_templates.store.get(Key("", name))
    if scope is TemplateScope.NAMESPACE:
        return namespaced
    return everywhere if scope is TemplateScope.CLUSTER else namespaced or everywhere


def downloads(namespace: str, cluster: Cluster) -> Sequence[DownloadObject]:
    """The download objects of a namespace, both kinds."""
    return [
        *cluster.artifacts.store.in_namespace(namespace),
        *cluster.model_caches.store.in_namespace(namespace),
    ]


def observe(cache: Cache, seen: Seen, _: datetime) -> View:
    wanted = template_caches.sources(cache, seen.template)
    storage = seen.config.spec.storage
    default_class = (storage.default_storage_class_name if storage else None) or ""
    matches = template_caches.matches(cache, wanted, seen.downloads, default_class)
    artifacts = template_caches.artifacts_component(matches)
    return View(
        config=seen.config.spec,
        components=(seen.config.component, template_caches.template_component(seen.template), artifacts),
        notes=template_caches.nothing_to_cache(artifacts),
        reference=seen.config.reference,
        template=seen.template,
        matches=matches,
    )


def plan(cache: Cache, view: View) -> Plan:
    """Make what is missing; what another cache owns is made everybody's, if this cache is Shared."""
    said = cache.spec.template_scope or TemplateScope.UNKNOWN
    scope = scope_of(view.template) if said is TemplateScope.UNKNOWN else said
    missing = tuple(
        artifact.build(cache, match.source, match.index, scope) for match in view.matches if match.found is None
    )
    if not cache.is_shared:
        return Plan(create=missing)
    found = {match.found.metadata.uid: match.found for match in view.matches if match.found}
    owned = (one for one in found.values() if one.metadata.owner_references)
    return Plan(create_unowned=missing, patch=tuple(promotion(one) for one in owned))


def scope_of(template: Template | None) -> TemplateScope:
    if template is None:
        return TemplateScope.UNKNOWN
    return TemplateScope.NAMESPACE if isinstance(template, AIMServiceTemplate) else TemplateScope.CLUSTER


def promotion(one: DownloadObject) -> Patch:
    """Take the owners off, so that the weights outlive them; only if nobody changed the object meanwhile."""
    # Not a test, which the API server answers like a wrong patch: naming the version makes it a conflict.
    unchanged = {"op": "replace", "path": "/metadata/resourceVersion", "value": one.metadata.resource_version}
    ownerless = {"op": "remove", "path": "/metadata/ownerReferences"}
    return Patch(
        target=aim_target(type(one).__name__, one.metadata),
        body=(unchanged, ownerless),
    )


def status(cache: Cache, view: View, judgement: Judgement) -> AIMTemplateCacheStatus:
    before = cache.status
    is_complete = template_caches.is_complete(view.matches)
    return AIMTemplateCacheStatus(
        resolved_runtime_config=view.reference,
        status=judgement.status,
        resolved_template_kind=type(view.template).__name__ if view.template else before.resolved_template_kind,
        artifacts=template_caches.by_name(view.matches) if is_complete else before.artifacts,
        model_caches=template_caches.by_model(view.matches) if is_complete else before.model_caches,
    )


def cleanup(item: AIMTemplateCache, cluster: Cluster) -> Plan:
    """Downloads this cache began and that are not done go with it; those promoted away from it stay."""
    if item.spec is None or cluster.is_ending(item.metadata.namespace):
        return Plan()
    cache = template_caches.of(item)
    mine = cluster.artifacts.store.labelled(names.LABEL_TEMPLATE_CACHE_NAME, label_value(cache.metadata.name) or "")
    unfinished = (
        one
        for one in mine
        if one.metadata.namespace == cache.metadata.namespace
        and template_caches.state(one) is not AIMStatus.READY
        and (cache.is_shared or one.metadata.owner_references)
    )
    return Plan(delete=tuple(aim_target("AIMArtifact", one.metadata) for one in unfinished))


def wakes(cluster: Cluster) -> Sequence[Wake[Any]]:
    """Downloads of its sources, its template, runtime configs."""
    caches = cluster.template_caches.store
    by_template = caches.index(lambda cache: [cache.spec.template_name] if cache.spec else [])

    def of_download(change: Change[DownloadObject]) -> Iterable[Key]:
        if not matters(change):
            return
        one = change.new or change.old
        for cache in caches.in_namespace(change.key.namespace):
            if one and one.spec and needs(cache, one.spec.source_uri, cluster):
                yield cache.metadata.key

    def of_template(change: Change[Any]) -> Iterable[Key]:
        namespace = change.key.namespace
        for cache in by_template[change.key.name] if offers_other(change) else ():
            scope = cache.spec.template_scope if cache.spec else None
            elsewhere = TemplateScope.CLUSTER if namespace else TemplateScope.NAMESPACE
            if scope is not elsewhere and namespace in ("", cache.metadata.namespace):
                yield cache.metadata.key

    return (
        Wake(cluster.artifacts, of_download),
        Wake(cluster.model_caches, of_download),
        Wake(cluster.templates, of_template),
        Wake(cluster.cluster_templates, of_template),
        *configs.wakes(
            cluster.template_caches, cluster, lambda one: one.spec.runtime_config_name if one.spec else None
        ),
    )


def needs(cache: AIMTemplateCache, source_uri: str, cluster: Cluster) -> bool:
    """Whether a source is among those of a cache."""
    if cache.spec is None:
        return False
    whole = template_caches.of(cache)
    wanted = template_caches.sources(whole, find_template(whole, cluster))
    return any(source.source_uri == source_uri for source in wanted)


def matters(change: Change[DownloadObject]) -> bool:
    """Whether a cache can see the change; the progress of a download it cannot."""
    old, new = change.old, change.new
    return old is None or new is None or visible(old) != visible(new)


def visible(one: DownloadObject) -> tuple[Any, ...]:
    status = one.status
    told = (status.status, status.conditions, status.persistent_volume_claim) if status else ()
    return one.metadata.owner_references, one.metadata.labels, one.metadata.deletion_timestamp, one.spec, told


def offers_other(change: Change[Template]) -> bool:
    """Whether a template came, went, or changed in what a cache takes from it."""
    old, new = change.old, change.new
    if old is None or new is None or old.status is None or new.status is None:
        return True
    before = (old.status.status, old.status.conditions, old.status.model_sources)
    return before != (new.status.status, new.status.conditions, new.status.model_sources)


TEMPLATE_CACHES = Concept(
    kind=AIMTemplateCache,
    controller="template-cache",
    fetch=lambda item, cluster: fetch(template_caches.of(item), cluster),
    observe=lambda item, seen, now: observe(template_caches.of(item), seen, now),
    plan=lambda item, view: plan(template_caches.of(item), view),
    status=lambda item, view, judgement: status(template_caches.of(item), view, judgement),
    blank=AIMTemplateCacheStatus,
    wakes=wakes,
    finalizers=(names.FINALIZER_TEMPLATE_CACHE, names.FINALIZER_TEMPLATE_CACHE_V1),
    cleanup=cleanup,
    apart=lambda cache: cache.metadata.namespace,
)
