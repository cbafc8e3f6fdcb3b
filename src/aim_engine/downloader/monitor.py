"""Watches a download process: tells how far it is and ends it when no byte arrives any more."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from aim_engine.downloader import speech
from aim_engine.downloader.failures import Stalled
from aim_engine.downloader.gauge import Gauge, measured
from aim_engine.downloader.reports import Report
from aim_engine.downloader.settings import Settings

TICKS_PER_TIMEOUT = 4


@dataclass
class Monitor:
    """Follows one process; every attempt has a monitor of its own, so that none inherits another's maximum."""

    gauge: Gauge
    settings: Settings
    report: Report
    beat: Callable[[], None]
    """Called whenever progress is told, to show other machines that we are at work."""
    _most: int = -1
    _activity: int = -1
    _grown_at: float = field(default_factory=time.monotonic)
    _told_at: float = float("-inf")

    @property
    def expected(self) -> int | None:
        """The expected size: what the environment says, else what the source says."""
        return self.settings.expected_bytes or self.gauge.total or None

    @property
    def size(self) -> int:
        """The source's bytes on the volume; as long as none were counted, all bytes of a directory of its own."""
        counted = self.gauge.total or not self.settings.dedicated
        return self.gauge.on_volume if counted else measured(self.settings.target)

    def start(self) -> None:
        """Say that the watch begins and how far the download is already."""
        self.report.started(self.expected, self.settings)
        self._tell()

    def follow(self, process: "subprocess.Popen[bytes]") -> int:
        """Wait for the end of a process and return its exit code; raise Stalled after killing it."""
        pause = min(self.settings.interval_seconds, self.settings.stall_seconds / TICKS_PER_TIMEOUT)
        try:
            self.start()
            while True:
                try:
                    return process.wait(timeout=pause)
                except subprocess.TimeoutExpired:
                    self._look(process)
        finally:
            kill(process)
            if process.stdin:
                process.stdin.close()
            self.report.ended(self.size)

    def _look(self, process: "subprocess.Popen[bytes]") -> None:
        now, size, activity = time.monotonic(), self.gauge.on_volume, self.gauge.activity
        if size > self._most or activity != self._activity:
            self._most, self._activity, self._grown_at = max(size, self._most), activity, now
        if now - self._told_at >= self.settings.interval_seconds:
            self._tell()
        idle = now - self._grown_at
        if idle >= self.settings.stall_seconds:
            speech.warn(f"Download stalled for {idle:.0f}s, killing")
            kill(process)
            raise Stalled(f"Download stalled: no byte arrived for {idle:.0f} s")

    def _tell(self) -> None:
        self._told_at = time.monotonic()
        self.beat()
        self.report.progress(self.size, self.expected)


def kill(process: "subprocess.Popen[bytes]") -> None:
    """End a process and everything it started; a process that has ended is left alone."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
