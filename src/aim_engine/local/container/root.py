"""What a container finds below `/`, as a list of steps: decided here, carried out in the container by `pivot`.

A container sees the programs of the host read-only (/usr and what belongs to it, the interpreter, this package), a
small /etc made for it, /dev with the harmless devices, its own /tmp and HOME, and its mounts at their real paths.
Nothing else of the host is there: no home directories, no configuration, no sockets.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

import msgspec

import aim_engine
from aim_engine.local.container.errors import StartError
from aim_engine.local.container.run import Mount, Run

PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Where the host's programs and libraries are; most of them are links into /usr today."""

SETTINGS = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version", "gai.conf",
    "host.conf", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "os-release",
    "pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "protocols", "resolv.conf", "services",
    "ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "timezone",
)  # fmt: skip
"""What of the host's /etc programs need to run: libraries, names, times and certificates; no secrets are among them."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
LINKS = {"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1",
         "/dev/stderr": "/proc/self/fd/2", "/var/run": "/run"}  # fmt: skip
DIRECTORIES = {"/run": 0o755, "/var": 0o755, "/var/tmp": 0o1777, "/dev": 0o755, "/proc": 0o555}


class Directory(msgspec.Struct, frozen=True, tag=True):
    """An empty directory, in the container only."""

    path: str
    mode: int = 0o755


class Link(msgspec.Struct, frozen=True, tag=True):
    """A symbolic link."""

    path: str
    to: str


class Text(msgspec.Struct, frozen=True, tag=True):
    """A file with that content, in the container only."""

    path: str
    content: str


class Bind(msgspec.Struct, frozen=True, tag=True):
    """A file or directory of the host, with its mount point made if it is missing."""

    path: str
    source: str
    read_only: bool = True


Step: TypeAlias = Directory | Link | Text | Bind


def home(user: int) -> str:
    """HOME of a user, as images have it."""
    return "/root" if user == 0 else "/home/user"


def steps(run: Run, *, user: int, group: int) -> tuple[Step, ...]:
    """Everything below `/` of one container, outer paths before inner ones, so that a deeper mount is never hidden.

    A mount hides what the image has there, so a volume can take the place of /tmp or /etc; only the interpreter stays
    reachable. StartError if the host does not have what is to be mounted.
    """
    own = (
        Bind("/tmp", str(run.scratch / "tmp"), run.read_only_root),
        Bind(home(user), str(run.scratch / "home"), run.read_only_root),
        Bind("/dev/shm", str(run.scratch / "shm"), read_only=False),
    )
    image: tuple[Step, ...] = (*_host(), *_etc(run, user, group), *_dev(), *own)
    links = {step.path: step.to for step in image if isinstance(step, Link)}
    asked = tuple(_bind(mount, links) for mount in mounts(run))
    hidden = tuple(mount.path for mount in asked)
    fixed = (*(step for step in image if not _below(Path(step.path), hidden)), *_interpreter())
    return tuple(sorted((*_with_room_for(fixed, asked), *asked), key=lambda step: step.path.count("/")))


def mounts(run: Run) -> tuple[Mount, ...]:
    """Everything of the host that a run asks for: the image's programs, volumes, and the termination message."""
    programs = tuple(Mount(source, target, read_only=True) for target, source in run.programs.items())
    message = (run.termination_message,) if run.termination_message else ()
    return (*programs, *run.mounts, *message)


def _bind(mount: Mount, links: Mapping[str, str]) -> Bind:
    """The mount at its path without links: below /lib is below /usr/lib."""
    target = os.path.normpath(mount.target)
    if not target.startswith("/") or target == "/":
        raise StartError(f"mount path {mount.target} must be absolute and below /")
    if not mount.source.exists():
        raise StartError(f"{mount.source}, to be mounted at {mount.target}, does not exist")
    for path, to in links.items():
        target = to + target[len(path) :] if target.startswith(f"{path}/") else target
    return Bind(target, str(mount.source.resolve()), mount.read_only)


