"""Words for stories of services: what a user applies, and what becomes of it."""

import json
from collections.abc import Callable
from typing import Any

from tests.api_server import ApiServer

Manifest = dict[str, Any]
Holds = Callable[[Manifest], bool]

AIM = "/apis/aim.eai.amd.com/v1alpha1"
PAUSED = {"aim.eai.amd.com/reconciliation-paused": "true"}
MERGE = "application/merge-patch+json"
IMAGE = "registry.local/served/tiny:1.0"
SIMULATED = [
    {"name": "AIM_DEBUG_SIMULATE_DOWNLOAD", "value": "1"},
    {"name": "AIM_DEBUG_DOWNLOAD_DURATION", "value": "0"},
    {"name": "AIM_DEBUG_VERIFY_DURATION", "value": "0"},
]
"""Weights that are there at once; no story here is about the network."""
SOURCE = {"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny", "size": "1Mi"}
CORES = {"cpu": {"requests": "100m"}}


class Stage:
    """A namespace of its own on the real API server."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self.server = server
        self.namespace = namespace

    def path(self, plural: str, name: str = "") -> str:
        groups = {
            "inferenceservices": "/apis/serving.kserve.io/v1beta1",
            "httproutes": "/apis/gateway.networking.k8s.io/v1",
            "deployments": "/apis/apps/v1",
        }
        group = AIM if plural.startswith("aim") else groups.get(plural, "/api/v1")
        return f"{group}/namespaces/{self.namespace}/{plural}{f'/{name}' if name else ''}"

    def create(self, kind: str, name: str, spec: Manifest, **metadata: Any) -> Manifest:
        body = {"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": kind, "metadata": {"name": name, **metadata}}
        return self.server.call("POST", self.path(f"{kind.lower()}s"), {**body, "spec": spec})

    def get(self, plural: str, name: str) -> Manifest:
        return self.server.call("GET", self.path(plural, name))

    def all(self, plural: str, selector: str = "") -> list[Manifest]:
        query = f"?labelSelector={selector}" if selector else ""
        return self.server.call("GET", self.path(plural) + query)["items"]

    def names(self, plural: str) -> list[str]:
        return sorted(item["metadata"]["name"] for item in self.all(plural))

    def change(self, plural: str, name: str, change: Manifest) -> Manifest:
        code, answer = self.server.request("PATCH", self.path(plural, name), change, content_type=MERGE)
        assert code == 200, answer
        return answer

    def delete(self, plural: str, name: str) -> None:
        self.server.call("DELETE", self.path(plural, name))

    def say(self, plural: str, name: str, status: Manifest) -> None:
        """Write the status of an object whose reconciliation is paused."""
        code, answer = self.server.request(
            "PATCH", f"{self.path(plural, name)}/status", {"status": status}, content_type=MERGE
        )
        assert code == 200, answer

    def model(self, name: str = "tiny", **spec: Any) -> None:
        """A model that is Ready by hand: its reconciliation is paused."""
        self.create("AIMModel", name, {"image": IMAGE, **spec}, annotations=PAUSED)
        self.say("aimmodels", name, {"status": "Ready"})

    def template(self, name: str = "fast", model: str = "tiny", **spec: Any) -> None:
        """A template with inline sources, so that no discovery runs."""
        wanted = {"modelName": model, "modelSources": [SOURCE], "type": "optimized", "hardware": CORES, **spec}
        self.create("AIMServiceTemplate", name, wanted)

    def ready_template(self, name: str = "fast", model: str = "tiny", **spec: Any) -> None:
        self.template(name, model, **spec)
        self.until("aimservicetemplates", name, lambda one: word(one) == "Ready")

    def service(self, name: str = "chat", *, labels: Manifest | None = None, **spec: Any) -> Manifest:
        """A service whose weights come at once."""
        wanted = {"model": {"name": "tiny"}, "env": SIMULATED, **spec}
        return self.create("AIMService", name, wanted, labels=labels or {})

    def until(self, plural: str, name: str, holds: Holds) -> Manifest:
        return self.server.wait_until(self.path(plural, name), holds)

    def gone(self, plural: str, name: str) -> None:
        """Wait until an object is no longer there."""
        self.server.wait_until(self.path(plural), lambda found: name not in names_in(found))

    def told(self, kind: str, reason: str, name: str = "chat") -> Manifest:
        """Wait until a condition of a service has this reason; return the service."""
        return self.until("aimservices", name, lambda item: condition(item, kind).get("reason") == reason)

    def supplied(self, name: str = "chat") -> Manifest:
        """Wait until the weights are there and pods are asked for; return the service."""
        self.told("CacheReady", "CacheReady", name)
        self.served(name)
        return self.get("aimservices", name)

    def running(self, name: str = "chat") -> Manifest:
        return self.until("aimservices", name, lambda item: word(item) == "Running")

    def served(self, name: str = "chat") -> Manifest:
        """The InferenceService of a service, once it is there."""
        selector = f"?labelSelector=aim.eai.amd.com/service={name}"
        found = self.server.wait_until(
            self.path("inferenceservices") + selector, lambda found: len(found["items"]) == 1
        )
        item: Manifest = found["items"][0]
        return item

    def caches(self) -> dict[str, Manifest]:
        """The template caches by their mode; those that templates make name none."""
        return {item["spec"].get("mode", "Shared"): item for item in self.all("aimtemplatecaches")}

    def events(self, name: str = "chat") -> list[tuple[str, str, str]]:
        """Type, reason and message of what was told of a service."""
        query = f"?fieldSelector=involvedObject.kind=AIMService,involvedObject.name={name}"
        found = self.server.call("GET", self.path("events") + query)["items"]
        return [(one["type"], one["reason"], one["message"]) for one in found]

    def until_event(self, reason: str, name: str = "chat") -> tuple[str, str, str]:
        query = f"?fieldSelector=involvedObject.kind=AIMService,involvedObject.name={name},reason={reason}"
        self.server.wait_until(self.path("events") + query, lambda found: bool(found["items"]))
        return next(one for one in self.events(name) if one[1] == reason)


def names_in(listing: Manifest) -> list[str]:
    return [item["metadata"]["name"] for item in listing["items"]]


def word(item: Manifest) -> str:
    """The overall state."""
    return item.get("status", {}).get("status", "")


def condition(item: Manifest, kind: str) -> Manifest:
    conditions = item.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


def owners(item: Manifest) -> list[str]:
    return [owner["name"] for owner in item["metadata"].get("ownerReferences", [])]


def env_of(served: Manifest) -> dict[str, str]:
    entries = served["spec"]["predictor"]["containers"][0]["env"]
    return {entry["name"]: entry.get("value", json.dumps(entry.get("valueFrom"))) for entry in entries}


def claims_of(served: Manifest) -> list[str]:
    volumes = served["spec"]["predictor"]["volumes"]
    return [volume["persistentVolumeClaim"]["claimName"] for volume in volumes if "persistentVolumeClaim" in volume]
