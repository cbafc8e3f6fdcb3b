"""A stand-in for a container registry: the read side of the OCI distribution API over a directory of labels.

    python -m aim_engine.local.stand_ins.registry DIRECTORY --port 5000
    curl 127.0.0.1:5000/v2/_catalog

`DIRECTORY/<repository>/<tag>.yaml` is an image; the file holds its labels as `labels: {name: text}`. An image is an
index with one manifest for linux/amd64, a configuration with the labels, and an empty layer: the files that an image
runs are in the image book of the node, not here. Files may come, change and go while it runs.
"""

import argparse
import asyncio
import gzip
import hashlib
import json
import re
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml
from aiohttp import web

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
EMPTY_TAR = bytes(1024)
PAGE = 100
"""Entries of one page when the client names no number."""
MOST = 1000
"""Entries of one page whatever the client names."""
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Blob(NamedTuple):
    """Some bytes, as a registry keeps them."""

    media_type: str
    content: bytes

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"

    @property
    def descriptor(self) -> dict[str, Any]:
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.content)}


class Labels(msgspec.Struct, forbid_unknown_fields=True):
    """What the file of an image holds."""

    labels: dict[str, str] = {}


class BadImage(Exception):
    """The file of an image can't be used; the text is a sentence."""


def image(labels: dict[str, str]) -> tuple[Blob, ...]:
    """The index of an image with these labels, then everything it refers to."""
    layer = Blob(LAYER, gzip.compress(EMPTY_TAR, mtime=0))
    platform = {"architecture": "amd64", "os": "linux"}
    differences = f"sha256:{hashlib.sha256(EMPTY_TAR).hexdigest()}"
    rootfs = {"type": "layers", "diff_ids": [differences]}
    config = _document(CONFIG, {**platform, "config": {"Labels": labels}, "rootfs": rootfs})
    manifest = _document(MANIFEST, {"config": config.descriptor, "layers": [layer.descriptor]})
    index = _document(INDEX, {"manifests": [{**manifest.descriptor, "platform": platform}]})
    return index, manifest, config, layer


def _document(media_type: str, fields: dict[str, Any]) -> Blob:
    head: dict[str, Any] = {} if media_type == CONFIG else {"schemaVersion": 2, "mediaType": media_type}
    return Blob(media_type, msgspec.json.encode({**head, **fields}, order="sorted"))


@dataclass
class Registry:
    """Every read of the distribution API, answered from a directory."""

    root: Path
    known: dict[str, dict[str, Blob]] = field(default_factory=dict[str, dict[str, Blob]])
    """Repository -> digest -> what it is. Kept when a tag moves on: digests of a registry last."""

    def application(self) -> web.Application:
        app = web.Application(middlewares=[versioned])
        app.add_routes(
            [
                web.get("/v2/", self.entrance),
                web.get("/v2/_catalog", self.catalog),
                web.get("/v2/{repository:.+}/tags/list", self.tags),
                web.get("/v2/{repository:.+}/manifests/{reference}", self.manifest),
                web.get("/v2/{repository:.+}/blobs/{digest}", self.blob),
            ]
        )
        return app

    async def entrance(self, request: web.Request) -> web.Response:  # noqa: ARG002
        return web.json_response({})

    async def catalog(self, request: web.Request) -> web.Response:
        return paged(request, "repositories", sorted(self._repositories()))

    async def tags(self, request: web.Request) -> web.Response:
        repository = request.match_info["repository"]
        found = self._tags(repository)
        return paged(request, "tags", found, name=repository) if found else unknown_name(repository)

    async def manifest(self, request: web.Request) -> web.Response:
        repository, reference = request.match_info["repository"], request.match_info["reference"]
        if not self._tags(repository):
            return unknown_name(repository)
        digest = reference if DIGEST.fullmatch(reference) else self._read(repository, reference)
        found = self._blobs(repository).get(digest or "")
        if found is None or found.media_type not in (INDEX, MANIFEST):
            return error(404, "MANIFEST_UNKNOWN", "manifest unknown", {"name": repository, "reference": reference})
        return content(found)

    async def blob(self, request: web.Request) -> web.Response:
        repository, digest = request.match_info["repository"], request.match_info["digest"]
        if not DIGEST.fullmatch(digest):
            return error(400, "DIGEST_INVALID", "provided digest did not match uploaded content", {"digest": digest})
        found = self._blobs(repository).get(digest)
        if found is None:
            return error(404, "BLOB_UNKNOWN", "blob unknown to registry", {"digest": digest})
        return content(found)

    def _repositories(self) -> Iterator[str]:
        folders = {file.parent for file in self.root.rglob("*.yaml")}
        return (folder.relative_to(self.root).as_posix() for folder in folders if folder != self.root)

    def _tags(self, repository: str) -> list[str]:
        folder = (self.root / repository).resolve()
        inside = folder.is_relative_to(self.root.resolve()) and folder != self.root.resolve()
        return sorted(file.stem for file in folder.glob("*.yaml")) if inside else []

    def _read(self, repository: str, tag: str) -> str | None:
        """Learn what a tag stands for now; its digest."""
        file = self.root / repository / f"{tag}.yaml"
        if tag not in self._tags(repository):
            return None
        try:
            labels = msgspec.convert(yaml.safe_load(file.read_text(encoding="utf-8")), Labels).labels
        except (yaml.YAMLError, msgspec.ValidationError) as reason:
            raise BadImage(f"{file} is not the description of an image: {' '.join(str(reason).split())}") from reason
        blobs = image(labels)
        self.known.setdefault(repository, {}).update({blob.digest: blob for blob in blobs})
        return blobs[0].digest

    def _blobs(self, repository: str) -> dict[str, Blob]:
        """All that is known of a repository; after a restart its tags tell."""
        if repository not in self.known:
            for tag in self._tags(repository):
                self._read(repository, tag)
        return self.known.get(repository, {})


