"""The template cache of a service: which one it may use, how it does, and its one retry."""

from collections.abc import Sequence
from typing import Final

from aim_engine.api import names, reasons
from aim_engine.api.artifact import CacheMode, DownloadObject
from aim_engine.api.foreign import InferenceService
from aim_engine.api.service import AIMServiceSpec, CachingMode
from aim_engine.api.status import AIMStatus, ResolutionScope, ResolvedReference
from aim_engine.api.template import AIMServiceTemplate, Template
from aim_engine.api.template_cache import AIMTemplateCache, ResolvedDownload, TemplateScope
from aim_engine.core import causes, health, jobs, naming, template_caches
from aim_engine.core.derived_name import derived, name_part
from aim_engine.core.health import Component
from aim_engine.core.problems import Dependency
from aim_engine.core.service import Service
from aim_engine.objects import Condition, Manifest

SHARED: Final = frozenset({CachingMode.ALWAYS, CachingMode.SHARED})
DEDICATED: Final = frozenset({CachingMode.NEVER, CachingMode.DEDICATED})


def mode(spec: AIMServiceSpec) -> CachingMode:
    """How a service comes to its weights; the deprecated switch counts only where nothing else is said."""
    if spec.caching is not None:
        return spec.caching.mode or CachingMode.AUTO
    if spec.cache_model is None:
        return CachingMode.AUTO
    return CachingMode.ALWAYS if spec.cache_model else CachingMode.NEVER


def made_mode(caching: CachingMode) -> CacheMode:
    """The mode of a cache that a service makes for itself."""
    return CacheMode.SHARED if caching in SHARED else CacheMode.DEDICATED


def made_name(service: Service, template: Template, caching: CachingMode, caches: Sequence[AIMTemplateCache]) -> str:
    """The name of the cache that a service would make; `caches` are those of the namespace.

    Templates `a.b` and `a-b`, or two scopes with a template of one name, would give their Shared caches one name.
    """
    name, scope = template.metadata.name, scope_of(template)
    if caching not in SHARED:
        return _dedicated_name(service, name)
    plain = naming.shared_template_cache(name, service.metadata.namespace)
    taken = any(one.metadata.name == plain and one.spec and not _is_of(one, name, scope) for one in caches)
    return naming.shared_template_cache(name, service.metadata.namespace, beside=str(scope)) if taken else plain


def _dedicated_name(service: Service, template: str) -> str:
    return naming.dedicated_template_cache(template, service.metadata.name, service.metadata.uid)


def find(
    service: Service, caching: CachingMode, template: str, scope: TemplateScope, caches: Sequence[AIMTemplateCache]
) -> AIMTemplateCache | None:
    """The cache of a template that a service may use, in whatever state; `caches` are those of the namespace."""
    listed = sorted(caches, key=lambda one: one.metadata.name)
    fitting = [one for one in listed if not one.metadata.deletion_timestamp and _is_of(one, template, scope)]
    own = _dedicated_name(service, template)
    mine = next((one for one in fitting if one.metadata.name == own and _belongs(one, service)), None)
    if caching in DEDICATED:
        return mine
    used, shared = _used(service), [one for one in fitting if not _is_dedicated(one)]
    in_use = next((one for one in shared if used and one.metadata.uid == used.uid), None)
    if in_use and state(in_use) is AIMStatus.READY:
        return in_use
    if caching is CachingMode.AUTO:
        if mine:
            return mine
        shared = [one for one in shared if state(one) is not AIMStatus.FAILED]
    return max(shared, key=lambda one: health.rank(state(one)), default=None)


def _used(service: Service) -> ResolvedReference | None:
    """The cache that a service was last seen to use."""
    return service.status.cache.template_cache_ref if service.status.cache else None


def is_gone(service: Service, caches: Sequence[AIMTemplateCache]) -> bool:
    """Whether the cache that a service uses, if any, is not among those of the namespace."""
    used = _used(service)
    return not any(used and one.metadata.uid == used.uid and not one.metadata.deletion_timestamp for one in caches)


def _is_of(cache: AIMTemplateCache, template: str, scope: TemplateScope) -> bool:
    if cache.spec is None or cache.spec.template_name != template:
        return False
    said = cache.spec.template_scope
    if said in (TemplateScope.NAMESPACE, TemplateScope.CLUSTER):
        return said is scope
    kind = cache.status.resolved_template_kind if cache.status else None
    return kind is None or (kind == AIMServiceTemplate.__name__) == (scope is TemplateScope.NAMESPACE)


def _belongs(cache: AIMTemplateCache, service: Service) -> bool:
    owned = cache.metadata.is_owned_by(service.metadata.uid)
    return owned and _is_dedicated(cache)


def _is_dedicated(cache: AIMTemplateCache) -> bool:
    return cache.spec is not None and cache.spec.mode is CacheMode.DEDICATED


def state(cache: AIMTemplateCache) -> AIMStatus | None:
    return cache.status.status if cache.status else None


def scope_of(template: Template) -> TemplateScope:
    return TemplateScope.NAMESPACE if isinstance(template, AIMServiceTemplate) else TemplateScope.CLUSTER


def mounts_weights(inference_service: InferenceService | None) -> bool:
    """Whether what serves a service already mounts a volume with weights."""
    volumes = inference_service.spec.predictor.volumes if inference_service else ()
    return any("persistentVolumeClaim" in volume for volume in volumes)


