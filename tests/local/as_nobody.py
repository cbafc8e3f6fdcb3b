"""Runs a command as the user nobody, with the interpreter and this project within its reach.

Called by root as `python as_nobody.py PLACE... -- COMMAND...`: in a mount namespace of its own, every directory on the
way to a PLACE that nobody may not enter is covered by one that it may, with the places bound into it.
"""

import os
import sys
from pathlib import Path

from aim_engine.local.container import kernel
from aim_engine.local.container.kernel import MountFlag, Namespace

NOBODY = 65534
SEARCHABLE = 0o001
STAGE = Path("/dev/shm")


def open_up(places: list[Path]) -> None:
    """Make the places reachable for everybody, in this namespace."""
    closed = {
        next((above for above in reversed(place.parents) if not above.stat().st_mode & SEARCHABLE), None)
        for place in places
    } - {None}
    kernel.mount("stage", str(STAGE), "tmpfs", MountFlag(0), "mode=755")
    for number, place in enumerate(places):
        (STAGE / str(number)).mkdir()
        kernel.bind(str(place), str(STAGE / str(number)))
    for above in closed:
        kernel.mount("open", str(above), "tmpfs", MountFlag(0), "mode=755")
    for number, place in enumerate(places):
        if closed.intersection(place.parents):
            place.mkdir(parents=True, exist_ok=True)
            kernel.bind(str(STAGE / str(number)), str(place))
    kernel.detach(str(STAGE))


def main() -> None:
    """Never returns."""
    split = sys.argv.index("--")
    kernel.unshare(Namespace.MOUNTS)
    kernel.mount("", "/", "", MountFlag.PRIVATE | MountFlag.RECURSIVE)
    open_up([Path(place).resolve() for place in sys.argv[1:split]])
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    os.execv(sys.argv[split + 1], sys.argv[split + 1 :])


if __name__ == "__main__":
    main()
