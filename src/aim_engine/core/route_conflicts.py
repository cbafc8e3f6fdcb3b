"""Two routes of ours on one path of one gateway: the one that was there first keeps it."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from aim_engine.api import names
from aim_engine.api.foreign import HTTPRoute
from aim_engine.api.foreign.serving import Parent
from aim_engine.api.runtime import ParentReference
from aim_engine.core import route_path
from aim_engine.objects import Key

_NEVER = datetime.max.replace(tzinfo=UTC)


class Place(NamedTuple):
    """Where a route listens: on one gateway, section and port, under one path."""

    group: str
    kind: str
    namespace: str
    name: str
    section: str
    port: int
    path: str


def wanted(gateway: ParentReference, path: str, namespace: str) -> Place:
    """The place a service asks for."""
    return Place(
        gateway.group if gateway.group is not None else "gateway.networking.k8s.io",
        gateway.kind or "Gateway",
        gateway.namespace or namespace,
        gateway.name,
        gateway.section_name or "",
        gateway.port or 0,
        path,
    )


def places(route: HTTPRoute) -> Iterable[Place]:
    """The places a route of ours holds; those of others are not ours to judge."""
    if not is_ours(route):
        return
    paths = {route_path.comparable(match.path.value) for rule in route.spec.rules for match in rule.matches}
    for parent in route.spec.parent_refs:
        for path in sorted(paths):
            yield _place(parent, path, route.metadata.namespace)


def _place(parent: Parent, path: str, namespace: str) -> Place:
    gateway = (parent.group, parent.kind, parent.namespace or namespace, parent.name)
    return Place(*gateway, parent.section_name or "", parent.port or 0, path)


def holder(place: Place, own: Key, routes: Iterable[HTTPRoute]) -> str | None:
    """The service, as `namespace/name`, that has a place before the route `own` could get it; None if it is free."""
    ours = [route for route in routes if place in places(route)]
    mine = next((route for route in ours if route.metadata.key == own), None)
    hosts = mine.spec.hostnames if mine else ()
    before = [
        route
        for route in ours
        if route.metadata.key != own
        and share_hosts(route.spec.hostnames, hosts)
        and (mine is None or _age(route) < _age(mine))
    ]
    first = min(before, key=_age, default=None)
    return f"{first.metadata.namespace}/{service_of(first)}" if first else None


def share_hosts(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a host belongs to both sets; no host at all means every host."""
    return not some or not others or any(_covers(a, b) or _covers(b, a) for a in some for b in others)


def _covers(wide: str, narrow: str) -> bool:
    return wide == narrow or (wide.startswith("*.") and narrow.endswith(wide[1:]))


def is_ours(route: HTTPRoute) -> bool:
    return names.LABEL_SERVICE in route.metadata.labels and route.metadata.deletion_timestamp is None


def service_of(route: HTTPRoute) -> str:
    """Name of the service a route was made for."""
    owner = next((one.name for one in route.metadata.owner_references if one.kind == "AIMService"), None)
    return owner or route.metadata.labels[names.LABEL_SERVICE]


def _age(route: HTTPRoute) -> tuple[datetime, str]:
    return route.metadata.creation_timestamp or _NEVER, str(route.metadata.key)
