"""JSON from others into types, with one kind of failure whatever is wrong with it."""

from typing import TypeVar

import msgspec

T = TypeVar("T")


class NotUnderstood(ValueError):
    """The text is no JSON of the expected shape; its own words are not repeated, they may hold anything."""


def decode(content: bytes, kind: type[T]) -> T:
    """The value of that type which the JSON spells; raises NotUnderstood."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotUnderstood from None
