"""What is wished of a start, what is known of a running one, and the files of both in the cluster's directory."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from aim_engine.local import locks
from aim_engine.local.errors import LocalError


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What to run; `None` stands for what the last start in the directory had."""

    directory: Path
    gpus: tuple[str, ...] | None = None
    images: tuple[Path, ...] = ()
    port: int | None = None
    without: frozenset[str] = frozenset()
    sample: bool = True


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What the next start in the same directory has again unless it is told otherwise."""

    gpus: tuple[str, ...] = ("MI300X:8",)
    port: int | None = None


class Running(msgspec.Struct, frozen=True):
    """One process of a start."""

    name: str
    process: int
    log: str


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a start that has come up."""

    directory: str
    server: str
    version: str
    kubeconfig: str
    gpus: tuple[str, ...]
    gateway: str | None
    """Where services are reached, such as http://localhost:8080."""
    sample: str | None
    """The path of the sample service behind the gateway, if there is one and it answers."""
    parts: tuple[Running, ...]

    @property
    def logs(self) -> Path:
        return Path(self.directory) / "logs"


class UpFiles(NamedTuple):
    """The files of a start, beside those of the control plane."""

    directory: Path

    @property
    def lock(self) -> Path:
        """Locked as long as it runs; holds the process that everything ends with."""
        return self.directory / "up.lock"

    @property
    def facts(self) -> Path:
        """The `Facts`, there while everything runs."""
        return self.directory / "up.json"

    @property
    def kept(self) -> Path:
        return self.directory / "up.kept.json"

    @property
    def failure(self) -> Path:
        """Why the last start ended, if nobody asked it to."""
        return self.directory / "up.failure"

    @property
    def sampled(self) -> Path:
        """There once the sample was applied: a sample that its user deleted does not come back."""
        return self.directory / "up.sampled"

    @property
    def log(self) -> Path:
        """What a start in the background has to say."""
        return self.directory / "logs" / "up.log"


def find(directory: Path) -> Facts | None:
    """What runs in `directory`, if it has come up."""
    files = UpFiles(directory)
    if not locks.is_held(files.lock):
        return None
    with suppress(FileNotFoundError):
        return msgspec.json.decode(files.facts.read_bytes(), type=Facts)
    return None


def require(directory: Path) -> Facts:
    """What runs in `directory`; LocalError says why nothing does, and what to do."""
    files = UpFiles(directory)
    if found := find(directory):
        return found
    if locks.is_held(files.lock):
        raise LocalError(f"AIM Engine is just starting or stopping in {directory}; try again in some seconds.")
    if files.failure.exists():
        raise LocalError(f"AIM Engine is not up any more in {directory}: {files.failure.read_text()}")
    raise LocalError(f"AIM Engine is not up in {directory}; `aim up` starts it.")
