"""Accepted routes in the order of the Gateway API: which rule a request meets, and where it goes from there."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from aim_engine.core import durations
from aim_engine.kube.store import Store
from aim_engine.local.stand_ins.gateway import hosts, verdicts
from aim_engine.local.stand_ins.gateway.objects import (
    BackendReference,
    HTTPRoute,
    PathMatch,
    Pod,
    Rule,
    Service,
    ServicePort,
)
from aim_engine.local.stand_ins.gateway.verdicts import World

_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class Entry(NamedTuple):
    """One match of one rule, under one hostname."""

    host: str
    match: PathMatch
    route: HTTPRoute
    rule: Rule
    number: int
    """Of the rule in its route."""


class Table:
    """All matches; the first that fits a request has it."""

    def __init__(self, routes: Iterable[HTTPRoute], world: World) -> None:
        self._entries = sorted((entry for route in routes for entry in _entries(route, world)), key=_precedence)

    def find(self, host: str, path: str) -> Entry | None:
        """The match for a request, if a route takes it."""
        return next((one for one in self._entries if hosts.takes(one.host, host) and fits(one.match, path)), None)


def fits(match: PathMatch, path: str) -> bool:
    """Whether a path is meant; a prefix ends at a slash: /chat takes /chat/x and not /chats."""
    if match.type == "Exact":
        return path == match.value
    prefix = match.value.rstrip("/")
    return path == prefix or path.startswith(f"{prefix}/")


def rewritten(entry: Entry, path: str) -> str:
    """The path for the backend."""
    for change in (one.url_rewrite.path for one in entry.rule.filters if one.url_rewrite):
        if change and change.type == "ReplaceFullPath":
            return change.replace_full_path or "/"
        if change and change.type == "ReplacePrefixMatch":
            rest = path[len(entry.match.value.rstrip("/")) :]
            return f"{(change.replace_prefix_match or '').rstrip('/')}{rest}" or "/"
    return path


def hostname(entry: Entry) -> str | None:
    """The host for the backend, if it is to be another than the client's."""
    return next((one.url_rewrite.hostname for one in entry.rule.filters if one.url_rewrite), None)


def limit(rule: Rule) -> float | None:
    """Seconds after which a request is given up; None is never."""
    told = (rule.timeouts.request, rule.timeouts.backend_request)
    limits = [found.total_seconds() for text in told if text and (found := durations.parse(text))]
    return min(limits, default=None)


def addresses(
    route: HTTPRoute, backend: BackendReference, services: Store[Service], pods: Store[Pod]
) -> list[tuple[str, int]]:
    """Where Ready pods of a backend listen; the Service's own address leads nowhere on a local cluster."""
    key = verdicts.backend_key(route, backend)
    service = services.get(key)
    if service is None or not service.spec.selector:
        return []
    port = next((one for one in service.spec.ports if one.port == backend.port), None)
    if port is None:
        return []
    chosen = [pod for pod in pods.in_namespace(key.namespace) if _serves(pod, service)]
    return [(pod.status.pod_ip, number) for pod in chosen if (number := _number(pod, port)) is not None]


def _entries(route: HTTPRoute, world: World) -> Iterable[Entry]:
    names: set[str] = {
        host
        for verdict in verdicts.of_route(route, world)
        for listener in verdict.listeners
        for host in hosts.common(listener.hostname, route.spec.hostnames)
    }
    return (
        Entry(host, match.path, route, rule, number)
        for host in names
        for number, rule in enumerate(route.spec.rules)
        for match in rule.matches
    )


def _precedence(entry: Entry) -> tuple[object, ...]:
    exactly, length = hosts.weight(entry.host)
    metadata = entry.route.metadata
    return (
        not exactly,
        -length,
        entry.match.type != "Exact",
        -len(entry.match.value.rstrip("/")),
        metadata.creation_timestamp or _NEVER,
        str(metadata.key),
        entry.number,
    )


def _serves(pod: Pod, service: Service) -> bool:
    return (
        bool(pod.status.pod_ip)
        and pod.metadata.deletion_timestamp is None
        and all(pod.metadata.labels.get(label) == value for label, value in service.spec.selector.items())
        and any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)
    )


def _number(pod: Pod, port: ServicePort) -> int | None:
    target = port.target_port or port.port
    if isinstance(target, int):
        return target
    named = (one for container in pod.spec.containers for one in container.ports if one.name == target)
    return next((one.container_port for one in named), None)
