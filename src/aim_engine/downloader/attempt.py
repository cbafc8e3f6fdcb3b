"""One attempt, in a process of its own, so that it can be killed when it hangs and so that its memory is its own.

The process is told by its arguments what to fetch and where to leave the list of files; it counts into the gauge behind
a descriptor that it inherits. It ends when the process that started it is gone.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from aim_engine.downloader import ending, hub, memory, settings, simulation, speech, uris
from aim_engine.downloader.bucket import Bucket, BucketSource, Place
from aim_engine.downloader.failures import Failure
from aim_engine.downloader.fetch import Fetch, Source
from aim_engine.downloader.gauge import Gauge
from aim_engine.downloader.settings import Settings
from aim_engine.downloader.volume import BucketKeeper, HubKeeper, Keeper, Volume

HANG = "hang"
SIMULATE = "simulate"


def start(
    what: str, target: Path, manifest: Path, gauge: Gauge, environment: Mapping[str, str], errors: int | None
) -> "subprocess.Popen[bytes]":
    """Start an attempt; `what` is the URI, or one of the words for tests; `errors` is where it prints."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__, what, str(target), str(gauge.descriptor), str(manifest)],
        stdin=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, **environment},
        pass_fds=(gauge.descriptor,),
        start_new_session=True,
    )


def volume_for(uri: str, target: Path, revision: str = "") -> Volume:
    """Return the volume as the URI's scheme keeps it."""
    keeper: Keeper = HubKeeper(target, revision) if uri.startswith("hf://") else BucketKeeper(target)
    return Volume(target, keeper)


def fetch_hub(uri: str, target: Path, gauge: Gauge, wish: Settings, manifest: Path) -> None:
    """Fetch a repository from the hub with the protocol that the environment selects."""
    protocol = hub.protocol_here()
    if wish.debug.simulate_hub:
        simulation.hub_attempt(target, wish.debug, gauge, protocol)
        return
    repository = hub.Repository(uris.repository_of(uri), gauge.tick)
    held = repository.manifest()
    source: Source = (
        hub.XetSource(repository, held) if protocol == hub.XET else hub.HttpSource(repository, held, protocol)
    )
    Fetch(source, volume_for(uri, target, held.revision), gauge, wish.stall_seconds).run(held)
    manifest.write_text(held.to_json())


def fetch_bucket(uri: str, target: Path, gauge: Gauge, wish: Settings, manifest: Path) -> None:
    """Fetch everything below a prefix of a bucket."""
    bucket = Bucket(Place.of(uri), os.environ, gauge.tick)
    held = bucket.manifest()
    volume = volume_for(uri, target)
    fetch = Fetch(BucketSource(bucket), volume, gauge, wish.stall_seconds)
    fetch.check = lambda file: bucket.check(volume, file, gauge.tick)
    fetch.run(held)
    manifest.write_text(held.to_json())


def run(what: str, target: Path, gauge: Gauge, manifest: Path) -> None:
    """Do what an attempt is asked for; raise what went wrong."""
    wish = settings.read(os.environ)
    if what == HANG:
        while True:
            time.sleep(3600)
    elif what == SIMULATE:
        simulation.download(target, wish, gauge)
    elif what.startswith("hf://"):
        fetch_hub(what, target, gauge, wish, manifest)
    else:
        fetch_bucket(what, target, gauge, wish, manifest)


def end_with_parent() -> None:
    """End this process when the one that started it closes our standard input, which also its death does."""
    while os.read(sys.stdin.fileno(), 1024):  # sys.stdin itself keeps a lock while it reads, and Python could not end
        pass
    os._exit(Failure.code)


def main(arguments: Sequence[str]) -> NoReturn:
    """Run one attempt from the command line that `start` made."""
    what, target, descriptor, manifest = arguments
    speech.learn(os.environ)
    for name, value in memory.xet_environment().items():
        os.environ.setdefault(name, value)
    threading.Thread(target=end_with_parent, daemon=True).start()
    code = ending.of(lambda: run(what, Path(target), Gauge(int(descriptor)), Path(manifest)))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # libraries keep threads of their own, which must not hold up the end


if __name__ == "__main__":
    main(sys.argv[1:])
