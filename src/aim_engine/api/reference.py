"""Types into the API reference: a page of Markdown with every kind, type and field."""

import inspect
from collections.abc import Iterator
from enum import StrEnum
from types import UnionType
from typing import Any, Final, Union, cast, get_args, get_origin

import msgspec

from aim_engine.api import names, schema
from aim_engine.api.declare import Rule
from aim_engine.api.kinds import KINDS, Kind
from aim_engine.objects import Condition, Manifest, ObjectMeta, Wire

HEAD: Final = f"""\
# API reference

All kinds of `{names.API_VERSION}`, generated from the types that the CRDs are generated from.
`kubectl explain` shows the same texts.
Fields without a default may be left out unless they are marked as required.
"""

_LIMITS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matches `{}`",
}


def markdown() -> str:
    """The whole page."""
    listed = "".join(f"- [{kind.name}](#{kind.singular})\n" for kind in KINDS)
    kinds = "".join(_kind(kind) for kind in KINDS)
    types = "".join(_type(found) for found in sorted(_structs(), key=lambda one: one.__name__))
    return f"{HEAD}\n{listed}\n{kinds}## Types\n\n{types}".rstrip("\n") + "\n"


def _kind(kind: Kind) -> str:
    scope = "Namespaced" if kind.namespaced else "Cluster-scoped"
    fields = {field.name: field.type for field in msgspec.structs.fields(kind.type)}
    rows = "".join(_row(name, fields[name], required=False) for name in ("spec", "status"))
    return (
        f"## {kind.name}\n\n{schema.text(kind.type)}\n\n"
        f"{scope}. Plural `{kind.plural}`, short name `{kind.short}`.\n\n{_TABLE}{rows}\n"
    )


def _type(struct: type[Wire]) -> str:
    rules = cast("tuple[Rule, ...]", getattr(struct, "RULES", ()))
    said = "".join(f"- {rule.message}\n" for rule in rules)
    rows = _condition() if struct is Condition else _own(struct)
    return (
        f"### {struct.__name__}\n\n{schema.text(struct)}\n\n"
        f"{_TABLE}{rows}\n{f'Refused otherwise:{2 * chr(10)}{said}{chr(10)}' if said else ''}"
    )


def _own(struct: type[Wire]) -> str:
    fields = msgspec.structs.fields(struct)
    return "".join(_row(field.encode_name, field.type, field.required) for field in fields)


def _condition() -> str:
    """The rows of a condition, whose schema is Kubernetes' own."""
    properties = cast("dict[str, Manifest]", schema.schema_of(Condition, reported=True)["properties"])
    return "".join(f"| `{name}` | {found['type']} | {found['description']} |\n" for name, found in properties.items())


_TABLE: Final = "| Field | Type | Meaning |\n|---|---|---|\n"


def _row(name: str, hint: Any, required: bool) -> str:
    found = schema.schema_of(hint, reported=False)
    core, marks = schema.unwrap(hint)
    rules = [mark.message for mark in marks if isinstance(mark, Rule)]
    remarks = [*(["required"] if required else []), *_remarks(core, found), *rules]
    text = " ".join(str(found.get("description", "")).split())
    meaning = " ".join(part for part in (text, f"({'; '.join(remarks)})" if remarks else "") if part)
    return f"| `{name}` | {_type_name(core)} | {meaning.replace('|', chr(92) + '|')} |\n"


def _remarks(core: Any, found: Manifest) -> Iterator[str]:
    if "default" in found:
        yield f"default `{_plain(found['default'])}`"
    values = cast("list[str]", found.get("enum", []))
    if values:
        yield f"one of {', '.join(f'`{value}`' for value in values)}"
    for word, sentence in _LIMITS.items():
        if word in found and (word != "pattern" or core is str):  # that of a quantity helps nobody
            yield sentence.format(found[word])


def _plain(value: Any) -> str:
    return msgspec.json.encode(value).decode() if not isinstance(value, str) else value


def _type_name(core: Any) -> str:
    """The type in words, with a link if this page tells more of it."""
    plain = {str: "string", bool: "boolean", int: "integer", Any: "any"}
    origin, arguments = get_origin(core), get_args(core)
    if core in plain:
        return plain[core]
    if origin in (Union, UnionType):
        return "quantity"
    if origin is tuple:
        return f"list of {_type_name(schema.unwrap(arguments[0])[0])}"
    if origin is dict:
        return f"map of {_type_name(schema.unwrap(arguments[1])[0])}"
    if inspect.isclass(core) and issubclass(core, StrEnum):
        return "string"
    return f"[{core.__name__}](#{core.__name__.lower()})" if _is_struct(core) else "time"


def _is_struct(core: Any) -> bool:
    return inspect.isclass(core) and issubclass(core, Wire)


def _structs() -> set[type[Wire]]:
    """Every struct that a kind is made of, without the kinds."""
    found: set[type[Wire]] = set()
    waiting: list[Any] = [kind.type for kind in KINDS]
    while waiting:
        core, _ = schema.unwrap(waiting.pop())
        waiting += [argument for argument in get_args(core) if argument is not ...]
        if not _is_struct(core) or core in found or core is ObjectMeta:
            continue
        found.add(core)
        waiting += [field.type for field in msgspec.structs.fields(core)]
    return found - {kind.type for kind in KINDS}
