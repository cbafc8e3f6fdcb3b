"""Child processes that never outlive the process that started them, and whose last words are kept."""

import asyncio
import functools
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aim_engine.local.container import kernel
from aim_engine.local.errors import LocalError

LAST_LINES = 10


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, however that ends; runs between fork and exec."""
    kernel.die_with_parent()
    if os.getppid() != parent:  # it ended before the kernel was asked
        os._exit(1)


@dataclass(frozen=True, kw_only=True)
class Program:
    """What to run, and where its output goes."""

    name: str
    arguments: Sequence[str]
    log: Path
    directory: Path
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": os.defpath, "HOME": "/"})


class Child:
    """A running program."""

    def __init__(self, program: Program, process: asyncio.subprocess.Process) -> None:
        self.program, self._process = program, process

    @classmethod
    async def start(cls, program: Program) -> "Child":
        """Start `program` with a log of its own; it is killed when this process ends."""
        with program.log.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *program.arguments,
                cwd=program.directory,
                env=program.environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=functools.partial(die_with, os.getpid()),
            )
        return cls(program, process)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ended(self) -> LocalError:
        """Wait for the end of the program, which nobody asked for, and say how it ended."""
        code = await self._process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return LocalError(f"{self.program.name} {how}; {last_words(self.program.log)}")

    async def stop(self, *, grace: float) -> None:
        """End the program: with SIGTERM and `grace` seconds to obey, or at once if that is 0."""
        if grace and self._process.returncode is None:
            self._process.terminate()
            try:
                async with asyncio.timeout(grace):
                    await self._process.wait()
            except TimeoutError:
                pass
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


class Crew:
    """Children of which every one has to live; see `crew`."""

    def __init__(self, group: asyncio.TaskGroup, *, together: bool) -> None:
        self._group, self._together = group, together
        self._children: list[Child] = []
        self._leaving = False

    async def start(self, program: Program) -> Child:
        """Start one more child."""
        child = await Child.start(program)
        self._children.append(child)
        self._group.create_task(self._watch(child), name=program.name)
        return child

    async def stop(self, *, grace: float) -> None:
        """End all children, the youngest first or all at once."""
        self._leaving = True
        if self._together:
            await asyncio.gather(*(child.stop(grace=grace) for child in self._children))
        for child in reversed(self._children):
            await child.stop(grace=grace)

    async def _watch(self, child: Child) -> None:
        failure = await child.ended()
        if not self._leaving:
            raise failure


@asynccontextmanager
async def crew(*, grace: float, together: bool = False) -> AsyncGenerator[Crew]:
    """Children that end with the block; if one ends before, the block is left with its last words.

    With `grace` 0 they are killed, otherwise each one gets SIGTERM and that many seconds. The youngest goes first,
    unless they go `together`.
    """
    try:
        async with asyncio.TaskGroup() as group:
            members = Crew(group, together=together)
            try:
                yield members
            finally:
                await members.stop(grace=grace)
    except BaseExceptionGroup as failures:  # what is raised in an `except*` block comes out as a group on Python 3.11.2
        said, others = failures.split(LocalError)
        if said is None or others is not None:
            raise
        raise _first(said) from None


def _first(failures: BaseExceptionGroup[LocalError]) -> LocalError:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def last_words(log: Path) -> str:
    """The last lines of a log, introduced by its path."""
    lines = log.read_text(errors="replace").splitlines()[-LAST_LINES:] if log.exists() else []
    return "\n  ".join([f"the last lines of {log}:", *(lines or ["(nothing)"])])
