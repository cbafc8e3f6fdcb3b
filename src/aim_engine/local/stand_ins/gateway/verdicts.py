"""What the gateway says of classes, gateways and routes: values in, conditions out.

route ──parentRef──► Gateway of ours? ──no──► nothing said: another controller's
                        │ yes
                        ▼
Accepted      NoMatchingParent, NotAllowedByListeners, NoMatchingListenerHostname, UnsupportedValue, Accepted
ResolvedRefs  InvalidKind, RefNotPermitted, BackendNotFound, ResolvedRefs
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from aim_engine.kube.store import Store
from aim_engine.local.stand_ins.gateway import hosts
from aim_engine.local.stand_ins.gateway.objects import (
    CONTROLLER,
    GROUP,
    BackendReference,
    Gateway,
    GatewayClass,
    HTTPRoute,
    LabelExpression,
    LabelSelector,
    Listener,
    Namespace,
    ParentReference,
    ReferenceGrant,
    Rule,
    Service,
)
from aim_engine.objects import Condition, Key

SERVED_PROTOCOL: Final = "HTTP"


class World(NamedTuple):
    """What the cluster has, as verdicts look at it."""

    classes: Store[GatewayClass]
    gateways: Store[Gateway]
    namespaces: Store[Namespace]
    services: Store[Service]
    grants: Store[ReferenceGrant]


class Verdict(NamedTuple):
    """What is said of a route and one of its parents, and the listeners that take it."""

    parent: ParentReference
    gateway: Gateway
    listeners: tuple[Listener, ...]
    accepted: Condition
    resolved: Condition


def of_route(route: HTTPRoute, world: World) -> list[Verdict]:
    """A verdict per parent that is a gateway of ours, in the order of the parents."""
    found: list[Verdict] = []
    for parent in route.spec.parent_refs:
        gateway = _gateway(route, parent, world)
        if gateway is not None:
            listeners, accepted = _attached(route, parent, gateway, world)
            found.append(Verdict(parent, gateway, listeners, accepted, _resolved(route, world)))
    return found


def is_ours(gateway: Gateway, classes: Store[GatewayClass]) -> bool:
    found = classes.get(Key("", gateway.spec.gateway_class_name))
    return found is not None and found.spec.controller_name == CONTROLLER


def parent_key(route: HTTPRoute, parent: ParentReference) -> Key:
    return Key(parent.namespace or route.metadata.namespace, parent.name)


def backend_key(route: HTTPRoute, backend: BackendReference) -> Key:
    return Key(backend.namespace or route.metadata.namespace, backend.name)


def is_usable(route: HTTPRoute, backend: BackendReference, world: World) -> bool:
    """Whether requests may go to a backend."""
    return _complaint(route, backend, world) is None


def of_gateway(gateway: Gateway) -> tuple[Condition, Condition]:
    """Accepted and Programmed of a gateway of ours."""
    served = [listener for listener in gateway.spec.listeners if listener.protocol == SERVED_PROTOCOL]
    if not served:
        words = "No listener speaks HTTP; the local gateway serves no other protocol"
        return condition("Accepted", "ListenersNotValid", words), condition("Programmed", "Invalid", words)
    accepted = condition("Accepted", "Accepted", "The local gateway serves this Gateway")
    if len(served) < len(gateway.spec.listeners):
        words = "Listeners that do not speak HTTP are left out"
        accepted = condition("Accepted", "ListenersNotValid", words, status=True)
    return accepted, condition("Programmed", "Programmed", "Requests are passed on by its routes")


def of_listener(listener: Listener) -> tuple[Condition, ...]:
    """The conditions of one listener."""
    resolved = condition("ResolvedRefs", "ResolvedRefs", "")
    if listener.protocol == SERVED_PROTOCOL:
        return condition("Accepted", "Accepted", ""), condition("Programmed", "Programmed", ""), resolved
    words = f"The local gateway serves HTTP, not {listener.protocol}"
    return (
        condition("Accepted", "UnsupportedProtocol", words),
        condition("Programmed", "Invalid", words),
        resolved,
    )


def condition(kind: str, reason: str, message: str, *, status: bool | None = None) -> Condition:
    """A condition whose reason says whether it holds, unless told otherwise: a good one is named as its type."""
    holds = reason == kind if status is None else status
    return Condition(type=kind, status="True" if holds else "False", reason=reason, message=message)


def _gateway(route: HTTPRoute, parent: ParentReference, world: World) -> Gateway | None:
    if (parent.group, parent.kind) != (GROUP, "Gateway"):
        return None
    gateway = world.gateways.get(parent_key(route, parent))
    return gateway if gateway is not None and is_ours(gateway, world.classes) else None


def _attached(
    route: HTTPRoute, parent: ParentReference, gateway: Gateway, world: World
) -> tuple[tuple[Listener, ...], Condition]:
    """The listeners that take the route; each question leaves some of them, and the first that leaves none refuses."""
    left: Sequence[Listener] = gateway.spec.listeners
    questions: tuple[tuple[str, str, Callable[[Listener], bool]], ...] = (
        (
            "NoMatchingParent",
            f"Gateway {gateway.metadata.key} has no HTTP listener {_wanted(parent)}",
            lambda listener: _is_meant(parent, listener),
        ),
        (
            "NotAllowedByListeners",
            f"No listener of Gateway {gateway.metadata.key} allows routes of namespace {route.metadata.namespace}",
            lambda listener: _allows(listener, gateway, route, world),
        ),
        (
            "NoMatchingListenerHostname",
            f"No listener of Gateway {gateway.metadata.key} takes one of the hostnames of the route",
            lambda listener: bool(hosts.common(listener.hostname, route.spec.hostnames)),
        ),
    )
    for reason, message, holds in questions:
        left = tuple(filter(holds, left))
        if not left:
            return (), condition("Accepted", reason, message)
    unsupported = next((words for rule in route.spec.rules if (words := _unsupported(rule))), None)
    if unsupported:
        return (), condition("Accepted", "UnsupportedValue", unsupported)
    return tuple(left), condition("Accepted", "Accepted", f"Gateway {gateway.metadata.key} passes requests on")


def _wanted(parent: ParentReference) -> str:
    named = f"named {parent.section_name}" if parent.section_name else ""
    port = f"on port {parent.port}" if parent.port else ""
    return " ".join(part for part in (named, port) if part) or "at all"


def _is_meant(parent: ParentReference, listener: Listener) -> bool:
    return (
        listener.protocol == SERVED_PROTOCOL
        and parent.section_name in (None, listener.name)
        and parent.port in (None, listener.port)
    )


def _allows(listener: Listener, gateway: Gateway, route: HTTPRoute, world: World) -> bool:
    allowed = listener.allowed_routes
    if allowed.kinds and not any((one.group, one.kind) == (GROUP, "HTTPRoute") for one in allowed.kinds):
        return False
    if allowed.namespaces.source == "All":
        return True
    if allowed.namespaces.source == "Selector":
        namespace = world.namespaces.get(Key("", route.metadata.namespace))
        selector = allowed.namespaces.selector or LabelSelector()
        return namespace is not None and selects(selector, namespace.metadata.labels)
    return allowed.namespaces.source == "Same" and route.metadata.namespace == gateway.metadata.namespace


def selects(selector: LabelSelector, labels: dict[str, str]) -> bool:
    """Whether labels are as the selector wants them."""
    if any(labels.get(label) != value for label, value in selector.match_labels.items()):
        return False
    return all(_holds(expression, labels.get(expression.key)) for expression in selector.match_expressions)


def _holds(expression: LabelExpression, value: str | None) -> bool:
    match expression.operator:
        case "In":
            return value in expression.values
        case "NotIn":
            return value not in expression.values
        case "Exists":
            return value is not None
        case _:
            return value is None


def _unsupported(rule: Rule) -> str | None:
    """What of a rule this gateway cannot do, as a sentence."""
    filters: Iterable[str] = (one.type for one in rule.filters if one.type != "URLRewrite")
    if kind := next(iter(filters), None):
        return f"The local gateway knows the filter URLRewrite, not {kind}"
    if any(backend.filters for backend in rule.backend_refs):
        return "The local gateway knows filters of rules, not of backends"
    for match in rule.matches:
        if match.method or match.headers or match.query_params or match.path.type not in {"PathPrefix", "Exact"}:
            return "The local gateway matches by path prefix and by exact path only"
    return None


def _resolved(route: HTTPRoute, world: World) -> Condition:
    for rule in route.spec.rules:
        for backend in rule.backend_refs:
            complaint = _complaint(route, backend, world)
            if complaint:
                return complaint
    return condition("ResolvedRefs", "ResolvedRefs", "All backends are there")


def _complaint(route: HTTPRoute, backend: BackendReference, world: World) -> Condition | None:
    key = backend_key(route, backend)
    if (backend.group, backend.kind) != ("", "Service"):
        words = f"Backends are Services, not {backend.kind} {key}"
        return condition("ResolvedRefs", "InvalidKind", words)
    if key.namespace != route.metadata.namespace and not _granted(route, key, world):
        words = f"No ReferenceGrant in namespace {key.namespace} lets this route use Service {key.name}"
        return condition("ResolvedRefs", "RefNotPermitted", words)
    service = world.services.get(key)
    if service is None:
        return condition("ResolvedRefs", "BackendNotFound", f"Service {key} not found")
    if all(port.port != backend.port for port in service.spec.ports):
        return condition("ResolvedRefs", "BackendNotFound", f"Service {key} has no port {backend.port}")
    return None


def _granted(route: HTTPRoute, backend: Key, world: World) -> bool:
    return any(
        any(
            (one.group, one.kind, one.namespace) == (GROUP, "HTTPRoute", route.metadata.namespace)
            for one in grant.spec.sources
        )
        and any(
            (one.group, one.kind) == ("", "Service") and one.name in (None, backend.name) for one in grant.spec.targets
        )
        for grant in world.grants.in_namespace(backend.namespace)
    )
