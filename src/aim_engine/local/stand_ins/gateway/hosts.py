"""Hostnames of listeners and routes; an empty one takes every host, and `*.` any labels before the rest."""

from collections.abc import Sequence


def common(listener: str, route: Sequence[str]) -> list[str]:
    """The hostnames under which a listener serves a route; none if they have nothing in common."""
    if not route:
        return [listener]
    return [narrower for host in route if (narrower := _narrower(listener, host)) is not None]


def takes(pattern: str, host: str) -> bool:
    """Whether a request for `host` is meant."""
    host = host.lower()
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and len(host) > len(pattern) - 1
    return not pattern or pattern == host


def weight(pattern: str) -> tuple[bool, int]:
    """How exactly a pattern names hosts; the larger, the more."""
    return (not pattern.startswith("*.") and bool(pattern), len(pattern))


def _narrower(one: str, other: str) -> str | None:
    if takes(one, other):
        return other
    return one if takes(other, one) else None
