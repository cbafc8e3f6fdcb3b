"""Image references as the distribution API wants them: which registry, which repository, which tag or digest."""

import hashlib
import ipaddress
import re

import msgspec

from aim_engine.registry.errors import InvalidReference

DOCKER_HUB = "docker.io"
DOCKER_HUB_ALIASES = frozenset({DOCKER_HUB, "index.docker.io", "registry-1.docker.io"})
DIGEST_LENGTHS = {"sha256": 64, "sha512": 128}
LONGEST_HOST = 253
LONGEST_REPOSITORY = 255

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?P<ipv6>[0-9a-fA-F:.]+)\])(?::(?P<port>[0-9]{{1,5}}))?")
_REPOSITORY = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*")
_TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}")


class Reference(msgspec.Struct, frozen=True):
    """One image of one registry, by tag or by digest."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def wanted(self) -> str:
        """What to ask the registry for: the digest if there is one, else the tag."""
        return self.digest or self.tag

    @property
    def image(self) -> str:
        """The image within its registry, such as `acme/aim:1.0`."""
        return f"{self.repository}@{self.digest}" if self.digest else f"{self.repository}:{self.tag}"

    def __str__(self) -> str:
        return f"{self.registry}/{self.image}"


def parse(text: str) -> Reference:
    """Read `[registry/]repository[:tag][@digest]`; without a registry it is Docker Hub's, without a tag `latest`."""
    rest, at, digest = text.strip().partition("@")
    if at and not is_digest(digest):
        raise _refused(text, f"its digest {digest!r} is not one of {', '.join(DIGEST_LENGTHS)} with as many hex digits")
    first, slash, path = rest.partition("/")
    if not (slash and names_a_registry(first)):
        first, path = DOCKER_HUB, rest
    repository, colon, tag = _split_tag(path)
    if colon and not _TAG.fullmatch(tag):
        raise _refused(text, f"its tag {tag!r} is not 1 to 128 letters, digits, '_', '.' and '-'")
    registry = normal_registry(first)
    if not is_registry(registry):
        raise _refused(text, f"its registry {first!r} is not a host name with an optional port")
    repository = full_repository(registry, repository)
    if not is_repository(repository):
        raise _refused(text, f"its repository {repository!r} is not made of lower-case words separated by '/'")
    return Reference(registry, repository, tag if colon else "" if at else "latest", digest)


def names_a_registry(first_segment: str) -> bool:
    """Whether the text before the first '/' of an image is a registry and not a part of the repository."""
    return "." in first_segment or ":" in first_segment or first_segment == "localhost"


def normal_registry(host: str) -> str:
    """The host in lower case, Docker Hub under its one name."""
    lowered = host.lower()
    return DOCKER_HUB if lowered in DOCKER_HUB_ALIASES else lowered


def full_repository(registry: str, repository: str) -> str:
    """The repository as the registry knows it: Docker Hub keeps single-word names in `library/`."""
    return f"library/{repository}" if registry == DOCKER_HUB and "/" not in repository else repository


def is_registry(host: str) -> bool:
    found = _HOST.fullmatch(host)
    if found is None or len(host) > LONGEST_HOST or not 0 < int(found["port"] or 1) < 65536:
        return False
    return found["ipv6"] is None or _is_ipv6(found["ipv6"])


def is_repository(path: str) -> bool:
    return len(path) <= LONGEST_REPOSITORY and _REPOSITORY.fullmatch(path) is not None


def is_digest(text: str) -> bool:
    algorithm, _, digits = text.partition(":")
    return len(digits) == DIGEST_LENGTHS.get(algorithm, -1) and all(digit in "0123456789abcdef" for digit in digits)


def digest_of(content: bytes, algorithm: str = "sha256") -> str:
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _split_tag(path: str) -> tuple[str, str, str]:
    folder, slash, last = path.rpartition("/")
    name, colon, tag = last.partition(":")
    return f"{folder}{slash}{name}", colon, tag


def _refused(text: str, why: str) -> InvalidReference:
    return InvalidReference(f"image {text!r} cannot be read: {why}")
