"""Starts containers for tests, and looks for what they leave behind."""

import asyncio
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aim_engine.local.container import logs
from aim_engine.local.container.logs import Selection
from aim_engine.local.container.run import Exit, Run
from aim_engine.local.container.running import RunningContainer
from aim_engine.local.container.sandbox import Sandbox

DEADLINE = 180.0
_marks = itertools.count(os.getpid() * 1000)


class Box:
    """A sandbox with a directory for its runs."""

    def __init__(self, sandbox: Sandbox, directory: Path) -> None:
        self.sandbox = sandbox
        self.directory = directory
        self._numbers = itertools.count()

    def plan(self, *argv: str, **fields: Any) -> Run:
        number = next(self._numbers)
        (self.directory / "logs").mkdir(exist_ok=True)
        return Run(
            name=f"tests/pod/{number}",
            argv=argv,
            scratch=self.directory / f"scratch-{number}",
            log=self.directory / "logs" / f"{number}.log",
            **fields,
        )

    async def start(self, *argv: str, **fields: Any) -> RunningContainer:
        return await self.sandbox.start(self.plan(*argv, **fields))

    async def shell(self, script: str, **fields: Any) -> RunningContainer:
        return await self.start("/bin/sh", "-c", script, **fields)

    async def finish(self, *argv: str, **fields: Any) -> tuple[Exit, str]:
        """How the container ended, and what it printed."""
        container = await self.start(*argv, **fields)
        async with asyncio.timeout(DEADLINE):
            return await container.wait(), await printed(container)

    async def finish_shell(self, script: str, **fields: Any) -> tuple[Exit, str]:
        return await self.finish("/bin/sh", "-c", script, **fields)

    async def says(self, script: str, **fields: Any) -> str:
        """What a script printed that has to succeed."""
        ended, text = await self.finish_shell(script, **fields)
        assert ended.code == 0, text
        return text.strip()


async def printed(container: RunningContainer) -> str:
    pieces = [piece async for piece in logs.read(container.run.log, Selection(), container.ended)]
    return b"".join(pieces).decode()


async def line_of(container: RunningContainer, text: str) -> None:
    """Wait until the container has printed `text`."""
    await until(lambda: text in container.run.log.read_text(), f"{text!r} in the log")


async def until(happened: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + DEADLINE
    while not happened():
        assert time.monotonic() < end, f"waited too long for {what}"
        await asyncio.sleep(0.01)


def mark() -> str:
    """A number of seconds that no other process of this machine sleeps."""
    return str(next(_marks))


def processes_with(text: str) -> list[str]:
    """The command lines on this machine that contain a mark."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if text in command:
                found.append(command)
    return found


def open_files() -> int:
    """How many descriptors this process has."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
