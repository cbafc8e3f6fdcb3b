"""What a start tells on its way: to a view in the same process, or as lines of JSON to one in another."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from aim_engine.local.up.facts import Facts

State: TypeAlias = Literal["waiting", "working", "done", "failed"]


class Part(msgspec.Struct, frozen=True, tag="part"):
    """How far one part is."""

    name: str
    state: State
    text: str = ""


class Step(msgspec.Struct, frozen=True, tag="step"):
    """How far the sample service is with one of its steps."""

    name: str
    state: State
    text: str = ""
    share: float | None = None
    """Of a download, between 0 and 1."""


class Up(msgspec.Struct, frozen=True, tag="up"):
    """Everything runs."""

    facts: Facts


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """It did not come up; everything is stopped."""

    text: str


Event: TypeAlias = Part | Step | Up | Failed
Tell: TypeAlias = Callable[[Event], None]


def encode(event: Event) -> bytes:
    """One event as a line."""
    return msgspec.json.encode(event) + b"\n"


def decode(line: bytes) -> Event:
    """The event of a line."""
    return msgspec.json.decode(line, type=Event)
