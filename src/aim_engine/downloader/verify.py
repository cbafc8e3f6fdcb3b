"""Compares what lies on the volume with the source's checksums."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from aim_engine.downloader import files
from aim_engine.downloader.failures import ChecksumMismatch, Interrupted
from aim_engine.downloader.files import Manifest, RemoteFile
from aim_engine.downloader.speech import warn
from aim_engine.downloader.volume import Volume

MOST_WORKERS = 8


def verify(volume: Volume, manifest: Manifest, verified: Callable[[int, int], None] | None = None) -> None:
    """Hash every file; drop those that are wrong, so that the next attempt fetches them, and fail if there were any."""
    total, lock, stop, done = manifest.size, threading.Lock(), threading.Event(), 0

    def tick(count: int) -> None:
        nonlocal done
        if stop.is_set():
            raise Interrupted("")
        with lock:
            done += count
            if verified:
                verified(done, total)

    def examine(file: RemoteFile) -> tuple[RemoteFile, str | None]:
        return file, problem(volume, file, tick)

    with ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_WORKERS)) as pool:
        try:
            wrong = [(file, text) for file, text in pool.map(examine, files.largest_first(manifest.files)) if text]
        except BaseException:  # whatever ends the wait must also end the threads
            stop.set()
            raise
    for file, text in wrong:
        warn(f"{text}; it was removed and is fetched again next time")
        volume.discard(file)
    if wrong:
        raise ChecksumMismatch(f"Verification failed: {len(wrong)} of {len(manifest.files)} files are damaged")


def problem(volume: Volume, file: RemoteFile, tick: Callable[[int], None]) -> str | None:
    """Return what is wrong with a file on the volume."""
    location = volume.location(file)
    try:
        size = location.stat().st_size
    except FileNotFoundError:
        return f"Checksum mismatch: {file.path} is missing"
    if size != file.size:
        return f"Checksum mismatch: {file.path} has {size} bytes instead of {file.size}"
    if file.digest is None:
        return None
    found = files.digest_of(location, file.digest, tick)
    if found == file.digest.value:
        return None
    return f"Checksum mismatch: {file.path} has {file.digest.algorithm} {found} instead of {file.digest.value}"
