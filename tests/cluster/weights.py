"""Words for stories about weights: objects that download, what they say, and what lies on their volumes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.api_server import ApiServer

GROUP = "/apis/aim.eai.amd.com/v1alpha1"
DOWNLOADER = "ghcr.io/silogen/aim-artifact-downloader:0.2.0"
CACHED_FILES = ".cache/huggingface"
"""What huggingface_hub keeps beside the files of a repository."""

Manifest = dict[str, Any]


class Weights:
    """Download objects and template caches of one namespace on the real API server."""

    def __init__(self, api_server: ApiServer, namespace: str) -> None:
        self.api_server = api_server
        self.namespace = namespace

    def path(self, plural: str, name: str = "") -> str:
        return f"{GROUP}/namespaces/{self.namespace}/{plural}{f'/{name}' if name else ''}"

    def core(self, plural: str, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.namespace}/{plural}{f'/{name}' if name else ''}"

    def add(self, kind: str, name: str, spec: Manifest, **metadata: Any) -> Manifest:
        """Create one of our objects."""
        body = {"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": kind, "metadata": {"name": name, **metadata}}
        return self.api_server.call("POST", self.path(f"{kind.lower()}s"), {**body, "spec": spec})

    def secret(self, name: str, **values: str) -> None:
        """Create a Secret or change it."""
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}
        status, _ = self.api_server.request("POST", self.core("secrets"), body)
        if status == 409:
            self.api_server.call("PUT", self.core("secrets", name), body)

    def until(self, name: str, holds: Callable[[Manifest], bool], plural: str = "aimartifacts") -> Manifest:
        """Wait until an object is as wanted; return it."""
        return self.api_server.wait_until(self.path(plural, name), holds)

    def ready(self, name: str, plural: str = "aimartifacts") -> Manifest:
        return self.until(name, lambda item: word(item) == "Ready", plural)

    def failing(self, name: str, kind: str) -> Manifest:
        """Wait until a condition is False and the object Failed; return the object."""
        return self.until(name, lambda item: word(item) == "Failed" and condition(item, kind).get("status") == "False")

    def volume(self, item: Manifest) -> Path:
        """The directory behind the claim of a download object."""
        claim = self.api_server.call(
            "GET", self.core("persistentvolumeclaims", item["status"]["persistentVolumeClaim"])
        )
        volume = self.api_server.call("GET", f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}")
        return Path(volume["spec"]["hostPath"]["path"])

    def files(self, item: Manifest) -> dict[str, bytes]:
        """Everything on the volume but what huggingface_hub keeps there."""
        root = self.volume(item)
        found = (path for path in sorted(root.rglob("*")) if path.is_file() and CACHED_FILES not in str(path))
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}

    def jobs(self, name: str) -> list[Manifest]:
        """The Jobs of a download object, found as users are told to find them."""
        selector = f"labelSelector=aim.eai.amd.com/cache.name={name}"
        return self.api_server.call("GET", f"/apis/batch/v1/namespaces/{self.namespace}/jobs?{selector}")["items"]

    def pods(self, name: str) -> list[Manifest]:
        return self.api_server.call("GET", f"{self.core('pods')}?labelSelector=aim.eai.amd.com/cache.name={name}")[
            "items"
        ]

    def names(self, plural: str) -> list[str]:
        return sorted(item["metadata"]["name"] for item in self.api_server.call("GET", self.path(plural))["items"])

    def writes_within(self, seconds: int, plural: str) -> list[str]:
        """What the server tells of changes to objects of a kind in so many seconds from now."""
        listed = self.api_server.call("GET", self.path(plural))
        since = listed["metadata"]["resourceVersion"]
        query = f"watch=1&resourceVersion={since}&timeoutSeconds={seconds}"
        _, told = self.api_server.request("GET", f"{self.path(plural)}?{query}", text=True)
        return [json.loads(line)["object"]["metadata"]["name"] for line in told.splitlines()]


def word(item: Manifest) -> str:
    """The overall state."""
    return item.get("status", {}).get("status", "")


def condition(item: Manifest, kind: str) -> Manifest:
    conditions = item.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


def env(**values: str) -> list[Manifest]:
    return [{"name": name, "value": value} for name, value in values.items()]


def from_secret(variable: str, secret: str, key: str) -> Manifest:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
