"""hf://: what a repository holds, asked with huggingface_hub, and its bytes over Xet or HTTP.

The library answers every question about a repository and finds the token; it does not move the bytes, because it begins
a file anew whenever it is interrupted. Over Xet, hf_xet streams a file from any position. HF_TRANSFER names what the
package hf_transfer did until huggingface_hub dropped it: several ranges of one file at once.
"""

import importlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from aim_engine.downloader import files, memory, speech
from aim_engine.downloader.failures import Failure, Gated, NetworkFailure, NotFound, RateLimited, Unauthorized
from aim_engine.downloader.files import Digest, Manifest, RemoteFile
from aim_engine.downloader.transfer import BROKEN, Refused, Transfer

XET, HF_TRANSFER, HTTP = "XET", "HF_TRANSFER", "HTTP"
SWITCHES = {XET: ("0", "0"), HF_TRANSFER: ("1", "1"), HTTP: ("1", "0")}
"""Protocol -> values of HF_HUB_DISABLE_XET and HF_HUB_ENABLE_HF_TRANSFER."""
PROGRAM = "aim-artifact-downloader"
WHOLE = 1 << 62
PART_BYTES = 64 * 1024 * 1024
WORKERS = 16
LARGE_WORKERS = 8
LARGE = 8 * 1024 * 1024
READ_SECONDS = 30.0
QUESTION_TRIES = 4
T = TypeVar("T")


def environment_of(protocol: str) -> dict[str, str]:
    """Return the variables that select a protocol."""
    disable_xet, transfer = SWITCHES[protocol]
    return {"HF_HUB_DISABLE_XET": disable_xet, "HF_HUB_ENABLE_HF_TRANSFER": transfer}


def protocol_here() -> str:
    """Return the protocol that the environment selects, and take the switch away that huggingface_hub warns about."""
    transfer = _true(os.environ.pop("HF_HUB_ENABLE_HF_TRANSFER", ""))
    if not _true(os.environ.get("HF_HUB_DISABLE_XET", "")):
        return XET
    return HF_TRANSFER if transfer else HTTP


def _true(value: str) -> bool:
    return value.upper() in ("1", "ON", "YES", "TRUE")


