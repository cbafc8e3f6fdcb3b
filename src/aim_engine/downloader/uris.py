"""Whether a URI can name a source, and the repository of one of the hub."""

from aim_engine.downloader.bucket import Place
from aim_engine.downloader.failures import UsageError

HUB, STORE = "hf://", "s3://"


def require_source(uri: str) -> None:
    """Fail, before anything is asked or written, if a URI can't name a source."""
    if not uri.startswith((HUB, STORE)):
        raise UsageError(f"Error: Unknown protocol. URL must start with hf:// or s3:// - was {uri}")
    if uri.startswith(HUB) and not repository_of(uri):
        raise UsageError(f"Error: {uri} names no repository; write hf://<organisation>/<name>")
    if uri.startswith(STORE) and not Place.of(uri).bucket:
        raise UsageError(f"Error: {uri} names no bucket; write s3://<bucket>/<prefix>")


def repository_of(uri: str) -> str:
    """Return the repository that an hf:// URI names."""
    return uri.removeprefix(HUB).strip("/")
