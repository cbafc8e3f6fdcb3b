"""What is asked of the API server for many objects at once, and the envelopes its answers come in."""

from dataclasses import dataclass
from typing import Generic

import msgspec
from typing_extensions import TypeVar

from aim_engine.objects import Manifest, ObjectMeta, Wire

T = TypeVar("T", default=Manifest)


class PartialObject(Wire):
    """An object of which only the metadata was asked for."""

    metadata: ObjectMeta


class ListMeta(Wire):
    resource_version: str = ""
    more: str = msgspec.field(default="", name="continue")


class Page(Wire):
    """A part of a list, its items not yet decoded."""

    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


class WatchEvent(Wire):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind are meant."""

    namespace: str = ""
    """Empty means all namespaces."""
    labels: str = ""
    fields: str = ""

    def surely_has(self, metadata: ObjectMeta) -> bool:
        """Whether an object is among those meant, as far as namespace and plain `name=value` labels tell."""
        if self.fields or (self.namespace and metadata.namespace != self.namespace):
            return False
        pairs = [part.partition("=") for part in self.labels.split(",")] if self.labels else []
        return all(metadata.labels.get(name.strip()) == value.strip() for name, _, value in pairs)

    def query(self) -> dict[str, str]:
        asked = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {name: value for name, value in asked.items() if value}


EVERYTHING = Selection()


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """All objects of a selection, as of one resource version."""

    items: list[T]
    resource_version: str
