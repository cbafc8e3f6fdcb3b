"""Downloads that fetch nothing, for tests of everything around them."""

import time
from pathlib import Path

from aim_engine.downloader.failures import Failure
from aim_engine.downloader.gauge import Gauge
from aim_engine.downloader.settings import Debug, Settings
from aim_engine.downloader.volume import SIMULATED, disk_full

DEFAULT_BYTES = 1024 * 1024
HUB_BYTES = 100 * 1024
BLOCK = 1024 * 1024


def download(target: Path, settings: Settings, gauge: Gauge) -> None:
    """Write half of the expected size, wait, and write the rest."""
    size = settings.expected_bytes or DEFAULT_BYTES
    location = target / SIMULATED
    location.unlink(missing_ok=True)
    gauge.start(0, size)
    _grow(location, size // 2, gauge)
    _work(settings.debug.download_seconds, gauge)
    _grow(location, size, gauge)


def hub_attempt(target: Path, debug: Debug, gauge: Gauge, protocol: str) -> None:
    """Take some time, then fail or write a little."""
    _work(debug.hub_seconds, gauge)
    if protocol in debug.failing_protocols:
        raise Failure(f"[SIMULATE] {protocol} fails as AIM_DEBUG_SIMULATE_HF_FAIL_PROTOCOLS asks")
    gauge.start(0, HUB_BYTES)
    (target / SIMULATED).unlink(missing_ok=True)
    _grow(target / SIMULATED, HUB_BYTES, gauge)


def _work(seconds: float, gauge: Gauge) -> None:
    """Take some time without looking stalled."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        gauge.tick()
        time.sleep(min(left, 0.5))


def _grow(location: Path, size: int, gauge: Gauge) -> None:
    """Append zero bytes up to a size."""
    try:
        with location.open("ab") as stream:
            while (left := size - stream.tell()) > 0:
                gauge.add(stream.write(bytes(min(left, BLOCK))))
    except OSError as error:
        raise disk_full(error, location.parent) or error from error
