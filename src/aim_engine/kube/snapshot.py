"""What an applier has to know of an object that is there: its content as text, and which paths each manager owns."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from aim_engine.objects import Manifest, Wire

KEPT_METADATA = ("labels", "annotations", "ownerReferences", "finalizers")


class ManagedFields(Wire):
    """One entry of `metadata.managedFields`."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    api_version: str = ""
    fields_v1: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"{}"), name="fieldsV1")


class ManagedMeta(Wire):
    managed_fields: list[ManagedFields] | None = None


@dataclass(frozen=True, slots=True)
class Ownership:
    """The paths one manager applied, as the API server writes them down."""

    api_version: str
    fields: bytes

    def tree(self) -> dict[str, Any]:
        return msgspec.json.decode(self.fields)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Text, because a thousand dicts of dicts would be twenty times as large."""

    content: bytes
    """The object as JSON, without status and without the metadata nobody plans."""
    owned: Mapping[str, Ownership]
    """By manager, only the managers asked for."""

    def manifest(self) -> Manifest:
        return msgspec.json.decode(self.content)


def take(raw: msgspec.Raw, managers: Collection[str]) -> Snapshot:
    """The snapshot of an object for these managers."""
    parts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    parts.pop("status", None)
    metadata = parts.pop("metadata", msgspec.Raw(b"{}"))
    every = msgspec.json.decode(metadata, type=dict[str, msgspec.Raw])
    kept = {name: every[name] for name in KEPT_METADATA if name in every}
    entries = msgspec.json.decode(metadata, type=ManagedMeta).managed_fields or ()
    owned = {
        entry.manager: Ownership(entry.api_version, bytes(entry.fields_v1))
        for entry in entries
        if entry.manager in managers and entry.operation == "Apply" and not entry.subresource
    }
    return Snapshot(msgspec.json.encode({**parts, "metadata": kept}), owned)
