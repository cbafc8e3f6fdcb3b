"""The name of a kind on the API server, and the paths its objects have."""

from dataclasses import dataclass
from urllib.parse import quote

from aim_engine.objects import Key, Manifest


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of objects; `group` is empty for the core ones (pods, secrets)."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of one object, or of all in a namespace, or of all; parts are escaped."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = ("namespaces", namespace) if namespace and self.namespaced else ()
        parts = (*scope, self.plural, name, subresource)
        return "/".join((root, *(quote(part, safe="/" if part is subresource else "") for part in parts if part)))

    def key(self, manifest: Manifest) -> Key:
        """The key of an object given as plain dicts."""
        metadata = manifest["metadata"]
        return Key(metadata.get("namespace", "") if self.namespaced else "", metadata["name"])

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
EVENTS = Resource("", "v1", "events", "Event")
PODS = Resource("", "v1", "pods", "Pod")
