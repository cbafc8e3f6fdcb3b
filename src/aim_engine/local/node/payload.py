"""Writing the files of a volume so that a reader sees all the old ones or all the new ones.

token     -> ..data/token
..data    -> ..2026_01_02_a1b2c3     replaced by one rename
..2026_01_02_a1b2c3/token            the file itself
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from aim_engine.local.node.files import File, Files

_CURRENT = "..data"


class Owner(msgspec.Struct, frozen=True):
    """Whose the files are; `None` leaves the agent's own."""

    user: int | None = None
    group: int | None = None


def write(directory: Path, files: Files, owner: Owner) -> bool:
    """Make the directory hold exactly these files; say whether anything changed."""
    directory.mkdir(parents=True, exist_ok=True)
    current = directory / _CURRENT
    wanted = {path: File(file.content, _mode(file, owner)) for path, file in files.items()}
    if current.exists() and dict(_present(current)) == wanted:
        return False
    fresh = Path(tempfile.mkdtemp(prefix="..", dir=directory))
    fresh.chmod(0o755)
    for path, file in wanted.items():
        _write_file(fresh / path, file, owner)
    old = current.resolve() if current.is_symlink() else None
    _point(current, fresh.name)
    _name_entries(directory, fresh)
    if old is not None:
        shutil.rmtree(old)
    return True


def _present(root: Path) -> Iterator[tuple[str, File]]:
    for path in root.resolve().rglob("*"):
        if path.is_file():
            mode = path.stat().st_mode & 0o777
            yield str(path.relative_to(root.resolve())), File(path.read_bytes(), mode)


def _write_file(path: Path, file: File, owner: Owner) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(file.content)
    if os.geteuid() == 0 and owner != Owner():
        os.chown(path, -1 if owner.user is None else owner.user, -1 if owner.group is None else owner.group)
    path.chmod(file.mode)


def _mode(file: File, owner: Owner) -> int:
    """The permissions asked for; a group that owns the volume may read what the user may."""
    return file.mode if owner.group is None else file.mode | (file.mode & 0o400) >> 3


def _name_entries(directory: Path, fresh: Path) -> None:
    wanted = {entry.name for entry in fresh.iterdir()}
    for entry in directory.iterdir():
        if entry.is_symlink() and entry.name != _CURRENT and entry.name not in wanted:
            entry.unlink()
    for name in wanted:
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"{_CURRENT}/{name}")


def _point(link: Path, target: str) -> None:
    temporary = link.with_name("..data_tmp")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)
