"""Routes of running services: switched on and off, invalid and repaired, claimed by two, refused by the gateway."""

import pytest
from tests.cluster.asking import ask, ask_until
from tests.cluster.services.serving import Serving, condition

pytestmark = pytest.mark.usefixtures("operator", "node", "kserve", "gateway", "status_updaters")


def test_routing_is_switched_on_spoilt_repaired_and_switched_off_while_pods_run_on(
    serving: Serving, gateway: str
) -> None:
    serving.gateway()
    serving.template()
    serving.service("chat")
    serving.until_status("chat", "Running")
    (pod,) = serving.pods()
    path = f"/{serving.namespace}/chat"
    assert ask(gateway, f"{path}/health").status == 404

    serving.change("chat", routing=serving.routing())
    serving.until_told("chat", "HTTPRouteReady", "HTTPRouteAccepted")
    ask_until(gateway, f"{path}/health", 200)

    serving.change("chat", routing={"pathTemplate": "/{.metadata.labels['team']}"})
    spoilt = serving.until_told("chat", "HTTPRouteReady", "PathTemplateInvalid")
    assert (spoilt["status"]["status"], "routing" in spoilt["status"]) == ("Degraded", False)
    ask_until(gateway, f"{path}/health", 404)

    serving.change("chat", routing={"pathTemplate": f"/{serving.namespace}/other"})
    serving.until_status("chat", "Running")
    ask_until(gateway, f"/{serving.namespace}/other/health", 200)

    serving.change("chat", routing={"enabled": False})
    off = serving.until("chat", lambda item: condition(item, "HTTPRouteReady") == {})
    assert (off["status"]["status"], "routing" in off["status"]) == ("Running", False)
    ask_until(gateway, f"/{serving.namespace}/other/health", 404)
    assert [one["metadata"]["uid"] for one in serving.pods()] == [pod["metadata"]["uid"]], "no pod was restarted"


def test_the_second_on_a_path_gets_it_when_the_first_goes(serving: Serving, gateway: str) -> None:
    serving.gateway()
    serving.template()
    path = f"/{serving.namespace}/same"
    serving.service("first", routing=serving.routing(path))
    serving.until_status("first", "Running")
    serving.service("second", routing=serving.routing(path))
    told = serving.until("second", lambda item: condition(item, "HTTPRouteReady").get("reason") == "RouteConflict")
    assert condition(told, "HTTPRouteReady")["message"] == (
        f'route path "{path}" is already used by service {serving.namespace}/first'
    )
    serving.until_told("second", "InferenceServiceReady", "RuntimeReady")
    serving.until_status("second", "Degraded")
    assert ask(gateway, f"{path}/health").content["pod"].startswith("first")

    serving.server.call("DELETE", serving.ours("aimservices", "first"))
    serving.until_status("second", "Running")
    assert ask_until(gateway, f"{path}/health", 200).content["pod"].startswith("second")


def test_what_the_gateway_refuses_is_told_and_heals_with_the_gateway(serving: Serving) -> None:
    serving.template()
    serving.gateway()
    routing = serving.routing()
    serving.service("chat", routing={**routing, "gatewayRef": {"name": "edge", "sectionName": "https"}})
    refused = serving.until_told("chat", "HTTPRouteReady", "NoMatchingParent")
    assert condition(refused, "HTTPRouteReady")["message"] == (
        f"HTTPRoute rejected: Gateway {serving.namespace}/edge has no HTTP listener named https"
    )
    assert serving.until_status("chat", "Failed")
    serving.change("chat", routing={"gatewayRef": {"sectionName": "http"}})
    serving.until_status("chat", "Running")
