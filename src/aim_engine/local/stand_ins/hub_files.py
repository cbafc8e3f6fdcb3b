"""The repositories of the hub stand-in: a directory `<organisation>/<name>/` on disk becomes a revision with hashes."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LARGE = re.compile(r".*\.(safetensors|bin|gguf|pt|pth|onnx|msgpack|h5|model|tar|zip)")
LARGE_FROM = 10 * 1024 * 1024
BLOCK = 1024 * 1024


@dataclass(frozen=True)
class HubFile:
    """One file of a revision, with everything the hub tells about it."""

    path: str
    location: Path
    size: int
    blob_id: str
    sha256: str | None
    """Set for files in large-file storage only; it is their ETag and what a client verifies."""

    @property
    def etag(self) -> str:
        return self.sha256 or self.blob_id

    @property
    def xet_hash(self) -> str | None:
        """The name in the content store. A client takes it as an opaque word; the real hub uses a Merkle hash."""
        return hashlib.sha256(f"xet:{self.sha256}".encode()).hexdigest() if self.sha256 else None


@dataclass(frozen=True)
class Revision:
    """One immutable state of a repository."""

    repository: str
    commit: str
    files: dict[str, HubFile]


@dataclass
class Repositories:
    """Every repository below a directory; hashes are computed once per file content."""

    root: Path
    revisions: dict[tuple[str, str], Revision] = field(default_factory=dict[tuple[str, str], Revision])
    by_xet_hash: dict[str, HubFile] = field(default_factory=dict[str, HubFile])
    hashed: dict[Path, tuple[tuple[int, int], HubFile]] = field(
        default_factory=dict[Path, tuple[tuple[int, int], HubFile]]
    )

    def head(self, repository: str) -> Revision | None:
        """Return the current revision of a repository, or None if there is no such directory."""
        folder = (self.root / repository).resolve()
        if not folder.is_relative_to(self.root.resolve()) or not folder.is_dir() or folder == self.root.resolve():
            return None
        files = {file.path: file for file in self._files(folder)}
        if not files and not any(folder.iterdir()):
            return None
        text = "".join(f"{file.path}\0{file.blob_id}\n" for file in files.values())
        commit = hashlib.sha1(f"{repository}\n{text}".encode(), usedforsecurity=False).hexdigest()
        revision = self.revisions.setdefault((repository, commit), Revision(repository, commit, files))
        self.by_xet_hash.update({file.xet_hash: file for file in files.values() if file.xet_hash})
        return revision

    def find(self, repository: str, name: str) -> Revision | None:
        """Return a revision by commit or by branch; `main` is the only branch."""
        return self.head(repository) if name == "main" else self.revisions.get((repository, name))

    def _files(self, folder: Path) -> Iterator[HubFile]:
        for location in sorted(path for path in folder.rglob("*") if path.is_file()):
            status = location.stat()
            stamp = (status.st_size, status.st_mtime_ns)
            known = self.hashed.get(location)
            if known is None or known[0] != stamp:
                known = (stamp, read(location, location.relative_to(folder).as_posix()))
                self.hashed[location] = known
            yield known[1]


def read(location: Path, path: str) -> HubFile:
    """Hash one file as git and large-file storage do."""
    size = location.stat().st_size
    blob = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    content = hashlib.sha256()
    with location.open("rb") as stream:
        while block := stream.read(BLOCK):
            blob.update(block)
            content.update(block)
    large = size >= LARGE_FROM or LARGE.fullmatch(path) is not None
    return HubFile(path, location, size, blob.hexdigest(), content.hexdigest() if large else None)