@web.middleware
async def versioned(request: web.Request, handler: Any) -> web.StreamResponse:
    """Say which API this is on every answer; what breaks is told as registries tell it."""
    try:
        response: web.StreamResponse = await handler(request)
    except BadImage as reason:
        response = error(500, "UNKNOWN", str(reason), {})
    except web.HTTPNotFound:
        response = error(404, "UNSUPPORTED", "this registry can only be read", {"path": request.path})
    response.headers["Docker-Distribution-API-Version"] = "registry/2.0"
    return response


def content(blob: Blob) -> web.Response:
    return web.Response(
        body=blob.content,
        content_type=blob.media_type,
        headers={"Docker-Content-Digest": blob.digest, "ETag": f'"{blob.digest}"'},
    )


def paged(request: web.Request, field_name: str, names: Sequence[str], **others: str) -> web.Response:
    """One page of names, with a link to the next one."""
    asked = request.query.get("n", "")
    if asked and not asked.isdecimal():
        return error(400, "PAGINATION_NUMBER_INVALID", "invalid number of results requested", {"n": asked})
    size, after = min(int(asked or PAGE), MOST), request.query.get("last", "")
    rest = [name for name in names if name > after]
    response = web.json_response({**others, field_name: rest[:size]})
    if 0 < size < len(rest):
        following = request.rel_url.with_query(n=str(size), last=rest[size - 1])
        response.headers["Link"] = f'<{following}>; rel="next"'
    return response


def unknown_name(repository: str) -> web.Response:
    return error(404, "NAME_UNKNOWN", "repository name not known to registry", {"name": repository})


def error(status: int, code: str, message: str, detail: dict[str, str]) -> web.Response:
    return web.json_response({"errors": [{"code": code, "message": message, "detail": detail}]}, status=status)


async def serve(registry: Registry, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; the first line on standard output tells the address."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    runner = web.AppRunner(registry.application(), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, shutdown_timeout=0.5).start()
        print(json.dumps({"registry": f"http://{host}:{runner.addresses[0][1]}"}), flush=True)
        await stop.wait()
    finally:
        await runner.cleanup()


def main() -> None:
    """Run the stand-in from the command line."""
    parser = argparse.ArgumentParser(description="A stand-in for a container registry over a directory of labels.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    asyncio.run(serve(Registry(arguments.directory.resolve()), arguments.host, arguments.port))


if __name__ == "__main__":
    main()
