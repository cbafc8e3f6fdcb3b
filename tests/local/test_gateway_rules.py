"""Which route takes a request, what a backend is asked, and what routes are refused for."""

from typing import Any

import msgspec
import pytest

from aim_engine.kube.store import HasMetadata, Store
from aim_engine.local.stand_ins.gateway import hosts, objects, table, verdicts
from aim_engine.local.stand_ins.gateway.objects import HTTPRoute, PathMatch
from aim_engine.local.stand_ins.gateway.table import Table
from aim_engine.local.stand_ins.gateway.verdicts import World

LISTENER = {"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "Same"}}}
REWRITE = {"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}}


def filled(kind: type[HasMetadata], *manifests: Any) -> Store[Any]:
    store: Store[Any] = Store()
    for manifest in manifests:
        store.put(msgspec.convert(manifest, kind))
    return store


def world(listener: Any = LISTENER, grants: tuple[Any, ...] = (), controller: str = objects.CONTROLLER) -> World:
    """A gateway in the namespace `edge`, a Service `chat` in `team` and one in `edge`."""
    services = [
        {"metadata": {"name": "chat", "namespace": namespace}, "spec": {"ports": [{"port": 80, "targetPort": "http"}]}}
        for namespace in ("edge", "team")
    ]
    return World(
        classes=filled(
            objects.GatewayClass, {"metadata": {"name": "aim-local"}, "spec": {"controllerName": controller}}
        ),
        gateways=filled(
            objects.Gateway,
            {
                "metadata": {"name": "main", "namespace": "edge"},
                "spec": {"gatewayClassName": "aim-local", "listeners": [listener]},
            },
        ),
        namespaces=filled(
            objects.Namespace, {"metadata": {"name": "edge"}}, {"metadata": {"name": "team", "labels": {"ai": "yes"}}}
        ),
        services=filled(objects.Service, *services),
        grants=filled(objects.ReferenceGrant, *grants),
    )


def route(
    path: str = "/chat", *, name: str = "r", namespace: str = "edge", created: str = "", **spec: Any
) -> HTTPRoute:
    rule = {"matches": [{"path": {"value": path}}], "backendRefs": [{"name": "chat", "port": 80}]}
    metadata = {"name": name, "namespace": namespace, **({"creationTimestamp": created} if created else {})}
    return msgspec.convert(
        {
            "metadata": metadata,
            "spec": {"parentRefs": [{"name": "main", "namespace": "edge"}], "rules": [rule], **spec},
        },
        HTTPRoute,
    )


def allowing(**namespaces: Any) -> Any:
    return {**LISTENER, "allowedRoutes": {"namespaces": namespaces}}


@pytest.mark.parametrize(
    ("route", "world", "accepted"),
    [
        pytest.param(route(), world(), "Accepted", id="a route beside its gateway"),
        pytest.param(
            route(namespace="team"), world(), "NotAllowedByListeners", id="another namespace, which nobody allowed"
        ),
        pytest.param(
            route(namespace="team"), world(allowing(**{"from": "All"})), "Accepted", id="all namespaces are allowed"
        ),
        pytest.param(
            route(namespace="team"),
            world(allowing(**{"from": "Selector", "selector": {"matchLabels": {"ai": "yes"}}})),
            "Accepted",
            id="a namespace with the label",
        ),
        pytest.param(
            route(namespace="team"),
            world(
                allowing(
                    **{
                        "from": "Selector",
                        "selector": {"matchExpressions": [{"key": "ai", "operator": "NotIn", "values": ["yes"]}]},
                    }
                )
            ),
            "NotAllowedByListeners",
            id="a namespace whose label shuts it out",
        ),
        pytest.param(
            route(parentRefs=[{"name": "main", "sectionName": "https"}]),
            world(),
            "NoMatchingParent",
            id="a listener that is not there",
        ),
        pytest.param(
            route(parentRefs=[{"name": "main", "port": 81}]), world(), "NoMatchingParent", id="a port nobody listens at"
        ),
        pytest.param(
            route(), world({**LISTENER, "protocol": "HTTPS"}), "NoMatchingParent", id="a protocol it does not speak"
        ),
        pytest.param(
            route(hostnames=["chat.example.com"]),
            world({**LISTENER, "hostname": "*.example.org"}),
            "NoMatchingListenerHostname",
            id="hosts without anything in common",
        ),
        pytest.param(
            route(rules=[{"filters": [{"type": "RequestMirror"}]}]),
            world(),
            "UnsupportedValue",
            id="a filter it does not know",
        ),
        pytest.param(
            route(rules=[{"matches": [{"headers": [{"name": "a", "value": "b"}]}]}]),
            world(),
            "UnsupportedValue",
            id="a match it does not know",
        ),
    ],
)
def test_a_route_is_accepted_or_told_why_not(route: HTTPRoute, world: World, accepted: str) -> None:
    (verdict,) = verdicts.of_route(route, world)
    assert verdict.accepted.reason == accepted
    assert verdict.accepted.status == ("True" if accepted == "Accepted" else "False")
    assert verdict.accepted.message
    assert bool(verdict.listeners) == (accepted == "Accepted")


@pytest.mark.parametrize(
    ("route", "world"),
    [
        pytest.param(route(parentRefs=[{"name": "gone"}]), world(), id="a gateway that is not there"),
        pytest.param(route(), world(controller="example.com/other"), id="a gateway of another controller"),
        pytest.param(
            route(parentRefs=[{"name": "main", "kind": "Service", "group": ""}]), world(), id="a parent that is none"
        ),
    ],
)
def test_nothing_is_said_of_parents_of_others(route: HTTPRoute, world: World) -> None:
    assert verdicts.of_route(route, world) == []


def to(**backend: Any) -> HTTPRoute:
    return route(rules=[{"backendRefs": [{"name": "chat", "port": 80, **backend}]}])


GRANT = {
    "metadata": {"name": "g", "namespace": "team"},
    "spec": {
        "from": [{"group": objects.GROUP, "kind": "HTTPRoute", "namespace": "edge"}],
        "to": [{"group": "", "kind": "Service"}],
    },
}


@pytest.mark.parametrize(
    ("route", "world", "resolved"),
    [
        pytest.param(to(), world(), "ResolvedRefs", id="the service is there"),
        pytest.param(to(name="gone"), world(), "BackendNotFound", id="no such service"),
        pytest.param(to(port=81), world(), "BackendNotFound", id="the service has no such port"),
        pytest.param(to(kind="Bucket"), world(), "InvalidKind", id="not a service"),
        pytest.param(to(namespace="team"), world(), "RefNotPermitted", id="of another namespace"),
        pytest.param(to(namespace="team"), world(grants=(GRANT,)), "ResolvedRefs", id="of another that grants it"),
    ],
)
def test_backends_are_resolved_or_told_why_not(route: HTTPRoute, world: World, resolved: str) -> None:
    (verdict,) = verdicts.of_route(route, world)
    assert (verdict.accepted.status, verdict.resolved.reason) == ("True", resolved)


@pytest.mark.parametrize(
    ("match", "path", "meant"),
    [
        pytest.param(PathMatch(value="/chat"), "/chat", True, id="the prefix itself"),
        pytest.param(PathMatch(value="/chat"), "/chat/v1/models", True, id="below it"),
        pytest.param(PathMatch(value="/chat/"), "/chat", True, id="a slash at the end of the prefix means nothing"),
        pytest.param(PathMatch(value="/chat"), "/chats", False, id="a prefix ends with a whole element"),
        pytest.param(PathMatch(value="/"), "/anything", True, id="the root takes all"),
        pytest.param(PathMatch(type="Exact", value="/chat"), "/chat/", False, id="exact is exact"),
    ],
)
def test_paths_match_by_whole_elements(match: PathMatch, path: str, meant: bool) -> None:
    assert table.fits(match, path) == meant


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        pytest.param("/chat/v1/models", "/v1/models", id="below the prefix"),
        pytest.param("/chat", "/", id="the prefix itself"),
        pytest.param("/chat/a%2Fb", "/a%2Fb", id="escapes stay"),
    ],
)
def test_the_prefix_is_cut_off(path: str, asked: str) -> None:
    cut = route(rules=[{"matches": [{"path": {"value": "/chat"}}], "filters": [REWRITE]}])
    entry = Table([cut], world()).find("any", path)
    assert entry
    assert table.rewritten(entry, path) == asked


