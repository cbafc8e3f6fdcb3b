"""What can be wrong, as values: seven categories that decide what happens next, and words for the user."""

from enum import StrEnum
from typing import Final

import msgspec

from aim_engine.api import reasons


class Category(StrEnum):
    """Whose turn it is when something is wrong."""

    AUTH = "Auth"
    INVALID_SPEC = "InvalidSpec"
    MISSING_UPSTREAM = "MissingUpstream"
    MISSING_DOWNSTREAM = "MissingDownstream"
    INFRASTRUCTURE = "Infrastructure"
    RESOURCE_EXHAUSTION = "ResourceExhaustion"
    UNKNOWN = "Unknown"


UNREACHABLE: Final = frozenset({Category.INFRASTRUCTURE, Category.UNKNOWN})
"""Nobody's fault that we know of: try again, with growing pauses."""

FINAL: Final = frozenset({Category.AUTH, Category.INVALID_SPEC, Category.MISSING_UPSTREAM})
"""Somebody has to act before trying again can help."""

BLOCKING: Final = UNREACHABLE | FINAL
"""While one of these is there, what is planned is not carried out."""


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong: its category, and reason and message as a user reads them in a condition."""

    category: Category
    reason: str
    message: str


class Dependency(StrEnum):
    """Whether an object refers to the other one, or makes it."""

    UPSTREAM = "Upstream"
    DOWNSTREAM = "Downstream"
    UNSPECIFIED = ""


class NetworkFault(StrEnum):
    """How a connection failed before there was an answer."""

    REFUSED = "refused"
    TIMED_OUT = "timed out"
    RESET = "reset"
    NAME_NOT_RESOLVED = "name not resolved"
    OTHER = "other"


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A call that failed, told without the library that made it: an HTTP answer, a network fault, or only a text."""

    text: str
    """The deepest cause, for people."""
    status: int | None = None
    """HTTP status of the answer, if one came."""
    reason: str = ""
    """The API server's own word for it, such as AlreadyExists."""
    network: NetworkFault | None = None
    subject: str = ""
    """The host name that was not found, or the operation that failed."""


class _Entry(msgspec.Struct, frozen=True):
    category: Category
    reason: str
    message: str


_BY_STATUS: Final = {
    404: _Entry(Category.MISSING_DOWNSTREAM, "NotFound", "Resource not found"),
    401: _Entry(Category.AUTH, "Unauthorized", "Authentication required or invalid credentials"),
    403: _Entry(Category.AUTH, "Forbidden", "Insufficient permissions to access resource"),
    422: _Entry(Category.INVALID_SPEC, "InvalidSpec", "Resource specification is invalid"),
    409: _Entry(Category.INFRASTRUCTURE, "Conflict", "Resource conflict - version mismatch or concurrent modification"),
    504: _Entry(Category.INFRASTRUCTURE, "Timeout", "Request timed out"),
    503: _Entry(Category.INFRASTRUCTURE, "ServiceUnavailable", "Kubernetes API server unavailable or internal error"),
    500: _Entry(Category.INFRASTRUCTURE, "ServiceUnavailable", "Kubernetes API server unavailable or internal error"),
    429: _Entry(Category.INFRASTRUCTURE, "RateLimited", "Too many requests - rate limited"),
}
_BY_REASON: Final = {
    "AlreadyExists": _Entry(Category.INVALID_SPEC, "AlreadyExists", "Resource already exists"),
    "ServerTimeout": _BY_STATUS[504],
    "Timeout": _BY_STATUS[504],
}
_BY_CLASS: Final = {
    5: _Entry(Category.INFRASTRUCTURE, "ServerError", "Server error (5xx)"),
    4: _Entry(Category.INVALID_SPEC, "ClientError", "Client error (4xx)"),
}
_BY_NETWORK: Final = {
    NetworkFault.REFUSED: ("ConnectionRefused", "Connection refused - service may be down"),
    NetworkFault.TIMED_OUT: ("NetworkTimeout", "Network timeout"),
    NetworkFault.RESET: ("ConnectionReset", "Connection reset by peer"),
    NetworkFault.NAME_NOT_RESOLVED: ("DNSFailure", "DNS resolution failed for {subject}"),
    NetworkFault.OTHER: ("NetworkError", "Network operation failed: {subject}"),
}


def of_failure(failure: Failure) -> Problem:
    """What a failed call means, whatever the object was for."""
    if failure.network is not None:
        reason, message = _BY_NETWORK[failure.network]
        return Problem(Category.INFRASTRUCTURE, reason, message.format(subject=failure.subject or failure.text))
    entry = (
        _BY_REASON.get(failure.reason)
        or _BY_STATUS.get(failure.status or 0)
        or _BY_CLASS.get((failure.status or 0) // 100)
    )
    if entry is None:
        return Problem(Category.UNKNOWN, "UnknownError", failure.text or "unknown error")
    return Problem(entry.category, entry.reason, f"{entry.message}: {failure.text}" if failure.text else entry.message)


def of_fetch(failure: Failure, dependency: Dependency) -> Problem:
    """What it means that an object could not be read: a missing one is a matter of who was to make it."""
    if failure.status != 404 or dependency is Dependency.UNSPECIFIED:
        return of_failure(failure)
    if dependency is Dependency.UPSTREAM:
        return Problem(Category.MISSING_UPSTREAM, reasons.REFERENCE_NOT_FOUND, "Upstream dependency not found")
    return Problem(Category.MISSING_DOWNSTREAM, "ResourceNotReady", "Downstream resource not found or being created")


def invalid_spec(reason: str, message: str) -> Problem:
    """The user's object asks for something that cannot be."""
    return Problem(Category.INVALID_SPEC, reason, message)


def missing_upstream(reason: str, message: str) -> Problem:
    """Something the user refers to does not exist."""
    return Problem(Category.MISSING_UPSTREAM, reason, message)


def infrastructure(reason: str, message: str) -> Problem:
    """Something between us and what we need does not work."""
    return Problem(Category.INFRASTRUCTURE, reason, message)
