"""A template cache: which download object holds each of its sources, which are missing, and how all of them do."""

from collections.abc import Sequence

import msgspec

from aim_engine.api import names, reasons
from aim_engine.api.artifact import AIMArtifact, AIMArtifactSpec, CacheMode, DownloadObject
from aim_engine.api.sources import ModelSource
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import Template
from aim_engine.api.template_cache import (
    AIMTemplateCache,
    AIMTemplateCacheSpec,
    AIMTemplateCacheStatus,
    ResolvedDownload,
)
from aim_engine.core import health
from aim_engine.core.derived_name import label_value
from aim_engine.core.health import Component, of_failed_fetch
from aim_engine.core.problems import Dependency, Failure
from aim_engine.core.transitions import Level, Note
from aim_engine.objects import ObjectMeta


class Cache(msgspec.Struct, frozen=True):
    """A template cache, complete: the pipeline lets none through that has no spec."""

    metadata: ObjectMeta
    spec: AIMTemplateCacheSpec
    status: AIMTemplateCacheStatus
    """Blank before the first pass."""

    @property
    def is_shared(self) -> bool:
        return self.spec.mode is not CacheMode.DEDICATED


def of(item: AIMTemplateCache) -> Cache:
    """The object as everything here takes it."""
    assert item.spec is not None
    return Cache(item.metadata, item.spec, item.status or AIMTemplateCacheStatus())


class Match(msgspec.Struct, frozen=True):
    """A source and the download object that holds it, if there is one."""

    index: int
    source: ModelSource
    found: DownloadObject | None


def sources(cache: Cache, template: Template | None) -> tuple[ModelSource, ...]:
    """What to cache: the cache's own list, else what the template found out it needs."""
    return cache.spec.model_sources or (template.status.model_sources if template and template.status else ())


def matches(
    cache: Cache, wanted: Sequence[ModelSource], candidates: Sequence[DownloadObject], default_class: str
) -> tuple[Match, ...]:
    """For each source the best download object of the namespace that this cache may use.

    `default_class` is the storage class of the cache's runtime config.
    """
    usable = [
        one
        for one in candidates
        if one.metadata.deletion_timestamp is None and may_use(cache, one) and _has_class(cache, one, default_class)
    ]
    return tuple(Match(index, source, _best(source, usable)) for index, source in enumerate(wanted))


def may_use(cache: Cache, one: DownloadObject) -> bool:
    """A Shared cache takes any; a Dedicated one only its own, those promoted away from it included."""
    return cache.is_shared or is_own(cache, one)


def is_own(cache: Cache, one: DownloadObject) -> bool:
    """Whether a download object was made by this cache, even if it has been promoted to shared since."""
    if one.metadata.owner_references:
        return one.metadata.is_owned_by(cache.metadata.uid)
    return one.metadata.labels.get(names.LABEL_TEMPLATE_CACHE_NAME) == label_value(cache.metadata.name)


def _has_class(cache: Cache, one: DownloadObject, default_class: str) -> bool:
    """Whether a download object is on the class that a cache asks for, if it does.

    One that names none is on the default class of its config, if that is the cache's too. What the cache holds already
    it keeps: volumes stay when a config turns to another class.
    """
    asked, said = cache.spec.storage_class_name, one.spec.storage_class_name if one.spec else None
    if not asked or said:
        return not asked or said == asked
    is_held = any(entry.uid == one.metadata.uid for entry in cache.status.artifacts.values())
    return is_held or (asked == default_class and _config_name(one.spec) == _config_name(cache.spec))


def _config_name(spec: AIMTemplateCacheSpec | AIMArtifactSpec | None) -> str:
    return (spec.runtime_config_name if spec else None) or names.DEFAULT_RUNTIME_CONFIG


def _best(source: ModelSource, usable: Sequence[DownloadObject]) -> DownloadObject | None:
    fitting = [one for one in usable if one.spec and one.spec.source_uri == source.source_uri]
    return max(fitting, key=_preference, default=None)


def _preference(one: DownloadObject) -> tuple[int, bool, bool]:
    """Best state first; of equals an object nobody owns, then one of the newer kind, then the first listed."""
    return health.rank(state(one)), not one.metadata.owner_references, isinstance(one, AIMArtifact)


