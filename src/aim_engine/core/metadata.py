"""What the labels of a container image say about the model in it."""

import ast
import json
import warnings
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from aim_engine.api import names
from aim_engine.api.image_metadata import ImageMetadata, ModelMetadata, OciMetadata, RecommendedDeployment
from aim_engine.core import masking
from aim_engine.core.json_values import as_list, as_object, kind

_DEPLOYMENTS = "model.recommendedDeployments"
_SHOWN = 200
_TRUE: Final = frozenset({"1", "t", "T", "true", "True", "TRUE"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "False", "FALSE"})
_FIELDS: Final = {
    field.encode_name.lower(): field.encode_name for field in msgspec.structs.fields(RecommendedDeployment)
}
_COUNT: Final = "gpuCount"


class Malformed(msgspec.Struct, frozen=True):
    """Why the labels cannot be used."""

    message: str


def of_labels(labels: Mapping[str, str]) -> ImageMetadata | Malformed:
    """The metadata in an image's labels; an image without any is fine, a broken list of deployments is not."""
    deployments = recommended_deployments(_label(labels, _DEPLOYMENTS) or "")
    if isinstance(deployments, Malformed):
        return deployments
    return ImageMetadata(model=_model(labels, deployments), oci=_oci(labels), original_labels=dict(labels))


def recommended_deployments(text: str) -> tuple[RecommendedDeployment, ...] | Malformed:
    """JSON, or what older images have instead: no brackets around the objects, or Python's quotes."""
    if not text.strip():
        return ()
    entries = _parsed(text)
    if entries is None:
        shown = masking.clipped(text, _SHOWN)
        return Malformed(f"label {_DEPLOYMENTS} is no JSON array of deployments: {shown}")
    deployments = [_deployment(index, entry) for index, entry in enumerate(entries)]
    broken = next((entry for entry in deployments if isinstance(entry, Malformed)), None)
    return broken or tuple(entry for entry in deployments if isinstance(entry, RecommendedDeployment))


def _label(labels: Mapping[str, str], suffix: str) -> str | None:
    """The first prefix that says anything wins, per label."""
    return next((value for prefix in names.IMAGE_LABEL_PREFIXES if (value := labels.get(prefix + suffix))), None)


def _model(labels: Mapping[str, str], deployments: tuple[RecommendedDeployment, ...]) -> ModelMetadata:
    return ModelMetadata(
        canonical_name=_label(labels, "model.canonicalName"),
        source=_label(labels, "model.source"),
        tags=_listed(_label(labels, "model.tags")),
        versions=_listed(_label(labels, "model.versions")),
        variants=_listed(_label(labels, "model.variants")),
        hf_token_required=_truth(_label(labels, "hfToken.required")),
        title=_label(labels, "title"),
        description_full=_label(labels, "description.full"),
        release_notes=_label(labels, "release.notes"),
        recommended_deployments=deployments,
    )


def _oci(labels: Mapping[str, str]) -> OciMetadata:
    fields = (field.name for field in msgspec.structs.fields(OciMetadata))
    return OciMetadata(**{field: labels.get(names.IMAGE_LABEL_PREFIX_OCI + field) or None for field in fields})


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _truth(text: str | None) -> bool | None:
    return True if text in _TRUE else False if text in _FALSE else None


def _parsed(text: str) -> list[Any] | None:
    """Strict JSON before Python's literals, so that apostrophes inside a description survive."""
    whole = text if text.lstrip().startswith("[") else f"[{text}]"
    for read in (json.loads, _literal, _with_other_quotes):
        try:
            value: Any = read(whole)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if (entries := as_list(value)) is not None:
            return entries
    return None


def _literal(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the text's own backslashes, which are nobody's fault here
        return ast.literal_eval(text)


def _with_other_quotes(text: str) -> Any:
    return json.loads(text.replace("'", '"'))


def _deployment(index: int, entry: Any) -> RecommendedDeployment | Malformed:
    where = f"label {_DEPLOYMENTS}: entry {index}"
    written = as_object(entry)
    if written is None:
        return Malformed(f"{where} is {kind(entry)}, not an object")
    given = {_FIELDS[str(key).lower()]: value for key, value in written.items() if str(key).lower() in _FIELDS}
    texts = {key: str(value) for key, value in given.items() if key != _COUNT and isinstance(value, int | float)}
    try:
        deployment = msgspec.convert(given | texts, RecommendedDeployment, strict=False)
    except msgspec.ValidationError as error:
        return Malformed(f"{where}: {error}")
    if not 0 <= (deployment.gpu_count or 0) < 2**31:
        return Malformed(f"{where}: {_COUNT} is {deployment.gpu_count}, which is no number of GPUs")
    return deployment
