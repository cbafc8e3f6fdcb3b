"""Tells how large a source is, as one JSON line; for artifacts whose size nobody wrote down."""

import json
import os

from aim_engine.downloader import uris
from aim_engine.downloader.bucket import Bucket, Place
from aim_engine.downloader.failures import Failure, Gated, NotFound
from aim_engine.downloader.hub import Repository
from aim_engine.downloader.speech import say, warn

NOT_FOUND, GATED, OTHER = 1, 2, 3


def print_size(uri: str) -> None:
    """Print `{"url": …, "sizeBytes": …}` as the last line; raise a failure whose text says why not."""
    uris.require_source(uri)
    try:
        size = of(uri)
    except Failure as failure:
        raise _explained(uri, failure) from failure
    if size <= 0:
        raise Failure(f"Error: Size is zero or negative ({size}) for {uri}")
    say(json.dumps({"url": uri, "sizeBytes": size}, separators=(",", ":")))


def of(uri: str) -> int:
    """Ask the source how many bytes it holds."""
    if uri.startswith("hf://"):
        return Repository(uris.repository_of(uri)).size()
    return Bucket(Place.of(uri), os.environ).size()


def _explained(uri: str, failure: Failure) -> Failure:
    """Print why the source gave no answer; the failure that ends the program follows."""
    if uri.startswith("hf://"):
        explain(uris.repository_of(uri), failure)
        return Failure(f"Error: Failed to get size for {uri}")
    warn(str(failure))
    return Failure(f"Error: s3cmd failed for {uri}")


def explain(repository: str, failure: Failure) -> None:
    """Print why the hub gave no answer, in the words that the operator looks for."""
    warn(str(failure) if isinstance(failure, NotFound | Gated) else f"Failed to fetch model info: {failure}")
    if isinstance(failure, Gated):
        warn(f"Model requires authentication: {repository}")
        warn("Set HF_TOKEN environment variable to a token that may read it")


def print_hub_size(repository: str) -> int:
    """Print the bytes of a repository and nothing else; the exit code tells not found, gated and others apart."""
    try:
        say(str(Repository(repository).size()))
    except Failure as failure:
        explain(repository, failure)
        return NOT_FOUND if isinstance(failure, NotFound) else GATED if isinstance(failure, Gated) else OTHER
    return 0
