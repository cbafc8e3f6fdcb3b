"""What an image's dry run prints, read into the profile of a template; strict only about what is stored."""

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from aim_engine.api import quantity
from aim_engine.api.hardware import LONGEST_GPU_MODEL, Metric, Precision, ProfileType
from aim_engine.api.sources import MODEL_ID, SOURCE_URI, ModelSource
from aim_engine.api.template import Profile, ProfileMetadata
from aim_engine.core import masking
from aim_engine.core.json_values import as_list, as_object, kind
from aim_engine.objects import Manifest

LARGEST: Final = 1024 * 1024
"""Bytes of one profile that still fit an object of the API server, beside the rest of it."""

LARGEST_ORIGINAL: Final = 256 * 1024
"""Bytes of output that are kept as they were printed."""

_LONGEST_LOG = 4 * 1024 * 1024
_PATIENCE = 4 * _LONGEST_LOG
"""Characters of garbage to look at before giving up; an image may print anything."""
_COST_OF_A_TRY = 50
_COST_OF_A_DEEP_TRY = 50_000
_SHOWN = 200
_LARGEST_MODEL = 2**60
_DEMANDS: Final = (
    ("name", re.compile(MODEL_ID.values["pattern"]), "be org/name"),
    ("source", re.compile(SOURCE_URI.values["pattern"]), "begin with hf:// or s3://"),
)

E = TypeVar("E", bound=StrEnum)


class Discovered(msgspec.Struct, frozen=True):
    """What discovery found, and what of it had to be left out."""

    profile: Profile
    sources: tuple[ModelSource, ...]
    remarks: tuple[str, ...] = ()


class Unreadable(msgspec.Struct, frozen=True):
    """Why the output of a dry run cannot be used."""

    message: str


def read(log: str) -> Discovered | Unreadable:
    """The first profile of the array in a dry run's log, whatever else was printed before and after it."""
    if not log.strip():
        return Unreadable("the dry run printed nothing")
    element = _first_element(log[-_LONGEST_LOG:])
    if element is None:
        end = masking.masked(log[-masking.EXCERPT_LIMIT :])[-_SHOWN:].strip()
        return Unreadable(f"the dry run printed no JSON array of profiles; its output ends with: {end}")
    size = _encoded_size(element)
    if size is None or size > LARGEST:
        what = "text that is no Unicode" if size is None else f"a profile of {size} bytes; at most {LARGEST} fit"
        return Unreadable(f"the dry run printed {what}")
    return _Reader().discovered(element, keep_original=size <= LARGEST_ORIGINAL)


def reported_type(element: Manifest) -> ProfileType | None:
    """The optimisation level that a printed element names, if it is one."""
    return _Reader().reported_type(element)


def _first_element(text: str) -> Manifest | None:
    """The last array outside any other whose first element looks like a profile; a log line may hold arrays too."""
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    found: Manifest | None = None
    position, patience = text.find("["), _PATIENCE
    while position >= 0 and patience > 0:
        try:
            value, end = decoder.raw_decode(text, position)
            found = value[0] if value and _looks_like_a_profile(value[0]) else found
        except json.JSONDecodeError as error:
            patience -= error.pos - position + _COST_OF_A_TRY
            end = position + 1
        except (ValueError, RecursionError):
            patience -= _COST_OF_A_DEEP_TRY
            end = position + 1
        position = text.find("[", end)
    return found


def _looks_like_a_profile(value: Any) -> bool:
    fields = as_object(value) or {}
    return as_object(fields.get("profile")) is not None or as_list(fields.get("models")) is not None


def _encoded_size(element: Manifest) -> int | None:
    try:
        return len(msgspec.json.encode(element))
    except (UnicodeError, RecursionError):
        return None


