"""The programs of the downloader image. `python -m aim_engine.downloader <uri>` is what a download Job runs."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aim_engine.downloader import ending, size, speech
from aim_engine.downloader import settings as environment
from aim_engine.downloader.failures import Failure, Interrupted, UsageError
from aim_engine.downloader.gauge import measured
from aim_engine.downloader.reports import PodReport
from aim_engine.downloader.run import Download, catch_signals

USAGE = "Error: say what to download: hf://<organisation>/<name> or s3://<bucket>/<prefix>"


def entrypoint(words: Sequence[str]) -> None:
    """`/entrypoint.sh <uri>`: download, verify, leave a clean volume."""
    wish = environment.read(os.environ)
    Download(_one(words), wish, PodReport.of(wish)).run()


def check_size(words: Sequence[str]) -> None:
    """`/check-size.sh <uri>`: print how large a source is."""
    size.print_size(_one(words))


def hub_size(words: Sequence[str]) -> None:
    """`/check-size/check-hf-size.py`: print the bytes of the repository in MODEL_PATH."""
    del words
    sys.exit(size.print_hub_size(os.environ.get("MODEL_PATH", "")))


def hub_download(words: Sequence[str]) -> None:
    """`/hf-download.sh <uri> <target>`: only the protocol sequence."""
    uri, target = _two(words)
    wish = replace(environment.read(os.environ), target=target)
    download = Download(uri, wish, PodReport.of(wish))
    download.locked(download.fetch_hub)


def hub_verify(words: Sequence[str]) -> None:
    """`/hf-verify.sh <uri> <target>`: only the comparison with the hub's checksums."""
    uri, target = _two(words)
    wish = replace(environment.read(os.environ), target=target)
    Download(uri, wish, PodReport.of(wish)).verify_hub()


def monitor(words: Sequence[str]) -> None:
    """`/progress-monitor.sh <uri> <target>`: show how a directory grows, until SIGTERM or a stall."""
    uri, target = _two(words)
    wish = environment.read(os.environ)
    expected, report = wish.expected_bytes or _size_of(uri), PodReport.of(wish)
    report.started(expected, wish)
    most, grown_at, current = -1, time.monotonic(), 0
    try:
        while (idle := time.monotonic() - grown_at) < wish.stall_seconds:
            current = measured(target)
            if current > most:
                most, grown_at = current, time.monotonic()
            report.progress(current, expected)
            time.sleep(wish.interval_seconds)
        raise Failure(f"Download stalled for {idle:.0f}s, killing")
    except Interrupted:
        report.ended(current)


def initializer(words: Sequence[str]) -> None:
    """`/storage-initializer/scripts/initializer-entrypoint <uri> <dest>`: the words that KServe uses."""
    uri, target = _two(words)
    wish = replace(environment.read(os.environ), target=target)
    Download(uri, wish, PodReport.of(wish)).run()


PROGRAMS: Mapping[str, Callable[[Sequence[str]], None]] = {
    "entrypoint": entrypoint,
    "check-size": check_size,
    "hf-size": hub_size,
    "hf-download": hub_download,
    "hf-verify": hub_verify,
    "progress-monitor": monitor,
    "initializer": initializer,
}


def _one(words: Sequence[str]) -> str:
    if not words or not words[0]:
        raise UsageError(USAGE)
    return words[0]


def _two(words: Sequence[str]) -> tuple[str, Path]:
    if len(words) < 2:
        raise UsageError("Error: say what to download and into which directory")
    return words[0], Path(words[1])


def _size_of(uri: str) -> int | None:
    try:
        return size.of(uri)
    except Failure:
        return None


def run(words: Sequence[str]) -> None:
    """Run the program that the first word names, or a download of what it names instead."""
    environment.prepare(os.environ)
    program = PROGRAMS.get(words[0]) if words else None
    (program or entrypoint)(words[1:] if program else words)


def main(words: Sequence[str]) -> int:
    """Run a program of the image; a failure is one line on standard error and an exit code."""
    speech.learn(os.environ)
    catch_signals()
    return ending.of(lambda: run(words))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
