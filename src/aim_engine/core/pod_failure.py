"""Why a pod failed: by its log if that tells, else by the reason of its end."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from aim_engine.api.foreign import ContainerStatus, Pod, Terminated
from aim_engine.core import masking
from aim_engine.core.problems import Category, Problem

LOG_LINES: Final = 50
"""How much of a container's log is read."""

_SHOWN_LINES = 3


class LogSource(msgspec.Struct, frozen=True):
    """A container whose log may tell why its pod failed."""

    pod: str
    container: str


class _End(msgspec.Struct, frozen=True):
    """How a container, or a pod none of whose containers ended, came to its end."""

    container: str = ""
    is_init: bool = False
    state: Terminated = Terminated()


class _Group(msgspec.Struct, frozen=True):
    patterns: tuple[re.Pattern[str], ...]
    category: Category
    reason: str
    beginning: str


def _patterns(*expressions: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(expression, re.IGNORECASE) for expression in expressions)


_NOISE = _patterns(
    "RBAC:.*not found", "clusterrole.*not found", "forbidden.*cannot.*resource", "serviceaccount.*cannot"
)
"""Printed by a downloader that may not report its progress; says nothing about the download."""

# Not found comes before auth: Hugging Face answers 401 for unknown repositories while printing "Repository Not Found".
_GROUPS: Final = (
    _Group(
        _patterns(
            "Repository Not Found",
            "RepositoryNotFoundError",
            "404.*not.*found",
            "not.*found.*404",
            "NoSuchKey",
            "NoSuchBucket",
            "model.*not.*found",
            "file.*not.*found",
            "s3.*404",
        ),
        Category.INVALID_SPEC,
        "SourceNotFound",
        "Source resource not found (404)",
    ),
    _Group(
        _patterns(
            r"S3 error: 403 \((?:AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch)\)",
            "access.*denied.*s3",
            "s3.*403",
            "InvalidAccessKeyId",
            "SignatureDoesNotMatch",
            "s3.*unauthorized",
            "aws.*credentials.*not.*found",
            "NoCredentialProviders",
            "Access to model .* is restricted",
            "Cannot access gated repo",
            "Invalid.*token.*huggingface",
            "huggingface.*authentication.*failed",
            r"401.*Unauthorized.*hf\.co",
            r"403.*Forbidden.*hf\.co",
        ),
        Category.AUTH,
        "AuthError",
        "Authentication error detected in pod logs",
    ),
    _Group(
        _patterns("no space left on device", "disk.*full", "ENOSPC", "quota.*exceeded", "storage.*full"),
        Category.RESOURCE_EXHAUSTION,
        "StorageFull",
        "Storage full error detected in pod logs",
    ),
)

_OOM_KILLED = "OOMKilled"
_BY_REASON: Final = {
    _OOM_KILLED: (Category.RESOURCE_EXHAUSTION, "PodOOMKilled"),
    "DeadlineExceeded": (Category.INVALID_SPEC, "PodDeadlineExceeded"),
    "Evicted": (Category.INFRASTRUCTURE, "PodEvicted"),
}
_OTHERWISE: Final = (Category.INVALID_SPEC, "PodFailed")


def log_source(pod: Pod) -> LogSource | None:
    """The container whose log to read; None if it ended well, or ran out of memory, which its log cannot know."""
    end = _end(pod)
    if not end.container or end.state.exit_code == 0 or end.state.reason == _OOM_KILLED:
        return None
    return LogSource(pod.metadata.name, end.container)


def problem(pod: Pod, log: str | None) -> Problem:
    """What made a pod fail; `log` is the end of the log of its `log_source`, if it could be read."""
    end = _end(pod)
    lines = telling_lines(log) if log_source(pod) else []
    base = _message(end, pod)
    for group in _GROUPS:
        line = _first_match(group.patterns, lines)
        if line is not None:
            return Problem(group.category, group.reason, f"{group.beginning}: {base}{_excerpt(line)}")
    category, reason = _by_reason(end, pod)
    return Problem(category, reason, base + _excerpt("\n".join(lines[-_SHOWN_LINES:])))


def _end(pod: Pod) -> _End:
    """The container that ended badly, init containers last; one that ended well only if there is no other."""
    ended = [
        *_ends(pod.status.container_statuses, is_init=False),
        *_ends(pod.status.init_container_statuses, is_init=True),
    ]
    return next((end for end in ended if end.state.exit_code), ended[0] if ended else _End())


def _ends(statuses: Sequence[ContainerStatus], *, is_init: bool) -> list[_End]:
    return [_End(s.name, is_init, s.state.terminated) for s in statuses if s.state.terminated is not None]


def _message(end: _End, pod: Pod) -> str:
    if not end.container:
        return pod.status.message or "Pod failed"
    who = f"{'Init container' if end.is_init else 'Container'} {end.container}"
    if not end.state.exit_code:
        return f"{who} terminated with reason: {end.state.reason}" if end.state.reason else "Pod failed"
    told = end.state.message.strip() or pod.status.message.strip()
    return f"{who} failed with exit code {end.state.exit_code}" + (f": {told}" if told else "")


def _by_reason(end: _End, pod: Pod) -> tuple[Category, str]:
    """An eviction or a deadline is known to the pod, not to its containers."""
    return _BY_REASON.get(end.state.reason) or _BY_REASON.get(pod.status.reason) or _OTHERWISE


def telling_lines(log: str | None) -> list[str]:
    """The last lines of a log, without blank ones and noise."""
    lines = [line for line in (log or "").splitlines() if line.strip()][-LOG_LINES:]
    return [line for line in lines if _first_match(_NOISE, [line]) is None]


def _first_match(patterns: tuple[re.Pattern[str], ...], lines: list[str]) -> str | None:
    return next((line for pattern in patterns for line in lines if pattern.search(line)), None)


def _excerpt(text: str) -> str:
    return f"\n\nLog excerpt:\n{masking.excerpt(text)}" if text else ""