@pytest.mark.parametrize(
    ("path", "host", "winner"),
    [
        pytest.param("/chat/v2/x", "any", "longer", id="the longest prefix"),
        pytest.param("/chat/x", "any", "older", id="the older of two equal ones"),
        pytest.param("/chat/x", "llm.example.com", "hosted", id="a hostname before any path"),
        pytest.param("/chat/v2/x", "llm.example.com", "hosted", id="even a longer one"),
        pytest.param("/other", "any", None, id="no route"),
    ],
)
def test_one_of_several_routes_takes_a_request(path: str, host: str, winner: str | None) -> None:
    routes = [
        route("/chat", name="younger", created="2026-01-02T00:00:00Z"),
        route("/chat", name="older", created="2026-01-01T00:00:00Z"),
        route("/chat/v2", name="longer", created="2026-01-03T00:00:00Z"),
        route("/chat", name="hosted", hostnames=["*.example.com"], created="2026-01-03T00:00:00Z"),
    ]
    entry = Table(routes, world()).find(host, path)
    assert (entry.route.metadata.name if entry else None) == winner


@pytest.mark.parametrize(
    ("listener", "route", "common"),
    [
        pytest.param("", [], [""], id="both take every host"),
        pytest.param("", ["a.com"], ["a.com"], id="the route names one"),
        pytest.param("a.com", [], ["a.com"], id="the listener names one"),
        pytest.param("*.a.com", ["x.a.com", "b.com"], ["x.a.com"], id="the listener's pattern takes one of two"),
        pytest.param("x.a.com", ["*.a.com"], ["x.a.com"], id="the route's pattern takes the listener's"),
        pytest.param("*.a.com", ["*.x.a.com"], ["*.x.a.com"], id="the narrower of two patterns"),
        pytest.param("a.com", ["*.a.com"], [], id="a pattern does not take the bare domain"),
    ],
)
def test_hostnames_that_listener_and_route_share(listener: str, route: list[str], common: list[str]) -> None:
    assert hosts.common(listener, route) == common
