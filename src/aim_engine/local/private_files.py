"""Files of the local cluster that are nobody else's business."""

from pathlib import Path


def write_private(file: Path, content: bytes) -> None:
    """Write a file that only its owner can read, at no moment anybody else, and never half of it."""
    part = file.with_name(f".{file.name}.part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    part.write_bytes(content)
    part.rename(file)
