"""Words for stories in which services are really served: by KServe, pods on a node, a gateway and an autoscaler."""

from collections.abc import Callable
from typing import Any

from tests.api_server import ApiServer
from tests.cluster.asking import Answer, ask
from tests.downloader.stage import Hub

GROUP = "/apis/aim.eai.amd.com/v1alpha1"
MERGE = "application/merge-patch+json"
FILES = {"config.json": b'{"model_type": "tiny"}', "model.safetensors": bytes(range(256)) * 200}
METRIC = {
    "type": "PodMetric",
    "podmetric": {
        "metric": {
            "backend": "opentelemetry",
            "metricNames": ["vllm:num_requests_running"],
            "query": "vllm:num_requests_running",
            "operationOverTime": "max",
        },
        "target": {"type": "Value", "value": "2"},
    },
}

Manifest = dict[str, Any]


class Serving:
    """One namespace with a model `tiny` that is Ready, a gateway `edge`, and weights on a hub."""

    def __init__(self, server: ApiServer, namespace: str, hub: Hub) -> None:
        self.server, self.namespace, self._hub = server, namespace, hub

    def ours(self, plural: str, name: str = "") -> str:
        return f"{GROUP}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def foreign(self, version: str, plural: str, name: str = "") -> str:
        return f"/apis/{version}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def inference_services(self, name: str = "") -> str:
        return self.foreign("serving.kserve.io/v1beta1", "inferenceservices", name)

    def routes(self, name: str = "") -> str:
        return self.foreign("gateway.networking.k8s.io/v1", "httproutes", name)

    def pods(self) -> list[Manifest]:
        """The pods that serve."""
        selector = "labelSelector=serving.kserve.io/inferenceservice"
        return self.server.call("GET", f"/api/v1/namespaces/{self.namespace}/pods?{selector}")["items"]

    def create(self, kind: str, name: str, spec: Any, **metadata: Any) -> None:
        body = {"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": kind, "metadata": {"name": name, **metadata}}
        self.server.call("POST", self.ours(f"{kind.lower()}s"), {**body, "spec": spec})

    def gateway(self, name: str = "edge") -> None:
        listener = {"name": "http", "port": 80, "protocol": "HTTP"}
        body = {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": {"name": name},
            "spec": {"gatewayClassName": "aim-local", "listeners": [listener]},
        }
        self.server.call("POST", self.foreign("gateway.networking.k8s.io/v1", "gateways"), body)

    def model(self, name: str = "tiny") -> None:
        """A model that is Ready by hand: its reconciliation is paused."""
        paused = {"aim.eai.amd.com/reconciliation-paused": "true"}
        self.create("AIMModel", name, {"image": f"registry.local/served/{name}:1.0"}, annotations=paused)
        path = self.ours("aimmodels", name)
        item = self.server.call("GET", path)
        self.server.call("PUT", f"{path}/status", {**item, "status": {"status": "Ready"}})

    def template(self, name: str = "tiny-cpu", hardware: Any = None) -> None:
        """A template with inline sources, so that no discovery runs."""
        source = {"modelId": "acme/tiny", "sourceUri": self._hub.add("acme/tiny", FILES), "size": "1Mi"}
        spec = {"modelName": "tiny", "modelSources": [source], "type": "optimized"}
        self.create("AIMServiceTemplate", name, {**spec, "hardware": hardware or {"cpu": {"requests": "100m"}}})

    def routing(self, path: str = "/{.metadata.namespace}/{.metadata.name}", **more: Any) -> Manifest:
        return {"enabled": True, "gatewayRef": {"name": "edge"}, "pathTemplate": path, **more}

    def service(self, name: str, **spec: Any) -> None:
        reached = {"HF_ENDPOINT": self._hub.url, "AIM_DOWNLOADER_PROTOCOL": "HTTP", "PROGRESS_INTERVAL": "0.5"}
        env = [{"name": key, "value": value} for key, value in reached.items()]
        small = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
        self.create("AIMService", name, {"model": {"name": "tiny"}, "env": env, "resources": small, **spec})

    def change(self, name: str, **spec: Any) -> None:
        """Change fields of a service; None takes one away."""
        code, answer = self.server.request("PATCH", self.ours("aimservices", name), {"spec": spec}, content_type=MERGE)
        assert code == 200, answer

    def until(self, name: str, is_so: Callable[[Manifest], bool]) -> Manifest:
        return self.server.wait_until(self.ours("aimservices", name), is_so)

    def until_status(self, name: str, status: str) -> Manifest:
        return self.until(name, lambda item: item.get("status", {}).get("status") == status)

    def until_told(self, name: str, kind: str, reason: str) -> Manifest:
        return self.until(name, lambda item: condition(item, kind).get("reason") == reason)

    def only(self, path: str) -> Manifest:
        """The one object below a path, once it is there."""
        return self.server.wait_until(path, lambda found: len(found["items"]) == 1)["items"][0]


def condition(item: Manifest, kind: str) -> Manifest:
    return next((one for one in item.get("status", {}).get("conditions") or [] if one["type"] == kind), {})


def chat(address: str, path: str, words: str) -> Answer:
    """Say something to the model behind a path."""
    return ask(address, f"{path}/v1/chat/completions", {"messages": [{"role": "user", "content": words}]})
