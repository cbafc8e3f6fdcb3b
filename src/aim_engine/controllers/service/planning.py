"""What should exist for a service: a model, a route, a derived template, a cache, and what serves it."""

from datetime import timedelta

import msgspec

from aim_engine.api import names
from aim_engine.api.artifact import CacheMode
from aim_engine.api.foreign import InferenceService
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import AIMServiceTemplate, Template
from aim_engine.controllers import kinds
from aim_engine.controllers.service.pod import usable_here
from aim_engine.controllers.service.seen import is_ours, owns
from aim_engine.controllers.service.view import View
from aim_engine.core import runtime_config, service_cache
from aim_engine.core.derived_name import label_value
from aim_engine.core.plan import Patch, Plan, Target, aim_target
from aim_engine.core.problems import Problem
from aim_engine.core.service import Service
from aim_engine.manifests import http_route, inference_service, service_children
from aim_engine.manifests.inference_service import SHARED_MEMORY, Volumes
from aim_engine.objects import Manifest, ObjectMeta

USED_AGAIN = timedelta(minutes=1)
"""How often at most it is noted that a download was used."""


def plan(service: Service, view: View) -> Plan:
    together = plan_model(service, view) + plan_route(service, view)
    if view.seen.template.derivation:
        return together + plan_derived(service, view)
    template = view.seen.template.usable
    if template is None:
        return together
    return (
        together
        + plan_cache(service, template, view)
        + plan_retry(service, view)
        + plan_served(service, template, view)
    )


def plan_model(service: Service, view: View) -> Plan:
    """The catalogue entry for an image or for weights that have none; it outlives the service."""
    creation = view.seen.model.creation
    if creation is None:
        return Plan()
    if creation.custom:
        return Plan(create_unowned=(service_children.custom_model(service, creation.name, creation.custom),))
    return Plan(create_unowned=(service_children.model_of_image(service, creation.name, creation.image),))


def plan_route(service: Service, view: View) -> Plan:
    """The route where there should be one; one of ours that should not be goes."""
    name, found = view.seen.served.name, view.seen.routed.route
    if view.route and not isinstance(name, Problem):
        wanted = view.route
        route = http_route.build(service, view.seen.routed.name, name, wanted.routing, wanted.gateway, wanted.path)
        return Plan(apply=(route,))
    if found and owns(service, found):
        return Plan(delete=(foreign_target(kinds.ROUTES.api_version, kinds.ROUTES.kind, found.metadata),))
    return Plan()


def plan_derived(service: Service, view: View) -> Plan:
    """A template with the service's overrides."""
    derivation = view.seen.template.derivation
    if derivation is None or derivation.base.spec is None:
        return Plan()
    base = derivation.base.spec
    if not isinstance(derivation.base, AIMServiceTemplate):
        base = usable_here(base, view.seen)
    shared = view.seen.cached.mode in service_cache.SHARED
    made = service_children.derived_template(service, derivation.name, base, cached=shared)
    return Plan(create=(made,))


def plan_cache(service: Service, template: Template, view: View) -> Plan:
    """A cache for the template's weights, if there is none that this service may use."""
    cached = view.seen.cached
    if cached.cache or not (template.status and template.status.model_sources):
        return Plan()
    mode = service_cache.made_mode(cached.mode)
    name = service_cache.made_name(service, template, cached.mode, cached.all)
    storage = runtime_config.storage(service.spec, view.config)
    made = service_children.template_cache(service, name, template, mode, storage.default_storage_class_name or "")
    return Plan(create_unowned=(made,)) if mode is CacheMode.SHARED else Plan(create=(made,))


def plan_retry(service: Service, view: View) -> Plan:
    """The one retry of a failed cache: its failed downloads go, and the cache makes new ones."""
    cached = view.seen.cached
    failed = service_cache.to_retry(service, cached.cache, cached.downloads)
    return Plan(delete=tuple(aim_target(type(one).__name__, one.metadata) for one in failed))


def plan_served(service: Service, template: Template, view: View) -> Plan:
    """The InferenceService: made once model, template and cache are ready, kept up to date from then on."""
    served, cached = view.seen.served, view.seen.cached
    if view.pod is None or isinstance(served.name, Problem) or not served.installed:
        return Plan()
    found = served.inference_service
    if found and not is_ours(service, found):
        return Plan()
    volumes = volumes_of(template, view, found)
    if volumes is None:
        return Plan()
    pod = msgspec.structs.replace(view.pod, cache=volumes)
    made = inference_service.build(service, served.name, template, pod)
    fresh = claims(volumes) - (claims(existing(found)) if found else frozenset())
    return Plan(apply=(made,), patch=uses(view, fresh) if cached.cache else ())


def volumes_of(template: Template, view: View, found: InferenceService | None) -> Volumes | None:
    """The weights' volumes; None while it is not time to make, or to change, what serves the service."""
    cache = view.seen.cached.cache
    ready = cache is not None and service_cache.state(cache) is AIMStatus.READY
    from_cache = Volumes(*service_cache.mounts(cache)) if cache is not None and ready else None
    if found is None:
        model = view.seen.model.model
        model_ready = model is not None and model.status is not None and model.status.status is AIMStatus.READY
        return from_cache if model_ready else None
    if found.metadata.labels.get(names.LABEL_TEMPLATE) != label_value(template.metadata.name):
        return from_cache
    kept = existing(found)
    if from_cache is not None and not claims(kept):
        return Volumes(kept.volumes + from_cache.volumes, kept.mounts + from_cache.mounts)
    return kept


def existing(found: InferenceService) -> Volumes:
    """What an InferenceService mounts beside the shared memory; it stays, whatever becomes of the cache."""
    predictor = found.spec.predictor
    mounts = predictor.containers[0].volume_mounts if predictor.containers else ()
    return Volumes(
        tuple(volume for volume in predictor.volumes if volume.get("name") != SHARED_MEMORY),
        tuple(mount for mount in mounts if mount.get("name") != SHARED_MEMORY),
    )


def claims(volumes: Volumes) -> frozenset[str]:
    """The claims among some volumes."""
    found = (volume.get("persistentVolumeClaim", {}).get("claimName", "") for volume in volumes.volumes)
    return frozenset(name for name in found if name)


def uses(view: View, fresh: frozenset[str]) -> tuple[Patch, ...]:
    """Note on the downloads behind new volumes that they were used just now."""
    used = [one for one in view.seen.cached.downloads if one.status and one.status.persistent_volume_claim in fresh]
    now: Manifest = {"lastUsed": msgspec.to_builtins(view.now.replace(microsecond=0))}
    return tuple(
        Patch(
            target=aim_target(type(one).__name__, one.metadata),
            body={"metadata": {"uid": one.metadata.uid}, "status": now},
            subresource="status",
            best_effort=True,
        )
        for one in used
        if one.status and (one.status.last_used is None or view.now - one.status.last_used > USED_AGAIN)
    )


def foreign_target(api_version: str, kind: str, metadata: ObjectMeta) -> Target:
    return Target(
        api_version=api_version, kind=kind, name=metadata.name, namespace=metadata.namespace, uid=metadata.uid
    )
