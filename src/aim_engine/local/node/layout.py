"""Where the agent keeps what belongs to its pods: one directory for each, readable by the agent alone.

nodes/<node>/lock                         held by the agent that runs the node
nodes/<node>/pods/<uid>/volumes/<volume>/ files, empty directories
                   /runs/<container>/<number>/     root, /tmp and HOME of one run
                   /last-words/<container>         termination message of the current run
                   /logs/<container>/<number>.log  what one run printed
volumes/<name of the PersistentVolume>/   what outlives pods
"""

import shutil
from pathlib import Path

import msgspec

from aim_engine.local import locks


class PodLayout(msgspec.Struct, frozen=True):
    """The paths of one pod."""

    root: Path

    def volume(self, name: str) -> Path:
        return self.root / "volumes" / name

    def run(self, container: str, number: int) -> Path:
        return self.root / "runs" / container / str(number)

    def last_words(self, container: str) -> Path:
        return self.root / "last-words" / container

    def log(self, container: str, number: int) -> Path:
        return self.root / "logs" / container / f"{number}.log"

    def forget_log(self, container: str, number: int) -> None:
        """Remove the log of an old run; only the last two can be asked for."""
        path = self.log(container, number)
        for part in path.parent.glob(f"{path.name}*"):
            part.unlink()

    def make(self) -> None:
        """Make the directories that every pod has."""
        for name in ("volumes", "runs", "last-words", "logs"):
            (self.root / name).mkdir(parents=True, exist_ok=True)

    def remove_all_but_logs(self) -> None:
        """Remove what a pod that has ended needs no more."""
        for name in ("volumes", "runs", "last-words"):
            shutil.rmtree(self.root / name, ignore_errors=True)

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.root, ignore_errors=True)


class NodeLayout(msgspec.Struct, frozen=True):
    """The paths of one node."""

    root: Path

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def number(self) -> int | None:
        """The number the node got, if it got one."""
        file = self.root / "number"
        return int(file.read_text()) if file.exists() else None

    def keep_number(self, number: int) -> None:
        (self.root / "number").write_text(str(number))

    def pod(self, uid: str) -> PodLayout:
        return PodLayout(self.root / "pods" / uid)

    def found(self) -> frozenset[str]:
        """The pods that an agent before left something of."""
        return frozenset(path.name for path in (self.root / "pods").iterdir())


class Layout(msgspec.Struct, frozen=True):
    """The paths of all nodes of a cluster on this machine."""

    root: Path

    @property
    def volumes(self) -> Path:
        return self.root / "volumes"

    @property
    def numbers(self) -> Path:
        """Held while a node gets its number."""
        return self.root / "nodes" / "numbers.lock"

    def node(self, name: str) -> NodeLayout:
        """The paths of a node; nobody else may look into them, for they hold Secrets."""
        root = self.root / "nodes" / name
        (root / "pods").mkdir(parents=True, exist_ok=True)
        return NodeLayout(root)

    def numbers_in_use(self) -> dict[str, int]:
        """The numbers of nodes that an agent runs now, whether or not their objects exist."""
        found = [NodeLayout(path) for path in (self.root / "nodes").iterdir() if path.is_dir()]
        return {each.root.name: each.number for each in found if each.number and locks.is_held(each.lock)}

    def make(self) -> None:
        """Make the directories that all nodes share."""
        for path in (self.volumes, self.root / "nodes"):
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o700)
