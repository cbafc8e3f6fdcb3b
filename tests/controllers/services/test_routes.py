"""Where a service is reached: on which path of which gateway, who has it already, and what the gateway says."""

from typing import Any

import pytest
from tests.controllers.services.cast import (
    GATEWAY,
    OWNER,
    ROUTE,
    ROUTED,
    SERVED,
    STRANGER,
    UID,
    UP,
    condition,
    config,
    look,
    model,
    route,
    running,
    service,
    stage,
)

from aim_engine.controllers.service.concept import SERVICES
from aim_engine.core.plan import Plan
from aim_engine.objects import Manifest

RUNNING = running()


def paths(seen: Any) -> list[str]:
    rules = seen.manifest("HTTPRoute")["spec"]["rules"]
    return [rule["matches"][0]["path"]["value"] for rule in rules]


def deleted(plan: Plan) -> list[str]:
    return [f"{target.kind} {target.name}" for target in plan.delete]


async def test_a_route_is_made_at_once_before_there_is_anything_to_reach() -> None:
    seen = await look(service(routing={**ROUTED, "requestTimeout": "180s"}), model("Progressing"))
    made = seen.manifest("HTTPRoute")
    assert made["spec"] == {
        "parentRefs": [GATEWAY],
        "rules": [
            {
                "matches": [{"path": {"type": "PathPrefix", "value": f"/team/{UID}"}}],
                "filters": [
                    {
                        "type": "URLRewrite",
                        "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
                    }
                ],
                "backendRefs": [{"kind": "Service", "name": f"{SERVED}-predictor", "namespace": "team", "port": 80}],
                "timeouts": {"request": "3m0s"},
            }
        ],
    }
    assert made["metadata"]["ownerReferences"] == [OWNER]
    assert made["metadata"]["labels"] == {
        "app.kubernetes.io/component": "routing",
        "app.kubernetes.io/managed-by": "aim-engine",
        "aim.eai.amd.com/service": "chat",
        "aim.eai.amd.com/service.name": "chat",
    }
    assert seen.condition("HTTPRouteReady") == "False/HTTPRouteCreating"
    assert seen.status["routing"] == {"path": f"/team/{UID}"}


SETTINGS = {
    "enabled": True,
    "gatewayRef": {"name": "of-config"},
    "pathTemplate": "/config/{.metadata.name}",
    "requestTimeout": "1h",
    "annotations": {"a": "config", "b": "config"},
}


@pytest.mark.parametrize(
    ("own", "gateway", "path", "timeout", "annotations"),
    [
        pytest.param(
            None, "of-config", "/config/chat", "1h0m0s", {"a": "config", "b": "config"}, id="all from the config"
        ),
        pytest.param(
            {"gatewayRef": {"name": "mine"}, "requestTimeout": "1.5s", "annotations": {"b": "mine"}},
            "mine",
            "/config/chat",
            "1s500ms",
            {"a": "config", "b": "mine"},
            id="what the service says, and the rest from the config",
        ),
        pytest.param(
            {"pathTemplate": "/mine"}, "of-config", "/mine", "1h0m0s", {"a": "config", "b": "config"}, id="its own path"
        ),
        pytest.param(
            {"pathTemplate": ""},
            "of-config",
            f"/team/{UID}",
            "1h0m0s",
            {"a": "config", "b": "config"},
            id="an empty path is said too",
        ),
    ],
)
async def test_routing_is_merged_field_by_field(
    own: Any, gateway: str, path: str, timeout: str, annotations: Manifest
) -> None:
    seen = await look(service(routing=own), model(), config(routing=SETTINGS))
    made = seen.manifest("HTTPRoute")
    assert [parent["name"] for parent in made["spec"]["parentRefs"]] == [gateway]
    assert (paths(seen), made["spec"]["rules"][0]["timeouts"]) == ([path], {"request": timeout})
    assert made["metadata"]["annotations"] == annotations


@pytest.mark.parametrize(
    ("own", "configured"),
    [
        pytest.param(None, None, id="nobody asks for it"),
        pytest.param({"enabled": False}, SETTINGS, id="the service switches it off"),
        pytest.param(None, {**SETTINGS, "enabled": False}, id="the config switches it off"),
        pytest.param({"gatewayRef": GATEWAY}, None, id="a gateway alone asks for nothing"),
    ],
)
async def test_without_routing_there_is_no_route_and_an_old_one_goes(own: Any, configured: Any) -> None:
    configs = [config(routing=configured)] if configured else []
    before = running(routing={"path": "/chat"}, conditions=[condition("HTTPRouteReady", "True", "HTTPRouteAccepted")])
    seen = await look(service(routing=own, status=before), *UP, route(), *configs)
    assert deleted(seen.plan) == [f"HTTPRoute {ROUTE}"]
    assert (seen.condition("HTTPRouteReady"), seen.status.get("routing"), seen.word) == ("", None, "Running")


