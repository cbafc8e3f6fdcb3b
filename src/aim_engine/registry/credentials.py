"""Credentials for registries: pull secrets and docker configs in, the ones that fit a repository out.

The rules are those by which a kubelet finds credentials for an image, so that an image that pods can pull can be read
here too: a key is a host with optional port and path, `*` stands for one part of the host name, the longest key that
fits comes first, and `/v1/` or `/v2/` at its end mean nothing.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from aim_engine.registry.decoding import NotUnderstood, decode
from aim_engine.registry.errors import InvalidCredentials
from aim_engine.registry.reference import DOCKER_HUB, DOCKER_HUB_ALIASES

SECRET_KEYS = {"kubernetes.io/dockerconfigjson": ".dockerconfigjson", "kubernetes.io/dockercfg": ".dockercfg"}
"""Type of a pull secret -> the key of its data that holds the credentials."""


class Credential(msgspec.Struct, frozen=True):
    """What one entry of a pull secret lets us say to a registry; it never shows in texts."""

    source: str
    """Where it comes from, for people: `pull secret "regcred"`."""
    username: str = ""
    password: str = ""
    identity_token: str = ""
    """A long-lived token that is exchanged for short-lived ones, as some registries hand out at login."""

    def __repr__(self) -> str:
        return f"Credential(source={self.source!r})"

    @property
    def basic(self) -> str:
        """The value of an Authorization header."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


class Entry(msgspec.Struct, frozen=True):
    """A key of a docker config with its credentials; some keys have none and only name a host."""

    host: str
    path: str
    credential: Credential | None

    def fits(self, hosts: frozenset[str], repository: str) -> bool:
        return any(_same_host(self.host, host) for host in hosts) and f"{repository}/".startswith(self.path)


class PullSecret(msgspec.Struct, frozen=True):
    """A Secret of the cluster, its data already out of base64."""

    name: str
    type: str
    data: Mapping[str, bytes]


class Keychain(msgspec.Struct, frozen=True):
    """Entries of several secrets, in the order in which they were given."""

    entries: tuple[Entry, ...] = ()
    passed_over: tuple[str, ...] = ()
    """Names of secrets that are no pull secrets by their type."""

    def find(self, host: str, repository: str = "") -> tuple[Credential, ...]:
        """The different credentials for a repository of that host, best first."""
        fitting = (entry.credential for entry in self._fitting(host, repository) if entry.credential)
        return tuple(dict.fromkeys(fitting))

    def names(self, host: str, repository: str = "") -> bool:
        """Whether any entry speaks of that host, with or without credentials."""
        return bool(self._fitting(host, repository))

    def _fitting(self, host: str, repository: str) -> list[Entry]:
        hosts = DOCKER_HUB_ALIASES if host == DOCKER_HUB else frozenset({host})
        fitting = [entry for entry in self.entries if entry.fits(hosts, repository)]
        return sorted(fitting, key=lambda entry: len(entry.host) + len(entry.path), reverse=True)


def keychain(secrets: Sequence[PullSecret]) -> Keychain:
    """The credentials of these secrets; raises InvalidCredentials that names the secret that cannot be understood."""
    entries: list[Entry] = []
    passed_over: list[str] = []
    for secret in secrets:
        key = SECRET_KEYS.get(secret.type)
        if key is None:
            passed_over.append(secret.name)
            continue
        source = f'pull secret "{secret.name}"'
        if key not in secret.data:
            raise InvalidCredentials(f"{source} of type {secret.type} has no key {key}")
        entries.extend(parse(secret.data[key], source, bare=key == ".dockercfg"))
    return Keychain(tuple(entries), tuple(passed_over))


def read_docker_config(file: Path) -> Keychain:
    """The credentials in a docker config file; none if there is no such file for us."""
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return Keychain()
    except OSError as error:
        raise InvalidCredentials(f"the docker config {file} cannot be read: {error.strerror}") from error
    return Keychain(parse(content, f"the docker config {file}"))


class _Written(msgspec.Struct):
    auth: str | None = None
    username: str | None = None
    password: str | None = None
    identitytoken: str | None = None


class _Config(msgspec.Struct):
    auths: dict[str, _Written | None] | None = None


def parse(content: bytes, source: str, *, bare: bool = False) -> tuple[Entry, ...]:
    """The entries of a docker config JSON, or of the older `.dockercfg` form that has no `auths` around them."""
    try:
        auths = decode(content, dict[str, _Written | None]) if bare else decode(content, _Config).auths or {}
    except NotUnderstood:
        shape = "a JSON object of entries by registry" if bare else 'a JSON object with "auths"'
        raise InvalidCredentials(f"{source} is not {shape}, as `docker login` writes it") from None
    return tuple(_entry(key, written, source) for key, written in auths.items())


def _entry(key: str, written: _Written | None, source: str) -> Entry:
    host, path = _split_key(key)
    return Entry(host, path, _credential(host, written, source) if written else None)


def _credential(host: str, written: _Written, source: str) -> Credential | None:
    username, password = written.username or "", written.password or ""
    if written.auth and not (username and password):
        decoded = _decode(written.auth)
        if decoded is None:
            raise InvalidCredentials(f'the "auth" of {host} in {source} is not base64 of user name, colon, password')
        username, password = username or decoded[0], password or decoded[1]
    if not (username or password or written.identitytoken):
        return None
    return Credential(source, username, password, written.identitytoken or "")


def _decode(auth: str) -> tuple[str, str] | None:
    stripped = auth.strip().rstrip("=")
    try:
        text = base64.b64decode(stripped + "=" * (-len(stripped) % 4), validate=True).decode()
    except (binascii.Error, UnicodeError):
        return None
    username, colon, password = text.rstrip("\0").partition(":")
    return (username, password) if colon else None


def _split_key(key: str) -> tuple[str, str]:
    """Host and path of a key; a path ends in '/', so that `acme` does not fit `acme-internal`."""
    text = key.strip()
    for scheme in ("https://", "http://"):
        text = text.removeprefix(scheme)
    host, _, path = text.partition("/")
    segments = [segment for segment in path.split("/") if segment]
    if segments and segments[-1] in ("v1", "v2"):
        segments.pop()
    return host.rpartition("@")[2].lower(), "".join(f"{segment}/" for segment in segments)


def _same_host(pattern: str, host: str) -> bool:
    pattern_name, pattern_port = _split_port(pattern)
    name, port = _split_port(host)
    pattern_parts, parts = pattern_name.split("."), name.split(".")
    if pattern_port != port or len(pattern_parts) != len(parts):
        return False
    # Equal first: the brackets of an IPv6 address are no pattern.
    return parts == pattern_parts or all(map(fnmatchcase, parts, pattern_parts))


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and not port.endswith("]") else (host, "")
