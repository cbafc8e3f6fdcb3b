"""Asking registries for the images that the filters of a source want."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from aim_engine.api.model_source import AIMClusterModelSource, AIMClusterModelSourceSpec, ModelSourceFilter
from aim_engine.controllers import inspection
from aim_engine.controllers.cluster import Cluster
from aim_engine.core import model_sources, models
from aim_engine.core.model_sources import Found, Outcome, Scan, Wish
from aim_engine.core.problems import Problem
from aim_engine.registry import credentials, errors
from aim_engine.registry.client import Registry
from aim_engine.registry.credentials import Keychain, PullSecret
from aim_engine.registry.listing import GHCR, Listing

NO_ANSWER: Final = (
    errors.Unreachable,
    errors.InsecureConnection,
    errors.ServerFailed,
    errors.RateLimited,
    errors.MalformedAnswer,
)

LONGEST: Final = 180.0
"""Seconds that one scan may take: well below those of a pass, with which it would be lost."""


async def scan(source: AIMClusterModelSource, cluster: Cluster, now: datetime, longest: float = LONGEST) -> Scan:
    """What all filters find; neither a filter that fails nor a registry that is slow touches the others."""
    assert source.spec is not None
    names, namespace = dict.fromkeys(ref.name for ref in source.spec.image_pull_secrets), cluster.operator_namespace
    secrets = await inspection.read([name for name in names if name], namespace, cluster, needed=False)
    absent = () if isinstance(secrets, Problem) else names.keys() - {"", *(secret.name for secret in secrets)}
    missing = [models.secret_missing(name, namespace).message for name in sorted(absent)]
    inquiry = Inquiry(source.spec, keychain(secrets), cluster.registry, longest)
    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(inquiry.outcome(entry)) for entry in source.spec.filters]
    outcomes = tuple(explained(task.result(), missing) for task in asking)
    pause = model_sources.pause(source.spec, outcomes, datetime.now(UTC) - now, cluster.scans.last(source))
    return Scan(now, source.metadata.generation, outcomes, pause)


def keychain(secrets: Sequence[PullSecret] | Problem) -> Keychain | str:
    """The credentials of the pull secrets that exist; or why they cannot be used."""
    if isinstance(secrets, Problem):
        return secrets.message
    try:
        return credentials.keychain(secrets)
    except errors.InvalidCredentials as error:
        return str(error)


def explained(outcome: Outcome, missing: Sequence[str]) -> Outcome:
    """A failure with the pull secrets that nobody made, which are the likeliest cause of it."""
    if not outcome.failure or not missing:
        return outcome
    return msgspec.structs.replace(outcome, failure="; ".join((outcome.failure, *missing)))


class Inquiry:
    """What one scan asks: filters of one registry in turn, and a registry that did not answer not again."""

    def __init__(
        self, spec: AIMClusterModelSourceSpec, keys: Keychain | str, registry: Registry, longest: float
    ) -> None:
        self._spec = spec
        self._keys = keys
        self._registry = registry
        self._longest = longest
        self._end = asyncio.get_running_loop().time() + longest
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._silent: dict[tuple[str, bool], Listing] = {}

    async def outcome(self, entry: ModelSourceFilter) -> Outcome:
        """What one filter finds in time."""
        wish = model_sources.wish(self._spec, entry)
        if wish.reference:
            wanted = model_sources.wants_repository(entry, wish.repository)
            exactly = Found(wish.registry, wish.repository, wish.reference)
            return Outcome(entry.image, (exactly,) if wanted else ())
        if isinstance(self._keys, str):
            return Outcome(entry.image, failure=self._keys)
        try:
            async with asyncio.timeout_at(self._end), self._turns[wish.registry]:
                ask = self._search if wish.is_pattern else self._list
                return await ask(entry, wish, self._keys)
        except TimeoutError:
            said = f"{wish.registry} had not answered everything when the sync had to end after {self._longest:g} s"
            return Outcome(entry.image, failure=said, unreachable=(wish.registry,))

    async def _list(self, entry: ModelSourceFilter, wish: Wish, keys: Keychain) -> Outcome:
        """The wanted tags of one repository."""
        if not model_sources.wants_repository(entry, wish.repository):
            return Outcome(entry.image)
        listing = await self._heard(wish, lambda: self._registry.tags(wish.registry, wish.repository, keys))
        found = images(wish, wish.repository, model_sources.wanted_tags(self._spec, entry, listing.names))
        if listing.failure is None:
            return Outcome(entry.image, found)
        failures = [listing.failure]
        return Outcome(
            entry.image, found, str(listing.failure), unreachable=hosts(failures), pause=wanted_pause(failures)
        )

    async def _search(self, entry: ModelSourceFilter, wish: Wish, keys: Keychain) -> Outcome:
        """The wanted tags of all repositories that fit a pattern."""
        listing = await self._heard(wish, lambda: self._registry.repositories(wish.registry, wish.namespace, keys))
        fitting = [name for name in listing.names if wish.fits(name) and model_sources.wants_repository(entry, name)]
        tags = await self._registry.tags_of(wish.registry, fitting, keys)
        found = tuple(
            image
            for name in fitting
            for image in images(wish, name, model_sources.wanted_tags(self._spec, entry, tags[name].names))
        )
        broken = {name: failure for name in fitting if (failure := tags[name].failure)}
        told = tuple(f"{name} ({failure})" for name, failure in broken.items())
        failures = [*broken.values(), *([listing.failure] if listing.failure else ())]
        failure = str(listing.failure or "")
        if wish.registry == GHCR and broken and not failure and not self._registry.is_mirrored(GHCR):
            beginning = "partial results, encountered errors" if found else "no images found"
            failure, told = f"{beginning}: {'; '.join(told)}", ()
        return Outcome(entry.image, found, failure, told, hosts(failures), wanted_pause(failures))

    async def _heard(self, wish: Wish, ask: Callable[[], Awaitable[Listing]]) -> Listing:
        """What the registry answers; if it did not answer the same kind of question before, it is not asked."""
        kind = (wish.registry, wish.is_pattern)
        if kind in self._silent:
            return self._silent[kind]
        listing = await ask()
        if isinstance(listing.failure, errors.Unreachable) and not listing.names:
            self._silent[kind] = listing
        return listing


def images(wish: Wish, repository: str, tags: Sequence[str]) -> tuple[Found, ...]:
    return tuple(Found(wish.registry, repository, tag) for tag in tags)


def hosts(failures: Sequence[errors.RegistryError]) -> tuple[str, ...]:
    """Who did not answer; being refused is an answer."""
    silent = (failure.host or failure.registry for failure in failures if isinstance(failure, NO_ANSWER))
    return tuple(sorted({host for host in silent if host}))


def wanted_pause(failures: Sequence[errors.RegistryError]) -> float:
    """For how many seconds registries want to be left alone."""
    return max((failure.retry_after for failure in failures if isinstance(failure, errors.RateLimited)), default=0.0)
