"""A model source: which images its filters want, and which models are to be made of those that were found."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from aim_engine.api import names
from aim_engine.api.model import AIMClusterModel
from aim_engine.api.model_source import AIMClusterModelSource, AIMClusterModelSourceSpec, ModelSourceFilter
from aim_engine.core import durations, images, naming, versions
from aim_engine.core.derived_name import label_value
from aim_engine.core.images import DOCKER_HUB, Image, InvalidImage

_WEB_SITE: Final = "hub.docker.com"
_USUAL_INTERVAL: Final = timedelta(hours=1)
_SHORTEST_PAUSE: Final = timedelta(minutes=1)


class Wish(msgspec.Struct, frozen=True):
    """A filter, understood: one image, all tags of one repository, or all repositories that fit a pattern."""

    registry: str
    repository: str
    """With `*` in a pattern."""
    reference: str = ""
    """The tag or digest of exactly one image."""

    @property
    def is_pattern(self) -> bool:
        return "*" in self.repository

    @property
    def namespace(self) -> str:
        """Where on Docker Hub or ghcr.io to look for what fits a pattern."""
        return self.repository.partition("/")[0].rstrip("*")

    def fits(self, repository: str) -> bool:
        """Whether a repository is meant; `*` stands for any characters, `/` among them."""
        shape = ".*".join(re.escape(part) for part in self.repository.split("*"))
        return re.fullmatch(shape, repository, re.DOTALL) is not None


class Found(msgspec.Struct, frozen=True):
    """An image that a filter wants."""

    registry: str
    repository: str
    reference: str

    @property
    def uri(self) -> str:
        """As users write it: Docker Hub goes without saying."""
        path = self.repository if self.registry == DOCKER_HUB else f"{self.registry}/{self.repository}"
        return f"{path}@{self.reference}" if ":" in self.reference else f"{path}:{self.reference}"

    @property
    def model_name(self) -> str:
        return naming.cluster_model(self.registry, self.repository, self.reference)


class Outcome(msgspec.Struct, frozen=True):
    """What came of one filter."""

    filter: str
    found: tuple[Found, ...] = ()
    failure: str = ""
    skipped: tuple[str, ...] = ()
    """Repositories that could not be read, each with its cause."""
    unreachable: tuple[str, ...] = ()
    """Hosts that did not answer."""
    pause: float = 0.0
    """Seconds for which a registry wants to be left alone."""


class Scan(msgspec.Struct, frozen=True):
    """One look at all registries of a source."""

    at: datetime
    generation: int
    outcomes: tuple[Outcome, ...]
    pause: timedelta | None = None
    """From `at` to the next one, if a registry asked for a pause."""

    @property
    def found(self) -> tuple[Found, ...]:
        """All images, each once, in the order of the filters."""
        return tuple({one.uri: one for outcome in self.outcomes for one in outcome.found}.values())

    @property
    def failed(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.failure)


def wish(spec: AIMClusterModelSourceSpec, entry: ModelSourceFilter) -> Wish:
    """What a filter asks for; a registry in it wins over the source's."""
    asked = _written(spec, entry)
    # Its web site is no registry: models named after it could never be pulled.
    return msgspec.structs.replace(asked, registry=DOCKER_HUB) if _WEB_SITE in asked.registry else asked


def _written(spec: AIMClusterModelSourceSpec, entry: ModelSourceFilter) -> Wish:
    registry = spec.registry or DOCKER_HUB
    text = entry.image.strip()
    if "*" in text:
        first, slash, rest = text.partition("/")
        host = slash and ("." in first or ":" in first or first == "localhost") and "*" not in first
        return Wish(first, rest) if host else Wish(registry, text)
    parsed = images.parse(text, registry)
    if isinstance(parsed, InvalidImage):
        return Wish(registry, text)
    return _exact(parsed)


def _exact(image: Image) -> Wish:
    return Wish(image.registry, image.repository, image.digest or image.tag or "")


def wants_repository(entry: ModelSourceFilter, repository: str) -> bool:
    """Whether a filter leaves a repository in."""
    return repository not in entry.exclude


def wanted_tags(spec: AIMClusterModelSourceSpec, entry: ModelSourceFilter, tags: Iterable[str]) -> list[str]:
    """The tags that meet the constraints of the filter, else of the source; all if there are none."""
    constraints = entry.versions or spec.versions
    return [tag for tag in tags if versions.satisfies(tag, constraints)]


def matches(spec: AIMClusterModelSourceSpec, image: str) -> bool:
    """Whether any filter would take this image, as far as its name tells."""
    parsed = images.parse(image)
    if isinstance(parsed, InvalidImage):
        return False
    return any(_would_take(spec, entry, parsed) for entry in spec.filters)


def _would_take(spec: AIMClusterModelSourceSpec, entry: ModelSourceFilter, image: Image) -> bool:
    asked = wish(spec, entry)
    if asked.registry != image.registry or not asked.fits(image.repository):
        return False
    if not wants_repository(entry, image.repository):
        return False
    if asked.reference:
        return asked.reference == image.reference
    return bool(wanted_tags(spec, entry, [image.reference]))


def interval(spec: AIMClusterModelSourceSpec) -> timedelta:
    """Time between two scans."""
    return durations.parse(spec.sync_interval or "") or _USUAL_INTERVAL


def pause(
    spec: AIMClusterModelSourceSpec, outcomes: Sequence[Outcome], took: timedelta, before: Scan | None
) -> timedelta | None:
    """How soon after its beginning a scan is followed by the next, if a registry wants to be left alone for a while.

    Time after time it is twice as long: a source that wants more than a registry gives would leave nothing for others.
    """
    wanted = max((outcome.pause for outcome in outcomes), default=0.0)
    if not wanted:
        return None
    least = before.pause * 2 if before and before.pause else _SHORTEST_PAUSE
    return min(max(took + timedelta(seconds=wanted), least), interval(spec))


def limit(spec: AIMClusterModelSourceSpec) -> int:
    return spec.max_models or names.DEFAULT_MAX_MODELS


def label(source: str) -> str:
    return label_value(source) or "unnamed"


class Harvest(msgspec.Struct, frozen=True):
    """What is to be done with the images that were found."""

    create: tuple[Found, ...] = ()
    take_over: tuple[AIMClusterModel, ...] = ()

    @property
    def new(self) -> int:
        return len(self.create) + len(self.take_over)


def harvest(
    source: AIMClusterModelSource,
    found: Sequence[Found],
    existing: Sequence[AIMClusterModel],
    model_named: Callable[[str], AIMClusterModel | None],
    lives: Callable[[str], bool],
) -> Harvest:
    """New models up to the limit; what other living sources hold is theirs. `lives` is asked with a label value."""
    assert source.spec is not None
    room = limit(source.spec) - len(existing)
    held = {model.spec.image for model in existing if model.spec}
    create, taken = list[Found](), list[AIMClusterModel]()
    for image in found:
        if len(create) + len(taken) >= room:
            break
        if image.uri in held:
            continue
        model = model_named(image.model_name)
        if model is None:
            create.append(image)
        elif _is_free(model, label(source.metadata.name), lives):
            taken.append(model)
    return Harvest(tuple(create), tuple(taken))


def _is_free(model: AIMClusterModel, own: str, lives: Callable[[str], bool]) -> bool:
    holder = model.metadata.labels.get(names.LABEL_MODEL_SOURCE)
    return model.metadata.deletion_timestamp is None and holder != own and (holder is None or not lives(holder))
