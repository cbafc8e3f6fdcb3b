"""What the labels of an AIM image say about the model in it."""

import ast
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import msgspec

from aim_engine.api import names
from aim_engine.api.image_metadata import ImageMetadata, ModelMetadata, OciMetadata, RecommendedDeployment

TRUE = frozenset({"1", "t", "T", "true", "True", "TRUE"})
DEPLOYMENTS = "model.recommendedDeployments"
FIELDS = {field.encode_name.lower(): field for field in msgspec.structs.fields(RecommendedDeployment)}
"""Keys of a recommended deployment, in lower case: image authors spell them in several ways."""


class Malformed(NamedTuple):
    """A label that should hold JSON and does not, and what is wrong with it."""

    label: str
    why: str

    @property
    def message(self) -> str:
        return f"the image label {self.label} cannot be read: {self.why}"


class Unreadable(Exception):
    """Leaves the reading of one label with the reason; never leaves this module."""


def read(labels: Mapping[str, str]) -> ImageMetadata | Malformed:
    """The metadata in the labels of an image; an image without labels is fine."""
    deployments = RecommendedDeployments(labels)
    try:
        recommended = deployments.read()
    except Unreadable as reason:
        return Malformed(deployments.label, str(reason))
    model = ModelMetadata(
        canonical_name=_text(labels, "model.canonicalName"),
        source=_text(labels, "model.source"),
        tags=_listed(labels, "model.tags"),
        versions=_listed(labels, "model.versions"),
        variants=_listed(labels, "model.variants"),
        hf_token_required=_switch(labels, "hfToken.required"),
        title=_text(labels, "title"),
        description_full=_text(labels, "description.full"),
        release_notes=_text(labels, "release.notes"),
        recommended_deployments=recommended,
    )
    oci = OciMetadata(
        **{
            field.name: labels.get(f"{names.IMAGE_LABEL_PREFIX_OCI}{field.name}") or None
            for field in msgspec.structs.fields(OciMetadata)
        }
    )
    return ImageMetadata(model=model, oci=oci, original_labels=dict(labels))


class RecommendedDeployments:
    """The label that lists the deployments a publisher recommends."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.label, self.text = _found(labels, DEPLOYMENTS)

    def read(self) -> tuple[RecommendedDeployment, ...]:
        """The deployments; none without the label."""
        if not self.text.strip():
            return ()
        entries = self.entries()
        return tuple(self.deployment(entry, index) for index, entry in enumerate(entries))

    def entries(self) -> list[Any]:
        """The entries of a JSON array, of objects without the brackets around them, or of Python literals."""
        text = self.text.strip()
        bracketed = text if text.startswith("[") else f"[{text}]"
        try:
            return msgspec.json.decode(bracketed, type=list[Any])
        except (msgspec.DecodeError, RecursionError) as strict:
            try:
                value: object = ast.literal_eval(bracketed)
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                raise Unreadable(f"it is neither JSON nor a Python literal ({strict})") from strict
            if not isinstance(value, list):
                raise Unreadable("it is no list") from strict
            return cast("list[Any]", value)

    def deployment(self, entry: object, index: int) -> RecommendedDeployment:
        """One entry; keys in any case, unknown ones left out."""
        if not isinstance(entry, dict):
            raise Unreadable(f"entry {index} is no object")
        given = {str(key).lower(): value for key, value in cast("dict[Any, Any]", entry).items()}
        known = {FIELDS[key].encode_name: value for key, value in given.items() if key in FIELDS}
        try:
            return msgspec.convert(known, RecommendedDeployment)
        except msgspec.ValidationError as error:
            raise Unreadable(f"entry {index}: {error}") from error


def _found(labels: Mapping[str, str], suffix: str) -> tuple[str, str]:
    """Name and value of the first label with this suffix that is not empty."""
    for prefix in names.IMAGE_LABEL_PREFIXES:
        value = labels.get(f"{prefix}{suffix}")
        if value:
            return f"{prefix}{suffix}", value
    return f"{names.IMAGE_LABEL_PREFIXES[0]}{suffix}", ""


def _text(labels: Mapping[str, str], suffix: str) -> str | None:
    return _found(labels, suffix)[1] or None


def _listed(labels: Mapping[str, str], suffix: str) -> tuple[str, ...]:
    parts = (part.strip() for part in _found(labels, suffix)[1].split(","))
    return tuple(part for part in parts if part)


def _switch(labels: Mapping[str, str], suffix: str) -> bool | None:
    text = _found(labels, suffix)[1]
    return text in TRUE if text else None
