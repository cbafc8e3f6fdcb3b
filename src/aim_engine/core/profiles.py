"""What the dry run of an AIM image prints, read and checked: a runtime profile and the weights it needs."""

import json
import math
import re
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

from aim_engine.api import quantity
from aim_engine.api.hardware import Metric, Precision, ProfileType
from aim_engine.api.sources import MODEL_ID_PATTERN, SOURCE_URI_PATTERN, ModelSource
from aim_engine.api.template import Profile, ProfileMetadata

LARGEST = 1024 * 1024
"""The most characters of output that are read: more could not be kept in a status."""

_BEGINNING = re.compile(r"\[\s*\{")
_MOST_BEGINNINGS = 10_000
"""Of how many places that look like a beginning one is tried; no dry run has so many."""
_MODEL_ID, _SOURCE_URI = re.compile(MODEL_ID_PATTERN), re.compile(SOURCE_URI_PATTERN)
E = TypeVar("E", bound=StrEnum)


class Discovered(NamedTuple):
    """The profile an image offers and the weights it needs."""

    profile: Profile
    sources: tuple[ModelSource, ...]
    remarks: tuple[str, ...] = ()
    """What was left out of it, and why."""


class Unusable(NamedTuple):
    """Why an output says nothing that can be used, as one sentence."""

    why: str


class _Refused(Exception):
    """Leaves the reading with the reason; never leaves this module."""


def read(output: str) -> Discovered | Unusable:
    """The first profile in the output of a dry run; log lines before and after it do no harm."""
    if not output.strip():
        return Unusable("the dry run printed nothing")
    if len(output) > LARGEST:
        return Unusable(f"the dry run printed {len(output)} characters, more than the {LARGEST} that can be kept")
    try:
        return _discovered(_element(output))
    except _Refused as reason:
        return Unusable(str(reason))


def _element(output: str) -> dict[str, Any]:
    """The first element of the last list of profiles."""
    decoder = json.JSONDecoder(parse_constant=_no_number)
    element, end = None, 0
    for beginning in islice(_BEGINNING.finditer(output), _MOST_BEGINNINGS):
        if beginning.start() < end:
            continue  # a list inside the last one
        try:
            value, end = decoder.raw_decode(output, beginning.start())
        except (ValueError, RecursionError):
            continue
        element = value[0] if "profile" in value[0] else element
    if element is None:
        raise _Refused("the dry run printed no JSON list of profiles; its output may be cut off")
    return element


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _discovered(element: dict[str, Any]) -> Discovered:
    profile = _object(element, "profile")
    metadata, remarks = _metadata(_object(profile, "metadata"))
    models = element.get("models")
    if not isinstance(models, list) or not models:
        raise _Refused("the dry run names no model to download")
    sources = tuple(_source(entry, index) for index, entry in enumerate(cast("list[Any]", models)))
    read = Profile(
        engine_args=_object(profile, "engine_args") or None,
        env_vars={name: _plain(value) for name, value in _object(profile, "env_vars").items()},
        metadata=metadata,
        original_discovery_output=element,
    )
    return Discovered(read, sources, remarks)


def _metadata(given: dict[str, Any]) -> tuple[ProfileMetadata, tuple[str, ...]]:
    remarks: list[str] = []

    def one_of(name: str, words: type[E]) -> E | None:
        value = given.get(name)
        if value in (None, ""):
            return None
        if value in [str(word) for word in words]:
            return words(value)
        remarks.append(f"{name} {value!r} is none of {', '.join(words)}")
        return None

    count = given.get("gpu_count")
    metadata = ProfileMetadata(
        engine=_text(given.get("engine")),
        gpu=_text(given.get("gpu")),
        gpu_count=count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**31 else None,
        metric=one_of("metric", Metric),
        precision=one_of("precision", Precision),
        type=one_of("type", ProfileType),
    )
    return metadata, tuple(remarks)


def _source(entry: object, index: int) -> ModelSource:
    if not isinstance(entry, dict):
        raise _Refused(f"models[{index}] of the dry run is no object")
    model = cast("dict[str, Any]", entry)
    name, source = model.get("name"), model.get("source")
    if not isinstance(name, str) or not _MODEL_ID.match(name):
        raise _Refused(f"models[{index}].name of the dry run is {name!r}; it has to be org/name")
    if not isinstance(source, str) or not _SOURCE_URI.match(source):
        raise _Refused(f"models[{index}].source of the dry run is {source!r}; it has to begin with hf:// or s3://")
    return ModelSource(model_id=name, source_uri=source, size=_size(model.get("size_gb")))


def _size(gigabytes: object) -> str | None:
    """Gibibytes as a quantity of whole bytes; None, to be found out later, for what is no size."""
    if not isinstance(gigabytes, int | float) or isinstance(gigabytes, bool) or not 0 < gigabytes < 2**33:
        return None
    size = math.trunc(gigabytes * 1024**3)
    return quantity.binary(size) if size else None


def _object(parent: dict[str, Any], name: str) -> dict[str, Any]:
    value = parent.get(name)
    if value is not None and not isinstance(value, dict):
        raise _Refused(f"{name!r} in the output of the dry run is no object")
    return cast("dict[str, Any]", value or {})


def _text(value: object) -> str | None:
    return value or None if isinstance(value, str) else None


def _plain(value: object) -> str:
    """The value of a variable; numbers and truth values as JSON writes them."""
    return value if isinstance(value, str) else json.dumps(value)
