"""The words a type uses to say about its fields what Python's own types cannot: text, defaults, limits and rules.

    requests: Annotated[int | None, INT32, doc("GPUs per replica."), minimum(0)] = None

`schema.py` turns them into the CRD. Decoding ignores them: the API server has checked what it hands out.
A default stands in the CRD only; in Python an absent value is `None`, so that "not set" stays visible when
values are merged.
"""

from dataclasses import dataclass
from typing import Any

from aim_engine.objects import Manifest


@dataclass(frozen=True, slots=True)
class Doc:
    """What a field means, as `kubectl explain` shows it."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Keywords:
    """Words of OpenAPI and its Kubernetes extensions that are copied into the schema as they are."""

    values: Manifest


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL expression that must hold, and what a user reads when it does not."""

    expression: str
    message: str
    spec_only: bool = False
    """Judge only what a user asks for, not what the operator reports in a status."""


def doc(text: str) -> Doc:
    return Doc(text)


def default(value: Any) -> Keywords:
    return Keywords({"default": value})


def minimum(value: int) -> Keywords:
    return Keywords({"minimum": value})


def maximum(value: int) -> Keywords:
    return Keywords({"maximum": value})


def length(at_least: int | None = None, at_most: int | None = None) -> Keywords:
    return Keywords(_given(minLength=at_least, maxLength=at_most))


def items(at_least: int | None = None, at_most: int | None = None) -> Keywords:
    return Keywords(_given(minItems=at_least, maxItems=at_most))


def pattern(expression: str) -> Keywords:
    return Keywords({"pattern": expression})


def among(*values: str) -> Keywords:
    """Allow these values only."""
    return Keywords({"enum": [str(value) for value in values]})


def list_map(key: str) -> Keywords:
    """Make a list a map in disguise: one item per value of `key`, merged item by item in server-side apply."""
    return Keywords({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]})


def immutable(message: str) -> Rule:
    """Refuse a change of a value that was there before and is there after."""
    return Rule("self == oldSelf", message)


INT32 = Keywords({"format": "int32"})
INT64 = Keywords({"format": "int64"})
ATOMIC_LIST = Keywords({"x-kubernetes-list-type": "atomic"})
ATOMIC_MAP = Keywords({"x-kubernetes-map-type": "atomic"})
ANY_JSON = Keywords({"x-kubernetes-preserve-unknown-fields": True})
"""Free JSON: no type, nothing pruned."""


def _given(**limits: int | None) -> Manifest:
    return {name: limit for name, limit in limits.items() if limit is not None}