@pytest.mark.parametrize(
    "owner", [pytest.param(STRANGER, id="another service's"), pytest.param(None, id="somebody made it by hand")]
)
async def test_a_route_that_is_not_ours_is_never_deleted(owner: Any) -> None:
    assert deleted((await look(service(), model(), route(owner=owner))).plan) == []


async def test_a_route_of_somebody_else_under_our_name_is_left_alone() -> None:
    seen = await look(service(routing=ROUTED), model(), route(owner=STRANGER, path="/elsewhere"))
    assert seen.condition("HTTPRouteReady") == "False/NameConflict"
    assert (seen.word, seen.made) == ("Failed", [])


async def test_routing_without_a_gateway_fails_the_service_and_blocks_everything() -> None:
    seen = await look(service(routing={"enabled": True}, status=RUNNING), *UP)
    assert seen.condition("HTTPRouteReady") == "False/GatewayNotConfigured"
    assert seen.message("HTTPRouteReady") == (
        "Routing is enabled but no gatewayRef is configured in service or runtime config"
    )
    assert (seen.word, seen.may_apply, seen.condition("ConfigValid")) == ("Failed", False, "False/InvalidSpec")


LABELS = {"team": "R_D", "org.example/workload-id": "Workload-42"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(
            "/{.metadata.namespace}/{.metadata.labels['org.example/workload-id']}/", "/team/workload-42", id="a label"
        ),
        pytest.param('/{.metadata.annotations["suffix"]}', "/team-a/b", id="an annotation with a slash in it"),
        pytest.param("/ml//{.metadata.labels['team']}/V1.0/", "/ml/r_d/v1.0", id="text and slashes are tidied"),
        pytest.param("/{.status.resolvedModel.name}", "/tiny", id="the status, once it is there"),
        pytest.param("/{.spec.replicas}", "/1", id="a number"),
        pytest.param("{.metadata.name}", "/chat", id="without a slash in front"),
    ],
)
async def test_paths_are_rendered(written: str, expected: str) -> None:
    wanted = service(
        labels=LABELS, annotations={"suffix": "Team-A/B"}, status=RUNNING, routing={**ROUTED, "pathTemplate": written}
    )
    assert paths(await look(wanted, model())) == [expected]


@pytest.mark.parametrize(
    ("written", "why"),
    [
        pytest.param("/{.metadata.labels['no']}", 'label "no" not found', id="a label that is not there"),
        pytest.param("/{.metadata.annotations['no']}", 'annotation "no" not found', id="an annotation as well"),
        pytest.param("/{.spec.aimImageName}", "{.spec.aimImageName} is not set on the service", id="no such field"),
        pytest.param("/{.spec.model}", "{.spec.model} is no plain value; name one field below it", id="a whole object"),
        pytest.param("/a/../b", 'route path has a segment ".."', id="dots that climb"),
        pytest.param("   ", "route template produced an empty path", id="nothing but blanks"),
        pytest.param("/" + "x" * 200, "exceeds 200 characters", id="too long"),
    ],
)
async def test_a_path_that_cannot_be_rendered_degrades_and_takes_the_route_away(written: str, why: str) -> None:
    before = running(routing={"path": "/chat"})
    seen = await look(service(routing={**ROUTED, "pathTemplate": written}, status=before), *UP, route())
    assert seen.condition("HTTPRouteReady") == "False/PathTemplateInvalid"
    assert why in seen.message("HTTPRouteReady")
    assert (seen.word, seen.status.get("routing"), deleted(seen.plan)) == ("Degraded", None, [f"HTTPRoute {ROUTE}"])
    assert f"InferenceService {SERVED}" in seen.made, "the pods are not touched by it"
    assert seen.condition("ConfigValid") == "", "nothing is blocked"


ACCEPTED = condition("Accepted", "True", "Accepted")
REJECTED = condition("Accepted", "False", "NoMatchingParent", "no such gateway")
UNRESOLVED = condition("ResolvedRefs", "False", "BackendNotFound", "no such service")


@pytest.mark.parametrize(
    ("verdicts", "told", "message", "overall"),
    [
        pytest.param(
            [], "False/HTTPRoutePending", "HTTPRoute is waiting for gateway acceptance", "Starting", id="none"
        ),
        pytest.param(
            [ACCEPTED], "True/HTTPRouteAccepted", "HTTPRoute is accepted by gateway", "Running", id="accepted"
        ),
        pytest.param(
            [REJECTED], "False/NoMatchingParent", "HTTPRoute rejected: no such gateway", "Failed", id="refused"
        ),
        pytest.param(
            [UNRESOLVED, ACCEPTED],
            "False/BackendNotFound",
            "HTTPRoute backend not resolved: no such service",
            "Starting",
            id="its backend is not found",
        ),
        pytest.param(
            [ACCEPTED, UNRESOLVED],
            "True/HTTPRouteAccepted",
            "HTTPRoute is accepted by gateway",
            "Running",
            id="accepted comes first",
        ),
    ],
)
async def test_what_the_gateway_says(verdicts: list[Manifest], told: str, message: str, overall: str) -> None:
    seen = await look(service(routing=ROUTED, status=RUNNING), *UP, route(*verdicts))
    assert (seen.condition("HTTPRouteReady"), seen.message("HTTPRouteReady"), seen.word) == (told, message, overall)
    assert f"HTTPRoute {ROUTE}" in seen.made, "a refused route can be repaired"


