"""Durations as Kubernetes users write them: `90s`, `1h30m`, `1.5h`."""

import re
from datetime import timedelta
from typing import Final

_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(h|ms|m|s|us|µs|ns)")


def parse(text: str) -> timedelta | None:
    """The duration, or None if the text is none; it may not be negative."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.removeprefix("+"):
        return timedelta(0) if text == "0" else None
    try:
        return timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))
    except OverflowError:
        return None


def text(duration: timedelta) -> str:
    """The form that the Gateway API takes, whole numbers down to milliseconds: `3m0s`, `1s500ms`, `30s`."""
    seconds, milliseconds = divmod(duration // timedelta(milliseconds=1), 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    rest = f"{milliseconds}ms" if milliseconds else ""
    if hours:
        return f"{hours}h{minutes}m{seconds}s{rest}"
    if minutes:
        return f"{minutes}m{seconds}s{rest}"
    return f"{seconds}s{rest}" if seconds or not rest else rest
