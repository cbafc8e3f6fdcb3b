"""The volume: what of a source lies on it, what is half done, and what has to go before the end.

A large file grows under a name that ends in `.incomplete`, with a journal beside it that says which parts of it are
there; it gets its own name when it is whole. A small file is written in one go. Which files are whole is remembered by
the keeper of the scheme: huggingface_hub's own metadata files for hf://, one list for s3://.

    <target>/.cache/huggingface/download/<path>.metadata        hf: stays, and `hf download` understands it
    <target>/.cache/huggingface/download/<key>.incomplete       hf: unfinished
    <target>/.aim-download/finished                             s3: goes at the end, with its directory
    <target>/.aim-download/<key>.incomplete                     s3: unfinished
"""

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from aim_engine.downloader import files
from aim_engine.downloader.failures import DiskFull
from aim_engine.downloader.files import Manifest, RemoteFile

INCOMPLETE = ".incomplete"
SIMULATED = "simulated_data"
FULL = (errno.ENOSPC, errno.EDQUOT)


class Keeper(Protocol):
    """Remembers which files were fetched whole."""

    @property
    def staging(self) -> Path:
        """The directory for what is unfinished."""
        ...

    def knows(self, file: RemoteFile, status: os.stat_result) -> bool:
        """Tell whether this very content was fetched whole and not touched since."""
        ...

    def remember(self, file: RemoteFile) -> None:
        """Keep in mind that the file is whole."""
        ...

    def forget(self, path: str) -> None:
        """Drop what is known of a file."""
        ...

    def remembered(self) -> Iterable[str]:
        """Return the paths of all files that are known, of this revision or an older one."""
        ...

    def tidy(self) -> None:
        """Remove what must not stay on a finished volume."""
        ...


@dataclass
class HubKeeper:
    """huggingface_hub's bookkeeping: one small file with commit, ETag and time per file."""

    target: Path
    revision: str
    _made: set[Path] = field(default_factory=set[Path])

    @property
    def staging(self) -> Path:
        return self.target / ".cache" / "huggingface" / "download"

    def _metadata(self, path: str) -> Path:
        return self.staging / f"{path}.metadata"

    def knows(self, file: RemoteFile, status: os.stat_result) -> bool:
        try:
            _, etag, stamp = self._metadata(file.path).read_text().splitlines()[:3]
            return etag == file.etag and status.st_mtime - 1 <= float(stamp)
        except (OSError, ValueError):
            return False

    def remember(self, file: RemoteFile) -> None:
        metadata = self._metadata(file.path)
        if metadata.parent not in self._made:
            metadata.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(metadata.parent)
        metadata.write_text(f"{self.revision}\n{file.etag}\n{time.time()}\n")

    def forget(self, path: str) -> None:
        self._metadata(path).unlink(missing_ok=True)
        prune(self._metadata(path).parent, self.staging)

    def remembered(self) -> Iterable[str]:
        for location in self.staging.rglob("*.metadata"):
            yield location.relative_to(self.staging).as_posix().removesuffix(".metadata")

    def tidy(self) -> None:
        for pattern in ("*.lock", "*" + INCOMPLETE):
            for location in self.staging.parent.rglob(pattern):
                location.unlink(missing_ok=True)
        for folder in sorted((path for path in self.staging.parent.rglob("*") if path.is_dir()), reverse=True):
            prune(folder, self.staging.parent)
        ignore = self.staging.parent / ".gitignore"
        if ignore.parent.is_dir() and not ignore.exists():
            ignore.write_text("*")


@dataclass
class BucketKeeper:
    """One list of finished objects that goes away with its directory; the next look at them compares checksums."""

    target: Path
    _known: dict[str, tuple[str, int]] | None = None

    @property
    def staging(self) -> Path:
        return self.target / ".aim-download"

    def _list(self) -> dict[str, tuple[str, int]]:
        if self._known is None:
            self._known = {}
            try:
                for line in (self.staging / "finished").read_text().splitlines():
                    etag, stamp, path = line.split(" ", 2)
                    self._known[path] = (etag, int(stamp))
            except (OSError, ValueError):
                pass
        return self._known

    def knows(self, file: RemoteFile, status: os.stat_result) -> bool:
        return self._list().get(file.path) == (file.etag, status.st_mtime_ns)

    def remember(self, file: RemoteFile) -> None:
        stamp = (self.target / file.path).stat().st_mtime_ns
        self.staging.mkdir(exist_ok=True)
        with (self.staging / "finished").open("a") as stream:
            stream.write(f"{file.etag} {stamp} {file.path}\n")

    def forget(self, path: str) -> None:
        self._list().pop(path, None)

    def remembered(self) -> Iterable[str]:
        return tuple(self._list())

    def tidy(self) -> None:
        for location in self.staging.glob("*"):
            location.unlink(missing_ok=True)
        if self.staging.is_dir():
            self.staging.rmdir()