def component(
    service: Service,
    caching: CachingMode,
    cache: AIMTemplateCache | None,
    downloads: Sequence[DownloadObject],
    *,
    mounted: bool,
    gone: bool,
) -> Component:
    """The cache as the service depends on it.

    `mounted` tells whether what serves it has volumes with weights, `gone` whether the cache it used is not there.
    """
    if cache is None:
        if not (mounted and gone):
            return _component(AIMStatus.PROGRESSING, "CacheCreating", "Creating template cache")
        return _lost(service, caching)
    word = state(cache)
    if word is AIMStatus.READY:
        return _component(AIMStatus.READY, "CacheReady", "Template cache is ready")
    if word is AIMStatus.FAILED:
        tried = retries(service) > 0
        said = f"Template cache failed{_cause(cache, downloads)}"
        return _component(AIMStatus.DEGRADED if tried else AIMStatus.FAILED, "CacheFailed", said)
    if word is AIMStatus.PROGRESSING and not mounted:
        return _component(
            AIMStatus.PROGRESSING, "CacheNotReady", f"Template cache is progressing{_cause(cache, downloads)}"
        )
    said = f"Template cache status: {word or ''}".rstrip() + _cause(cache, downloads)
    return _component(AIMStatus.PROGRESSING, "CacheCreating", said)


def _lost(service: Service, caching: CachingMode) -> Component:
    """The cache went while its volumes are in use."""
    used, template = _used(service), service.status.resolved_template
    own = template and used and used.name == _dedicated_name(service, template.name or "")
    if caching in SHARED or (caching is CachingMode.AUTO and used and not own):
        said = "Shared template cache was deleted but InferenceService still references cached storage volumes"
        return _component(AIMStatus.DEGRADED, "CacheLost", said)
    return _component(AIMStatus.DEGRADED, "CacheCreating", "Dedicated template cache is being recreated")


def _cause(cache: AIMTemplateCache, downloads: Sequence[DownloadObject]) -> str:
    """What keeps the weights from arriving: in the words of the worst download, else in those of the cache."""
    held = held_by(cache, downloads)
    worst = min(held, key=lambda one: (health.rank(template_caches.state(one)), one.metadata.name), default=None)
    for item in (worst, cache):
        if item and item.status and (told := _told(item.status.conditions)):
            return f": {told}" if item is cache else f": {item.metadata.name}: {told}"
    return ""


def _told(conditions: Sequence[Condition]) -> str:
    """The last part that is not as it should be, in one line: parts come in the order in which they depend.

    That a download has not come to its end says nothing where another part says why.
    """
    unready = causes.unready(conditions)
    wrong = [one for one in unready if one.type != reasons.DOWNLOAD_COMPLETE] or unready
    return " ".join(wrong[-1].message.split()) if wrong else ""


def held_by(cache: AIMTemplateCache, downloads: Sequence[DownloadObject]) -> list[DownloadObject]:
    """The download objects that a cache lists."""
    listed = (cache.status.artifacts or cache.status.model_caches) if cache.status else {}
    held = {entry.uid for entry in listed.values()}
    return [one for one in downloads if one.metadata.uid in held]


def _component(word: AIMStatus, reason: str, message: str) -> Component:
    return Component(
        name="Cache", state=word, reason=reason, message=message, dependency=Dependency.DOWNSTREAM, blocks=False
    )


def retries(service: Service) -> int:
    return (service.status.cache.retry_attempts if service.status.cache else None) or 0


def to_retry(
    service: Service, cache: AIMTemplateCache | None, downloads: Sequence[DownloadObject]
) -> tuple[DownloadObject, ...]:
    """The failed downloads of a failed cache that are given up for the one retry; none if it is not time for it."""
    if cache is None or state(cache) is not AIMStatus.FAILED or retries(service):
        return ()
    failed = [one for one in held_by(cache, downloads) if template_caches.state(one) is AIMStatus.FAILED]
    made = [one for one in failed if one.metadata.labels.get(names.LABEL_TEMPLATE_CREATED) == "true"]
    return tuple(made) if any(map(failed_for_good, failed)) else ()


def failed_for_good(download: DownloadObject) -> bool:
    """Whether a Job of a download has given up, not just one of its pods."""
    conditions = download.status.conditions if download.status else ()
    return any(one.reason in jobs.FAILURE_REASONS and one.status == "False" for one in conditions)


def mounts(cache: AIMTemplateCache) -> tuple[tuple[Manifest, ...], tuple[Manifest, ...]]:
    """Volumes and mounts for the weights of a cache that is ready, in a fixed order; no name or path stands twice."""
    status = cache.status
    held = (status.artifacts or status.model_caches) if status else {}
    ready = [
        (key, entry)
        for key, entry in sorted(held.items())
        if entry.status == AIMStatus.READY and entry.persistent_volume_claim
    ]
    volumes: dict[str, Manifest] = {}
    mounted: dict[str, Manifest] = {}
    for key, entry in ready:
        name, path = name_part(entry.name), mount_path(entry)
        name = derived([entry.name], key) if name in volumes else name
        if path not in mounted:
            volumes[name] = {"name": name, "persistentVolumeClaim": {"claimName": entry.persistent_volume_claim}}
            mounted[path] = {"name": name, "mountPath": path}
    return tuple(volumes.values()), tuple(mounted.values())


def mount_path(entry: ResolvedDownload) -> str:
    """Where a pod finds the weights of a download."""
    if entry.mount_point:
        return entry.mount_point
    folder = entry.model.replace("..", "")
    return f"{names.CACHE_MOUNT_BASE}/{folder if folder not in ('', '.') else name_part(entry.name)}"


def scope_of_reference(template: ResolvedReference) -> TemplateScope:
    return TemplateScope.NAMESPACE if template.scope is ResolutionScope.NAMESPACE else TemplateScope.CLUSTER
