"""The options of a request for logs."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from aim_engine.local.container.logs import Selection
from aim_engine.local.errors import LocalError


class BadOption(LocalError):
    """An option can't be read; the text says which."""


def selection(query: Mapping[str, str], now: datetime) -> Selection:
    """What part of the log is asked for."""
    seconds = _number(query, "sinceSeconds")
    since = now - timedelta(seconds=seconds) if seconds is not None else _time(query, "sinceTime")
    return Selection(
        follow=flag(query, "follow"),
        tail=_number(query, "tailLines"),
        since=since,
        limit_bytes=_number(query, "limitBytes"),
        timestamps=flag(query, "timestamps"),
    )


def flag(query: Mapping[str, str], name: str) -> bool:
    """Whether a switch is on; named without a value it is."""
    return query.get(name, "false").lower() in {"", "1", "true", "t"}


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    if not text.isdecimal():
        raise BadOption(f"{name}={text} is not a number of 0 or more.")
    return int(text)


def _time(query: Mapping[str, str], name: str) -> datetime | None:
    text = query.get(name, "")
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadOption(f"{name}={text} is not a time like 2026-01-02T03:04:05Z.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
