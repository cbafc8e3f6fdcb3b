"""Where a registry is read: its own host or a mirror, under which scheme, and with whose credentials."""

import ipaddress
from collections.abc import Mapping

import msgspec

from aim_engine.registry.credentials import Credential, Keychain
from aim_engine.registry.mirrors import Mirror
from aim_engine.registry.reference import DOCKER_HUB, normal_registry

DOCKER_HUB_API = "registry-1.docker.io"
PLAIN_HTTP_ENDINGS = (".local", ".localhost")
PRIVATE_NETWORKS = tuple(
    ipaddress.ip_network(network)
    for network in ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
)


class Endpoint(msgspec.Struct, frozen=True):
    """The place that answers for a registry under the distribution API."""

    registry: str
    """The registry as users name it."""
    host: str
    """The host, with its port, that is asked."""
    schemes: tuple[str, ...]
    """Those to try, in order."""
    prefix: str = ""
    """What stands before every repository there."""
    mirrored: bool = False

    def path(self, repository: str) -> str:
        """The repository as this place knows it."""
        return f"{self.prefix}/{repository}" if self.prefix else repository

    def name(self, path: str) -> str | None:
        """The repository as users know it, of one that this place knows as `path`; None if it is not the registry's."""
        if not self.prefix:
            return path
        return path.removeprefix(f"{self.prefix}/") if path.startswith(f"{self.prefix}/") else None

    def __str__(self) -> str:
        mirror = f" (read from its mirror {self.host})" if self.mirrored else ""
        return f"registry {self.registry}{mirror}"


def of(registry: str, mirrors: Mapping[str, Mirror]) -> Endpoint:
    """Where `registry` is read, given these mirrors."""
    mirror = mirrors.get(registry)
    if mirror:
        return Endpoint(registry, mirror.host, (mirror.scheme,), mirror.prefix, mirrored=True)
    host = DOCKER_HUB_API if registry == DOCKER_HUB else registry
    return Endpoint(registry, host, ("https", "http") if may_speak_plain_http(host) else ("https",))


def may_speak_plain_http(host: str) -> bool:
    """Whether the host is this machine or a private one, so that a registry without TLS is accepted there."""
    name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    if name == "localhost" or name.endswith(PLAIN_HTTP_ENDINGS):
        return True
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return any(address in network for network in PRIVATE_NETWORKS)


def credentials_for(endpoint: Endpoint, keychain: Keychain, repository: str) -> tuple[Credential, ...]:
    """The credentials of the keychain that may be sent to the endpoint for that repository, best first.

    A mirror is another party: it gets what the keychain has for it. What the keychain has for the registry itself goes
    there only if both are the same host, or an entry names the mirror without credentials of its own.
    """
    own = keychain.find(endpoint.registry, repository)
    if not endpoint.mirrored or normal_registry(endpoint.host) == endpoint.registry:
        return own
    path = endpoint.path(repository)
    for_mirror = keychain.find(endpoint.host, path)
    if for_mirror:
        return for_mirror
    return own if keychain.names(endpoint.host, path) else ()