@dataclass(frozen=True)
class Volume:
    """A target directory and its keeper."""

    target: Path
    keeper: Keeper

    def location(self, file: RemoteFile) -> Path:
        return self.target / file.path

    def whole(self, file: RemoteFile, tick: Callable[[int], None]) -> bool:
        """Tell whether a file is here as the source has it; one that nobody remembers is compared by content."""
        location = self.location(file)
        try:
            status = location.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        if status.st_size != file.size or not location.is_file():
            return False
        if self.keeper.knows(file, status):
            return True
        if file.digest is None or files.digest_of(location, file.digest, tick) != file.digest.value:
            return False
        self.keeper.remember(file)
        return True

    def unfinished(self, file: RemoteFile) -> Path:
        """Return the name under which a file grows; another content of the same path has another name."""
        key = hashlib.sha256(f"{file.path}\0{file.etag}\0{file.size}".encode()).hexdigest()[:32]
        return self.keeper.staging / f"{key}{INCOMPLETE}"

    def publish(self, file: RemoteFile, unfinished: Path) -> None:
        """Give a whole file its own name."""
        location = self.location(file)
        make_way(location, self.target)
        unfinished.replace(location)
        unfinished.with_suffix(".parts" + INCOMPLETE).unlink(missing_ok=True)

    def discard(self, file: RemoteFile) -> None:
        """Remove a file that turned out wrong, so that the next attempt fetches it again."""
        self.keeper.forget(file.path)
        self.location(file).unlink(missing_ok=True)
        prune(self.location(file).parent, self.target)

    def drop_unfinished(self, keep: Iterable[Path] = ()) -> int:
        """Delete everything half done but what is to be kept; return how many files that were."""
        kept = {path.name for path in keep}
        dropped = 0
        for location in sorted(self.keeper.staging.rglob("*" + INCOMPLETE)):
            if location.name.removesuffix(".parts" + INCOMPLETE) + INCOMPLETE in kept or location.name in kept:
                continue
            location.unlink(missing_ok=True)
            dropped += not location.name.endswith(".parts" + INCOMPLETE)
        return dropped

    def finish(self) -> None:
        """Leave the source's files and nothing of ours."""
        self.keeper.tidy()

    def drop_strangers(self, manifest: Manifest) -> None:
        """Remove what was fetched or simulated here before and is no longer part of the source."""
        present = {file.path for file in manifest.files}
        for path in {*self.keeper.remembered(), SIMULATED} - present:
            if not (self.target / path).is_dir():  # what was a file may have become a directory of the source
                (self.target / path).unlink(missing_ok=True)
            self.keeper.forget(path)
            prune((self.target / path).parent, self.target)

    def require_space(self, missing_bytes: int, missing_files: int) -> None:
        """Fail if the volume can't take what is left to fetch."""
        status = os.statvfs(self.target)
        free = status.f_bavail * status.f_frsize
        if missing_bytes > free:
            raise DiskFull(
                f"no space left on device: {missing_bytes} bytes are still to be fetched, {free} are free on"
                f" {self.target}; use a larger volume"
            )
        if status.f_files and missing_files > status.f_favail:
            raise DiskFull(
                f"no space left on device: {missing_files} files are still to be fetched, {self.target} has room for"
                f" {status.f_favail} more; use a volume with more inodes"
            )


def disk_full(error: OSError, target: Path) -> DiskFull | None:
    """Return the failure that a write error means, if it means a full volume."""
    if error.errno not in FULL:
        return None
    return DiskFull(f"no space left on device: the volume at {target} is full; use a larger one")


def make_way(location: Path, target: Path) -> None:
    """Make the directories of a file, also where an older revision had a file of a directory's name."""
    try:
        location.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        for parent in reversed(location.parents):
            if target in parent.parents and parent.is_file():
                parent.unlink()
        location.parent.mkdir(parents=True, exist_ok=True)


def prune(folder: Path, top: Path) -> None:
    """Remove a directory and those above it as long as they are empty, up to but not including the top."""
    while folder != top and top in folder.parents:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
