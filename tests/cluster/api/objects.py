"""Objects of our kinds on a real API server, each under a name of its own."""

import itertools
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from tests.api_server import ApiServer

from aim_engine.api import kinds, names
from aim_engine.objects import Manifest

ROOT = f"/apis/{names.API_VERSION}"


class Objects:
    """Writes and reads objects of one namespace and of the cluster; an answer is a status code and a body."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self.namespace = namespace
        self._server = server
        self._numbers: Iterator[int] = itertools.count()

    def new(self, kind: str, spec: Manifest | None) -> Manifest:
        """An object with a name that no other has."""
        metadata = {"name": f"{self.namespace}-{next(self._numbers)}", "labels": {"made-by": self.namespace}}
        body = {} if spec is None else {"spec": spec}
        return {"apiVersion": names.API_VERSION, "kind": kind, "metadata": metadata, **body}

    def create(self, manifest: Manifest, **query: str) -> tuple[int, Any]:
        return self._server.request("POST", f"{self._path(manifest['kind'])}?{urlencode(query)}", paused(manifest))

    def created(self, manifest: Manifest) -> Manifest:
        """Create an object that has to be accepted; return it as stored."""
        status, answer = self.create(manifest)
        assert status == 201, answer
        return answer

    def update(self, manifest: Manifest, **query: str) -> tuple[int, Any]:
        """Replace everything but the status, whatever its version."""
        return self._replace(f"{self._of(manifest)}?{urlencode(query)}", manifest)

    def apply(self, manifest: Manifest, manager: str) -> tuple[int, Any]:
        """Apply on the server, without force."""
        path = f"{self._of(manifest)}?fieldManager={manager}"
        return self._server.request("PATCH", path, manifest, content_type="application/apply-patch+yaml")

    def report(self, manifest: Manifest, status: Manifest) -> tuple[int, Any]:
        """Replace the status."""
        return self._replace(f"{self._of(manifest)}/status", {**manifest, "status": status})

    def read(self, manifest: Manifest) -> Manifest:
        return self._server.call("GET", self._of(manifest))

    def delete_all(self) -> None:
        """Delete the objects of the cluster; those of the namespace go with it."""
        for kind in kinds.KINDS:
            if not kind.namespaced:
                self._server.call("DELETE", f"{self._path(kind.name)}?labelSelector=made-by={self.namespace}")

    def _replace(self, path: str, manifest: Manifest) -> tuple[int, Any]:
        """Put an object in place of what is there, again while an operator adds its finalizer at the same moment."""
        while True:
            there = self.read(manifest)["metadata"]
            kept = {name: there[name] for name in ("resourceVersion", "finalizers") if name in there}
            body = paused({**manifest, "metadata": {**manifest["metadata"], **kept}})
            status, answer = self._server.request("PUT", path, body)
            if status != 409:
                return status, answer

    def _of(self, manifest: Manifest) -> str:
        return f"{self._path(manifest['kind'])}/{manifest['metadata']['name']}"

    def _path(self, kind: str) -> str:
        declared = kinds.BY_NAME[kind]
        return (
            f"{ROOT}/namespaces/{self.namespace}/{declared.plural}"
            if declared.namespaced
            else f"{ROOT}/{declared.plural}"
        )


def paused(manifest: Manifest) -> Manifest:
    """The object, to be left alone by an operator that other tests may have started: only the schema matters here."""
    metadata = manifest["metadata"]
    annotations = {names.ANNOTATION_PAUSED: "true", **metadata.get("annotations", {})}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


MINIMAL: dict[str, Manifest] = {
    "AIMModel": {"image": "acme/aim:1"},
    "AIMClusterModel": {"image": "acme/aim:1"},
    "AIMClusterModelSource": {"filters": [{"image": "acme/aim"}]},
    "AIMServiceTemplate": {"modelName": "llama"},
    "AIMClusterServiceTemplate": {"modelName": "llama"},
    "AIMService": {"model": {"name": "llama"}},
    "AIMTemplateCache": {"templateName": "fast"},
    "AIMArtifact": {"sourceUri": "hf://acme/llama"},
    "AIMModelCache": {"sourceUri": "hf://acme/llama"},
    "AIMRuntimeConfig": {},
    "AIMClusterRuntimeConfig": {},
}
"""What the schema demands of each kind, and no more."""
