"""A model of the catalogue: what is known of its image, which templates follow from it, and how they do."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from aim_engine.api import reasons
from aim_engine.api.image_metadata import ImageMetadata
from aim_engine.api.model import AIMModelSpec, AIMModelStatus, Model, ModelSourceType
from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.api.status import AIMStatus
from aim_engine.api.template import Template
from aim_engine.core.health import Component
from aim_engine.core.problems import Category, Dependency, Problem


class Switches(msgspec.Struct, frozen=True):
    """What is done with the metadata of the image."""

    extract: bool
    create: bool


class Inspection(msgspec.Struct, frozen=True):
    """What one pass did to know the image."""

    found: ImageMetadata | None = None
    """Obtained in this pass, from the spec or from the registry."""
    problem: Problem | None = None


class Expected(StrEnum):
    """Whether a model should have templates."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def switches(spec: AIMModelSpec, config: RuntimeConfigSpec) -> Switches:
    """The model's own word, else the runtime config's for both, else both are on."""
    if spec.discovery is not None:
        own = spec.discovery
        return Switches(own.extract_metadata is not False, own.create_service_templates is not False)
    automatic = config.model.auto_discovery if config.model else None
    return Switches(automatic is not False, automatic is not False)


def stored_metadata(spec: AIMModelSpec, status: AIMModelStatus | None) -> ImageMetadata | None:
    """What an earlier pass found out of the image that the spec names now."""
    if status is None or status.inspected_image not in (None, spec.image):
        return None
    return status.image_metadata


def must_be_inspected(spec: AIMModelSpec, status: AIMModelStatus | None, on: Switches) -> bool:
    """Whether the registry has to be asked: only once per image, and never if the metadata is given."""
    return on.extract and spec.image_metadata is None and stored_metadata(spec, status) is None


def waiting_for(model: Model, now: datetime) -> float:
    """For how many seconds a model has waited for its first pass; one that had it does not wait any more."""
    created = model.metadata.creation_timestamp
    if created is None or (model.status and model.status.observed_generation):
        return 0.0
    return max((now - created).total_seconds(), 0.0)


def known_metadata(spec: AIMModelSpec, status: AIMModelStatus | None, on: Switches) -> ImageMetadata | None:
    """The metadata that templates are made from; what is never looked for counts as known to be empty."""
    known = spec.image_metadata or stored_metadata(spec, status)
    return known if known is not None or on.extract else ImageMetadata()


def expected(spec: AIMModelSpec, metadata: ImageMetadata | None, on: Switches) -> Expected:
    """Whether templates will come, given what is known."""
    if spec.model_sources or spec.custom_templates:
        return Expected.YES
    if not on.create:
        return Expected.NO
    if metadata is None:
        return Expected.UNKNOWN
    recommended = metadata.model.recommended_deployments if metadata.model else ()
    return Expected.YES if recommended else Expected.NO


def source_type(spec: AIMModelSpec) -> ModelSourceType:
    return ModelSourceType.CUSTOM if spec.model_sources else ModelSourceType.IMAGE


def metadata_component(inspection: Inspection, remarks: Sequence[str], dependency: Dependency) -> Component:
    """How well the image is known; what is wrong with it holds back only what would be made from it."""
    if inspection.problem:
        return Component(name="ImageMetadata", problems=(inspection.problem,), dependency=dependency, blocks=False)
    named = inspection.found and inspection.found.model and inspection.found.model.canonical_name
    return Component(
        name="ImageMetadata",
        state=AIMStatus.READY,
        reason="ImageMetadataFound" if named else "ImageFound",
        message="; ".join(remarks),
        dependency=dependency,
    )


_BROKEN: Final = frozenset({AIMStatus.DEGRADED, AIMStatus.FAILED})
_MOVING: Final = frozenset({AIMStatus.PENDING, AIMStatus.PROGRESSING})
_SETTLED: Final = frozenset({AIMStatus.READY, AIMStatus.NOT_AVAILABLE})

_MODEL_FAILED: Final = frozenset({"ModelFailed", "ClusterModelFailed"})

