"""Paths of services that cannot be, and paths that others have."""

import pytest
from tests.cluster.services.stage import Stage, condition, word

pytestmark = pytest.mark.usefixtures("operator")


def test_the_second_service_on_a_path_is_told_who_has_it_and_gets_it_when_that_goes(stage: Stage) -> None:
    gateway = {"name": "g", "namespace": stage.namespace}
    routing = {"enabled": True, "gatewayRef": gateway, "pathTemplate": "/same"}
    stage.model()
    stage.service("first", routing=routing)
    stage.server.wait_until(stage.path("httproutes"), lambda found: len(found["items"]) == 1)
    stage.service("second", routing=routing)
    seen = stage.told("HTTPRouteReady", "RouteConflict", "second")
    assert condition(seen, "HTTPRouteReady")["message"] == (
        f'route path "/same" is already used by service {stage.namespace}/first'
    )
    assert word(seen) == "Degraded"
    assert "routing" not in seen["status"]
    assert stage.until_event("RouteConflict", "second")[0] == "Warning"
    stage.delete("aimservices", "first")
    stage.told("HTTPRouteReady", "HTTPRoutePending", "second")
    assert stage.get("aimservices", "second")["status"]["routing"]["path"] == "/same"


def test_a_path_that_cannot_be_rendered_takes_the_route_away_and_nothing_else(stage: Stage) -> None:
    stage.model()
    routing = {"enabled": True, "gatewayRef": {"name": "g"}, "pathTemplate": "/{.metadata.labels['team']}"}
    stage.service(labels={"team": "R_D"}, routing=routing)
    stage.told("HTTPRouteReady", "HTTPRoutePending")
    assert stage.get("aimservices", "chat")["status"]["routing"]["path"] == "/r_d"
    stage.change("aimservices", "chat", {"metadata": {"labels": {"team": None}}})
    seen = stage.told("HTTPRouteReady", "PathTemplateInvalid")
    assert condition(seen, "HTTPRouteReady")["message"] == 'label "team" not found'
    assert condition(seen, "ModelReady")["status"] == "True"
    assert "routing" not in seen["status"]
    stage.server.wait_until(stage.path("httproutes"), lambda found: found["items"] == [])
    stage.change("aimservices", "chat", {"metadata": {"labels": {"team": "blue"}}})
    stage.told("HTTPRouteReady", "HTTPRoutePending")
    assert stage.get("aimservices", "chat")["status"]["routing"]["path"] == "/blue"
