"""Types into CRDs: structural OpenAPI v3 with Kubernetes' extensions, made from what the types of this package say."""

import inspect
from copy import deepcopy
from datetime import datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

import msgspec

from aim_engine.api import names
from aim_engine.api.declare import Doc, Keywords, Rule
from aim_engine.api.kinds import KINDS, Column, Kind
from aim_engine.objects import Condition, Manifest, Wire

_PLAIN: dict[Any, Manifest] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    datetime: {"type": "string", "format": "date-time"},
    Any: {},
}

_RULES = "x-kubernetes-validations"
_READING = (
    *("description", "type", "format", "enum", "default", "minimum", "maximum", "minLength", "maxLength", "pattern"),
    *("minItems", "maxItems", "required", "properties", "items"),
)

_CONDITION: Manifest = {
    "description": "One observed aspect of the object.",
    "type": "object",
    "required": ["type", "status", "reason", "message", "lastTransitionTime"],
    "properties": {
        "type": {
            "description": "The aspect, for example Ready.",
            "type": "string",
            "maxLength": 316,
            "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        },
        "status": {
            "description": "True, False, or Unknown if it could not be observed.",
            "type": "string",
            "enum": ["True", "False", "Unknown"],
        },
        "reason": {
            "description": "Why, in one word for programs.",
            "type": "string",
            "minLength": 1,
            "maxLength": 1024,
            "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        },
        "message": {
            "description": "Why, in a sentence for people; may be empty.",
            "type": "string",
            "maxLength": 32768,
        },
        "lastTransitionTime": {
            "description": "When status or reason last changed.",
            "type": "string",
            "format": "date-time",
        },
        "observedGeneration": {
            "description": "Generation of the spec that this condition describes.",
            "type": "integer",
            "format": "int64",
            "minimum": 0,
        },
    },
}


def crds() -> list[Manifest]:
    """The CustomResourceDefinitions of all kinds."""
    return [crd(kind) for kind in KINDS]


def crd(kind: Kind) -> Manifest:
    """The CustomResourceDefinition of one kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{names.GROUP}"},
        "spec": {
            "group": names.GROUP,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.singular,
                "shortNames": [kind.short],
                "categories": ["aim", "all"],
            },
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(kind)],
        },
    }


def _version(kind: Kind) -> Manifest:
    columns = {"additionalPrinterColumns": [_column(column) for column in kind.columns]} if kind.columns else {}
    return {
        "name": names.VERSION,
        "served": True,
        "storage": True,
        **columns,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": _root(kind.type)},
    }


def _column(column: Column) -> Manifest:
    priority = {"priority": column.priority} if column.priority else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **priority}


def _root(resource: type[Wire]) -> Manifest:
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(resource)}
    return {
        "description": text(resource),
        "type": "object",
        "properties": {
            "apiVersion": {"description": f"Version of the API: {names.API_VERSION}.", "type": "string"},
            "kind": {"description": f"Kind of the object: {resource.__name__}.", "type": "string"},
            "metadata": {"type": "object"},
            "spec": schema_of(fields["spec"], reported=False),
            "status": schema_of(fields["status"], reported=True),
        },
    }


def schema_of(hint: Any, *, reported: bool) -> Manifest:
    """The schema of a type; `reported` says that it belongs to a status, which fewer rules judge."""
    core, marks = unwrap(hint)
    schema = _bare(core, reported=reported)
    for mark in reversed(marks):
        if isinstance(mark, Keywords):
            schema.update(deepcopy(mark.values))
        elif isinstance(mark, Doc):
            schema = {**schema, "description": mark.text}
        elif isinstance(mark, Rule):
            schema = _with_rules(schema, (mark,), reported=reported)
    return dict(sorted(schema.items(), key=_order))


def unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Take off `Annotated` and `| None`, however nested."""
    if get_origin(hint) is Annotated:
        inner, *marks = get_args(hint)
        core, more = unwrap(inner)
        return core, (*marks, *more)
    if get_origin(hint) in (Union, UnionType):
        members = [member for member in get_args(hint) if member is not NoneType]
        if len(members) == 1:
            return unwrap(members[0])
    return hint, ()


def _bare(core: Any, *, reported: bool) -> Manifest:
    """The schema of a type by itself."""
    if core in _PLAIN:
        return dict(_PLAIN[core])
    if core is Condition:
        return deepcopy(_CONDITION)
    origin, arguments = get_origin(core), get_args(core)
    if origin in (Union, UnionType):
        return {}  # int | str: a quantity, whose keywords say everything
    if origin is tuple:
        return {"type": "array", "items": schema_of(arguments[0], reported=reported)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(arguments[1], reported=reported)}
    if issubclass(core, StrEnum):
        return {"description": text(core), "type": "string", "enum": [member.value for member in core]}
    return _struct(core, reported=reported)


def _struct(core: type[Wire], *, reported: bool) -> Manifest:
    fields = msgspec.structs.fields(core)
    schema: Manifest = {
        "description": text(core),
        "type": "object",
        "required": [field.encode_name for field in fields if field.required],
        "properties": {field.encode_name: schema_of(field.type, reported=reported) for field in fields},
        **cast("Keywords", getattr(core, "KEYWORDS", Keywords({}))).values,
    }
    if not schema["required"]:
        del schema["required"]
    return _with_rules(schema, cast("tuple[Rule, ...]", getattr(core, "RULES", ())), reported=reported)


def _with_rules(schema: Manifest, rules: tuple[Rule, ...], *, reported: bool) -> Manifest:
    """Add the rules that hold here behind those that are there."""
    before: list[Manifest] = schema.get(_RULES, [])
    judged = [rule for rule in rules if not (reported and rule.spec_only)]
    added = [{"rule": rule.expression, "message": rule.message} for rule in judged]
    return {**schema, _RULES: [*before, *added]} if before or added else schema


def _order(entry: tuple[str, Any]) -> int:
    """Reading order of the words of a schema: what it is, its shape, its limits, then Kubernetes' own words."""
    return _READING.index(entry[0]) if entry[0] in _READING else len(_READING)


def text(documented: type) -> str:
    """The docstring in one line."""
    return " ".join(inspect.cleandoc(documented.__doc__ or "").split())