_UNDER_WAY: Final = frozenset(
    {
        *("JobNotCreated", "JobRunning", "ReadingOutput"),
        *("PodsPending", "PodsStarting", "PodsProgressing", "Pulling"),
        *("FailedScheduling", "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"),
    }
)
"""Why a part of a template may not be ready although nothing of it has failed."""

_NONE_YET: Final = {
    Expected.UNKNOWN: (
        AIMStatus.PROGRESSING,
        reasons.AWAITING_METADATA,
        "Waiting for the model to fetch metadata",
    ),
    Expected.YES: (AIMStatus.PROGRESSING, reasons.CREATING_TEMPLATES, "Creating templates for the model"),
    Expected.NO: (
        AIMStatus.READY,
        reasons.NO_TEMPLATES_EXPECTED,
        "The model does not have any recommended templates",
    ),
}


def templates_component(
    name: str, templates: Sequence[Template], awaited: Expected, dependency: Dependency
) -> Component:
    """All templates of a model as one part of it."""
    words = [word(template) for template in templates]
    state, reason, message = _sum(words) if words else _NONE_YET[awaited]
    return Component(name=name, state=state, reason=reason, message=message, dependency=dependency)


def _sum(words: Sequence[AIMStatus | None]) -> tuple[AIMStatus, str, str]:
    present = set(words)
    if present == {AIMStatus.READY}:
        return AIMStatus.READY, reasons.ALL_TEMPLATES_READY, "All templates are ready"
    if present <= _BROKEN:
        return AIMStatus.FAILED, reasons.ALL_TEMPLATES_FAILED, "All templates are degraded or failed"
    if present == {AIMStatus.NOT_AVAILABLE}:
        said = "None of the model's templates are available (no matching GPUs in the cluster)"
        return AIMStatus.NOT_AVAILABLE, reasons.NO_TEMPLATES_AVAILABLE, said
    if present & _BROKEN:
        return AIMStatus.DEGRADED, reasons.SOME_TEMPLATES_DEGRADED, "Some templates are degraded or failed"
    if present & _MOVING:
        return AIMStatus.PROGRESSING, reasons.TEMPLATES_PROGRESSING, "Templates are progressing"
    if present <= _SETTLED:
        said = "All templates have finished processing (some are not available)"
        return AIMStatus.READY, reasons.SOME_TEMPLATES_READY, said
    return AIMStatus.PROGRESSING, reasons.TEMPLATES_PROGRESSING, "Unknown status"


def word(template: Template) -> AIMStatus | None:
    """The state of a template; one that only waits for its model must not hold the model down in turn."""
    if template.status is None:
        return None
    return AIMStatus.PROGRESSING if _waits_for_model(template) else template.status.status


def _waits_for_model(template: Template) -> bool:
    conditions = template.status.conditions if template.status else ()
    untrue = {
        condition.reason
        for condition in conditions
        if condition.status == "False"
        and condition.type.endswith(reasons.READY)
        and condition.type not in (reasons.READY, reasons.CACHE_READY)
    }
    return bool(untrue & _MODEL_FAILED) and untrue <= _MODEL_FAILED | _UNDER_WAY


def secret_missing(name: str, namespace: str) -> Problem:
    """A pull secret that the model names does not exist."""
    return Problem(
        Category.MISSING_UPSTREAM, "SecretNotFound", f'imagePullSecret "{name}" not found in namespace "{namespace}"'
    )


def for_cluster(problem: Problem) -> Problem:
    """What is missing as a cluster model tells it: something it depends on."""
    if problem.category is not Category.MISSING_UPSTREAM:
        return problem
    said = f"Upstream dependency not found: {problem.message}"
    return Problem(problem.category, reasons.REFERENCE_NOT_FOUND, said)


def status(model: Model, inspection: Inspection, on: Switches) -> AIMModelStatus:
    """What is remembered of the image; of another image than the spec's only while nothing is looked for."""
    assert model.spec is not None
    known = inspection.found or stored_metadata(model.spec, model.status)
    left = model.status if model.status and not on.extract else AIMModelStatus()
    return AIMModelStatus(
        image_metadata=known or left.image_metadata,
        inspected_image=model.spec.image if known else left.inspected_image,
        source_type=source_type(model.spec),
    )
