"""Version constraints of model sources: `>=0.9 <1.0`, `~1.2.0`, `^1.2`, `1.2.x || 2.x`.

Pre-releases are ordinary versions in SemVer's order: `0.9.0-rc1` satisfies `<0.9.0`. The libraries of the field leave
them out of ranges as npm does, which is why the few rules stand here.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import total_ordering
from typing import NamedTuple, TypeAlias

_NUMBER = r"(?:0|[1-9][0-9]*)"
_IDENTIFIER = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER = re.compile(
    rf"(?P<major>{_NUMBER})\.(?P<minor>{_NUMBER})\.(?P<patch>{_NUMBER})"
    rf"(?:-(?P<pre>{_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_PARTIAL = re.compile(rf"(?P<major>{_NUMBER})(?:\.(?P<minor>{_NUMBER}|[xX*])(?:\.(?P<patch>[xX*]))?)?")
_TERM = re.compile(r"(?P<operator>==?|!=?|>=?|<=?|~|\^)?v?(?P<version>[0-9xX*][^\s<>=!~^|]*)")
_AFTER_OPERATOR = re.compile(r"([<>=!~^])\s+")


@total_ordering
@dataclass(frozen=True)
class Version:
    """A version in SemVer's order; build metadata does not count."""

    major: int
    minor: int
    patch: int
    pre: tuple[str, ...] = ()

    @property
    def _order(self) -> tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]:
        """Numbers come before words, and a release after all its pre-releases."""
        identifiers = tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in self.pre)
        return self.major, self.minor, self.patch, not self.pre, identifiers

    def __lt__(self, other: object) -> bool:
        return isinstance(other, Version) and self._order < other._order


class Span(NamedTuple):
    """All versions a term such as `1.2.x` stands for: from the first, and before the end if there is one."""

    first: Version
    end: Version | None
    exact: bool


Check: TypeAlias = Callable[[Version], bool]


def parse(tag: str) -> Version | None:
    """The version a tag names, with or without a leading `v`; None if it is no strict SemVer."""
    found = _SEMVER.fullmatch(tag.removeprefix("v"))
    if found is None:
        return None
    pre = tuple(found["pre"].split(".")) if found["pre"] else ()
    return Version(int(found["major"]), int(found["minor"]), int(found["patch"]), pre)


def satisfies(tag: str, constraints: Iterable[str]) -> bool:
    """Whether a tag is a version that meets every constraint; constraints nobody can read are left out."""
    version = parse(tag)
    if version is None:
        return False
    readable = (check for check in map(constraint, constraints) if check is not None)
    return all(check(version) for check in readable)


def constraint(text: str) -> Check | None:
    """The check a constraint stands for; None if it cannot be read."""
    alternatives = [_all_of(part) for part in text.split("||")]
    if any(check is None for check in alternatives):
        return None
    return lambda version: any(check(version) for check in alternatives if check)


def _all_of(text: str) -> Check | None:
    words = _AFTER_OPERATOR.sub(r"\1", text).split()
    checks = [_term(word) for word in words]
    if not checks or any(check is None for check in checks):
        return None
    return lambda version: all(check(version) for check in checks if check)


def _term(word: str) -> Check | None:
    found = _TERM.fullmatch(word)
    span = _span(found["version"]) if found else None
    if found is None or span is None:
        return None
    return _CHECKS[found["operator"] or "="](span)


def _span(text: str) -> Span | None:
    """The versions that a version with wildcards, or one cut short, stands for."""
    exact = parse(text)
    if exact is not None:
        return Span(exact, None, True)
    if text in ("x", "X", "*"):
        return Span(Version(0, 0, 0, ("0",)), None, False)
    found = _PARTIAL.fullmatch(text)
    if found is None:
        return None
    major, minor = int(found["major"]), found["minor"]
    if minor is None:
        return Span(Version(major, 0, 0), None, True)
    if not minor.isdigit():
        return Span(Version(major, 0, 0), Version(major + 1, 0, 0), False)
    first = Version(major, int(minor), 0)
    if found["patch"] is None:
        return Span(first, None, True)
    return Span(first, Version(major, int(minor) + 1, 0), False)


def _within(first: Version, end: Version | None) -> Check:
    return lambda version: first <= version and (end is None or version < end)


def _equal(span: Span) -> Check:
    return (lambda version: version == span.first) if span.exact else _within(span.first, span.end)


def _unequal(span: Span) -> Check:
    equal = _equal(span)
    return lambda version: not equal(version)


def _above(span: Span) -> Check:
    if span.exact:
        return lambda version: version > span.first
    return lambda version: span.end is not None and version >= span.end


def _up_to(span: Span) -> Check:
    if span.exact:
        return lambda version: version <= span.first
    return lambda version: span.end is None or version < span.end


def _tilde(span: Span) -> Check:
    """Patches of the same minor version."""
    return _within(span.first, Version(span.first.major, span.first.minor + 1, 0))


def _caret(span: Span) -> Check:
    """What leaves the leftmost number that is not zero as it is."""
    first = span.first
    if first.major:
        return _within(first, Version(first.major + 1, 0, 0))
    if first.minor:
        return _within(first, Version(0, first.minor + 1, 0))
    return _within(first, Version(0, 0, first.patch + 1))


_CHECKS: dict[str, Callable[[Span], Check]] = {
    "=": _equal,
    "==": _equal,
    "!=": _unequal,
    "!": _unequal,
    ">": _above,
    ">=": lambda span: _within(span.first, None),
    "<": lambda span: lambda version: version < span.first,
    "<=": _up_to,
    "~": _tilde,
    "^": _caret,
}
