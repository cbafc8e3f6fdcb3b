"""What an image says of itself, read once however many ask.

Three documents make one answer: the manifest under the tag, the manifest of the platform if the first is an index, and
the configuration. Two memories keep them from being read again:

- answers: which digest a registry has under one tag, as it told one asker (its credentials), so that nobody gets
  through another's credentials what the registry would refuse. An answer may be a minute older than the wish it
  serves, and it is the wish that counts: of hundreds who come at once the last one is served by the same answer as the
  first, however long his turn takes, while who comes two minutes after a tag was moved is told of it;
- labels: by the digest of the manifest, without end but bounded; whoever was told that digest under his own
  credentials gets the labels that were read behind it, be it for another.
"""

import asyncio

import msgspec

from aim_engine.registry import distribution, documents, failures
from aim_engine.registry.cache import Expiring, Turns, Weighed
from aim_engine.registry.credentials import Credential
from aim_engine.registry.distribution import Distribution, Request
from aim_engine.registry.documents import Labels, Manifest, Unsuitable
from aim_engine.registry.endpoint import Endpoint
from aim_engine.registry.errors import MalformedAnswer, RateLimited, RegistryError
from aim_engine.registry.limits import Limits
from aim_engine.registry.reference import Reference, digest_of, is_digest

REMEMBERED_ANSWERS = 10_000
OVERHEAD = 300
"""Bytes that a remembered set of labels takes besides its texts."""


class Image(msgspec.Struct, frozen=True):
    """One image as its registry serves it now."""

    reference: Reference
    digest: str
    """Of the manifest under the tag: the whole image, all its platforms."""
    labels: Labels


class _Answer(msgspec.Struct, frozen=True):
    """A digest, and when the registry told it, by the clock of the loop."""

    digest: str
    at: float


class _Asked(msgspec.Struct, frozen=True):
    """Whose answer it is, and to what."""

    endpoint: Endpoint
    reference: Reference
    credential: Credential | None

    def request(self, kind: str, wanted: str, most_bytes: int, accept: str) -> Request:
        path = self.endpoint.path(self.reference.repository)
        return Request(
            endpoint=self.endpoint,
            path=f"{path}/{kind}/{wanted}",
            subject=self.reference.image,
            scope=f"repository:{path}:pull",
            most_bytes=most_bytes,
            credential=self.credential,
            headers={"Accept": accept},
        )


class Images:
    """Reads images through one distribution API client, remembering as the module says."""

    def __init__(self, source: Distribution, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._answers: Expiring[_Asked, _Answer | RegistryError] = Expiring(REMEMBERED_ANSWERS)
        self._labels: Weighed[str, Labels] = Weighed(limits.cache_bytes)
        self._asking: Turns[_Asked] = Turns()
        self._reading: Turns[str] = Turns()

    async def read(
        self, reference: Reference, endpoint: Endpoint, credential: Credential | None, waited: float = 0.0
    ) -> Image:
        """The image, for one who has wanted it for so many seconds; raises a RegistryError."""
        asked = _Asked(endpoint, reference, credential)
        return await self._asking.once(asked, lambda: self._remembered(asked, waited), lambda: self._ask(asked))

    def _remembered(self, asked: _Asked, waited: float) -> Image | None:
        answer = self._answers.get(asked)
        if isinstance(answer, RegistryError):
            raise answer.again()
        if answer is None or _now() - answer.at >= self._limits.answer_lifetime + waited:
            return None
        labels = self._labels.get(answer.digest)
        return Image(asked.reference, answer.digest, labels) if labels is not None else None

    async def _ask(self, asked: _Asked) -> Image:
        began = _now()
        try:
            image = await self._read(asked)
        except RateLimited:  # how long is the transport's to remember
            raise
        except RegistryError as failure:
            self._answers.put(asked, failure.again(), self._limits.failure_lifetime)
            raise
        kept_for = self._limits.answer_lifetime + self._limits.longest_wait
        self._answers.put(asked, _Answer(image.digest, began), kept_for)
        return image

    async def _read(self, asked: _Asked) -> Image:
        digest, manifest = await self._read_manifest(asked, asked.reference.wanted)
        labels = await self._reading.once(
            digest, lambda: self._labels.get(digest), lambda: self._read_behind(asked, digest, manifest)
        )
        return Image(asked.reference, digest, labels)

    async def _read_behind(self, asked: _Asked, digest: str, manifest: Manifest) -> Labels:
        try:
            if manifest.manifests is not None:
                platform = documents.platform_digest(manifest.manifests)
                labels = self._labels.get(platform)
                labels = await self._read_platform(asked, platform) if labels is None else labels
            else:
                labels = await self._read_labels(asked, manifest)
        except Unsuitable as reason:
            raise self._wrong(asked, str(reason)) from None
        self._keep(digest, labels)
        return labels

    async def _read_platform(self, asked: _Asked, digest: str) -> Labels:
        _, manifest = await self._read_manifest(asked, digest)
        if manifest.manifests is not None:
            raise Unsuitable("its entry for linux/amd64 is itself an index; publish the image for that platform")
        labels = await self._read_labels(asked, manifest)
        self._keep(digest, labels)
        return labels

    async def _read_labels(self, asked: _Asked, manifest: Manifest) -> Labels:
        if manifest.config is None:
            raise Unsuitable("its manifest names no configuration; push the image again")
        digest = documents.config_digest(manifest.config)
        request = asked.request("blobs", digest, self._limits.config_bytes, "*/*")
        answer = await self._source.read(request)
        self._verify(asked, answer.body, digest)
        return documents.read_labels(answer.body)

    async def _read_manifest(self, asked: _Asked, wanted: str) -> tuple[str, Manifest]:
        request = asked.request("manifests", wanted, self._limits.manifest_bytes, documents.ACCEPT)
        answer = await self._source.read(request)
        promised = wanted if is_digest(wanted) else answer.headers.get("Docker-Content-Digest", "")
        if is_digest(promised):
            self._verify(asked, answer.body, promised)
        try:
            manifest = documents.read_manifest(answer.body, answer.headers.get("Content-Type", ""))
        except Unsuitable as reason:
            raise self._wrong(asked, str(reason)) from None
        return promised if is_digest(promised) else digest_of(answer.body), manifest

    def _verify(self, asked: _Asked, content: bytes, digest: str) -> None:
        if digest_of(content, digest.partition(":")[0]) != digest:
            raise self._wrong(asked, f"what it serves as {digest} is something else; check the registry's storage")

    def _wrong(self, asked: _Asked, why: str) -> MalformedAnswer:
        return failures.malformed(distribution.party(asked.endpoint), asked.reference.image, why)

    def _keep(self, digest: str, labels: Labels) -> None:
        weight = OVERHEAD + sum(len(name) + len(text) for name, text in labels.items())
        self._labels.put(digest, labels, weight)


def _now() -> float:
    return asyncio.get_running_loop().time()
