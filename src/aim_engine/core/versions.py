"""Which image tags a model source wants: semantic versions, and constraints on them.

Pre-releases are ordinary versions here, ordered as semver.org says and never left out: `<0.9.0` admits `0.9.0-rc1`.
The libraries that know npm's ranges leave them out, others know no ranges at all; hence this one.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

_NUMBER = r"(?:0|[1-9][0-9]*)"
_IDENTIFIER = rf"(?:[0-9]*[A-Za-z-][0-9A-Za-z-]*|{_NUMBER})"
_PRE = rf"(?:-(?P<pre>{_IDENTIFIER}(?:\.{_IDENTIFIER})*))?"
_BUILD = r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
_VERSION = re.compile(rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER}){_PRE}{_BUILD}")
_WILDCARD = r"[xX*]"
_PART = rf"(?:{_NUMBER}|{_WILDCARD})"
_TERM = re.compile(
    rf"(?P<operator>>=|<=|!=|==|[=!<>~^]|)\s*v?(?P<numbers>{_PART}(?:\.{_PART}){{0,2}}){_PRE}{_BUILD}(?=[\s,=!<>~^]|\Z)"
)
_BETWEEN = re.compile(r"[\s,]*")


class Version(msgspec.Struct, frozen=True, order=True):
    """A semantic version without its build metadata, which never matters; compares by precedence."""

    major: int
    minor: int
    patch: int
    is_release: bool = True
    pre: tuple[tuple[bool, int, str], ...] = ()
    """Identifiers of a pre-release: numbers before words, fewer before more."""


class Term(msgspec.Struct, frozen=True):
    """One comparison of a constraint, as an interval of versions that starts at `low` and ends before `high`."""

    holds: str
    low: Version
    high: Version


Constraint: TypeAlias = tuple[tuple[Term, ...], ...]
"""Alternatives, in each of which all terms must hold."""


def parse(text: str) -> Version | None:
    """A strict semantic version such as `1.2.0-rc1`, or None."""
    shape = _VERSION.fullmatch(text)
    return _version(int(shape[1]), int(shape[2]), int(shape[3]), shape["pre"]) if shape else None


def constraint(text: str) -> Constraint | None:
    """What a text such as `>=0.9 <1.0 || ~1.2.0` demands, or None if it cannot be read."""
    alternatives = [_terms(alternative) for alternative in text.split("||")]
    readable = [terms for terms in alternatives if terms]
    return tuple(readable) if len(readable) == len(alternatives) else None


def satisfies(tag: str, constraints: Sequence[str]) -> bool:
    """Whether a tag is wanted: any tag if nothing is demanded, else a version that meets all that can be read."""
    if not constraints:
        return True
    version = parse(tag.removeprefix("v"))
    if version is None:
        return False
    demands = [demand for text in constraints if (demand := constraint(text)) is not None]
    return all(any(all(_meets(version, term) for term in terms) for terms in demand) for demand in demands)


_HOLDS: Final[dict[str, Callable[[Version, Term], bool]]] = {
    "": lambda version, term: term.low <= version < term.high,
    "!": lambda version, term: not term.low <= version < term.high,
    "<": lambda version, term: version < term.low,
    "<=": lambda version, term: version < term.high,
    ">": lambda version, term: version >= term.high,
    ">=": lambda version, term: version >= term.low,
}
_SAME_AS: Final = {"=": "", "==": "", "~": "", "^": "", "!=": "!"}


def _meets(version: Version, term: Term) -> bool:
    return _HOLDS[term.holds](version, term)


def _terms(text: str) -> tuple[Term, ...] | None:
    found: list[Term] = []
    position = _skip(text, 0)
    while position < len(text):
        shape = _TERM.match(text, position)
        term = _term(shape["operator"], shape["numbers"], shape["pre"]) if shape else None
        if shape is None or term is None:
            return None
        found.append(term)
        position = _skip(text, shape.end())
    return tuple(found)


def _skip(text: str, position: int) -> int:
    blank = _BETWEEN.match(text, position)
    return blank.end() if blank else position


def _term(operator: str, written: str, pre: str | None) -> Term | None:
    parts = written.split(".")
    numbers = [int(part) for part in parts[: _fixed(parts)]]
    has_wildcard = len(numbers) < len(parts)
    if has_wildcard and pre:
        return None
    low = _version(*_padded(numbers), pre) if numbers else _FIRST
    return Term(_SAME_AS.get(operator, operator), low, _end(operator, numbers, low, has_wildcard))


def _fixed(parts: list[str]) -> int:
    """How many parts come before the first wildcard."""
    return next((index for index, part in enumerate(parts) if part in "xX*"), len(parts))


def _end(operator: str, numbers: list[int], low: Version, has_wildcard: bool) -> Version:
    """Where the interval of a term ends: at the next version of the part that may not change."""
    if operator == "^":
        kept = next((index for index, number in enumerate(numbers) if number), len(numbers) - 1)
        return _next(numbers, kept)
    if operator == "~":
        return _next(numbers, min(1, len(numbers) - 1))
    if has_wildcard:
        return _next(numbers, len(numbers) - 1)
    return _successor(low)


_FIRST: Final = Version(0, 0, 0, False)
_BEYOND: Final = Version(10**18, 0, 0)
"""Before and after every version anybody will publish."""


def _next(numbers: list[int], index: int) -> Version:
    """The first version with a higher number at that place."""
    return _version(*_padded([*numbers[:index], numbers[index] + 1])) if numbers else _BEYOND


def _successor(version: Version) -> Version:
    """The very next version: `1.2.3` -> `1.2.4-0`, `1.2.3-rc1` -> `1.2.3-rc1.0`."""
    lowest = (False, 0, "")
    if version.is_release:
        return Version(version.major, version.minor, version.patch + 1, False, (lowest,))
    return Version(version.major, version.minor, version.patch, False, (*version.pre, lowest))


def _padded(numbers: list[int]) -> tuple[int, int, int]:
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return major, minor, patch


def _version(major: int, minor: int, patch: int, pre: str | None = None) -> Version:
    if not pre:
        return Version(major, minor, patch)
    identifiers = tuple((False, int(part), "") if part.isdigit() else (True, 0, part) for part in pre.split("."))
    return Version(major, minor, patch, False, identifiers)
