"""One AIMService becomes a cache, an InferenceService and an HTTPRoute, and says what keeps it from running.

KServe's own controller does not run here: what it would report is written by the tests.
"""

from typing import Any

import pytest
from tests.api_server import ApiServer

pytestmark = pytest.mark.usefixtures("operator", "node")

AIM = "/apis/aim.eai.amd.com/v1alpha1/namespaces/{namespace}/{plural}"
SERVING = "/apis/serving.kserve.io/v1beta1/namespaces/{}/inferenceservices"
ROUTES = "/apis/gateway.networking.k8s.io/v1/namespaces/{}/httproutes"


class Stage:
    """The words of these stories."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self.server = server
        self.namespace = namespace

    def path(self, plural: str, name: str = "") -> str:
        path = AIM.format(namespace=self.namespace, plural=plural)
        return f"{path}/{name}" if name else path

    def create(self, kind: str, name: str, spec: Any, **metadata: Any) -> Any:
        body = {
            "apiVersion": "aim.eai.amd.com/v1alpha1",
            "kind": kind,
            "metadata": {"name": name, **metadata},
            "spec": spec,
        }
        return self.server.call("POST", self.path(f"{kind.lower()}s"), body)

    def write_status(self, path: str, status: Any) -> None:
        item = self.server.call("GET", path)
        code, answer = self.server.request(
            "PUT", f"{path}/status", {**item, "status": {**item.get("status", {}), **status}}
        )
        assert code == 200, answer

    def model(self, name: str) -> None:
        """A model that is Ready by hand: its reconciliation is paused."""
        paused = {"aim.eai.amd.com/reconciliation-paused": "true"}
        self.create("AIMModel", name, {"image": f"registry.local/{name}:1.0"}, annotations=paused)
        self.write_status(self.path("aimmodels", name), {"status": "Ready"})

    def template(self, name: str, model: str, **spec: Any) -> None:
        """A template with inline sources, so that no discovery runs."""
        sources = [{"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny", "size": "1Mi"}]
        self.create("AIMServiceTemplate", name, {"modelName": model, "modelSources": sources, **spec})

    def service(self, name: str, **spec: Any) -> None:
        simulated = [
            {"name": "AIM_DEBUG_SIMULATE_DOWNLOAD", "value": "1"},
            {"name": "AIM_DEBUG_DOWNLOAD_DURATION", "value": "0"},
            {"name": "AIM_DEBUG_VERIFY_DURATION", "value": "0"},
        ]
        self.create("AIMService", name, {"env": simulated, **spec})

    def until(self, name: str, is_so: Any) -> Any:
        return self.server.wait_until(self.path("aimservices", name), is_so)

    def only(self, path: str) -> Any:
        """The one object below a path, once it is there."""
        return self.server.wait_until(path, lambda found: len(found["items"]) == 1)["items"][0]


@pytest.fixture
def stage(api_server: ApiServer, namespace: str) -> Stage:
    return Stage(api_server, namespace)


def condition(item: Any, kind: str) -> dict[str, Any]:
    return next((one for one in item.get("status", {}).get("conditions", []) if one["type"] == kind), {})


def is_told(kind: str, reason: str) -> Any:
    return lambda item: condition(item, kind).get("reason") == reason


def test_a_service_by_name_gets_weights_pods_and_a_route(stage: Stage) -> None:
    stage.model("tiny")
    stage.template("tiny-cpu", "tiny", type="optimized", hardware={"cpu": {"requests": "1"}})
    gateway = {"name": "gateway", "namespace": stage.namespace}
    stage.service(
        "chat",
        model={"name": "tiny"},
        routing={"enabled": True, "gatewayRef": gateway, "pathTemplate": "/{.metadata.name}"},
    )
    served = stage.only(SERVING.format(stage.namespace))
    container = served["spec"]["predictor"]["containers"][0]
    assert container["image"] == "registry.local/tiny:1.0"
    assert {"name": "AIM_MODEL_ID", "value": "acme/tiny"} in container["env"]
    assert "/workspace/model-cache/acme/tiny" in [mount["mountPath"] for mount in container["volumeMounts"]]
    assert served["metadata"]["labels"]["aim.eai.amd.com/service.name"] == "chat"

    route = stage.only(ROUTES.format(stage.namespace))
    assert route["spec"]["rules"][0]["matches"][0]["path"]["value"] == "/chat"
    assert route["spec"]["rules"][0]["backendRefs"][0]["name"] == f"{served['metadata']['name']}-predictor"

    stage.write_status(
        f"{SERVING.format(stage.namespace)}/{served['metadata']['name']}",
        {"conditions": [{"type": "Ready", "status": "True"}]},
    )
    accepted = {
        "parentRef": gateway,
        "controllerName": "example.com/gateway",
        "conditions": [
            {
                "type": "Accepted",
                "status": "True",
                "reason": "Accepted",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
    }
    stage.write_status(f"{ROUTES.format(stage.namespace)}/{route['metadata']['name']}", {"parents": [accepted]})
    seen = stage.until("chat", is_told("HTTPRouteReady", "HTTPRouteAccepted"))
    assert condition(seen, "InferenceServiceReady")["reason"] == "RuntimeReady"
    assert seen["status"]["resolvedTemplate"]["name"] == "tiny-cpu"
    assert seen["status"]["routing"]["path"] == "/chat"
    assert seen["status"]["status"] == "Starting", "there are no pods, so it does not run"


def test_an_unknown_model_is_told_and_heals_when_it_appears(stage: Stage) -> None:
    stage.service("chat", model={"name": "later"})
    failed = stage.until("chat", is_told("ModelReady", "ModelNotFound"))
    assert failed["status"]["status"] == "Failed"
    assert condition(failed, "ModelReady")["message"] == (
        f'model "later" not found in namespace {stage.namespace} or cluster scope'
    )
    stage.model("later")
    healed = stage.until("chat", is_told("ModelReady", "ModelResolved"))
    assert condition(healed, "ConfigValid")["status"] == "True"


def test_unoptimized_templates_are_left_out_with_a_hint(stage: Stage) -> None:
    stage.model("tiny")
    stage.template("plain", "tiny", type="unoptimized", hardware={"cpu": {"requests": "1"}})
    stage.service("chat", model={"name": "tiny"})
    seen = stage.until("chat", lambda item: "allowUnoptimized" in condition(item, "TemplateReady").get("message", ""))
    assert condition(seen, "TemplateReady")["reason"] == "TemplateNotFound"
    assert seen["status"]["status"] == "Pending"

    stage.service("brave", model={"name": "tiny"}, template={"allowUnoptimized": True})
    assert stage.until("brave", is_told("TemplateReady", "Resolved"))["status"]["resolvedTemplate"]["name"] == "plain"


def test_two_equal_templates_are_ambiguous(stage: Stage) -> None:
    stage.model("tiny")
    for name in ("one", "two"):
        stage.template(name, "tiny", type="optimized", hardware={"cpu": {"requests": "1"}})
    stage.server.wait_until(
        stage.path("aimservicetemplates"),
        lambda found: all(one.get("status", {}).get("status") == "Ready" for one in found["items"]),
    )
    stage.service("chat", model={"name": "tiny"})
    seen = stage.until("chat", is_told("TemplateReady", "TemplateSelectionAmbiguous"))
    assert seen["status"]["status"] == "Failed"
    assert condition(seen, "TemplateReady")["message"] == 'Multiple templates (2) satisfy model "tiny": one, two'


def test_the_second_service_on_a_path_is_told_who_has_it(stage: Stage) -> None:
    routing = {"enabled": True, "gatewayRef": {"name": "g", "namespace": stage.namespace}, "pathTemplate": "/same"}
    stage.service("first", model={"name": "none"}, routing=routing)
    stage.model("none")
    stage.until("first", lambda item: item.get("status", {}).get("routing", {}).get("path") == "/same")
    stage.only(ROUTES.format(stage.namespace))
    stage.service("second", model={"name": "none"}, routing=routing)
    seen = stage.until("second", is_told("HTTPRouteReady", "RouteConflict"))
    assert condition(seen, "HTTPRouteReady")["message"] == (
        f'route path "/same" is already used by service {stage.namespace}/first'
    )
    stage.server.call("DELETE", stage.path("aimservices", "first"))
    stage.until("second", lambda item: item.get("status", {}).get("routing", {}).get("path") == "/same")


def test_an_invalid_path_takes_the_route_away_and_nothing_else(stage: Stage) -> None:
    stage.model("tiny")
    stage.service(
        "chat",
        model={"name": "tiny"},
        routing={"enabled": True, "gatewayRef": {"name": "g"}, "pathTemplate": "/{.metadata.labels['team']}"},
    )
    seen = stage.until("chat", is_told("HTTPRouteReady", "PathTemplateInvalid"))
    assert condition(seen, "HTTPRouteReady")["message"] == 'label "team" not found'
    assert condition(seen, "ModelReady")["status"] == "True"
    assert "routing" not in seen["status"]


def test_a_deleted_service_leaves_nothing_behind_but_what_others_may_use(stage: Stage) -> None:
    stage.model("tiny")
    stage.template("tiny-cpu", "tiny", type="optimized", hardware={"cpu": {"requests": "1"}})
    stage.service("chat", model={"name": "tiny"}, caching={"mode": "Shared"})
    stage.only(SERVING.format(stage.namespace))
    stage.server.call("DELETE", stage.path("aimservices", "chat"))
    stage.server.wait_until(SERVING.format(stage.namespace), lambda found: found["items"] == [])
    caches = stage.server.call("GET", stage.path("aimtemplatecaches"))["items"]
    assert [one["status"]["status"] for one in caches] == ["Ready"]
