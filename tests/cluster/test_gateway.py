"""The gateway stand-in as a program of its own: what it says of routes, and what its clients get."""

import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.api_server import ApiServer
from tests.cluster.asking import Answer, ask, ask_until, stream
from tests.cluster.conftest import aim

GATEWAY = "/apis/gateway.networking.k8s.io/v1"
pytestmark = pytest.mark.usefixtures("node")


class Stage:
    """A namespace with a gateway, and what is done there."""

    def __init__(self, server: ApiServer, namespace: str, address: str) -> None:
        self.server, self.namespace, self.address = server, namespace, address

    def path(self, plural: str, name: str = "") -> str:
        base = "/api/v1" if plural in {"pods", "services"} else GATEWAY
        return f"{base}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def create(self, plural: str, name: str, spec: Any, **metadata: Any) -> None:
        kind = {"pods": "Pod", "services": "Service", "gateways": "Gateway", "httproutes": "HTTPRoute"}[plural]
        version = "v1" if plural in {"pods", "services"} else "gateway.networking.k8s.io/v1"
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
        self.server.call("POST", self.path(plural), body)

    def gateway(self, name: str = "edge") -> None:
        listener = {"name": "http", "port": 80, "protocol": "HTTP"}
        self.create("gateways", name, {"gatewayClassName": "aim-local", "listeners": [listener]})

    def service(self, name: str = "chat") -> None:
        ports = [{"port": 80, "targetPort": "http"}]
        self.create("services", name, {"selector": {"app": name}, "ports": ports})

    def pod(self, name: str = "chat") -> None:
        container = {
            "name": "main",
            "image": "registry.local/served/tiny:1.0",
            "ports": [{"name": "http", "containerPort": 8000}],
            "readinessProbe": {"tcpSocket": {"port": "http"}, "periodSeconds": 1},
        }
        self.create("pods", name, {"containers": [container]}, labels={"app": name})
        self.server.wait_until(self.path("pods", name), lambda pod: is_true(pod["status"], "Ready"))

    def route(self, path: str = "", name: str = "chat", backend: str = "chat", **rule: Any) -> None:
        rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}
        whole = {
            "matches": [{"path": {"type": "PathPrefix", "value": f"/{self.namespace}{path}"}}],
            "filters": [{"type": "URLRewrite", "urlRewrite": rewrite}],
            "backendRefs": [{"name": backend, "port": 80}],
            **rule,
        }
        self.create("httproutes", name, {"parentRefs": [{"name": "edge"}], "rules": [whole]})

    def until_told(self, kind: str, reason: str, name: str = "chat") -> Any:
        def is_so(route: Any) -> bool:
            parents = route.get("status", {}).get("parents", [])
            return any((one["type"], one["reason"]) == (kind, reason) for p in parents for one in p["conditions"])

        return self.server.wait_until(self.path("httproutes", name), is_so)

    def ask(self, path: str, body: Any = None) -> Answer:
        return ask(self.address, f"/{self.namespace}{path}", body)

    def until_answered(self, status: int, path: str = "/health") -> Answer:
        return ask_until(self.address, f"/{self.namespace}{path}", status)


def is_true(status: Any, kind: str) -> bool:
    return any(one["type"] == kind and one["status"] == "True" for one in status.get("conditions", []))


@pytest.fixture
def stage(api_server: ApiServer, namespace: str, gateway: str) -> Stage:
    made = Stage(api_server, namespace, gateway)
    made.gateway()
    return made


def test_a_route_from_its_gateway_to_a_pod(stage: Stage) -> None:
    programmed = stage.server.wait_until(
        stage.path("gateways", "edge"), lambda item: is_true(item["status"], "Programmed")
    )
    assert programmed["status"]["addresses"] == [{"type": "IPAddress", "value": "127.0.0.1"}]
    assert stage.ask("/health").status == 404, "no route"

    stage.route()
    told = stage.until_told("ResolvedRefs", "BackendNotFound")["status"]["parents"][0]
    assert told["controllerName"] == "aim.eai.amd.com/local-gateway"
    assert is_true(told, "Accepted")
    assert told["conditions"][1]["message"] == f"Service {stage.namespace}/chat not found"
    stage.until_answered(500)

    stage.service()
    stage.until_told("ResolvedRefs", "ResolvedRefs")
    assert "is ready" in stage.until_answered(503).text

    stage.pod()
    answer = stage.until_answered(200).content
    assert answer["pod"] == "chat"
    assert answer["headers"]["X-Forwarded-For"] == "127.0.0.1"
    stage.server.wait_until(
        stage.path("gateways", "edge"), lambda item: item["status"]["listeners"][0]["attachedRoutes"] == 1
    )

    stage.server.call("DELETE", stage.path("httproutes", "chat"))
    stage.until_answered(404)


def test_requests_stream_time_out_and_pass_on_what_the_pod_says(stage: Stage) -> None:
    stage.service()
    stage.pod()
    stage.route(timeouts={"request": "300s"})
    stage.route("/hasty", name="hasty", timeouts={"request": "500ms"})
    stage.until_answered(200)
    stage.until_answered(200, "/hasty/health")

    talk = {"messages": [{"role": "user", "content": "hello"}]}
    assert stage.ask("/v1/chat/completions", talk).content["choices"][0]["message"]["content"] == "hello"
    answer = stage.ask("/nowhere")
    assert (answer.status, answer.content) == (404, {"error": "no /nowhere here"}), "the pod's own words"

    asked = {**talk, "stream": True, "pause": 4}
    words = [
        (moment, line)
        for moment, line in stream(stage.address, f"/{stage.namespace}/v1/chat/completions", asked)
        if line.startswith("data:")
    ]
    assert len(words) == 4
    assert words[-1][0] - words[0][0] > 2, "each word comes when it is there, not all at the end"

    assert stage.ask("/slow?seconds=0").status == 200
    assert stage.ask("/hasty/slow?seconds=30").status == 504, "the longer prefix has the shorter time"


def test_a_route_for_a_listener_that_is_not_there_is_refused(stage: Stage) -> None:
    parents = [{"name": "edge", "sectionName": "https"}]
    rules = [{"matches": [{"path": {"value": f"/{stage.namespace}"}}]}]  # without, it would take the paths of all tests
    stage.create("httproutes", "chat", {"parentRefs": parents, "rules": rules})
    told = stage.until_told("Accepted", "NoMatchingParent")["status"]["parents"][0]
    assert told["conditions"][0]["message"] == f"Gateway {stage.namespace}/edge has no HTTP listener named https"
    change = {"spec": {"parentRefs": [{"name": "edge"}]}}
    stage.server.request("PATCH", stage.path("httproutes", "chat"), change, content_type="application/merge-patch+json")
    stage.until_told("Accepted", "Accepted")


def test_a_port_in_use_is_one_sentence(gateway: str, cluster: Any, tmp_path: Path) -> None:
    port = urlsplit(gateway).port
    command = aim("gateway", "--kubeconfig", str(cluster.kubeconfig), "--port", str(port))
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.endswith(
        f"aim: The gateway can't listen at 127.0.0.1:{port}: Address already in use; name another --port.\n"
    )
