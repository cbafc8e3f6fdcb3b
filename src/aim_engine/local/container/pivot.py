"""Carries out the steps of `root` from inside a new mount namespace, and leaves the host's root behind."""

from collections.abc import Iterable
from pathlib import Path

from aim_engine.local.container import kernel
from aim_engine.local.container.kernel import MountFlag
from aim_engine.local.container.root import Bind, Directory, Link, Step, Text

HOST = "/.host"
"""Where the host's root is while the container's is being made."""

KERNEL_SETTINGS = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
"""Parts of /proc that root could change for the whole machine."""


def enter(root: str, steps: Iterable[Step], *, own_processes: bool, seal: bool) -> None:
    """Make the directory `root` the root of this process and its children, with what `steps` put into it.

    `own_processes`: /proc shows this process id namespace, else that of the host. `seal`: forbid changes to the
    kernel's settings, which only root could make. Read-only comes last, so that mount points can be made inside.
    """
    kernel.mount("", "/", "", MountFlag.PRIVATE | MountFlag.RECURSIVE)
    kernel.bind(root, root)
    Path(root + HOST).mkdir()
    kernel.change_root(root, root + HOST)
    done = list(steps)
    for step in done:
        _take(step)
    _mount_proc(own_processes)
    for step in done:
        if isinstance(step, Bind) and step.read_only:
            kernel.make_read_only(step.path)
    for path in KERNEL_SETTINGS if seal else ():
        if Path(path).exists():
            kernel.bind(path, path)
            kernel.make_read_only(path)
    kernel.detach(HOST)
    Path(HOST).rmdir()


def _take(step: Step) -> None:
    path = Path(step.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    match step:
        case Directory():
            path.mkdir(exist_ok=True)
            path.chmod(step.mode)
        case Link():
            path.symlink_to(step.to)
        case Text():
            path.write_text(step.content, encoding="utf-8")
        case Bind():
            _make_mount_point(path, directory=Path(HOST + step.source).is_dir())
            kernel.bind(HOST + step.source, step.path)


def _make_mount_point(path: Path, *, directory: bool) -> None:
    if directory:
        path.mkdir(exist_ok=True)
    elif not path.exists():
        path.touch()


def _mount_proc(own: bool) -> None:
    if own:
        kernel.mount("proc", "/proc", "proc", MountFlag.NO_SETUID | MountFlag.NO_DEVICES | MountFlag.NO_EXECUTION)
    else:
        kernel.bind(f"{HOST}/proc", "/proc")
