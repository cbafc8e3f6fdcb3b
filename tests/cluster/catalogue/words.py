"""What a user does with the catalogue: apply, look, change, delete."""

import base64
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

from tests.api_server import DEADLINE, ApiServer

GROUP = "/apis/aim.eai.amd.com/v1alpha1"
CLUSTER_KINDS = ("aimclustermodelsources", "aimclustermodels", "aimclusterservicetemplates")

KINDS = {
    "aimmodels": "AIMModel",
    "aimservicetemplates": "AIMServiceTemplate",
    "aimruntimeconfigs": "AIMRuntimeConfig",
    "aimclustermodels": "AIMClusterModel",
    "aimclusterservicetemplates": "AIMClusterServiceTemplate",
    "aimclustermodelsources": "AIMClusterModelSource",
}

NOW_AND_THEN = {"syncInterval": "20s"}
"""For sources that are to look again soon if a registry was slow to answer."""


def condition(item: Any, kind: str) -> tuple[str, str]:
    """Status and reason of a condition."""
    known = item.get("status", {}).get("conditions", [])
    return next(((one["status"], one["reason"]) for one in known if one["type"] == kind), ("", ""))


def message(item: Any, kind: str) -> str:
    known = item.get("status", {}).get("conditions", [])
    return next((one["message"] for one in known if one["type"] == kind), "")


def state(item: Any) -> str:
    return item.get("status", {}).get("status", "")


class Catalogue:
    """The objects of one test."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self.server = server
        self.namespace = namespace
        self.unique = uuid.uuid4().hex[:8]
        """For names of the cluster's scope, which all tests share."""
        self._made: list[str] = []

    def folder(self, plural: str) -> str:
        return f"{GROUP}/{plural}" if plural in CLUSTER_KINDS else f"{GROUP}/namespaces/{self.namespace}/{plural}"

    def apply(self, plural: str, name: str, spec: dict[str, Any], **metadata: Any) -> None:
        """Create an object."""
        self.server.call(
            "POST",
            self.folder(plural),
            {
                "apiVersion": "aim.eai.amd.com/v1alpha1",
                "kind": KINDS[plural],
                "metadata": {"name": name, **metadata},
                "spec": spec,
            },
        )
        if plural in CLUSTER_KINDS:
            self._made.append(f"{self.folder(plural)}/{name}")

    def change(self, plural: str, name: str, spec: dict[str, Any]) -> None:
        """Merge into the spec of an object."""
        path = f"{self.folder(plural)}/{name}"
        status, answer = self.server.request("PATCH", path, {"spec": spec}, content_type="application/merge-patch+json")
        assert status == 200, answer

    def annotate(self, plural: str, name: str, annotations: dict[str, str]) -> None:
        """Change what the operator does not care about."""
        path, change = f"{self.folder(plural)}/{name}", {"metadata": {"annotations": annotations}}
        status, answer = self.server.request("PATCH", path, change, content_type="application/merge-patch+json")
        assert status == 200, answer

    def get(self, plural: str, name: str) -> Any:
        return self.server.call("GET", f"{self.folder(plural)}/{name}")

    def all(self, plural: str, selector: str = "") -> list[Any]:
        query = f"?labelSelector={selector}" if selector else ""
        found: list[Any] = self.server.call("GET", f"{self.folder(plural)}{query}")["items"]
        return found

    def delete(self, plural: str, name: str) -> None:
        self.server.call("DELETE", f"{self.folder(plural)}/{name}")

    def until(self, plural: str, name: str, is_so: Callable[[Any], bool]) -> Any:
        return self.server.wait_until(f"{self.folder(plural)}/{name}", is_so)

    def until_state(self, plural: str, name: str, wanted: str) -> Any:
        return self.until(plural, name, lambda one: state(one) == wanted)

    def secret(self, name: str, auths: dict[str, Any], namespace: str = "") -> None:
        """A pull secret."""
        config = base64.b64encode(json.dumps({"auths": auths}).encode()).decode()
        body = {
            "metadata": {"name": name},
            "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": config},
        }
        path = f"/api/v1/namespaces/{namespace or self.namespace}/secrets"
        self.server.call("POST", path, body)
        if namespace:
            self._made.append(f"{path}/{name}")

    def jobs(self, namespace: str = "") -> list[Any]:
        """The discovery Jobs of a namespace."""
        path = f"/apis/batch/v1/namespaces/{namespace or self.namespace}/jobs"
        selector = "?labelSelector=app.kubernetes.io/component%3Ddiscovery"
        found: list[Any] = self.server.call("GET", path + selector)["items"]
        return found

    def clear(self) -> None:
        for path in self._made:
            self.server.request("DELETE", path)

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for something that no single object tells."""
        deadline = time.monotonic() + DEADLINE
        while not is_so():
            assert time.monotonic() < deadline, f"not so after {DEADLINE:.0f} s: {what}"
            time.sleep(0.05)
