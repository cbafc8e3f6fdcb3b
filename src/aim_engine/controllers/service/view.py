"""What a pass makes of what it saw: the health of every part, and what pods and route should be."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aim_engine.api import kinds as api_kinds
from aim_engine.api.environment import LocalObjectReference
from aim_engine.api.model import AIMModel, Model
from aim_engine.api.runtime import ParentReference, Routing
from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.api.service import AIMService, AIMServiceSpec
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import AIMServiceTemplate, Template
from aim_engine.controllers.service.seen import Seen
from aim_engine.core import (
    container_resources,
    durations,
    inference_env,
    pods,
    route_conflicts,
    route_path,
    routes,
    runtime_config,
    scaling,
    service_cache,
    service_health,
)
from aim_engine.core.health import Component
from aim_engine.core.problems import Dependency, Problem, invalid_spec
from aim_engine.core.route_path import InvalidPath
from aim_engine.core.transitions import Note, Occurrence
from aim_engine.manifests.inference_service import Pod
from aim_engine.objects import Key


@dataclass(frozen=True)
class Route:
    """Where a service should be reached."""

    routing: Routing
    gateway: ParentReference
    path: str


@dataclass(frozen=True)
class View:
    """All that plan and status are made from."""

    config: RuntimeConfigSpec
    components: tuple[Component, ...]
    notes: tuple[Note, ...]
    announcements: tuple[Occurrence, ...]
    seen: Seen
    route: Route | None
    """None: there should be no route."""
    pod: Pod | None
    """None: too little is known to say what pods should be."""
    now: datetime


def observe(service: AIMService, seen: Seen, now: datetime) -> View:
    assert service.spec is not None
    spec, config = service.spec, seen.config.spec
    route, routing_health = routed(service, spec, seen)
    pod, invalid_arguments = inference_pod(spec, seen)
    return View(
        config=config,
        components=components(service, spec, seen, routing_health),
        notes=(),
        announcements=announcements(seen, invalid_arguments),
        seen=seen,
        route=route,
        pod=pod,
        now=now,
    )


def components(
    service: AIMService, spec: AIMServiceSpec, seen: Seen, routing: Component | None
) -> tuple[Component, ...]:
    """The health of every part, in the order in which the first trouble is told."""
    served = seen.served
    conflict = taken(service, served.inference_service)
    serving = conflict or service_health.inference_service(
        served.inference_service, served.events, served.name, installed=served.installed
    )
    parts = [seen.model.component, seen.template.component, seen.config.component, serving]
    if served.inference_service:
        parts.append(pods.inspect("InferenceServicePods", served.pods, served.events, served.failure_log, blocks=False))
    mounted = service_cache.mounts_weights(served.inference_service)
    parts.append(service_cache.component(service, seen.cached.mode, seen.cached.cache, mounted))
    if routing:
        parts.append(routing)
    if scaling.is_automatic(spec):
        ready = serving.effective_state is AIMStatus.READY
        parts.append(service_health.autoscaler(served.autoscaler, served=ready))
    return tuple(parts)


def taken(service: AIMService, found: Any) -> Component | None:
    """An InferenceService of our name that belongs to somebody else is left alone, and told."""
    if found is None or is_ours(service, found):
        return None
    said = f"InferenceService {found.metadata.name} exists and belongs to another owner; rename the service"
    return Component(
        name="InferenceService",
        state=AIMStatus.FAILED,
        reason="NameConflict",
        message=said,
        dependency=Dependency.DOWNSTREAM,
        blocks=False,
    )


def is_ours(service: AIMService, found: Any) -> bool:
    """Whether no other object controls what was found."""
    controllers = [owner for owner in found.metadata.owner_references if owner.controller]
    return not controllers or any(owner.uid == service.metadata.uid for owner in controllers)


def routed(service: AIMService, spec: AIMServiceSpec, seen: Seen) -> tuple[Route | None, Component | None]:
    """Where the service should be reached, and how that does; nothing at all while routing is off."""
    routing = runtime_config.routing(spec, seen.config.spec)
    if not routing.enabled:
        return None, None
    if routing.gateway_ref is None:
        said = "Routing is enabled but no gatewayRef is configured in service or runtime config"
        return None, unrouted(problems=(invalid_spec("GatewayNotConfigured", said),), blocks=True)
    path = route_path.render(routing.path_template, api_kinds.manifest(service))
    if isinstance(path, InvalidPath):
        return None, unrouted(AIMStatus.DEGRADED, "PathTemplateInvalid", path.why)
    if why := bad_timeout(routing):
        return None, unrouted(AIMStatus.DEGRADED, "RequestTimeoutInvalid", why)
    place = route_conflicts.wanted(routing.gateway_ref, path, service.metadata.namespace)
    own = Key(service.metadata.namespace, seen.routed.name)
    if holder := route_conflicts.holder(place, own, seen.routed.at(place)):
        said = f'route path "{path}" is already used by service {holder}'
        return None, unrouted(AIMStatus.DEGRADED, "RouteConflict", said)
    if not seen.routed.installed:
        return None, unrouted(problems=(service_health.NO_GATEWAY_API,))
    if seen.routed.route and not is_ours(service, seen.routed.route):
        said = f"HTTPRoute {seen.routed.name} exists and belongs to another owner; rename the service"
        return None, unrouted(AIMStatus.FAILED, "NameConflict", said)
    return Route(routing, routing.gateway_ref, path), route_health(seen)


def route_health(seen: Seen) -> Component:
    if seen.routed.route is None:
        return unrouted(AIMStatus.PROGRESSING, "HTTPRouteCreating", "HTTPRoute is being created")
    return routes.inspect("HTTPRoute", seen.routed.route, blocks=False)


def bad_timeout(routing: Routing) -> str | None:
    """What is wrong with the request timeout, if anything is."""
    written = routing.request_timeout
    if not written or durations.parse(written) is not None:
        return None
    return f"routing.requestTimeout is {written!r}; write a duration such as 30s, 5m or 1h30m"


def unrouted(
    state: AIMStatus | None = None,
    reason: str = "",
    message: str = "",
    *,
    problems: tuple[Problem, ...] = (),
    blocks: bool = False,
) -> Component:
    return Component(
        name="HTTPRoute",
        state=state,
        reason=reason,
        message=message,
        problems=problems,
        dependency=Dependency.DOWNSTREAM,
        blocks=blocks,
    )


def inference_pod(spec: AIMServiceSpec, seen: Seen) -> tuple[Pod | None, tuple[str, ...]]:
    """What the pods should be, and which layers gave engine arguments that are no JSON object."""
    template, model = seen.template.usable, seen.model.model
    if template is None or template.spec is None or template.status is None:
        return None, ()
    if model is None or model.spec is None or not model.spec.image:
        return None, ()
    env = inference_env.build(spec.env, template.spec, seen.config.spec.env, template.status.profile)
    pod = Pod(
        image=model.spec.image,
        env=env.variables,
        resources=container_resources.build(
            template.status.resolved_hardware, model.spec.resources, template.spec.resources, spec.resources
        ),
        affinity=template.status.resolved_node_affinity,
        pull_secrets=pull_secrets(spec, template, model, seen),
        service_account=service_account(spec, template, model, seen),
    )
    return pod, env.invalid_arguments


def pull_secrets(spec: AIMServiceSpec, template: Template, model: Model, seen: Seen) -> tuple[str, ...]:
    """The service's secrets, then the template's and the model's; of cluster-scoped ones only those that are here."""
    assert template.spec is not None
    assert model.spec is not None
    named = [secret.name for secret in spec.image_pull_secrets]
    named += usable(template.spec.image_pull_secrets, isinstance(template, AIMServiceTemplate), seen)
    named += usable(model.spec.image_pull_secrets, isinstance(model, AIMModel), seen)
    return tuple(dict.fromkeys(name for name in named if name))