async def test_a_cluster_without_the_gateway_api_is_told_and_pods_are_made_all_the_same() -> None:
    seen = await look(service(routing=ROUTED, status=RUNNING), *UP, gateway=False)
    assert seen.condition("HTTPRouteReady") == "False/GatewayAPINotInstalled"
    assert [made.split()[0] for made in seen.made] == ["InferenceService"]


SAME = {**ROUTED, "pathTemplate": "/same"}
EARLY, LATE = "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"


def other(**changes: Any) -> Manifest:
    """The route of the service `other` on the same path."""
    return route(**{"owner": STRANGER, "name": "other-route", "path": "/same", "creationTimestamp": EARLY, **changes})


def mine(created: str) -> Manifest:
    return route(path="/same", creationTimestamp=created)


@pytest.mark.parametrize(
    ("routes", "is_refused"),
    [
        pytest.param([other()], True, id="theirs exists, ours does not"),
        pytest.param([other(), mine(LATE)], True, id="theirs is older"),
        pytest.param([other(creationTimestamp=LATE), mine(EARLY)], False, id="ours is older"),
        pytest.param([other(name="a-route"), mine(EARLY)], True, id="both of one second: the lower name stays"),
        pytest.param([other(name="z-route"), mine(EARLY)], False, id="both of one second: ours is the lower name"),
        pytest.param([other(path="/same/longer")], False, id="a longer path below it"),
        pytest.param([other(namespace="elsewhere")], True, id="of another namespace"),
        pytest.param([other(labels={})], False, id="a route that is not of AIM Engine"),
        pytest.param([other(deletionTimestamp=LATE)], False, id="a route that is going"),
    ],
)
async def test_the_first_on_a_path_keeps_it(routes: list[Manifest], is_refused: bool) -> None:
    seen = await look(service(routing=SAME, status=RUNNING), *UP, *routes)
    assert (seen.condition("HTTPRouteReady") == "False/RouteConflict") == is_refused
    if is_refused:
        namespace = routes[0]["metadata"].get("namespace", "team")
        assert seen.message("HTTPRouteReady") == f'route path "/same" is already used by service {namespace}/other'
        assert (seen.word, seen.status.get("routing")) == ("Degraded", None)
        assert deleted(seen.plan) == ([f"HTTPRoute {ROUTE}"] if len(routes) > 1 else [])
        assert seen.made == [f"InferenceService {SERVED}"]
    else:
        assert f"HTTPRoute {ROUTE}" in seen.made


async def test_another_gateway_or_section_is_another_place() -> None:
    for gateway in ({**GATEWAY, "name": "second"}, {**GATEWAY, "namespace": "x"}, {**GATEWAY, "sectionName": "https"}):
        seen = await look(service(routing={**SAME, "gatewayRef": gateway}), model(), other())
        assert seen.condition("HTTPRouteReady") == "False/HTTPRouteCreating"


async def test_hosts_that_differ_keep_routes_apart() -> None:
    theirs, ours = other(), mine(LATE)
    theirs["spec"]["hostnames"], ours["spec"]["hostnames"] = ["a.example.com"], ["b.example.com"]
    wanted = service(routing=SAME)
    assert (await look(wanted, model(), theirs, ours)).condition("HTTPRouteReady") == "False/HTTPRoutePending"
    theirs["spec"]["hostnames"] = ["*.example.com"]
    assert (await look(wanted, model(), theirs, ours)).condition("HTTPRouteReady") == "False/RouteConflict"


async def test_a_refused_service_gets_its_route_when_the_other_goes() -> None:
    world = stage(service(routing=SAME), model(), other())
    assert (await world.settle(SERVICES, "chat")).condition("HTTPRouteReady") == "False/RouteConflict"
    world.drop("HTTPRoute", "other-route", "gateway.networking.k8s.io/v1")
    assert f"HTTPRoute {ROUTE}" in (await world.settle(SERVICES, "chat")).made


async def test_a_timeout_that_cannot_be_read_is_told() -> None:
    seen = await look(service(routing={**ROUTED, "requestTimeout": "soon"}), model())
    assert seen.condition("HTTPRouteReady") == "False/RequestTimeoutInvalid"
    assert seen.message("HTTPRouteReady") == (
        "routing.requestTimeout is 'soon'; write a duration such as 30s, 5m or 1h30m"
    )
