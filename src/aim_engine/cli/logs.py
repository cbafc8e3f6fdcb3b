"""How the operator logs: one JSON object per line in a cluster, coloured lines on a terminal; credentials never."""

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from aim_engine.core import masking
from aim_engine.settings import Settings

TIMES: dict[str, Callable[[int], Any]] = {
    "epoch": lambda nanoseconds: nanoseconds / 1e9,
    "millis": lambda nanoseconds: nanoseconds / 1e6,
    "nano": lambda nanoseconds: nanoseconds,
    "iso8601": lambda nanoseconds: moment(nanoseconds).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
    "rfc3339": lambda nanoseconds: moment(nanoseconds).strftime("%Y-%m-%dT%H:%M:%SZ"),
    "rfc3339nano": lambda nanoseconds: (
        moment(nanoseconds).strftime("%Y-%m-%dT%H:%M:%S.") + f"{nanoseconds % 10**9:09}Z"
    ),
}
LEVELS = {"debug": "debug", "info": "info", "error": "error"}
TRACED_FROM = {"info": {"info", "warning", "error"}, "error": {"error"}, "panic": set[str](), "dpanic": set[str]()}
"""Flag --zap-stacktrace-level -> the levels whose unexpected errors keep their stack trace."""


class NamedLogger(structlog.WriteLogger):
    """Writes to standard error, and knows which part of the operator is speaking."""

    def __init__(self, name: str = "aim") -> None:
        super().__init__(sys.stderr)
        self.name = name


def moment(nanoseconds: int) -> datetime:
    """The UTC time that many nanoseconds after the epoch."""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def configure(settings: Settings) -> None:
    """Make every structlog logger write as these settings say, to standard error."""
    console = settings.zap_encoder == "console"
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.stdlib.add_logger_name,
            stamped(settings.zap_time_encoding),
            traced(settings.zap_stacktrace_level),
            masked,
            *(for_people() if console else for_machines()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least_level(settings)),
        logger_factory=NamedLogger,
        cache_logger_on_first_use=True,
    )


def least_level(settings: Settings) -> str:
    """The least level that is written; any positive verbosity means debug."""
    if settings.zap_log_level in LEVELS:
        return LEVELS[settings.zap_log_level]
    return "debug" if int(settings.zap_log_level) > 0 else "info"


def stamped(encoding: str) -> Processor:
    """Puts the time of a line under `ts`, in the form that was asked for."""
    written = TIMES[encoding]

    def add(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
        return {"ts": written(time.time_ns()), **line}

    return add


def traced(least: str) -> Processor:
    """Keeps the stack trace of an unexpected error from that level on; what it says is in the line anyway."""
    keep = TRACED_FROM[least]
    whole = structlog.processors.format_exc_info

    def render(logger: WrappedLogger, method: str, line: EventDict) -> EventDict:
        if line["level"] in keep and line.get("exc_info"):
            return dict(whole(logger, method, line))
        return {name: value for name, value in line.items() if name != "exc_info"}

    return render


def masked(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    """The same line without any credential in its texts."""
    return {name: masking.masked(value) if isinstance(value, str) else value for name, value in line.items()}


def for_machines() -> list[Processor]:
    """One JSON object per line, the message under `msg`."""
    return [structlog.processors.EventRenamer("msg"), structlog.processors.JSONRenderer()]


def for_people() -> list[Processor]:
    """Coloured columns."""
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), timestamp_key="ts")]