def state(one: DownloadObject) -> AIMStatus:
    """The state of a download object; one without status has just been made."""
    return (one.status.status if one.status else None) or AIMStatus.PENDING


def template_component(template: Template | None) -> Component:
    """The template as the cache depends on it."""
    name = "ServiceTemplate"
    if template is None:
        return of_failed_fetch(name, Failure(text="", status=404), Dependency.UPSTREAM)
    status = template.status
    ready = next((c for c in status.conditions if c.type == reasons.READY), None) if status else None
    word = status.status if status else None
    if ready is None:
        return Component(
            name=name,
            state=word or AIMStatus.PENDING,
            reason="ResourceFound",
            message="Resource found but no Ready condition present",
            dependency=Dependency.UPSTREAM,
        )
    states = {"True": AIMStatus.READY, "False": word or AIMStatus.FAILED}
    return Component(
        name=name,
        state=states.get(ready.status, AIMStatus.PROGRESSING),
        reason=ready.reason,
        message=ready.message,
        dependency=Dependency.UPSTREAM,
    )


def artifacts_component(found: Sequence[Match]) -> Component:
    """All downloads of a cache as one part of it."""
    if not found:
        return _artifacts(AIMStatus.PROGRESSING, "NoCaches", "No artifacts to track")
    held = [match.found for match in found if match.found is not None]
    if len(held) < len(found):
        return _artifacts(AIMStatus.PROGRESSING, "CreatingCaches", "Waiting for the AIM artifacts to be created")
    worst = min(held, key=lambda one: health.rank(state(one)))
    if state(worst) is AIMStatus.READY:
        return _artifacts(AIMStatus.READY, "AllCachesReady", "All caches are ready")
    ready = next((c for c in worst.status.conditions if c.type == reasons.READY), None) if worst.status else None
    if ready is None or ready.status == "True":
        return _artifacts(state(worst), "CachesNotReady", "One or more caches are not ready")
    return _artifacts(state(worst), ready.reason, f"One or more caches are not ready: {ready.message}")


def _artifacts(word: AIMStatus, reason: str, message: str) -> Component:
    return Component(name="Artifacts", state=word, reason=reason, message=message, dependency=Dependency.DOWNSTREAM)


def nothing_to_cache(component: Component) -> tuple[Note, ...]:
    """A cache without sources is worth a warning that comes again, though nothing is wrong with it yet."""
    if component.reason != "NoCaches":
        return ()
    return (
        Note(
            type=component.condition,
            status="False",
            reason=component.reason,
            message=component.message,
            level=Level.ERROR,
            word=component.word,
        ),
    )


def is_complete(found: Sequence[Match]) -> bool:
    """Whether every source is held."""
    return all(match.found is not None for match in found)


def by_name(found: Sequence[Match]) -> dict[str, ResolvedDownload]:
    """What holds each source, by the object's name; that of an AIMModelCache is told apart if an AIMArtifact has it."""
    artifacts = {match.found.metadata.name for match in found if isinstance(match.found, AIMArtifact)}

    def key(one: DownloadObject) -> str:
        taken = not isinstance(one, AIMArtifact) and one.metadata.name in artifacts
        return f"{names.CACHE_TYPE_MODEL_CACHE}/{one.metadata.name}" if taken else one.metadata.name

    return {key(match.found): _entry(match.source, match.found) for match in found if match.found}


def by_model(found: Sequence[Match]) -> dict[str, ResolvedDownload]:
    """The same by model id; of two entries for one model the better stays."""
    best: dict[str, ResolvedDownload] = {}
    for match in found:
        if match.found is None:
            continue
        entry, before = _entry(match.source, match.found), best.get(match.source.model_id)
        if before is None or health.rank(AIMStatus(entry.status)) > health.rank(AIMStatus(before.status)):
            best[entry.model] = entry
    return best


def _entry(source: ModelSource, one: DownloadObject) -> ResolvedDownload:
    return ResolvedDownload(
        uid=one.metadata.uid,
        name=one.metadata.name,
        model=source.model_id,
        status=state(one),
        persistent_volume_claim=one.status.persistent_volume_claim if one.status else None,
        mount_point=f"{names.CACHE_MOUNT_BASE}/{source.model_id.replace('..', '')}",
    )
