"""Shell patterns for label keys.

`*` is any run and `?` any character, neither of them a slash; `[a-z]` and `[^a-z]` are classes; `\\` takes the next
character as it is.
"""

import re
from collections.abc import Iterator
from functools import lru_cache


def matches(pattern: str, key: str) -> bool:
    """Whether the pattern fits the whole key; an invalid pattern fits nothing."""
    compiled = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(key) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile("".join(_translated(iter(pattern))), re.DOTALL)
    except _Invalid:
        return None


class _Invalid(Exception):
    """A class without an end, a range upside down, or a backslash at the end."""


def _translated(characters: Iterator[str]) -> Iterator[str]:
    for character in characters:
        if character == "*":
            yield "[^/]*"
        elif character == "?":
            yield "[^/]"
        elif character == "[":
            yield _class(characters)
        elif character == "\\":
            yield re.escape(_next(characters))
        else:
            yield re.escape(character)


def _class(characters: Iterator[str]) -> str:
    """A class up to its closing bracket; a negated one does not fit a slash, as no wildcard does."""
    first = _next(characters)
    negated = first == "^"
    if negated:
        first = _next(characters)
    ranges: list[str] = []
    while first != "]" or not ranges:
        low = _member(first, characters)
        following = _next(characters)
        high = low
        if following == "-":
            high = _member(_next(characters), characters)
            following = _next(characters)
        if high < low:
            raise _Invalid
        ranges.append(f"{re.escape(low)}-{re.escape(high)}")
        first = following
    return f"[^/{''.join(ranges)}]" if negated else f"[{''.join(ranges)}]"


def _member(character: str, characters: Iterator[str]) -> str:
    if character in "-]":
        raise _Invalid
    return _next(characters) if character == "\\" else character


def _next(characters: Iterator[str]) -> str:
    following = next(characters, None)
    if following is None:
        raise _Invalid
    return following