class _Reader:
    """Reads one element; remembers what had to be left out."""

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def discovered(self, element: Manifest, *, keep_original: bool) -> Discovered | Unreadable:
        profile = self._object(element, "profile")
        metadata = self._object(profile, "metadata")
        sources = list(self._sources(element))
        if broken := next((source for source in sources if isinstance(source, Unreadable)), None):
            return broken
        if not keep_original:
            self.remarks.append("the output is too long to be kept in originalDiscoveryOutput")
        read = Profile(
            engine_args=self._object(profile, "engine_args") or None,
            env_vars=dict(self._variables(profile)),
            metadata=self._metadata(metadata),
            original_discovery_output=element if keep_original else None,
        )
        return Discovered(read, tuple(s for s in sources if isinstance(s, ModelSource)), tuple(self.remarks))

    def reported_type(self, element: Manifest) -> ProfileType | None:
        return self._word(self._object(self._object(element, "profile"), "metadata"), "type", ProfileType)

    def _metadata(self, metadata: Manifest) -> ProfileMetadata:
        return ProfileMetadata(
            engine=self._text(metadata, "engine"),
            gpu=self._gpu(metadata),
            gpu_count=self._count(metadata, "gpu_count"),
            metric=self._word(metadata, "metric", Metric),
            precision=self._word(metadata, "precision", Precision),
            type=self._word(metadata, "type", ProfileType),
        )

    def _sources(self, element: Manifest) -> Iterator[ModelSource | Unreadable]:
        written: Any = element.get("models")
        models = as_list(written)
        if models is None and written is not None:
            yield Unreadable(f"models is {kind(written)}, not a list")
        for index, model in enumerate(models or ()):
            yield self._source(index, model)

    def _source(self, index: int, model: Any) -> ModelSource | Unreadable:
        where = f"models[{index}]"
        fields = as_object(model)
        if fields is None:
            return Unreadable(f"{where} is {kind(model)}, not an object")
        for key, pattern, demand in _DEMANDS:
            value = fields.get(key)
            if not isinstance(value, str) or not pattern.fullmatch(value):
                return Unreadable(f"{where}.{key} of the dry run is {_shown(value)}; it has to {demand}")
        size = self._size(where, fields.get("size_gb"))
        return ModelSource(model_id=fields["name"], source_uri=fields["source"], size=size)

    def _size(self, where: str, gigabytes: Any) -> str | None:
        if not gigabytes:
            return None
        usable = isinstance(gigabytes, int | float) and 0 < gigabytes * 1024**3 < _LARGEST_MODEL
        if not usable:
            self.remarks.append(f"{where}.size_gb {_shown(gigabytes)} is no size")
            return None
        return quantity.binary(int(gigabytes * 1024**3)) if gigabytes * 1024**3 >= 1 else None

    def _variables(self, profile: Manifest) -> Iterator[tuple[str, str]]:
        for name, value in self._object(profile, "env_vars").items():
            if isinstance(value, dict | list) or value is None:
                self.remarks.append(f"env_vars.{name} is {kind(value)}, not a text")
            else:
                yield name, value if isinstance(value, str) else json.dumps(value)

    def _object(self, fields: Manifest, key: str) -> Manifest:
        value: Any = fields.get(key)
        if value is not None and as_object(value) is None:
            self.remarks.append(f"{key} is {kind(value)}, not an object")
        return as_object(value) or {}

    def _text(self, fields: Manifest, key: str) -> str | None:
        value = fields.get(key)
        if value is None or isinstance(value, str):
            return value or None
        self.remarks.append(f"metadata.{key} is {kind(value)}, not a text")
        return None

    def _gpu(self, metadata: Manifest) -> str | None:
        model = self._text(metadata, "gpu")
        if model and len(model) > LONGEST_GPU_MODEL:
            self.remarks.append(f"metadata.gpu {_shown(model)} is longer than {LONGEST_GPU_MODEL} characters")
            return None
        return model

    def _count(self, fields: Manifest, key: str) -> int | None:
        value = fields.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31:
            return value
        if value is not None:
            self.remarks.append(f"metadata.{key} {_shown(value)} is no count")
        return None

    def _word(self, fields: Manifest, key: str, words: type[E]) -> E | None:
        """One of the words a status may hold; any other would make the API server refuse the whole status."""
        value = fields.get(key)
        if value is None or value == "":
            return None
        match = next((word for word in words if isinstance(value, str) and word == value.strip().lower()), None)
        if match is None:
            self.remarks.append(f"metadata.{key} {_shown(value)} is none of {', '.join(words)}")
        return match


def _shown(value: Any) -> str:
    return masking.clipped(json.dumps(value), _SHOWN)