@cache
def _host() -> tuple[Step, ...]:
    programs = (step for path in PROGRAMS for step in _same(path, Path(path)))
    directories = (Directory(path, mode) for path, mode in DIRECTORIES.items())
    return (*programs, *directories, *(Link(path, to) for path, to in LINKS.items()))


def _etc(run: Run, user: int, group: int) -> Iterator[Step]:
    for name in SETTINGS:
        yield from _same(f"/etc/{name}", Path("/etc", name))
    yield Text("/etc/hostname", f"{run.hostname}\n")
    yield Text("/etc/hosts", f"127.0.0.1\tlocalhost\n{run.pod_ip}\t{run.hostname}\n")
    users = {0: "root:x:0:0:root:/root:/bin/sh", 65534: "nobody:x:65534:65534:nobody:/:/bin/false"}
    users.setdefault(user, f"user:x:{user}:{group}::{home(user)}:/bin/sh")
    groups = {0: "root:x:0:", 65534: "nogroup:x:65534:"}
    groups.setdefault(group, f"user:x:{group}:")
    yield Text("/etc/passwd", "".join(f"{line}\n" for line in users.values()))
    yield Text("/etc/group", "".join(f"{line}\n" for line in groups.values()))


def _dev() -> Iterator[Step]:
    for device in (Path("/dev", name) for name in DEVICES):
        if device.exists():
            yield Bind(str(device), str(device), read_only=False)


@cache
def _interpreter() -> tuple[Step, ...]:
    """The Python that runs the agent, its packages and ours, at the paths they have outside."""
    return tuple(_interpreter_steps())


def interpreter_places() -> list[Path]:
    """The directories that Python programs need: the environment, what it is based on, and this package."""
    package = Path(aim_engine.__file__).parent.parent
    return [Path(place).absolute() for place in (sys.prefix, sys.base_prefix, package)]


def _interpreter_steps() -> Iterator[Step]:
    seen = [place for place in interpreter_places() if not _below(place, PROGRAMS)]
    for place in dict.fromkeys([*seen, *(place.resolve() for place in seen)]):
        yield Bind(str(place), str(place.resolve()))
    program = Path(sys.executable)
    while program.is_symlink():
        to = program.readlink()
        if not _below(program, (*PROGRAMS, *map(str, seen))):
            yield Link(str(program), str(to))
        program = Path(os.path.normpath(program.parent / to))


def _same(path: str, source: Path) -> Iterator[Step]:
    """What the host has at `source`: a link if the container has what it leads to, else by binding; maybe nothing."""
    real = source.resolve()
    if source.is_symlink() and _below(real, PROGRAMS):
        yield Link(path, str(real))
    elif real.exists():
        yield Bind(path, str(real))


def _with_room_for(fixed: Iterable[Step], asked: Iterable[Bind]) -> tuple[Step, ...]:
    """The fixed steps, with directories of the host taken apart where a mount point inside them is missing.

    Nothing can be made in a directory of the host, so /usr becomes an empty directory with a bind for each entry of the
    host's /usr, and so on down to the missing mount point.
    """
    laid = list(fixed)
    for mount in asked:
        while whole := next((step for step in laid if isinstance(step, Bind) and _lacks(step, mount)), None):
            index = laid.index(whole)
            laid[index : index + 1] = _apart(whole)
    return tuple(laid)


def _lacks(directory: Bind, mount: Bind) -> bool:
    """Whether the mount point would have to be made in that directory of the host."""
    if not directory.read_only or not mount.path.startswith(f"{directory.path}/"):
        return False
    point = Path(directory.source + mount.path[len(directory.path) :])
    return not point.exists() or point.is_dir() != Path(mount.source).is_dir()


def _apart(whole: Bind) -> Iterator[Step]:
    yield Directory(whole.path)
    for entry in sorted(Path(whole.source).iterdir()):
        yield from _same(f"{whole.path}/{entry.name}", entry)


def _below(path: Path, places: Iterable[str]) -> bool:
    return any(path.is_relative_to(place) for place in places)
