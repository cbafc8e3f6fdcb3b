"""A service template: the model it is for, the profile and hardware it stands for, and the cache that serves it."""

from collections.abc import Sequence
from typing import Final

import msgspec

from aim_engine.api import reasons
from aim_engine.api.artifact import CacheMode
from aim_engine.api.hardware import HardwareRequirements
from aim_engine.api.model import Model
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import AIMServiceTemplate, Profile, ProfileMetadata, Template, TemplateSpec
from aim_engine.api.template_cache import AIMTemplateCache, TemplateScope
from aim_engine.core import hardware, health, profiles
from aim_engine.core.health import Component, of_failed_fetch
from aim_engine.core.json_values import as_object
from aim_engine.core.problems import Dependency, Failure, invalid_spec
from aim_engine.core.transitions import Level, Note

_UNWELL: Final = frozenset({AIMStatus.FAILED, AIMStatus.DEGRADED})

_ABOUT_TEMPLATES: Final = frozenset({"ServiceTemplatesReady", "ClusterServiceTemplatesReady"})
"""Conditions of a model that only say how its templates do: a template that heeded them would hold itself down."""


def model_component(model: Model | None, *, in_namespace: bool) -> Component:
    """The model as a template of a namespace, or of the cluster, depends on it."""
    name = "Model" if in_namespace else "ClusterModel"
    if model is None:
        return of_failed_fetch(name, Failure(text="", status=404), Dependency.UPSTREAM)
    kind = type(model).__name__
    if model.spec is None or not model.spec.image:
        problem = invalid_spec("ImageNotSpecified", f"{kind} {model.metadata.name} names no image")
        return Component(name=name, problems=(problem,), dependency=Dependency.UPSTREAM)
    word = model.status.status if model.status else None
    if word in _UNWELL and _fails_by_itself(model):
        return Component(
            name=name,
            state=word,
            reason=f"{name}Failed",
            message=f"{kind} is in {word} state",
            dependency=Dependency.UPSTREAM,
        )
    return Component(
        name=name,
        state=AIMStatus.READY,
        reason=f"{name}Found",
        message=f"{kind} found with valid image",
        dependency=Dependency.UPSTREAM,
    )


def _fails_by_itself(model: Model) -> bool:
    """Whether something other than its templates is wrong with a model."""
    conditions = model.status.conditions if model.status else ()
    return any(
        condition.status == "False"
        and condition.type.endswith(reasons.READY)
        and condition.type not in (reasons.READY, *_ABOUT_TEMPLATES)
        for condition in conditions
    )


def inline_profile(spec: TemplateSpec) -> Profile:
    """The profile of a template whose sources are given: nothing but what its spec says."""
    asked = hardware.effective(spec)
    gpu = asked.gpu if asked else None
    return Profile(
        metadata=ProfileMetadata(
            gpu=(gpu.model if gpu else None) or None,
            gpu_count=gpu.requests if gpu else None,
            metric=spec.metric,
            precision=spec.precision,
            type=spec.type,
        )
    )


def typed(profile: Profile, spec: TemplateSpec) -> Profile:
    """The profile with the optimisation level of the spec, else with the one that discovery reported, if it is kept."""
    printed = as_object(profile.original_discovery_output)
    if spec.type is None and printed is None:
        return profile
    level = spec.type or profiles.reported_type(printed or {})
    metadata = msgspec.structs.replace(profile.metadata or ProfileMetadata(), type=level)
    return msgspec.structs.replace(profile, metadata=metadata)


def resolved_hardware(spec: TemplateSpec, profile: Profile | None) -> HardwareRequirements | None:
    """What services will use: value by value discovery's word, then the spec's."""
    known = profile.metadata if profile else None
    asked = hardware.effective(spec)
    if known is None or spec.model_sources:
        return hardware.resolved(asked)
    return hardware.resolved(asked, known.gpu_count, known.gpu)


def serving_cache(template: Template, caches: Sequence[AIMTemplateCache]) -> AIMTemplateCache | None:
    """The cache that holds the weights: the template's own, else the best one that all may use."""
    if not isinstance(template, AIMServiceTemplate):
        return None
    if own := owned_cache(template, caches):
        return own
    shared = [
        cache
        for cache in caches
        if cache.spec
        and cache.spec.template_name == template.metadata.name
        and cache.spec.template_scope is not TemplateScope.CLUSTER
        and cache.spec.mode is not CacheMode.DEDICATED
        and cache.metadata.deletion_timestamp is None
    ]
    return max(shared, key=lambda cache: (_preference(cache), cache.metadata.name), default=None)


def owned_cache(template: Template, caches: Sequence[AIMTemplateCache]) -> AIMTemplateCache | None:
    """The cache that this template made."""
    return next((cache for cache in caches if _belongs(cache, template)), None)


def _belongs(cache: AIMTemplateCache, template: Template) -> bool:
    return cache.metadata.is_owned_by(template.metadata.uid)


def _state(cache: AIMTemplateCache) -> AIMStatus:
    return (cache.status.status if cache.status else None) or AIMStatus.PENDING


def _preference(cache: AIMTemplateCache) -> int:
    return health.rank(_state(cache))


_CACHE_REASONS: Final = {
    AIMStatus.READY: "Ready",
    AIMStatus.DEGRADED: reasons.CACHE_DEGRADED,
    AIMStatus.NOT_AVAILABLE: reasons.CACHE_DEGRADED,
    AIMStatus.FAILED: reasons.CACHE_FAILED,
}


def cache_note(cache: AIMTemplateCache | None, *, wanted: bool) -> Note | None:
    """How the cache does; it never enters the state of the template. None if there is none and none is wanted."""
    if cache is None:
        waiting = "The template cache has not been created yet"
        return _cache_note(reasons.WAITING_FOR_CACHE, waiting) if wanted else None
    state = _state(cache)
    reason = _CACHE_REASONS.get(state, reasons.WAITING_FOR_CACHE)
    return _cache_note(reason, f"AIMTemplateCache {cache.metadata.name} is {state}")


def _cache_note(reason: str, message: str) -> Note:
    bad = reason in (reasons.CACHE_DEGRADED, reasons.CACHE_FAILED)
    return Note(
        type=reasons.CACHE_READY,
        status="True" if reason == "Ready" else "False",
        reason=reason,
        message=message,
        level=Level.WARNING if bad else Level.INFO,
        counts=False,
    )
