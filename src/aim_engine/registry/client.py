"""One object that reads registries for the whole operator."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from aim_engine.proxies import Proxies
from aim_engine.registry import endpoint, reference
from aim_engine.registry.credentials import SECRET_KEYS, Credential, Keychain
from aim_engine.registry.distribution import Distribution
from aim_engine.registry.endpoint import Endpoint
from aim_engine.registry.errors import (
    AccessRefused,
    InvalidCredentials,
    InvalidReference,
    MissingCredentials,
    NotFound,
    RegistryError,
)
from aim_engine.registry.images import Image, Images
from aim_engine.registry.limits import Limits
from aim_engine.registry.listing import DOCKER_HUB_LISTING, GHCR, GITHUB_API, Listing, Listings
from aim_engine.registry.mirrors import Mirror
from aim_engine.registry.reference import DOCKER_HUB
from aim_engine.registry.transport import Transport, trusting

A = TypeVar("A")

NO_CREDENTIALS = Keychain()


class Registry:
    """Images, tags and repositories of any registry; an async context.

    Each call takes the keychain of whoever it is for. Where that has nothing for a host, `own` is used, the operator's
    own docker config, and without that the registry is asked anonymously.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        mirrors: Mapping[str, Mirror] | None = None,
        ca_file: Path | None = None,
        own: Keychain = NO_CREDENTIALS,
        proxies: Proxies | None = None,
        docker_hub: str = DOCKER_HUB_LISTING,
        github: str = GITHUB_API,
    ) -> None:
        self._limits = limits or Limits()
        self._mirrors = mirrors or {}
        self._own = own
        self._transport = Transport(self._limits, trusting(ca_file), proxies or Proxies())
        source = Distribution(self._transport, self._limits)
        self._images = Images(source, self._limits)
        self._listings = Listings(self._transport, source, self._limits, docker_hub=docker_hub, github=github)

    async def __aenter__(self) -> "Registry":
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *exception: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self._transport.__aexit__(*exception)

    async def image(self, image: str, keychain: Keychain = NO_CREDENTIALS, *, waited: float = 0.0) -> Image:
        """What the image says of itself; raises a RegistryError.

        Credentials that fit are tried in turn until the registry lets one of them read. Who has `waited` so many
        seconds for his turn is content with what would have been good enough then.
        """
        wanted = reference.parse(image)
        place = endpoint.of(wanted.registry, self._mirrors)
        waited = min(max(waited, 0.0), self._limits.longest_wait)
        refusals: list[RegistryError] = []
        for credential in self._credentials(place, keychain, wanted.repository):
            try:
                return await self._images.read(wanted, place, credential, waited)
            except (AccessRefused, NotFound) as refusal:
                refusals.append(refusal)
        raise _with_advice(refusals[0], keychain)

    async def tags(self, registry: str, repository: str, keychain: Keychain = NO_CREDENTIALS) -> Listing:
        """The tags of one repository."""
        name = _registry(registry)
        path = reference.full_repository(name, repository)
        if not (reference.is_registry(name) and reference.is_repository(path)):
            return Listing((), InvalidReference(f"{registry}/{repository} is not the name of a repository"))
        place = endpoint.of(name, self._mirrors)
        askers = self._credentials(place, keychain, path)
        return await _first_let_in(askers, lambda asker: self._listings.tags(place, path, asker))

    async def tags_of(
        self, registry: str, repositories: Sequence[str], keychain: Keychain = NO_CREDENTIALS
    ) -> dict[str, Listing]:
        """The tags of several repositories, read side by side; each succeeds or fails for itself."""
        async with asyncio.TaskGroup() as group:
            reading = {name: group.create_task(self.tags(registry, name, keychain)) for name in repositories}
        return {name: task.result() for name, task in reading.items()}

    async def repositories(self, registry: str, namespace: str, keychain: Keychain = NO_CREDENTIALS) -> Listing:
        """The repositories among which a pattern may match.

        Docker Hub and ghcr.io list those of one namespace (the first segment of the pattern); mirrors and all other
        registries list everything they have. The listing of ghcr.io wants a token of the keychain, also for public
        packages; its mirror is held to the same, so that a source behaves alike with and without one.
        """
        name = _registry(registry)
        if not reference.is_registry(name):
            return Listing((), InvalidReference(f"{registry!r} is not the name of a registry"))
        place = endpoint.of(name, self._mirrors)
        tokens = [credential for credential in keychain.find(GHCR, namespace) if credential.password]
        if name == GHCR and not (tokens or (place.mirrored and endpoint.credentials_for(place, keychain, ""))):
            return Listing((), _missing_credentials())
        if place.mirrored or name not in (DOCKER_HUB, GHCR):
            askers = self._credentials(place, keychain, "")
            return await _first_let_in(askers, lambda asker: self._listings.catalog(place, asker))
        if "/" in namespace or not reference.is_repository(namespace):
            why = "its first segment must be one organisation or user, without '*'"
            return Listing((), InvalidReference(f"a pattern for {name} cannot begin with {namespace!r}: {why}"))
        if name == DOCKER_HUB:
            return await self._listings.docker_hub(namespace)
        return await _first_let_in(tokens, lambda token: self._listings.github_packages(namespace, token))

    def is_mirrored(self, registry: str) -> bool:
        """Whether another place is read instead."""
        return _registry(registry) in self._mirrors

    def _credentials(self, place: Endpoint, keychain: Keychain, path: str) -> Sequence[Credential | None]:
        """Who may ask, in order: the keychain's, else our own, else anonymous."""
        found = endpoint.credentials_for(place, keychain, path) or endpoint.credentials_for(place, self._own, path)
        return found or (None,)


def _registry(written: str) -> str:
    """The registry's one name; Docker Hub's web site stands for Docker Hub too."""
    return DOCKER_HUB if "hub.docker.com" in written else reference.normal_registry(written)


async def _first_let_in(askers: Sequence[A], ask: Callable[[A], Awaitable[Listing]]) -> Listing:
    """The listing for the first asker who is let in; if none is, what the first one was told."""
    listings: list[Listing] = []
    for asker in askers:
        listings.append(await ask(asker))
        if listings[-1].names or not isinstance(listings[-1].failure, AccessRefused | NotFound | InvalidCredentials):
            return listings[-1]
    return listings[0]


def _missing_credentials() -> MissingCredentials:
    return MissingCredentials(
        f"listing the packages of {GHCR} needs a token, also for public ones: add a pull secret for {GHCR} whose "
        "password is a GitHub token that may read packages",
        registry=GHCR,
        host=GHCR,
    )


def _with_advice(refusal: RegistryError, keychain: Keychain) -> RegistryError:
    """The refusal, with a word on secrets that could have helped were they of the right type."""
    if not (keychain.passed_over and isinstance(refusal, AccessRefused)):
        return refusal
    names = ", ".join(f'"{name}"' for name in sorted(keychain.passed_over))
    advice = f"{names} did not count, a pull secret must be of type {' or '.join(SECRET_KEYS)}"
    return type(refusal)(f"{refusal} ({advice})", registry=refusal.registry, host=refusal.host)
