"""What a download object says of itself; what download pods write stays as they wrote it until there is an end."""

import msgspec

from aim_engine.api import reasons
from aim_engine.api.artifact import CacheMode, DownloadProgress, DownloadState, DownloadStatus
from aim_engine.api.status import AIMStatus
from aim_engine.core import sizes
from aim_engine.core.downloads import Download, Size, Surroundings
from aim_engine.core.transitions import Level, Note, Verdict


def completion(download: Download, seen: Surroundings) -> Note | None:
    """The DownloadComplete condition; None while there is no download Job to speak of."""
    progress = download.status.progress
    arrived = progress is not None and (progress.percentage or 0) >= 100
    if seen.fetch.job is None:
        return None
    if seen.fetch.is_complete:
        return _told("True", "Verified", "Download and verification complete")
    if seen.fetch.has_failed and arrived:
        return _told("False", "VerificationFailed", "Download completed but verification failed", Level.WARNING)
    if seen.fetch.has_failed:
        return _told("False", "Downloading", "Download failed before completion", Level.WARNING)
    if arrived:
        return _told("True", "Verifying", "Download complete, verifying integrity...")
    return _told("False", "Downloading", "Download in progress")


def _told(status: Verdict, reason: str, message: str, level: Level = Level.INFO) -> Note:
    return Note(type=reasons.DOWNLOAD_COMPLETE, status=status, reason=reason, message=message, level=level)


def status(download: Download, seen: Surroundings, known: Size, headroom: int, word: AIMStatus) -> DownloadStatus:
    """The status to store."""
    before, claim = download.status, seen.claim
    allocated = before.allocated_size if sizes.in_bytes(before.allocated_size) else None
    requested = claim.spec.resources.requests.get("storage") if claim else None
    return msgspec.structs.replace(
        before,
        status=word,
        mode=CacheMode.DEDICATED if download.metadata.owner_references else CacheMode.SHARED,
        display_size=sizes.display(known.effective) if known.effective else before.display_size,
        persistent_volume_claim=claim.metadata.name if claim else before.persistent_volume_claim,
        discovered_size_bytes=before.discovered_size_bytes or known.discovered,
        allocated_size=allocated or requested,
        headroom_percent=before.headroom_percent if allocated or not requested else headroom,
        progress=_progress(before.progress, seen, known),
        download=_download(before.download, seen),
    )


def _progress(before: DownloadProgress | None, seen: Surroundings, known: Size) -> DownloadProgress | None:
    if seen.fetch.is_complete:
        total = known.effective
        return DownloadProgress(total_bytes=total, downloaded_bytes=total, percentage=100, display_percentage="100 %")
    if seen.fetch.has_failed:
        return msgspec.structs.replace(before or DownloadProgress(), display_percentage="N/A")
    return before


def _download(before: DownloadState | None, seen: Surroundings) -> DownloadState | None:
    return msgspec.structs.replace(before, message="Complete") if before and seen.fetch.is_complete else before
