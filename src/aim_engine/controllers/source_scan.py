"""Asking registries for the images that the filters of a source want."""

from collections.abc import Sequence
from datetime import datetime
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
from aim_engine.registry.listing import GHCR

NO_ANSWER: Final = (
    errors.Unreachable,
    errors.InsecureConnection,
    errors.ServerFailed,
    errors.RateLimited,
    errors.MalformedAnswer,
)


async def scan(source: AIMClusterModelSource, cluster: Cluster, now: datetime) -> Scan:
    """What all filters find, one after the other; a filter that fails does not touch the others."""
    assert source.spec is not None
    names, namespace = dict.fromkeys(ref.name for ref in source.spec.image_pull_secrets), cluster.operator_namespace
    secrets = await inspection.read([name for name in names if name], namespace, cluster, needed=False)
    keys = keychain(secrets)
    absent = () if isinstance(secrets, Problem) else names.keys() - {"", *(secret.name for secret in secrets)}
    missing = [models.secret_missing(name, namespace).message for name in sorted(absent)]
    outcomes = [await run(source.spec, entry, keys, cluster.registry) for entry in source.spec.filters]
    return Scan(now, source.metadata.generation, tuple(explained(outcome, missing) for outcome in outcomes))


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


async def run(
    spec: AIMClusterModelSourceSpec, entry: ModelSourceFilter, keys: Keychain | str, registry: Registry
) -> Outcome:
    """What one filter finds."""
    wish = model_sources.wish(spec, entry)
    if wish.reference:
        wanted = model_sources.wants_repository(entry, wish.repository)
        exactly = Found(wish.registry, wish.repository, wish.reference)
        return Outcome(entry.image, (exactly,) if wanted else ())
    if isinstance(keys, str):
        return Outcome(entry.image, failure=keys)
    if wish.is_pattern:
        return await search(spec, entry, keys, registry)
    if not model_sources.wants_repository(entry, wish.repository):
        return Outcome(entry.image)
    listing = await registry.tags(wish.registry, wish.repository, keys)
    found = images(wish, wish.repository, model_sources.wanted_tags(spec, entry, listing.names))
    if listing.failure is None:
        return Outcome(entry.image, found)
    return Outcome(entry.image, found, str(listing.failure), unreachable=hosts([listing.failure]))


async def search(
    spec: AIMClusterModelSourceSpec, entry: ModelSourceFilter, keys: Keychain, registry: Registry
) -> Outcome:
    """The wanted tags of all repositories that fit a pattern."""
    wish = model_sources.wish(spec, entry)
    listing = await registry.repositories(wish.registry, wish.namespace, keys)
    fitting = [name for name in listing.names if wish.fits(name) and model_sources.wants_repository(entry, name)]
    tags = await registry.tags_of(wish.registry, fitting, keys)
    found = [
        image
        for name in fitting
        for image in images(wish, name, model_sources.wanted_tags(spec, entry, tags[name].names))
    ]
    broken = {name: failure for name in fitting if (failure := tags[name].failure)}
    told = [f"{name} ({failure})" for name, failure in broken.items()]
    silent = hosts([*broken.values(), *([listing.failure] if listing.failure else ())])
    if listing.failure:
        return Outcome(entry.image, tuple(found), str(listing.failure), tuple(told), silent)
    if wish.registry == GHCR and broken:
        beginning = "partial results, encountered errors" if found else "no images found"
        return Outcome(entry.image, tuple(found), f"{beginning}: {'; '.join(told)}", (), silent)
    return Outcome(entry.image, tuple(found), skipped=tuple(told), unreachable=silent)


def images(wish: Wish, repository: str, tags: Sequence[str]) -> tuple[Found, ...]:
    return tuple(Found(wish.registry, repository, tag) for tag in tags)


def hosts(failures: Sequence[errors.RegistryError]) -> tuple[str, ...]:
    """Who did not answer; being refused is an answer."""
    silent = (failure.host or failure.registry for failure in failures if isinstance(failure, NO_ANSWER))
    return tuple(sorted({host for host in silent if host}))
