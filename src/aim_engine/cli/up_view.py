"""How a start looks: a live table on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Collection, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import click

from aim_engine.local.up.events import Event, Part, Step

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

PATIENCE_SECONDS = 20.0
"""How often a part that takes long says so in plain lines."""
MARKS = {"waiting": "dim]·", "working": "yellow]◐", "done": "green]✔", "failed": "red]✘"}


class View(Protocol):
    """Shows what a start tells."""

    def tell(self, event: Event) -> None:
        """Show one event more."""
        ...


class Lines:
    """One line for each change, with the seconds since the start."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._said: dict[str, tuple[str, float]] = {}

    def tell(self, event: Event) -> None:
        if not isinstance(event, Part | Step) or event.state == "waiting":
            return
        now = time.monotonic()
        text = f"{event.text}{_percent(event)}" if event.text else event.state
        state, moment = self._said.get(event.name, ("", 0.0))
        if isinstance(event, Part) and state == event.state and now - moment < PATIENCE_SECONDS:
            return
        self._said[event.name] = event.state, now
        click.echo(f"{now - self._began:6.1f} s  {event.name:<18}{'✔ ' if event.state == 'done' else ''}{text}")


class Table:
    """A table that changes in place."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._parts: dict[str, Part] = {}
        self._steps: dict[str, Step] = {}

    def tell(self, event: Event) -> None:
        if isinstance(event, Part):
            self._parts[event.name] = event
        if isinstance(event, Step):
            self._steps[event.name] = event

    def __rich__(self) -> "Group":
        from rich.console import Group
        from rich.text import Text

        seconds = Text(f"{time.monotonic() - self._began:.0f} s", style="dim")
        blocks = [_table("parts", self._parts.values()), _table("sample service", self._steps.values()), seconds]
        return Group(*(block for block in blocks if block))


def _table(title: str, rows: Collection[Part | Step]) -> "RenderableType | None":
    from rich.progress_bar import ProgressBar
    from rich.table import Table as Grid
    from rich.text import Text

    if not rows:
        return None
    grid = Grid(title=title, title_justify="left", title_style="bold", box=None, show_header=False, pad_edge=False)
    for row in rows:
        text: RenderableType = Text(row.text, overflow="ellipsis", no_wrap=True)
        if isinstance(row, Step) and row.share is not None:
            text = ProgressBar(total=1, completed=row.share, width=40)
        grid.add_row(f"[{MARKS[row.state]}[/]", row.name, text)
    return grid


def _percent(event: Part | Step) -> str:
    return f", {event.share:.0%} fetched" if isinstance(event, Step) and event.share is not None else ""


@contextmanager
def shown() -> Generator[View]:
    """A view for the length of a block, as standard output allows."""
    if not sys.stdout.isatty():
        yield Lines()
        return
    from rich.live import Live

    table = Table()
    with Live(table, refresh_per_second=8):
        yield table
