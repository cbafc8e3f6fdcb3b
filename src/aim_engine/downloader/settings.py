"""Every environment variable of the download container, read once."""

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from aim_engine.downloader import speech

DEFAULT_TARGET = "/cache"
DEFAULT_STALL_SECONDS = 120.0
DEFAULT_INTERVAL_SECONDS = 5.0
HUB_TIMEOUTS = ("HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT")
"""Read by huggingface_hub as it is loaded, which fails if one is no whole number."""
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


class Subject(NamedTuple):
    """The Kubernetes object whose status shows this download."""

    plural: str
    namespace: str
    name: str


SUBJECT_VARIABLES = (("ARTIFACT", "aimartifacts"), ("CACHE", "aimmodelcaches"))
"""The pair of variables that is set tells the kind; an AIMArtifact comes first if both are."""


@dataclass(frozen=True)
class Debug:
    """The switches for tests; any non-empty value turns one on."""

    simulate: bool
    simulate_hub: bool
    failing_protocols: tuple[str, ...]
    hub_seconds: float
    download_seconds: float
    verify_seconds: float
    verify_fails: bool
    hang: bool
    fail: bool


@dataclass(frozen=True)
class Settings:
    """What the container's environment asks for."""

    target: Path
    expected_bytes: int | None
    subject: Subject | None
    stall_seconds: float
    interval_seconds: float
    protocols: str
    """The raw value of AIM_DOWNLOADER_PROTOCOL; empty means one attempt with the environment as it is."""
    service_account: Path
    debug: Debug
    dedicated: bool = True
    """The directory is for this source alone: what an older revision of it left is removed."""


def read(environment: Mapping[str, str]) -> Settings:
    """Read the settings; a number that is none is reported and replaced by its default."""
    target = environment.get("TARGET_DIR") or environment.get("MOUNT_PATH") or DEFAULT_TARGET
    return Settings(
        target=Path(target),
        expected_bytes=_size(environment),
        subject=_subject(environment),
        stall_seconds=_seconds(environment, "STALL_TIMEOUT", DEFAULT_STALL_SECONDS),
        interval_seconds=_seconds(environment, "PROGRESS_INTERVAL", DEFAULT_INTERVAL_SECONDS),
        protocols=environment.get("AIM_DOWNLOADER_PROTOCOL", ""),
        service_account=Path(environment.get("SERVICE_ACCOUNT_DIR") or SERVICE_ACCOUNT),
        debug=_debug(environment),
    )


def prepare(environment: MutableMapping[str, str]) -> None:
    """Put the image's defaults into an environment, and do what it says about scratch directory and file mode mask."""
    defaults = {"TMPDIR": "/tmp/", "HF_HOME": "/tmp/.hf", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    for name, value in defaults.items():
        environment.setdefault(name, value)
    Path(environment["TMPDIR"]).mkdir(parents=True, exist_ok=True)
    for name in HUB_TIMEOUTS:
        _drop_if_unreadable(environment, name)
    if mask := environment.get("UMASK"):
        try:
            os.umask(int(mask, 8))
        except ValueError:
            speech.warn(f"WARN: UMASK={mask} is no octal number; the mask stays as it is")


def _drop_if_unreadable(environment: MutableMapping[str, str], name: str) -> None:
    """Take away a time-out with which huggingface_hub could not even be loaded, and tell unless it is empty."""
    value = environment.get(name, "")
    if value.strip().isdecimal():
        return
    environment.pop(name, None)
    if value.strip():
        speech.warn(
            f"WARN: {name}={value} is no whole number of seconds; write it without a unit, such as 30; until then the"
            " default is used"
        )


def _size(environment: Mapping[str, str]) -> int | None:
    value = environment.get("EXPECTED_SIZE_BYTES", "").strip()
    if value and not value.isdecimal():
        speech.warn(f"WARN: EXPECTED_SIZE_BYTES={value} is no number of bytes; the source's own size is used")
        return None
    return int(value) if value and int(value) > 0 else None


def _subject(environment: Mapping[str, str]) -> Subject | None:
    for prefix, plural in SUBJECT_VARIABLES:
        name, namespace = environment.get(f"{prefix}_NAME", ""), environment.get(f"{prefix}_NAMESPACE", "")
        if name and namespace:
            return Subject(plural, namespace, name)
    return None


def _seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    value = environment.get(name, "").strip()
    if not value:
        return default
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if seconds > 0:
        return seconds
    speech.warn(f"WARN: {name}={value} is no positive number of seconds; {default:g} is used")
    return default


def _duration(environment: Mapping[str, str], name: str, default: float) -> float:
    """A simulated duration; unlike the others it may be zero."""
    try:
        return max(float(environment.get(name) or default), 0.0)
    except ValueError:
        return default


def _debug(environment: Mapping[str, str]) -> Debug:
    failing = environment.get("AIM_DEBUG_SIMULATE_HF_FAIL_PROTOCOLS", "")
    return Debug(
        simulate=bool(environment.get("AIM_DEBUG_SIMULATE_DOWNLOAD")),
        simulate_hub=bool(environment.get("AIM_DEBUG_SIMULATE_HF_DOWNLOAD")),
        failing_protocols=tuple(word.strip() for word in failing.split(",") if word.strip()),
        hub_seconds=_duration(environment, "AIM_DEBUG_SIMULATE_HF_DURATION", 2.0),
        download_seconds=_duration(environment, "AIM_DEBUG_DOWNLOAD_DURATION", 10.0),
        verify_seconds=_duration(environment, "AIM_DEBUG_VERIFY_DURATION", 10.0),
        verify_fails=bool(environment.get("AIM_DEBUG_VERIFY_FAIL")),
        hang=bool(environment.get("AIM_DEBUG_CAUSE_HANG")),
        fail=bool(environment.get("AIM_DEBUG_CAUSE_FAILURE")),
    )
