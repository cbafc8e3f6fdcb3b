"""Container image references: where an image lives, and what of it enters a name."""

import re

import msgspec

DOCKER_HUB = "docker.io"

_NOT_IN_A_COMPONENT = re.compile(r"[^a-z0-9-]+")


class Image(msgspec.Struct, frozen=True):
    """A parsed image reference; tag and digest are there only if they were written."""

    registry: str
    repository: str
    tag: str | None = None
    digest: str | None = None

    @property
    def name(self) -> str:
        """The last path element of the repository."""
        return self.repository.rpartition("/")[2]

    @property
    def reference(self) -> str:
        """What to ask the registry for: the digest, else the tag, else `latest`."""
        return self.digest or self.tag or "latest"


class InvalidImage(msgspec.Struct, frozen=True):
    """An image reference that cannot be read, and why."""

    written: str
    why: str

    @property
    def message(self) -> str:
        return f'invalid image URI "{self.written}": {self.why}'


class ImageParts(msgspec.Struct, frozen=True):
    """Pieces of an image reference that may stand in an object's name."""

    registry: str
    name: str
    tag: str


def parse(written: str, default_registry: str = DOCKER_HUB) -> Image | InvalidImage:
    """Read `[registry/]repository[:tag][@digest]`; a single-segment name on Docker Hub lives in `library/`."""
    text = written.strip()
    registry, path = _registry_and_path(text, default_registry)
    repository, tag, digest, why = _path_tag_digest(path)
    if why:
        return InvalidImage(written, why)
    if not repository or not all(repository.split("/")):
        return InvalidImage(written, "the repository is empty" if text else "the image is empty")
    if registry == DOCKER_HUB and "/" not in repository:
        repository = f"library/{repository}"
    return Image(registry, repository, tag, digest)


def parts(written: str, default_registry: str = DOCKER_HUB) -> ImageParts | InvalidImage:
    """What of the image enters a name: a digest gives its first six characters as the tag."""
    image = parse(written, default_registry)
    if isinstance(image, InvalidImage):
        return image
    tag = image.digest.partition(":")[2][:6] if image.digest else image.reference
    cleaned = ImageParts(_component(image.registry), _component(image.name), _component(tag))
    for label in ("registry", "name", "tag"):
        if not getattr(cleaned, label):
            return InvalidImage(written, f"the {label} has no letter or digit")
    return cleaned


def _registry_and_path(text: str, default_registry: str) -> tuple[str, str]:
    first, slash, rest = text.partition("/")
    names_a_host = "." in first or ":" in first or first == "localhost"
    return (first, rest) if slash and names_a_host else (default_registry, text)


def _path_tag_digest(path: str) -> tuple[str, str | None, str | None, str]:
    """Repository, tag, digest, and what is wrong with them (empty if nothing is)."""
    rest, at, digest = path.partition("@")
    folder, slash, last = rest.rpartition("/")
    name, colon, tag = last.partition(":")
    if colon and not tag:
        return "", None, None, "the tag after ':' is empty"
    algorithm, digest_colon, hexadecimal = digest.partition(":")
    if at and not digest:
        return "", None, None, "nothing follows '@'"
    if at and not (algorithm and digest_colon and hexadecimal):
        return "", None, None, f"the digest {digest!r} is not of the form algorithm:hex"
    return f"{folder}{slash}{name}", tag or None, digest or None, ""


def _component(text: str) -> str:
    return _NOT_IN_A_COMPONENT.sub("-", text.lower()).strip("-")
