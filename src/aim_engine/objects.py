"""What all Kubernetes objects share, as frozen types that decode from and encode to the API's JSON."""

from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias, dataclass_transform

import msgspec

Manifest: TypeAlias = dict[str, Any]
"""An object as the API server takes it: plain dicts and lists."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class WireMeta(msgspec.StructMeta):
    """Makes every struct below `Wire` frozen, with keyword arguments only and camelCase names on the wire."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> "WireMeta":
        defaults: dict[str, Any] = {"frozen": True, "kw_only": True, "omit_defaults": True, "rename": "camel"}
        return super().__new__(mcls, name, bases, namespace, **{**defaults, **options})


class Wire(msgspec.Struct, metaclass=WireMeta):
    """Base of every type that travels to or from the API server; unknown fields are ignored, absent ones are `None`."""


class Key(NamedTuple):
    """Names one object of a kind; cluster-scoped objects have an empty namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(Wire):
    """The object that another one belongs to."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire):
    """The metadata the operator reads; managedFields are never kept."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    def is_owned_by(self, uid: str) -> bool:
        return any(owner.uid == uid for owner in self.owner_references)


class Condition(Wire):
    """One observed aspect of an object; positive polarity, True is healthy."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str
    last_transition_time: datetime | None = None
    observed_generation: int | None = None
