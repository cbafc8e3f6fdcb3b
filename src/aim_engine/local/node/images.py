"""Pulling: which entry of the book an image is, and what a container runtime would say of it."""

import hashlib
import time
from collections.abc import Callable

import msgspec

from aim_engine.kube.events import Level
from aim_engine.local.container.book import Book, Image, PullProblem, pull_message
from aim_engine.local.errors import LocalError
from aim_engine.local.node.container_spec import Container
from aim_engine.local.node.stopping import Stop

Tell = Callable[[Level, str, str], None]
_CODES: dict[PullProblem, str] = {"unauthorized": "Unknown", "notFound": "NotFound", "notInBook": "NotFound"}


class PullFailed(LocalError):
    """The image could not be had; `reason` is what the container waits with."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Images:
    """The images one node has; an image is there once its pull has succeeded."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._present: set[str] = set()

    async def pull(self, container: Container, tell: Tell, stop: Stop) -> Image | None:
        """Return the image's entry, pulling it as the container's policy says; PullFailed if it can't be had.

        `None` if the end was asked for before the pull was done.
        """
        name = container.image
        entry = self._book.find(name)
        if container.image_pull_policy != "Always" and name in self._present and entry:
            tell("Normal", "Pulled", f'Container image "{name}" already present on machine')
            return entry
        if container.image_pull_policy == "Never":
            message = f'Container image "{name}" is not present with pull policy of Never'
            tell("Warning", "ErrImageNeverPull", message)
            raise PullFailed("ErrImageNeverPull", message)
        tell("Normal", "Pulling", f'Pulling image "{name}"')
        begun = time.monotonic()
        problem: PullProblem | None = entry.fault.pull if entry else "notInBook"
        if entry and await stop.within(entry.fault.pull_seconds):
            return None
        if entry is None or problem is not None:
            raise self._failed(name, problem or "notInBook", tell)
        self._present.add(name)
        took = f"{(time.monotonic() - begun) * 1000:.0f}ms"
        tell("Normal", "Pulled", f'Successfully pulled image "{name}" in {took} ({took} including waiting)')
        return entry

    @staticmethod
    def _failed(name: str, problem: PullProblem, tell: Tell) -> PullFailed:
        message = f"rpc error: code = {_CODES[problem]} desc = {pull_message(name, problem)}"
        tell("Warning", "Failed", f'Failed to pull image "{name}": {message}')
        return PullFailed("ErrImagePull", message)


def image_id(entry: Image) -> str:
    """Names an entry's content: the same programs have the same id."""
    return f"sha256:{hashlib.sha256(msgspec.json.encode(entry, enc_hook=str)).hexdigest()}"
