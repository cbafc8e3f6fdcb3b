"""Values laid over one another, the higher layer winning: structs field by field, variables by name, JSON by key."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from aim_engine.api.environment import EnvVar
from aim_engine.objects import Manifest, Wire

ENGINE_ARGUMENTS: Final = "AIM_ENGINE_ARGS"

S = TypeVar("S", bound=Wire)


def structs(lower: S | None, higher: S | None) -> S | None:
    """Every field the higher one sets, an explicit false, 0 or empty text too, and the lower one's for the rest.

    Structs are merged inside, maps by key; a list replaces the other as a whole unless it is empty.
    """
    if lower is None or higher is None:
        return higher if lower is None else lower
    fields = msgspec.structs.fields(higher)
    changes = {f.name: _value(getattr(lower, f.name), getattr(higher, f.name)) for f in fields}
    return msgspec.structs.replace(higher, **changes)


def _value(lower: Any, higher: Any) -> Any:
    if higher is None or higher == ():
        return lower
    if isinstance(higher, Wire) and isinstance(lower, Wire):
        return structs(lower, higher)
    return lower | higher if _are_maps(lower, higher) else higher


def _are_maps(*values: Any) -> bool:
    return all(isinstance(value, dict) for value in values)


def variables(*layers: Sequence[EnvVar]) -> tuple[EnvVar, ...]:
    """Environment variables, lowest layer first.

    A higher layer replaces an entry as a whole where it stands; names new to the list follow in their own order.
    """
    merged: dict[str, EnvVar] = {}
    for layer in layers:
        merged.update((entry.name, entry) for entry in layer)
    return tuple(merged.values())


def variables_and_arguments(*layers: Sequence[EnvVar]) -> tuple[EnvVar, ...]:
    """Like `variables`, but the engine arguments of all layers are merged as JSON."""
    merged: dict[str, EnvVar] = {}
    for layer in layers:
        for entry in layer:
            if entry.name == ENGINE_ARGUMENTS:
                entry = _arguments_entry(merged.get(entry.name, EnvVar(name=entry.name)), entry)
            merged[entry.name] = entry
    return tuple(merged.values())


def _arguments_entry(lower: EnvVar, higher: EnvVar) -> EnvVar:
    """What comes from a Secret or ConfigMap is not known here: it replaces, and is replaced, as a whole."""
    if higher.value_from is not None:
        return higher
    if lower.value_from is not None:
        return higher if _is_given(higher.value) else lower
    return EnvVar(name=higher.name, value=arguments(lower.value or "", higher.value or ""))


def arguments(lower: str, higher: str) -> str:
    """Two JSON objects in one, sorted by key.

    An empty text yields the other; one that is no JSON object wins over what is below it and loses to what is above.
    """
    text = higher if _is_given(higher) else lower
    above = json_object(text)
    if above is None:
        return text
    try:
        return msgspec.json.encode(objects(json_object(lower) or {}, above), order="sorted").decode()
    except RecursionError:
        return text


def _is_given(text: str | None) -> bool:
    return bool(text and text.strip())


def objects(lower: Manifest, higher: Manifest) -> Manifest:
    """JSON objects merged inside one another; everything else is replaced."""
    merged = dict(lower)
    for key, value in higher.items():
        below: Any = merged.get(key)
        merged[key] = objects(below, value) if _are_maps(below, value) else value
    return merged


def json_object(text: str) -> Manifest | None:
    """The object a JSON text describes, or None if it is anything else, or nested beyond reason."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
