"""Which processes belong to a container, asked by its init, and how to end them all."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
ROUND = 0.001
"""Seconds that the killed get to go."""


def others(own_namespace: bool) -> set[int]:
    """Every process of the container but its init: all there are in its own namespace, else all descendants."""
    if own_namespace:
        return {number for number in _all() if number != os.getpid()}
    return descendants(os.getpid())


def kill_all(own_namespace: bool) -> None:
    """Send SIGKILL to everything of the container but its init."""
    for number in others(own_namespace):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def end_all(own_namespace: bool) -> None:
    """Kill and reap everything of the container but its init, and return when nothing is left.

    A process may fork while it is being looked for, so this goes on until there is no child. Without a namespace it
    relies on init adopting orphans: whatever is killed hands its children to init, to be killed in the next round.
    """
    while True:
        kill_all(own_namespace)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(ROUND)


def _all() -> Iterator[int]:
    return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def descendants(ancestor: int) -> set[int]:
    """Found by following the children of each process down, or by the parents of all where the kernel lists none."""
    if not Path(f"/proc/{ancestor}/task/{ancestor}/children").exists():
        return descendants_by_parent(ancestor)
    found: set[int] = set()
    open_ends = [ancestor]
    while open_ends:
        new = set(_children(open_ends.pop())) - found
        found |= new
        open_ends.extend(new)
    return found


def _children(parent: int) -> Iterator[int]:
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{parent}/task").iterdir():
            yield from map(int, (task / "children").read_text().split())


def descendants_by_parent(ancestor: int) -> set[int]:
    """The same from the parent of every process of the machine, which takes longer."""
    parents = {number: parent for number in _all() if (parent := _parent(number)) is not None}
    found: set[int] = set()
    while new := {number for number, parent in parents.items() if parent == ancestor or parent in found} - found:
        found |= new
    return found


def _parent(process: int) -> int | None:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None