@dataclass
class Repository:
    """A repository on the hub."""

    name: str
    tick: Callable[[], None] = lambda: None
    """Called while waiting for an answer, to say that this is no stall."""

    @cached_property
    def _library(self) -> Any:
        library = importlib.import_module("huggingface_hub")
        library.logging.set_verbosity_error()
        token: str | None = library.get_token()
        if token:
            speech.learn({"HF_TOKEN": token})
        return library

    @cached_property
    def _api(self) -> Any:
        return self._library.HfApi(library_name=PROGRAM)

    def manifest(self) -> Manifest:
        """Ask what the repository holds now."""
        api = self._api  # loads the library, which takes a moment that must be over before the first tick
        revision: str = self._ask(lambda: api.repo_info(self.name).sha)
        entries: list[Any] = self._ask(lambda: list(api.list_repo_tree(self.name, recursive=True, revision=revision)))
        found = tuple(_remote_file(entry) for entry in entries if hasattr(entry, "blob_id"))
        files.refuse_impossible(file.path for file in found)
        return Manifest(revision, found)

    def size(self) -> int:
        """Ask for the sum of all file sizes; a file without one counts nothing."""
        siblings: list[Any] = self._ask(lambda: self._api.model_info(self.name, files_metadata=True).siblings or [])
        return sum(sibling.size or 0 for sibling in siblings)

    def url(self, revision: str, path: str) -> str:
        address: str = self._library.hf_hub_url(self.name, path, revision=revision)
        return address

    def headers(self) -> dict[str, str]:
        """Return what every request to the hub carries: who asks, and the token."""
        utilities = importlib.import_module("huggingface_hub.utils")
        built: dict[str, str] = utilities.build_hf_headers(library_name=PROGRAM)
        return built

    def xet_route(self, revision: str) -> str:
        """Return where the hub hands out tokens for the content store."""
        return f"{self.endpoint}/api/models/{self.name}/xet-read-token/{revision}"

    def xet_grant(self, revision: str) -> dict[str, Any]:
        """Ask for the address of the content store and a token for it: `casUrl`, `accessToken` and `exp`."""
        utilities = importlib.import_module("huggingface_hub.utils")

        def question() -> dict[str, Any]:
            response = utilities.get_session().get(self.xet_route(revision), headers=self.headers())
            utilities.hf_raise_for_status(response)
            return response.json()

        grant = self._ask(question)
        speech.learn({"XET_TOKEN": grant["accessToken"]})
        return grant

    def _ask(self, question: Callable[[], T]) -> T:
        """Ask the hub, again if it can't be reached; a refusal is final."""
        for attempt in range(QUESTION_TRIES):
            self.tick()
            try:
                return question()
            except self._troubles as error:
                failure = self.meaning(error)
                wait = failure.seconds if isinstance(failure, RateLimited) else None
                passing = isinstance(failure, NetworkFailure) or (wait is not None and wait <= READ_SECONDS)
                if not passing or attempt == QUESTION_TRIES - 1:
                    raise failure from error
                time.sleep(wait if wait is not None else 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    @cached_property
    def _troubles(self) -> tuple[type[Exception], ...]:
        """What the library raises: its own errors, those of its HTTP client, from which they derive, the system's."""
        errors = importlib.import_module("huggingface_hub.errors")
        return (OSError, ValueError, *errors.HfHubHTTPError.__bases__)

    def meaning(self, error: Exception) -> Failure:
        """Say in one line what an error of the library means for this repository."""
        errors = importlib.import_module("huggingface_hub.errors")
        status: int | None = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(error, errors.GatedRepoError):
            return self.refused(status or 403, "GatedRepo")
        if isinstance(error, (errors.RepositoryNotFoundError, errors.RevisionNotFoundError)):
            return self.refused(status or 404, "RepoNotFound")
        if isinstance(error, errors.HFValidationError):
            return NotFound(f"Repository Not Found: {self.name} is no name of a repository")
        if status is not None:
            headers: Any = getattr(getattr(error, "response", None), "headers", {})
            wait = str(headers.get("Retry-After", ""))
            return self.refused(status, "", float(wait) if wait.isdecimal() else None)
        return NetworkFailure(f"Network failure: {self.endpoint} can't be reached: {speech.one_line(error)}")

    @property
    def endpoint(self) -> str:
        endpoint: str = importlib.import_module("huggingface_hub.constants").ENDPOINT
        return endpoint

    def refused(self, status: int, code: str, seconds: float | None = None) -> Failure:
        """Say in one line why the hub refused, from its status and error code."""
        if code == "GatedRepo":
            return Gated(
                f"Cannot access gated repo: {self.name}. Access to model {self.name} is restricted; ask its owner for"
                " access and set HF_TOKEN to a token that has it"
            )
        if code in ("RepoNotFound", "RevisionNotFound", "EntryNotFound") or status == 404:
            return NotFound(
                f"Repository Not Found: {self.name} ({status} from {self.endpoint}); check the name, and HF_TOKEN if it"
                " is private"
            )
        if status in (401, 403):
            return Unauthorized(
                f"Invalid token for huggingface: {status} from {self.endpoint} for {self.name}; check HF_TOKEN"
            )
        if status == 429:
            return RateLimited(f"Rate limited: 429 from {self.endpoint}; set HF_TOKEN or try later", seconds)
        return NetworkFailure(f"Network failure: HTTP {status} from {self.endpoint}")


class HttpSource:
    """The files of one revision over HTTP, whole or in parts."""

    tries = 6

    def __init__(self, repository: Repository, manifest: Manifest, protocol: str) -> None:
        self.repository = repository
        self.revision = manifest.revision
        self.part_bytes = PART_BYTES if protocol == HF_TRANSFER else WHOLE
        typical = sorted(file.size for file in manifest.files)[len(manifest.files) // 2] if manifest.files else 0
        self.workers = memory.at_most(WORKERS if typical < LARGE else LARGE_WORKERS)
        self._headers = repository.headers()
        self._transfer = Transfer(max(READ_SECONDS, float(os.environ.get("HF_HUB_DOWNLOAD_TIMEOUT", "0") or 0)))

    def blocks(self, file: RemoteFile, first: int, end: int) -> Iterator[memoryview]:
        url = self.repository.url(self.revision, file.path)
        try:
            yield from self._transfer.blocks(url, self._headers, first, end)
        except Refused as refused:
            code = refused.headers.get("X-Error-Code", "")
            raise self.repository.refused(refused.status, code, refused.retry_after) from refused
        except BROKEN as error:
            self._transfer.close()
            host = self.repository.endpoint
            raise NetworkFailure(f"Network failure: {host} broke off: {speech.one_line(error)}") from error


class XetSource:
    """The large files of one revision from the content store, the others over HTTP."""

    part_bytes = WHOLE
    tries = 2  # hf_xet tries again by itself

    def __init__(self, repository: Repository, manifest: Manifest) -> None:
        self.repository = repository
        self.revision = manifest.revision
        self._http = HttpSource(repository, manifest, HTTP)
        self.workers = self._http.workers
        self._xet: Any = importlib.import_module("hf_xet")
        self._budget = memory.xet_budget()
        self._group: Any = self._connect() if any(file.xet_hash for file in manifest.files) else None

    def _connect(self) -> Any:
        grant = self.repository.xet_grant(self.revision)
        headers = self.repository.headers()
        return self._xet.XetSession().new_download_stream_group(
            endpoint=grant["casUrl"],
            token=grant["accessToken"],
            token_expiry_unix_secs=grant["exp"],
            token_refresh_url=self.repository.xet_route(self.revision),
            token_refresh_headers=headers,
            custom_headers={name: value for name, value in headers.items() if name.lower() != "authorization"},
        )

    def blocks(self, file: RemoteFile, first: int, end: int) -> Iterator[memoryview]:
        if file.xet_hash is None:
            yield from self._http.blocks(file, first, end)
            return
        info = self._xet.XetFileInfo(file.xet_hash, file.size)
        try:
            with self._budget.take(min(2 * (end - first), memory.XET_STREAM)):
                for block in self._group.download_stream(info, start=first, end=end):
                    yield memoryview(block)
        except self._xet.XetAuthenticationError as error:
            raise self.repository.refused(401, "") from error
        except (OSError, RuntimeError, ValueError) as error:
            raise NetworkFailure(f"Network failure: the content store broke off: {speech.one_line(error)}") from error


def _remote_file(entry: Any) -> RemoteFile:
    large = entry.lfs
    if large is None:
        return RemoteFile(entry.path, entry.size, entry.blob_id, Digest("git-sha1", entry.blob_id))
    return RemoteFile(entry.path, large.size, large.sha256, Digest("sha256", large.sha256), entry.xet_hash)
