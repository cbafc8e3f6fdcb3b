"""s3://: what lies below a prefix of a bucket, and its bytes over HTTP.

botocore finds the credentials, lists and signs; the bytes take the same way as those of hf://, so that an object is
resumed, cut into parts and watched alike.
"""

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aim_engine.downloader import files, memory, speech
from aim_engine.downloader.failures import (
    ChecksumMismatch,
    Failure,
    NetworkFailure,
    NotFound,
    RateLimited,
    Unauthorized,
    UsageError,
)
from aim_engine.downloader.files import Digest, Manifest, RemoteFile
from aim_engine.downloader.transfer import BROKEN, Refused, Transfer, certificates
from aim_engine.downloader.volume import Volume

PART_BYTES = 64 * 1024 * 1024
WORKERS = 8
READ_SECONDS = 30.0
SIGNED_SECONDS = 3600
MD5 = re.compile(r"[0-9a-f]{32}")
MD5_OF_PARTS = re.compile(r"[0-9a-f]{32}-(\d+)")
MISSING = {"NoSuchBucket", "NoSuchKey"}
UNKNOWN_KEY = {"InvalidAccessKeyId", "XAdminUserNotFound"}
"""How stores name an access key that nobody has; one of them with status 404, as if the bucket were missing."""
DENIED = {"AccessDenied", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", *UNKNOWN_KEY}
SLOWER = {"SlowDown", "RequestLimitExceeded", "TooManyRequests"}


@dataclass(frozen=True)
class Place:
    """A bucket and a prefix in it."""

    bucket: str
    prefix: str

    @staticmethod
    def of(uri: str) -> "Place":
        bucket, _, prefix = uri.removeprefix("s3://").rstrip("/").partition("/")
        return Place(bucket, f"{prefix}/" if prefix else "")

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"


@dataclass(frozen=True)
class Bucket:
    """The objects below a place, and the client that asks for them."""

    place: Place
    environment: Mapping[str, str]
    tick: Callable[[], None] = lambda: None
    """Called with every answer and every object, which may cost a question of its own, to say that this is no stall."""

    @cached_property
    def client(self) -> Any:
        """Make a client from the environment; without any credentials it asks without a signature."""
        session = importlib.import_module("botocore.session").get_session()
        endpoint = endpoint_of(self.environment)
        try:
            return session.create_client(
                "s3",
                endpoint_url=endpoint,
                use_ssl=with_tls(self.environment),
                verify=certificates(),
                region_name=session.get_config_variable("region") or "us-east-1",
                config=_config(signed=bool(session.get_credentials()), path_style=bool(endpoint)),
            )
        except ValueError as error:
            if endpoint is None or isinstance(error, self._troubles):  # which say themselves what is wrong
                raise
            raise UsageError(
                f"Error: AWS_ENDPOINT_URL is {endpoint}, which is no address of a server; write https://<host>:<port>"
                " or http://<host>:<port>, the host in letters, digits, hyphens and dots"
            ) from error

    def manifest(self) -> Manifest:
        """List every object below the prefix; a key that ends in a slash is a directory and no file."""
        found: list[RemoteFile] = []
        for entry in self._entries():
            self.tick()
            path = entry["Key"].removeprefix(self.place.prefix)
            if path and not path.endswith("/"):
                etag = entry["ETag"].strip('"')
                found.append(RemoteFile(path, entry["Size"], etag, self._digest(entry["Key"], entry["Size"], etag)))
        if not found:
            raise NotFound(f"S3 error: 404 (NoSuchKey): there is no object below {self.place}")
        files.refuse_impossible(file.path for file in found)
        return Manifest("", tuple(found))

    def size(self) -> int:
        """Add up the sizes of all objects below the prefix."""
        return sum(entry["Size"] for entry in self._entries())

    def _entries(self) -> Iterator[Any]:
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.place.bucket, Prefix=self.place.prefix
        )
        try:
            for page in pages:
                self.tick()
                yield from page.get("Contents", ())
        except self._troubles as error:
            raise self.meaning(error) from error

    def _digest(self, key: str, size: int, etag: str) -> Digest | None:
        """Return what the ETag says about the content: an MD5, or for an upload in parts the MD5 of their MD5s."""
        if MD5.fullmatch(etag):
            return Digest("md5", etag)
        parts = MD5_OF_PARTS.fullmatch(etag)
        if parts is None:
            return None
        try:
            first = self.client.head_object(Bucket=self.place.bucket, Key=key, PartNumber=1)
        except self._troubles:
            return None
        part_bytes: int = first["ContentLength"]
        regular = part_bytes > 0 and -(-size // part_bytes) == int(parts[1])
        return Digest("md5-parts", etag, part_bytes) if regular else None

    def signed(self, path: str) -> str:
        """Return an address of an object that carries its own permission."""
        names = {"Bucket": self.place.bucket, "Key": self.place.prefix + path}
        address: str = self.client.generate_presigned_url("get_object", Params=names, ExpiresIn=SIGNED_SECONDS)
        return address

    def check(self, volume: Volume, file: RemoteFile, tick: Callable[[int], None]) -> None:
        """Compare a fetched object with its ETag, unless the store says that it is no checksum; drop a wrong one."""
        if file.digest is None:
            return
        found = files.digest_of(volume.location(file), file.digest, tick)
        if found == file.digest.value or self._encrypted_by_key(file):
            return
        volume.discard(file)
        raise ChecksumMismatch(
            f"Checksum mismatch: {file.path} has {found}, S3 says {file.digest.value}; it was removed"
        )

    def _encrypted_by_key(self, file: RemoteFile) -> bool:
        """Tell whether the store encrypts the object with a key of its own, in which case the ETag is no MD5."""
        try:
            told = self.client.head_object(Bucket=self.place.bucket, Key=self.place.prefix + file.path)
        except self._troubles:
            return False
        return "kms" in told.get("ServerSideEncryption", "") or "SSECustomerAlgorithm" in told

    @cached_property
    def _troubles(self) -> tuple[type[Exception], ...]:
        errors = importlib.import_module("botocore.exceptions")
        return (errors.ClientError, errors.BotoCoreError)

    def meaning(self, error: Exception) -> Failure:
        """Say in one line what an error of botocore means."""
        response: Any = getattr(error, "response", None)
        if not response:
            return NetworkFailure(f"Network failure: {self.place} can't be reached: {speech.one_line(error)}")
        status: int = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return self.refused(status, str(response.get("Error", {}).get("Code", status)))

    def refused(self, status: int, code: str, seconds: float | None = None) -> Failure:
        """Say in one line why the store refused, in the words that the operator looks for."""
        status, code = (403, "InvalidAccessKeyId") if code in UNKNOWN_KEY else (status, code)
        line = f"S3 error: {status} ({code}): {self.place}"
        if code in SLOWER or status in (429, 503):
            return RateLimited(line, seconds)
        if code in DENIED or status in (401, 403):
            return Unauthorized(f"{line}; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY and what they may read")
        if code in MISSING or status == 404:
            return NotFound(line)
        return NetworkFailure(line) if status >= 500 else Failure(line)


class BucketSource:
    """The objects below a place, in parts."""

    part_bytes = PART_BYTES
    tries = 6

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.workers = memory.at_most(WORKERS)
        self._transfer = Transfer(READ_SECONDS)

    def blocks(self, file: RemoteFile, first: int, end: int) -> Iterator[memoryview]:
        try:
            yield from self._transfer.blocks(self.bucket.signed(file.path), {}, first, end, file.etag)
        except Refused as refused:
            code = re.search(rb"<Code>(\w+)</Code>", refused.body)
            name = code[1].decode() if code else str(refused.status)
            raise self.bucket.refused(refused.status, name, refused.retry_after) from refused
        except BROKEN as error:
            self._transfer.close()
            place = self.bucket.place
            raise NetworkFailure(f"Network failure: {place} broke off: {speech.one_line(error)}") from error


def _config(*, signed: bool, path_style: bool) -> Any:
    """Return how botocore is to ask: with a signature or without, and how patiently."""
    options: dict[str, Any] = {
        "signature_version": "s3v4" if signed else importlib.import_module("botocore").UNSIGNED,
        "connect_timeout": READ_SECONDS,
        "read_timeout": READ_SECONDS,
        "retries": {"mode": "standard", "max_attempts": 4},
    }
    if path_style:
        options["s3"] = {"addressing_style": "path"}
    return importlib.import_module("botocore.config").Config(**options)


def with_tls(environment: Mapping[str, str]) -> bool:
    """Tell whether the store is reached with TLS."""
    plain = environment.get("S3_NO_SSL", "").lower() == "true"
    return not plain and not environment.get("AWS_ENDPOINT_URL", "").startswith("http://")


def endpoint_of(environment: Mapping[str, str]) -> str | None:
    """Return the address of a store that is not Amazon's."""
    host = environment.get("AWS_ENDPOINT_URL", "").partition("://")
    name = (host[2] or host[0]).rstrip("/")
    return f"{'https' if with_tls(environment) else 'http'}://{name}" if name else None
