"""Who hears how a download goes: the log and the object's status in a pod, or whatever a caller puts in their place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aim_engine.downloader import speech
from aim_engine.downloader.settings import Settings
from aim_engine.downloader.status import StatusWriter, writer

MOST_WHILE_RUNNING = 99
"""One hundred per cent tells the operator that everything is fetched and is now verified."""


class Report(Protocol):
    """What a download tells while it runs."""

    @property
    def errors(self) -> int | None:
        """The descriptor that attempts print their troubles to; None is our own standard error."""
        ...

    def say(self, text: str) -> None:
        """Hear a line about the course of the download."""
        ...

    def started(self, expected: int | None, settings: Settings) -> None: ...

    def progress(self, size: int, expected: int | None) -> None:
        """Hear how many bytes lie on the volume."""
        ...

    def ended(self, size: int) -> None:
        """Hear that nothing is fetched any more, for now."""
        ...

    def fetched(self, expected: int) -> None:
        """Hear that everything is fetched and verification begins."""
        ...

    def verified(self, count: int, total: int) -> None:
        """Hear how many bytes are verified."""
        ...

    def attempt(self, protocol: str, number: int, of: int, sequence: str, message: str) -> None:
        """Hear which protocol is tried and how that goes."""
        ...


@dataclass
class PodReport:
    """Lines in the log and patches of the status."""

    status: StatusWriter | None
    errors: int | None = None
    _last_trouble: str | None = None

    @staticmethod
    def of(settings: Settings) -> "PodReport":
        return PodReport(writer(settings))

    def say(self, text: str) -> None:
        speech.say(text)

    def started(self, expected: int | None, settings: Settings) -> None:
        speech.warn(
            f"Progress monitor started: expected={expected or 0} bytes, interval={settings.interval_seconds:g}s,"
            f" stall_timeout={settings.stall_seconds:g}s"
        )
        if settings.subject is None:
            speech.warn("WARN: ARTIFACT_NAME not set")

    def progress(self, size: int, expected: int | None) -> None:
        percentage = percent(size, expected)
        speech.warn(f"Progress: {percentage}% ({size}/{expected or 0} bytes)")
        self._patch_progress(percentage, size, expected or 0)

    def ended(self, size: int) -> None:
        speech.warn(f"Progress monitor terminated: final_size={size} bytes")

    def fetched(self, expected: int) -> None:
        self._patch_progress(100, expected, expected)

    def verified(self, count: int, total: int) -> None: ...

    def attempt(self, protocol: str, number: int, of: int, sequence: str, message: str) -> None:
        self._patch(
            {
                "download": {
                    "protocol": protocol,
                    "attempt": number,
                    "totalAttempts": of,
                    "protocolSequence": sequence,
                    "message": message,
                }
            }
        )

    def _patch_progress(self, percentage: int, size: int, expected: int) -> None:
        trouble = self._patch(
            {
                "progress": {
                    "percentage": percentage,
                    "displayPercentage": f"{percentage} %",
                    "downloadedBytes": size,
                    "totalBytes": expected,
                }
            }
        )
        if trouble and trouble != self._last_trouble:
            speech.warn(f"WARN: Failed to update progress: {trouble}")
        self._last_trouble = trouble

    def _patch(self, status: Mapping[str, Any]) -> str | None:
        return self.status.patch(status) if self.status else None


def percent(size: int, expected: int | None) -> int:
    """Return how much is there, never the whole before it is certain."""
    return min(size * 100 // expected, MOST_WHILE_RUNNING) if size > 0 and expected else 0
