"""Where a service should be reached, and how its route does."""

from dataclasses import dataclass

from aim_engine.api.runtime import ParentReference, Routing
from aim_engine.api.status import AIMStatus
from aim_engine.controllers.service.seen import Seen, is_ours
from aim_engine.core import durations, route_conflicts, route_path, routes, runtime_config, service_health
from aim_engine.core.health import Component
from aim_engine.core.problems import Dependency, Problem, invalid_spec
from aim_engine.core.route_path import InvalidPath
from aim_engine.core.service import Service
from aim_engine.objects import Key


@dataclass(frozen=True)
class Route:
    """Where a service should be reached."""

    routing: Routing
    gateway: ParentReference
    path: str


def routed(service: Service, seen: Seen) -> tuple[Route | None, Component | None]:
    """Where the service should be reached, and how that does; nothing at all while routing is off."""
    routing = runtime_config.routing(service.spec, seen.config.spec)
    if not routing.enabled:
        return None, None
    if routing.gateway_ref is None:
        said = "Routing is enabled but no gatewayRef is configured in service or runtime config"
        return None, unrouted(problems=(invalid_spec("GatewayNotConfigured", said),), blocks=True)
    path = route_path.render(routing.path_template, service.manifest)
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
