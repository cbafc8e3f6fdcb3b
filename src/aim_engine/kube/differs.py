"""Tells whether an object has to be sent: what is planned against what is there, values in, values out.

An object differs if a planned value is missing or other, or if we own a path that is no longer planned. What others
added is theirs. The tree of paths we own (`f:` a field, `k:` an element by its key, `v:` an element by its value, see
managedFields of the Kubernetes API) also tells which lists the server merges by key, and which values it dropped on
arrival because they are zero.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple, TypeGuard, cast

import msgspec

from aim_engine.kube.snapshot import KEPT_METADATA, Snapshot
from aim_engine.objects import Manifest

Owned = Mapping[str, Any]


class Missing:
    """Stands for a value that is not there; None is a value."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = Missing()

QUANTITIES = frozenset({"limits", "requests", "capacity", "hard", "sizeLimit", "divisor", "averageValue"})
"""Fields whose value, or whose members, are quantities, which the server writes in its own form."""

SCALES: Mapping[str, Decimal] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}


class Difference(NamedTuple):
    """One path where plan and object disagree."""

    path: str
    planned: object
    found: object

    def __str__(self) -> str:
        return f"{self.path}: planned {self.planned!r}, found {self.found!r}"


def differences(planned: Manifest, snapshot: Snapshot, manager: str) -> list[Difference]:
    """Every reason to send the planned object; none means that it is as planned."""
    found = snapshot.manifest()
    ownership = snapshot.owned.get(manager)
    owned = ownership.tree() if ownership else None
    if ownership and ownership.api_version != planned["apiVersion"]:
        return [Difference("apiVersion", planned["apiVersion"], ownership.api_version)]
    content = {name: value for name, value in planned.items() if name not in ("apiVersion", "kind", "status")}
    content["metadata"] = {name: value for name, value in planned["metadata"].items() if name in KEPT_METADATA}
    return [*_compare(content, found, owned, "", False), *_disowned(owned or {}, content, "")]


def _compare(planned: object, found: object, owned: Owned | None, path: str, quantity: bool) -> Iterator[Difference]:
    if planned is None:
        return
    if found is None:
        found = MISSING
    if found is MISSING and not planned and (owned is not None or _is_list(planned)):
        return  # the server drops zero values on arrival; they stay ours, save empty lists, which nobody owns
    if _is_map(planned) and planned and (found is MISSING or _is_map(found)):
        there: Mapping[str, Any] = found if _is_map(found) else {}
        for name, value in planned.items():
            if type(value) is str and value == there.get(name):
                continue  # most values are text, and as planned
            inside = name in QUANTITIES or (quantity and not _is_map(value))
            yield from _compare(value, there.get(name), _below(owned, f"f:{name}"), _join(path, name), inside)
    elif _is_map(planned) and _is_map(found):
        return
    elif _is_list(planned) and _is_list(found):
        yield from _compare_lists(planned, found, owned, path)
    elif not _same(planned, found, quantity):
        yield Difference(path, planned, found)


def _compare_lists(
    planned: Sequence[Any], found: Sequence[Any], owned: Owned | None, path: str
) -> Iterator[Difference]:
    if any(name.startswith("v:") for name in owned or ()):
        absent = [value for value in planned if value not in found]
        if absent:
            yield Difference(path, planned, found)
    elif keys := _key_fields(owned):
        for element in planned:
            at = _join(path, _label(element, keys))
            match = next((other for other in found if _matches(element, other, keys)), MISSING)
            selector = next((name for name in owned or () if name != "." and _selects(name, element)), "")
            below = _below(owned, selector) if selector else None
            if match is MISSING:
                yield Difference(at, element, MISSING)
            else:
                yield from _compare(element, match, below, at, False)
    elif len(planned) != len(found):
        yield Difference(path, planned, found)
    else:
        for position, (element, other) in enumerate(zip(planned, found, strict=True)):
            yield from _compare(element, other, owned, f"{path}[{position}]", False)


def _disowned(owned: Owned, planned: object, path: str) -> Iterator[Difference]:
    """Paths we own that are no longer planned."""
    for name, below in owned.items():
        if name == ".":
            continue
        value = _select(planned, name)
        if value is not MISSING and not below:
            continue
        at = _join(path, name[2:])
        if value is MISSING:
            yield Difference(at, MISSING, "owned by us")
        elif _is_map(value) or _is_list(value):
            yield from _disowned(below, value, at)


def _select(planned: object, name: str) -> object:
    """What the plan has at one step of an owned path."""
    if name.startswith("f:"):
        value = planned.get(name[2:]) if _is_map(planned) else None
        return MISSING if value is None else value
    elements = planned if _is_list(planned) else ()
    if name.startswith("v:"):
        return next((element for element in elements if element == msgspec.json.decode(name[2:])), MISSING)
    return next((element for element in elements if _selects(name, element)), MISSING)


def _below(owned: Owned | None, name: str) -> Owned | None:
    """The owned paths below one step; below a path that is owned as a whole, all are."""
    if owned is None:
        return None
    return owned.get(name) if any(step != "." for step in owned) else owned


def _key_fields(owned: Owned | None) -> tuple[str, ...]:
    selector = next((name for name in owned or () if name.startswith("k:")), None)
    return tuple(msgspec.json.decode(selector[2:])) if selector else ()


def _selects(name: str, element: object) -> bool:
    """Whether `k:{...}` means this planned element; a key that is not planned has its default."""
    if not name.startswith("k:") or not _is_map(element):
        return False
    return all(element.get(field, value) == value for field, value in msgspec.json.decode(name[2:]).items())


def _matches(element: object, other: object, keys: Sequence[str]) -> bool:
    if not _is_map(element) or not _is_map(other):
        return False
    return all(key not in element or element[key] == other.get(key) for key in keys)


def _label(element: object, keys: Sequence[str]) -> str:
    return ",".join(str(element.get(key)) for key in keys if key in element) if _is_map(element) else str(element)


def _same(planned: object, found: object, quantity: bool) -> bool:
    if planned == found:
        return isinstance(planned, bool) == isinstance(found, bool)
    if not quantity or found is MISSING:
        return False
    amounts = (_amount(planned), _amount(found))
    return amounts[0] is not None and amounts[0] == amounts[1]


def _amount(value: object) -> Decimal | None:
    """A quantity such as `1.5Gi`, `500m`, `2e3` or 4 as a number; None if it is none."""
    text = str(value)
    suffix = text.lstrip("+-.0123456789")
    if suffix[:1] in ("e", "E") and suffix[1:].lstrip("+-").isdecimal():
        suffix = ""
    try:
        return Decimal(text.removesuffix(suffix)) * SCALES[suffix]
    except (InvalidOperation, KeyError):
        return None


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _is_map(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(cast("Any", value), list | tuple)
