"""Bind addresses as Go programs write them: `:8081`, `127.0.0.1:8081`, `[::1]:8081`, and `0` for nowhere."""

from typing import NamedTuple


class Address(NamedTuple):
    """Where to listen; no host means every interface."""

    host: str | None
    port: int


def parse(text: str) -> Address | None:
    """The address that this text names, `None` for nowhere; raises ValueError with a sentence for anything else."""
    if text in ("", "0"):
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{text!r} is no bind address; write :PORT, HOST:PORT, or 0 for nowhere")
    return Address(host.strip("[]") or None, int(port))