def usable(secrets: tuple[LocalObjectReference, ...], namespaced: bool, seen: Seen) -> list[str]:
    return [secret.name for secret in secrets if namespaced or seen.has_secret(secret.name)]


def service_account(spec: AIMServiceSpec, template: Template, model: Model, seen: Seen) -> str:
    """The first account that is named and that pods of this namespace can use."""
    assert template.spec is not None
    assert model.spec is not None
    named = (
        (spec.service_account_name, True),
        (template.spec.service_account_name, isinstance(template, AIMServiceTemplate)),
        (model.spec.service_account_name, isinstance(model, AIMModel)),
    )
    return next((name for name, here in named if name and (here or seen.has_account(name))), "")


def announcements(seen: Seen, invalid_arguments: tuple[str, ...]) -> tuple[Occurrence, ...]:
    """What users should hear though no condition tells it."""
    told = [
        _announced("Warning", "InvalidEngineArgs", f"AIM_ENGINE_ARGS of the {layer} is no JSON object")
        for layer in invalid_arguments
    ]
    choice = seen.template.selection
    if choice:
        told += [
            _announced("Normal", "UnknownGPUModel", f"ranked last, its GPU model is not known: {unknown}")
            for unknown in choice.unknown_gpus
        ]
        verdicts = "; ".join(str(verdict) for verdict in choice.verdicts)
        told += [_announced("Normal", "TemplateSelection", verdicts)] if verdicts else []
    return tuple(told)


def _announced(kind: Any, reason: str, message: str) -> Occurrence:
    return Occurrence(type=kind, reason=reason, message=message, condition="", status="Unknown", recurring=False)
