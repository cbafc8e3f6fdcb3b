"""What registries serve: manifests, indexes of several platforms, and image configurations with their labels."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from aim_engine.registry.decoding import NotUnderstood, decode
from aim_engine.registry.reference import is_digest

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
INDEXES = frozenset({OCI_INDEX, DOCKER_LIST})
MANIFESTS = frozenset({OCI_MANIFEST, DOCKER_MANIFEST})
CONFIGS = frozenset({OCI_CONFIG, DOCKER_CONFIG})
GENERIC = frozenset({"", "application/json", "application/octet-stream", "text/plain"})
"""What servers say that do not know manifests, such as a file server or a cache; then the content itself tells."""
ACCEPT = ", ".join((OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST))

Labels = Mapping[str, str]


class Unsuitable(Exception):
    """A document that is no image we can read; the text says what it is and what to do."""


class Platform(msgspec.Struct, frozen=True, rename="camel"):
    os: str = ""
    architecture: str = ""
    variant: str = ""


class Descriptor(msgspec.Struct, frozen=True, rename="camel"):
    """What a manifest says of a document that it names."""

    media_type: str
    digest: str
    platform: Platform | None = None


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """An index (with `manifests`) or the manifest of one image (with `config`)."""

    schema_version: int = 0
    media_type: str = ""
    manifests: tuple[Descriptor, ...] | None = None
    config: Descriptor | None = None


WANTED = Platform("linux", "amd64")


def read_manifest(content: bytes, content_type: str) -> Manifest:
    """The index or manifest in the content; raises Unsuitable for everything else."""
    try:
        manifest = decode(content, Manifest)
    except NotUnderstood:
        raise Unsuitable("its manifest is not understood; check that the registry serves container images") from None
    kind = manifest.media_type or content_type.partition(";")[0].strip()
    if manifest.schema_version == 1:
        raise Unsuitable(
            "its manifest is of schema 1, which is long outdated; push the image again with a current tool"
        )
    # A document that could be read both ways would be read differently by others.
    held = (manifest.manifests is not None, manifest.config is not None)
    said = held if kind in GENERIC else (kind in INDEXES, kind in MANIFESTS)
    if said != held or sum(said) != 1:
        raise Unsuitable(f"its manifest is of kind {kind[:100]!r}, which is no container image; check the name and tag")
    return manifest


def platform_digest(index: tuple[Descriptor, ...]) -> str:
    """The digest of the image for linux/amd64; an entry without a platform counts as that if no other is there."""
    images = [entry for entry in index if entry.media_type in MANIFESTS]
    exact = [entry for entry in images if entry.platform == WANTED]
    close = [
        entry
        for entry in images
        if entry.platform and (entry.platform.os, entry.platform.architecture) == (WANTED.os, WANTED.architecture)
    ]
    unnamed = [entry for entry in images if entry.platform is None]
    for entry in (*exact, *close, *unnamed):
        return _digest(entry)
    raise Unsuitable("it has no image for linux/amd64; publish one for that platform")


def config_digest(config: Descriptor) -> str:
    """The digest of an image's configuration."""
    if config.media_type not in CONFIGS:
        raise Unsuitable(
            f"it holds a {config.media_type[:100]!r} and no container image; check that the name is an image's"
        )
    return _digest(config)


class _Inner(msgspec.Struct):
    labels: dict[str, str] | None = msgspec.field(name="Labels", default=None)


class _Config(msgspec.Struct):
    config: _Inner | None = None


def read_labels(content: bytes) -> Labels:
    """The labels of an image configuration; none is fine."""
    try:
        inner = decode(content, _Config).config
    except NotUnderstood:
        raise Unsuitable("its image configuration is not understood; build the image again") from None
    return MappingProxyType(inner.labels or {} if inner else {})


def _digest(descriptor: Descriptor) -> str:
    if not is_digest(descriptor.digest):
        raise Unsuitable(f"its manifest names {descriptor.digest[:100]!r}, which is no digest; push the image again")
    return descriptor.digest
