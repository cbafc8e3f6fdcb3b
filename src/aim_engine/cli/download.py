"""`aim download`: the program of a download Job, by hand, with a progress bar on a terminal."""

import importlib.util
import os
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from aim_engine.local.errors import LocalError

PACKAGES = ("huggingface_hub", "hf_xet", "botocore")
SEQUENCE = "XET,HF_TRANSFER,HTTP"
TERMINAL_INTERVAL_SECONDS = 0.2


class TerminalReport:
    """A bar that shows how much is fetched, then how much is verified; lines appear above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.progress import TransferSpeedColumn as Speed

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(True), Speed(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=Console(stderr=True))
        self.task = self.bar.add_task("asking", total=None)
        reading, self.errors = os.pipe()
        threading.Thread(target=self._hear, args=(reading,), daemon=True).start()

    def _hear(self, descriptor: int) -> None:
        with os.fdopen(descriptor, errors="replace") as lines:
            for line in lines:
                self.say(line.rstrip())

    def say(self, text: str) -> None:
        from aim_engine.downloader.speech import masked

        self.bar.console.print(masked(text), highlight=False, markup=False)

    def started(self, expected: int | None, settings: object) -> None:  # noqa: ARG002
        self.bar.update(self.task, description="downloading", total=expected)

    def progress(self, size: int, expected: int | None) -> None:
        self.bar.update(self.task, completed=size, total=expected)

    def ended(self, size: int) -> None:
        self.bar.update(self.task, completed=size)

    def fetched(self, expected: int) -> None:
        self.bar.reset(self.task, description="verifying", total=expected)

    def verified(self, count: int, total: int) -> None:
        self.bar.update(self.task, completed=count, total=total)

    def attempt(self, protocol: str, number: int, of: int, sequence: str, message: str) -> None: ...


@click.command(help="Download weights into a directory: aim download hf://org/name DIR, or s3://bucket/prefix.")
@click.argument("uri")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--protocols",
    default=None,
    help=f"Protocols to try in this order for hf://. [default: AIM_DOWNLOADER_PROTOCOL, else {SEQUENCE}]",
)
def command(uri: str, directory: Path, protocols: str | None) -> None:
    """Run one download and end with the exit code that tells what happened."""
    if absent := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        raise LocalError(
            f"aim download needs {', '.join(absent)}; install it with: pip install 'aim-engine[downloader]'."
        )
    sys.exit(run(uri, directory, protocols))


def run(uri: str, directory: Path, protocols: str | None) -> int:
    """Download and return the exit code; what was fetched before a failure is used by the next run."""
    from aim_engine.downloader import settings, speech
    from aim_engine.downloader.failures import Failure
    from aim_engine.downloader.reports import PodReport
    from aim_engine.downloader.run import Download, catch_signals

    speech.learn(os.environ)
    settings.prepare(os.environ)
    wish = settings.read(os.environ)
    sequence = protocols if protocols is not None else wish.protocols or SEQUENCE
    by_hand = {"subject": None, "expected_bytes": None, "dedicated": False}
    wish = replace(wish, target=directory.absolute(), protocols=sequence, **by_hand)
    catch_signals()
    try:
        if not sys.stderr.isatty():
            Download(uri, wish, PodReport(None)).run()
            return 0
        report = TerminalReport()
        with report.bar:
            Download(uri, replace(wish, interval_seconds=TERMINAL_INTERVAL_SECONDS), report).run()
    except Failure as failure:
        with suppress(BrokenPipeError):
            if str(failure):
                click.echo(f"aim: {speech.masked(str(failure))}", err=True)
        return failure.code
    return 0
