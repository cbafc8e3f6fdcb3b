"""The system calls that Python 3.11 has no names for, each raising OSError as those of `os` do."""

import ctypes
import os
import signal
from collections.abc import Iterable
from enum import IntFlag


class Namespace(IntFlag):
    """What a process can have for itself."""

    MOUNTS = 0x00020000
    HOSTNAME = 0x04000000
    IPC = 0x08000000
    USERS = 0x10000000
    PROCESSES = 0x20000000


class MountFlag(IntFlag):
    """Options of `mount`."""

    READ_ONLY = 0x1
    NO_SETUID = 0x2
    NO_DEVICES = 0x4
    NO_EXECUTION = 0x8
    REMOUNT = 0x20
    NO_ACCESS_TIME = 0x400
    NO_DIRECTORY_ACCESS_TIME = 0x800
    BIND = 0x1000
    RECURSIVE = 0x4000
    PRIVATE = 0x40000
    RELATIVE_ACCESS_TIME = 0x200000


KEPT_BY_REMOUNT = {
    os.ST_NOSUID: MountFlag.NO_SETUID,
    os.ST_NODEV: MountFlag.NO_DEVICES,
    os.ST_NOEXEC: MountFlag.NO_EXECUTION,
    os.ST_NOATIME: MountFlag.NO_ACCESS_TIME,
    os.ST_NODIRATIME: MountFlag.NO_DIRECTORY_ACCESS_TIME,
    os.ST_RELATIME: MountFlag.RELATIVE_ACCESS_TIME,
}
"""A user namespace may not drop the options that a mount had outside, so a remount has to name them again."""

DETACH = 2
SET_PARENT_DEATH_SIGNAL = 1
SET_NAME = 15
DROP_FROM_BOUNDING_SET = 24
SET_CHILD_SUBREAPER = 36
SET_NO_NEW_PRIVILEGES = 38
HIGHEST_CAPABILITY = 63
INVALID = 22

libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]


def unshare(namespaces: Namespace) -> None:
    """Give this process (of PROCESSES: its children) namespaces of its own."""
    _check(libc.unshare(ctypes.c_int(namespaces)), "unshare")


def mount(source: str, target: str, kind: str, flags: MountFlag, options: str = "") -> None:
    """Attach a file system."""
    _check(libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()), target)


def bind(source: str, target: str) -> None:
    """Make a file or directory visible at a second place, with everything mounted below it."""
    mount(source, target, "", MountFlag.BIND | MountFlag.RECURSIVE)


def make_read_only(target: str) -> None:
    """Forbid writing through this mount; mounts below it stay as they are."""
    present = os.statvfs(target).f_flag
    kept = MountFlag(0)
    for option, flag in KEPT_BY_REMOUNT.items():
        kept |= flag if present & option else MountFlag(0)
    mount("", target, "", MountFlag.REMOUNT | MountFlag.BIND | MountFlag.READ_ONLY | kept)


def change_root(new: str, old: str) -> None:
    """Make the mount `new` the root of this namespace and the root so far visible at `old`, a directory below it."""
    _check(libc.pivot_root(new.encode(), old.encode()), new)
    os.chdir("/")


def detach(target: str) -> None:
    """Take a mount out of sight; it goes when nobody uses it."""
    _check(libc.umount2(target.encode(), DETACH), target)


def die_with_parent(with_signal: signal.Signals = signal.SIGKILL) -> None:
    """Be sent a signal when the thread that made this process ends. A change of user undoes it."""
    _prctl(SET_PARENT_DEATH_SIGNAL, with_signal)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent has ended."""
    _prctl(SET_CHILD_SUBREAPER, 1)


def refuse_new_privileges() -> None:
    """No program run from here on gains anything by a set-user-id bit."""
    _prctl(SET_NO_NEW_PRIVILEGES, 1)


def keep_capabilities(kept: Iterable[int]) -> None:
    """Make every other capability unreachable for the programs run from here on."""
    for capability in set(range(HIGHEST_CAPABILITY + 1)).difference(kept):
        if libc.prctl(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0) and ctypes.get_errno() != INVALID:
            _check(-1, f"capability {capability}")


def set_name(name: str) -> None:
    """The name of this process in process lists; 15 bytes of it."""
    text = ctypes.create_string_buffer(name.encode()[:15])
    _prctl(SET_NAME, ctypes.addressof(text))


def _prctl(option: int, value: int) -> None:
    _check(libc.prctl(option, value, 0, 0, 0), "prctl")


def _check(result: int, about: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), about)
