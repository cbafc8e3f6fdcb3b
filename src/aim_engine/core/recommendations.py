"""The templates an image recommends, one per deployment in its metadata."""

from collections.abc import Sequence

import msgspec

from aim_engine.api.hardware import (
    LONGEST_GPU_MODEL,
    GpuRequirements,
    HardwareRequirements,
    Metric,
    Precision,
    RuntimeParameters,
)
from aim_engine.api.image_metadata import RecommendedDeployment
from aim_engine.core import naming


class RecommendedTemplate(msgspec.Struct, frozen=True):
    """A template to be made: its name and what its spec gets from the deployment."""

    name: str
    parameters: RuntimeParameters
    profile_id: str | None = None


class Recommendations(msgspec.Struct, frozen=True):
    """Templates to be made, and why deployments were passed over."""

    templates: tuple[RecommendedTemplate, ...]
    remarks: tuple[str, ...] = ()


def templates(model: str, image: str, deployments: Sequence[RecommendedDeployment]) -> Recommendations:
    """One template per deployment; those that differ only in their profile are told apart, equal ones are one."""
    made: dict[str, RecommendedTemplate] = {}
    remarks: list[str] = []
    for index, deployment in enumerate(deployments):
        if remark := _refusal(index, deployment):
            remarks.append(remark)
            continue
        name = naming.recommended_template(model, image, deployment)
        if name in made and deployment.profile_id != made[name].profile_id:
            name = naming.recommended_template(model, image, deployment, apart=True)
        template = _template(name, deployment)
        if made.setdefault(name, template) != template:
            remarks.append(f"recommendedDeployments[{index}] needs a profileId that tells it from an earlier one")
    return Recommendations(tuple(made.values()), tuple(remarks))


def _refusal(index: int, deployment: RecommendedDeployment) -> str | None:
    """What the schema does not allow would make the API server refuse the template."""
    for field, value, words in (
        ("metric", deployment.metric, Metric),
        ("precision", deployment.precision, Precision),
    ):
        if value and value not in list(words):
            return f"recommendedDeployments[{index}].{field} {value!r} is none of {', '.join(words)}"
    if len(deployment.gpu_model or "") > LONGEST_GPU_MODEL:
        return f"recommendedDeployments[{index}].gpuModel is longer than {LONGEST_GPU_MODEL} characters"
    return None


def _template(name: str, deployment: RecommendedDeployment) -> RecommendedTemplate:
    model, count = deployment.gpu_model, deployment.gpu_count or 0
    gpu = GpuRequirements(requests=count, model=model) if model and count > 0 else None
    parameters = RuntimeParameters(
        metric=Metric(deployment.metric) if deployment.metric else None,
        precision=Precision(deployment.precision) if deployment.precision else None,
        gpu=gpu,
        hardware=HardwareRequirements(gpu=gpu) if gpu else None,
    )
    return RecommendedTemplate(name, parameters, deployment.profile_id or None)
