"""What the agent, the launcher and a container's init say to each other, one JSON object per line.

agent ──Order + socket──▶ launcher ──fork──▶ init ──fork──▶ the container's program
  └──────── Signal, Kill, Execute ───────────▶ │
  ◀── Forked, Started | Refused, Executed, Exited ┘
"""

from typing import TypeAlias

import msgspec

from aim_engine.local.container.root import Step
from aim_engine.local.container.run import Mode


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One container, ready to start: every path resolved, every default filled in."""

    name: str
    mode: Mode
    argv: tuple[str, ...]
    environment: dict[str, str]
    working_directory: str
    root: str
    """The directory of the host that becomes the container's root."""
    steps: tuple[Step, ...]
    log_directory: str
    log_name: str
    privileged: bool
    """The launcher is root: no user namespace is needed, and the program can become another user."""
    user: int
    """Who the program is; if the launcher is not root, only who it seems to be inside."""
    group: int
    groups: tuple[int, ...]
    hostname: str
    read_only_root: bool
    memory_limit: int | None


class Forked(msgspec.Struct, frozen=True, tag=True):
    """The init process exists; its number is that of the host."""

    pid: int


class Started(msgspec.Struct, frozen=True, tag=True):
    """The program runs; times are nanoseconds since 1970."""

    at: int


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The program does not run, and why."""

    why: str


class Executed(msgspec.Struct, frozen=True, tag=True):
    """A command that was run beside the program has ended; no code: it took too long and was killed."""

    number: int
    code: int | None
    output: bytes


class Exited(msgspec.Struct, frozen=True, tag=True):
    """The program has ended, everything it left behind is killed, and the log is complete."""

    code: int
    signal: int | None
    out_of_memory: bool
    at: int


Report: TypeAlias = Forked | Started | Refused | Executed | Exited


class Signal(msgspec.Struct, frozen=True, tag=True):
    """Send a signal to the process group of the program."""

    number: int


class Kill(msgspec.Struct, frozen=True, tag=True):
    """End every process of the container now."""


class Execute(msgspec.Struct, frozen=True, tag=True):
    """Run a command in the container, beside its program."""

    number: int
    argv: tuple[str, ...]
    timeout: float


Command: TypeAlias = Signal | Kill | Execute


def line(message: Order | Report | Command) -> bytes:
    """A message as it travels."""
    return msgspec.json.encode(message) + b"\n"


class Lines:
    """Cuts what arrives into whole lines."""

    def __init__(self) -> None:
        self._rest = b""

    def __call__(self, data: bytes) -> list[bytes]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        return whole
