"""Says what takes long: a bar on a terminal, plain lines elsewhere, both on standard error; or to whoever listens."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

LINE_SECONDS = 20.0
"""How often a step that goes on says so where no bar can be drawn."""
HEARD_SECONDS = 1.0
"""How often it tells a listener."""

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("progress", default=None)


class Step(Protocol):
    """One thing that takes long."""

    def advance(self, amount: int = 1, total: int | None = None) -> None:
        """Say that `amount` more is done, of `total` if that is known by now."""
        ...


class _Lines:
    def __init__(self, title: str, seconds: float) -> None:
        self._title, self._seconds, self._done, self._total = title, seconds, 0, 0
        self._said = self._started = time.monotonic()

    def advance(self, amount: int = 1, total: int | None = None) -> None:
        self._done += amount
        self._total = total or self._total
        now = time.monotonic()
        if now - self._said >= self._seconds:
            self._said = now
            share = f"{min(100, 100 * self._done // self._total)} % done, " if self._total else ""
            say(f"{self._title}: {share}{now - self._started:.0f} s so far")


@contextmanager
def heard_by(listener: Callable[[str], None]) -> Generator[None]:
    """Have everything that is said in the block told to `listener` instead of standard error."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def say(line: str) -> None:
    """One line for whoever waits."""
    if listener := _listener.get():
        listener(line)
    else:
        print(line, file=sys.stderr, flush=True)


@contextmanager
def step(title: str, expectation: str = "") -> Generator[Step]:
    """Show one step while the block runs."""
    say(f"{title} ({expectation})" if expectation else title)
    if _listener.get() or not sys.stderr.isatty():
        yield _Lines(title, HEARD_SECONDS if _listener.get() else LINE_SECONDS)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar)


class _Bar:
    def __init__(self, bar: "Progress") -> None:
        self._bar, self._task = bar, bar.add_task("", total=None)

    def advance(self, amount: int = 1, total: int | None = None) -> None:
        self._bar.update(self._task, advance=amount, total=total)
