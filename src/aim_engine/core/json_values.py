"""JSON of unknown shape, one careful look at a time."""

from typing import Any, cast

from aim_engine.objects import Manifest


def as_object(value: Any) -> Manifest | None:
    return cast("Manifest", value) if isinstance(value, dict) else None


def as_list(value: Any) -> list[Any] | None:
    return cast("list[Any]", value) if isinstance(value, list) else None


def kind(value: Any) -> str:
    """What it is, in words."""
    if value is None:
        return "null"
    names = ((bool, "a boolean"), (dict, "an object"), (list, "a list"), (str, "a text"))
    return next((name for type_, name in names if isinstance(value, type_)), "a number")
