"""What a source holds: plain values that cross process borders as JSON."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from aim_engine.downloader.failures import Failure

BLOCK = 4 * 1024 * 1024


@dataclass(frozen=True)
class Digest:
    """A checksum of a whole file."""

    algorithm: str
    """`sha256`, `md5`, `git-sha1`, or `md5-parts`: the MD5 of the MD5s of parts, which S3 keeps of parted uploads."""
    value: str
    part_bytes: int = 0
    """Size of a part, for `md5-parts`."""


@dataclass(frozen=True)
class RemoteFile:
    """One file of a source."""

    path: str
    """Relative, with `/` between its parts, and below the target whatever the source says."""
    size: int
    etag: str
    """Changes whenever the content does."""
    digest: Digest | None = None
    xet_hash: str | None = None


@dataclass(frozen=True)
class Manifest:
    """Everything a source holds at one moment."""

    revision: str
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> "Manifest":
        content: dict[str, Any] = json.loads(text)
        return Manifest(content["revision"], tuple(_remote_file(**file) for file in content["files"]))


def _remote_file(digest: dict[str, Any] | None, **others: Any) -> RemoteFile:
    return RemoteFile(digest=Digest(**digest) if digest else None, **others)


def refuse_impossible(paths: Iterable[str]) -> None:
    """Fail if a name of the source would leave the target directory, or is a file and a directory at once."""
    names = set(paths)
    for path in names:
        parts = PurePosixPath(path).parts
        if not parts or ".." in parts or path.startswith("/") or "\0" in path or "\\" in path:
            raise Failure(f"The source names a file {path!r}, which lies outside the target directory")
        if both := next((str(parent) for parent in PurePosixPath(path).parents if str(parent) in names), None):
            raise Failure(f"The source has {both!r} as a file and as a directory, which no volume can hold")


def digest_of(location: Path, like: Digest, tick: Callable[[int], None] = lambda _: None) -> str:
    """Compute the checksum of a file in the way `like` was made; `tick` hears of every block."""
    if like.algorithm == "md5-parts":
        return _md5_of_parts(location, like.part_bytes, tick)
    with location.open("rb", buffering=0) as stream:
        if like.algorithm == "git-sha1":
            size = location.stat().st_size
            running = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
        else:
            running = hashlib.new(like.algorithm, usedforsecurity=False)
        block = bytearray(BLOCK)
        view = memoryview(block)
        while count := stream.readinto(block):
            running.update(view[:count])
            tick(count)
    return running.hexdigest()


def _md5_of_parts(location: Path, part_bytes: int, tick: Callable[[int], None]) -> str:
    parts: list[bytes] = []
    with location.open("rb", buffering=0) as stream:
        running, left = hashlib.md5(usedforsecurity=False), part_bytes
        while content := stream.read(min(BLOCK, left)):
            running.update(content)
            tick(len(content))
            left -= len(content)
            if left == 0:
                parts.append(running.digest())
                running, left = hashlib.md5(usedforsecurity=False), part_bytes
        if left != part_bytes:
            parts.append(running.digest())
    return f"{hashlib.md5(b''.join(parts), usedforsecurity=False).hexdigest()}-{len(parts)}"


def largest_first(files: Iterable[RemoteFile]) -> Sequence[RemoteFile]:
    """Order files so that no large one is left to the end, when nothing else runs beside it."""
    return sorted(files, key=lambda file: (-file.size, file.path))
