"""Pushes images with labels to a registry, small but real: a layer, a configuration, a manifest, an index."""

import gzip
import hashlib
import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

OCI = {
    "index": "application/vnd.oci.image.index.v1+json",
    "manifest": "application/vnd.oci.image.manifest.v1+json",
    "config": "application/vnd.oci.image.config.v1+json",
    "layer": "application/vnd.oci.image.layer.v1.tar+gzip",
}
DOCKER = {
    "index": "application/vnd.docker.distribution.manifest.list.v2+json",
    "manifest": "application/vnd.docker.distribution.manifest.v2+json",
    "config": "application/vnd.docker.container.image.v1+json",
    "layer": "application/vnd.docker.image.rootfs.diff.tar.gzip",
}
EMPTY_TAR = bytes(1024)
LAYER = gzip.compress(EMPTY_TAR, mtime=0)


@dataclass(frozen=True)
class Pushed:
    """A manifest that a registry has taken."""

    digest: str
    size: int
    media_type: str


@dataclass
class Pusher:
    """Pushes to one registry, such as `http://127.0.0.1:5000`; a context."""

    base: str
    headers: Mapping[str, str] = field(default_factory=dict)
    trust: ssl.SSLContext | None = None

    async def __aenter__(self) -> "Pusher":
        connector = aiohttp.TCPConnector(ssl=self.trust or True)
        self._session = aiohttp.ClientSession(self.base, headers=self.headers, connector=connector)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def image(
        self,
        repository: str,
        tag: str | None = None,
        labels: Mapping[str, str] | None = None,
        *,
        architecture: str = "amd64",
        types: Mapping[str, str] = OCI,
    ) -> Pushed:
        """An image of one platform; without a tag it is only there by its digest."""
        return await self.manifest(repository, tag, await self._image(repository, labels, architecture, types))

    async def tags(self, repository: str, tags: Sequence[str], labels: Mapping[str, str]) -> None:
        """One image under many tags."""
        manifest = await self._image(repository, labels, "amd64", OCI)
        for tag in tags:
            await self.manifest(repository, tag, manifest)

    async def _image(
        self, repository: str, labels: Mapping[str, str] | None, architecture: str, types: Mapping[str, str]
    ) -> dict[str, Any]:
        config = {
            "os": "linux",
            "architecture": architecture,
            "config": {"Labels": dict(labels)} if labels is not None else {},
            "rootfs": {"type": "layers", "diff_ids": [digest(EMPTY_TAR)]},
        }
        return {
            "schemaVersion": 2,
            "mediaType": types["manifest"],
            "config": await self._blob(repository, types["config"], json.dumps(config).encode()),
            "layers": [await self._blob(repository, types["layer"], LAYER)],
        }

    async def index(
        self,
        repository: str,
        tag: str,
        images: Sequence[tuple[Mapping[str, str] | None, Pushed]],
        *,
        types: Mapping[str, str] = OCI,
    ) -> Pushed:
        """An index of images, each with its platform."""
        entries = [
            {"mediaType": pushed.media_type, "digest": pushed.digest, "size": pushed.size}
            | ({"platform": dict(platform)} if platform else {})
            for platform, pushed in images
        ]
        return await self.manifest(
            repository, tag, {"schemaVersion": 2, "mediaType": types["index"], "manifests": entries}
        )

    async def manifest(self, repository: str, tag: str | None, manifest: Mapping[str, Any]) -> Pushed:
        """Any manifest, as it is."""
        content = json.dumps(manifest).encode()
        pushed = Pushed(digest(content), len(content), manifest["mediaType"])
        path = f"/v2/{repository}/manifests/{tag or pushed.digest}"
        async with self._session.put(path, data=content, headers={"Content-Type": pushed.media_type}) as response:
            assert response.status == 201, await response.text()
        return pushed

    async def blob(self, repository: str, content: bytes) -> str:
        """A blob; returns its digest."""
        async with self._session.post(f"/v2/{repository}/blobs/uploads/") as response:
            assert response.status == 202, await response.text()
            location = response.headers["Location"]
        upload = aiohttp.client.URL(location).update_query(digest=digest(content))
        async with self._session.put(upload, data=content) as response:
            assert response.status == 201, await response.text()
        return digest(content)

    async def _blob(self, repository: str, media_type: str, content: bytes) -> dict[str, Any]:
        return {"mediaType": media_type, "digest": await self.blob(repository, content), "size": len(content)}


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
