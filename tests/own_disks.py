"""Runs a program with mounts of its own, so that a test can put a small disk where it will look.

`python -m tests.own_disks FILE -- program arguments` becomes the program and writes its process id into the file;
`python -m tests.own_disks PID PATH SIZE` gives that program a disk of so many bytes at a path. Nobody else sees it, and
it goes with the program. No root is needed: a user may mount within namespaces of his own.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

from aim_engine.local.container import kernel
from aim_engine.local.container.kernel import MountFlag, Namespace


def become(file: Path, command: list[str]) -> None:
    """Become a program that sees the mounts of the machine, and those that it is given."""
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(Namespace.MOUNTS | (Namespace(0) if user == 0 else Namespace.USERS))
    if user != 0:
        for name, text in {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}.items():
            Path("/proc/self", name).write_text(text)
    kernel.mount("", "/", "", MountFlag.RECURSIVE | MountFlag.PRIVATE)
    file.write_text(str(os.getpid()))
    os.execvp(command[0], command)


def mount(pid: int, path: str, size: int) -> None:
    """Mount a disk of that size where the program sees the path."""
    libc = ctypes.CDLL(None, use_errno=True)
    for name in ("user", "mnt"):
        theirs = Path("/proc", str(pid), "ns", name)
        if theirs.readlink() == Path("/proc/self/ns", name).readlink():
            continue
        with theirs.open() as namespace:
            if libc.setns(namespace.fileno(), 0):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(theirs))
    kernel.mount("tmpfs", path, "tmpfs", MountFlag.NO_DEVICES | MountFlag.NO_SETUID, f"size={size},mode=777")


def give_disk(pid: int, path: Path, size: int) -> Path:
    """Have a disk mounted for a program; return the path by which others reach what is on it."""
    subprocess.run([sys.executable, "-m", __name__, str(pid), str(path), str(size)], check=True)
    return Path(f"/proc/{pid}/root{path}")


if __name__ == "__main__":
    if sys.argv[2] == "--":
        become(Path(sys.argv[1]), sys.argv[3:])
    else:
        mount(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
