"""The course of a download: lock, attempts under watch, verification, a clean volume.

    entrypoint      lock ── AIM_DEBUG_* ──┬── hf://  attempt per protocol ── verify ──┬── clean volume
                                          └── s3://  one attempt, checks each object ─┘

Each attempt is a process (attempt.py) with a monitor beside it (monitor.py). This process only watches, so it stays
small, and it is the one that a SIGTERM ends.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from aim_engine.downloader import attempt, hub, memory, uris
from aim_engine.downloader.failures import BY_CODE, Failure, Interrupted, OutOfMemory, Stalled
from aim_engine.downloader.files import Manifest
from aim_engine.downloader.gauge import Gauge, measured
from aim_engine.downloader.lock import DirectoryLock
from aim_engine.downloader.monitor import Monitor
from aim_engine.downloader.reports import Report
from aim_engine.downloader.settings import Settings
from aim_engine.downloader.verify import verify

RULE = "=" * 60
VERIFYING = "Verifying download (this may take a while for large models)..."


@dataclass
class Download:
    """One URI into one directory."""

    uri: str
    settings: Settings
    report: Report

    def __post_init__(self) -> None:
        self._lock = DirectoryLock(self.settings.target)
        self._fetched_bytes = 0
        self._manifest: Manifest | None = None

    def run(self) -> None:
        """Do everything, in the order of the container's entrypoint; raise what went wrong."""
        debug = self.settings.debug
        if debug.fail and not debug.hang:
            Monitor(Gauge(), self.settings, self.report, self._lock.beat).start()
            self.report.say("AIM_DEBUG_CAUSE_FAILURE is set: failing at once")
            raise Failure("Failed because AIM_DEBUG_CAUSE_FAILURE asks for it")
        if not debug.simulate and not debug.hang:
            uris.require_source(self.uri)
        self.locked(self._work)

    def _work(self) -> None:
        debug = self.settings.debug
        if debug.hang:
            self.report.say("AIM_DEBUG_CAUSE_HANG is set: hanging until stall detection ends it")
            self._watched(attempt.HANG, {})
        elif debug.simulate:
            self._simulated()
        elif self.uri.startswith("hf://"):
            self.fetch_hub()
            self._report_fetched()
            self.verify_hub()
            if not debug.simulate_hub:
                self._clean()
        else:
            self._watched(self.uri, {})
            self._report_fetched()
            self._clean()
            self.report.say("Sync complete")

    def locked(self, work: Callable[[], None]) -> None:
        """Do something while nobody else works in the target directory."""
        try:
            self.settings.target.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(self._tell_waiting)
        except OSError as error:
            raise Failure(f"Cannot write to {self.settings.target}: {error.strerror}; check the volume") from error
        try:
            work()
        finally:
            self._lock.release()

    def _tell_waiting(self, holder: str) -> None:
        self.report.say(f"{holder} is downloading into {self.settings.target}; waiting for it to end")

    def _watched(self, what: str, environment: dict[str, str]) -> None:
        """Run one attempt under a monitor; raise what its end means."""
        gauge, kills = Gauge(), memory.kills()
        with tempfile.NamedTemporaryFile(prefix="manifest-", suffix=".json") as manifest:
            files = (self.settings.target, Path(manifest.name))
            process = attempt.start(what, *files, gauge, environment, self.report.errors)
            code = Monitor(gauge, self.settings, self.report, self._lock.beat).follow(process)
            text = Path(manifest.name).read_text()
        self._fetched_bytes = gauge.total
        if code == -signal.SIGKILL:
            known = memory.kills() > kills
            cause = "the container's memory limit is too low" if known else "most likely for its memory"
            raise OutOfMemory(f"Out of memory: the download process was killed: {cause}")
        if code:
            raise (
                BY_CODE.get(code, Failure)("") if code > 0 else Failure(f"The download process ended by signal {-code}")
            )
        self._manifest = Manifest.from_json(text) if text else None

    def _report_fetched(self) -> None:
        self.report.fetched(self.settings.expected_bytes or self._fetched_bytes)

    # hf://

    def fetch_hub(self) -> None:
        """Walk the protocol sequence until one attempt succeeds; raise the last failure if none does."""
        sequence = self.settings.protocols
        if not sequence:
            self._watched(self.uri, {})
            return
        protocols = sequence.split(",")
        previous, failure = "", Failure("")
        for number, protocol in enumerate(protocols, 1):
            try:
                self._attempt(protocol, previous, number, len(protocols))
                return
            except Interrupted:
                raise
            except Failure as error:
                failure = error
            previous = protocol
        self.report.say(f"ALL {len(protocols)} DOWNLOAD ATTEMPTS EXHAUSTED")
        self.report.say(f"Sequence: {sequence}")
        self._tell(previous, len(protocols), f"All {len(protocols)} attempts exhausted")
        if protocols[0] != previous:
            self._drop_unfinished()
        raise failure

    def _attempt(self, protocol: str, previous: str, number: int, of: int) -> None:
        if protocol not in hub.SWITCHES:
            self.report.say(f"WARNING: Unknown protocol '{protocol}'")
            raise Failure("")
        self.report.say(RULE)
        self.report.say(f"DOWNLOAD ATTEMPT {number}/{of}")
        self.report.say(f"Protocol: {protocol}")
        self.report.say(f"Model: {uris.repository_of(self.uri)}")
        self.report.say(RULE)
        if previous and previous != protocol:
            self.report.say(f"Protocol switch: {previous} -> {protocol}")
            self._drop_unfinished()
        self._tell(protocol, number, f"Downloading with {protocol}")
        try:
            self._watched(self.uri, hub.environment_of(protocol))
        except Interrupted:
            raise
        except Failure as failure:
            if str(failure) and not isinstance(failure, Stalled):
                self.report.say(str(failure))
            self.report.say(f"FAILED: {protocol} (attempt {number}/{of})")
            self._tell(protocol, number, f"Failed with {protocol}")
            raise
        self.report.say(f"SUCCESS: {protocol} (attempt {number}/{of})")
        self._tell(protocol, number, "Verifying integrity...")

    def _tell(self, protocol: str, number: int, message: str) -> None:
        sequence = self.settings.protocols
        self.report.attempt(protocol, number, len(sequence.split(",")), sequence, message)

    def _drop_unfinished(self) -> None:
        dropped = attempt.volume_for(self.uri, self.settings.target).drop_unfinished()
        if dropped:
            self.report.say(f"Cleaned {dropped} incomplete file(s)")

    def verify_hub(self) -> None:
        """Compare every file with the hub's checksums: those of the attempt's moment, or without an attempt today's."""
        self.report.say(VERIFYING)
        if self.settings.debug.simulate_hub:
            if self.settings.debug.verify_fails:
                raise Failure("[SIMULATE] Verification FAILED")
            self.report.say("[SIMULATE] Verification PASSED")
            return
        held = self._manifest or hub.Repository(uris.repository_of(self.uri)).manifest()
        verify(attempt.volume_for(self.uri, self.settings.target, held.revision), held, self._verified)
        self.report.say("Download complete and verified")
        self.report.say(f"Size of HF_HOME: {readable(measured(Path(os.environ.get('HF_HOME', '/tmp/.hf'))))}")

    def _verified(self, count: int, total: int) -> None:
        self._lock.beat()
        self.report.verified(count, total)

    def _clean(self) -> None:
        assert self._manifest is not None, "an attempt that succeeds leaves its manifest"
        volume = attempt.volume_for(self.uri, self.settings.target, self._manifest.revision)
        if self.settings.dedicated:
            volume.drop_strangers(self._manifest)
        volume.finish()

    # AIM_DEBUG_SIMULATE_DOWNLOAD

    def _simulated(self) -> None:
        self.report.say("AIM_DEBUG_SIMULATE_DOWNLOAD is set: nothing is fetched")
        self._watched(attempt.SIMULATE, {})
        self._report_fetched()
        time.sleep(self.settings.debug.verify_seconds)
        if self.settings.debug.verify_fails:
            raise Failure("[SIMULATE] Verification FAILED")


def catch_signals() -> None:
    """Turn SIGTERM and Ctrl-C into a failure that unwinds: the attempt is ended and the lock is given back."""

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        name = signal.Signals(number).name
        raise Interrupted(
            f"Interrupted by {name}; what was fetched stays on the volume and the next run goes on with it"
        )

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, interrupt)


def readable(size: int) -> str:
    """Return a size as people write it."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
