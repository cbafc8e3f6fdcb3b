"""The name of every object the operator makes: one function per kind of object."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from aim_engine.api import names, quantity
from aim_engine.api.environment import EnvVar
from aim_engine.api.hardware import GpuRequirements, HardwareRequirements, RuntimeParameters
from aim_engine.api.image_metadata import RecommendedDeployment
from aim_engine.api.model import CustomTemplate
from aim_engine.api.sources import ModelSource
from aim_engine.core import images
from aim_engine.core.derived_name import LIMIT, HashInput, derived, derived_apart, sha256
from aim_engine.core.problems import Problem, invalid_spec
from aim_engine.objects import Manifest

_PREDICTOR = "-predictor-"
_SHORTEST = 10
"""One character, a dash and eight digits of a hash."""

_TEMPLATE_IN_JOB_NAME = 45


def inference_service(service: str, namespace: str) -> str | Problem:
    """Name of a service's InferenceService, or why there can be none.

    KServe makes `<name>-predictor-<namespace>` the first label of a host name, which ends at 63 characters.
    """
    limit = LIMIT - len(_PREDICTOR) - len(namespace)
    if limit < _SHORTEST:
        return invalid_spec(
            "InvalidSpec",
            f'namespace "{namespace}" is too long ({len(namespace)} chars); '
            "InferenceService hostname would exceed 63 characters",
        )
    return derived_apart([service], namespace, limit=limit)


def predictor(inference_service: str) -> str:
    """Name KServe gives to the Service of an InferenceService."""
    return f"{inference_service}-predictor"


def autoscaler(inference_service: str) -> str:
    """Name KEDA gives to the HorizontalPodAutoscaler of an InferenceService."""
    return f"keda-hpa-{predictor(inference_service)}"


def http_route(service: str, namespace: str) -> str:
    return derived_apart([service], namespace)


def shared_template_cache(template: str, namespace: str, beside: str = "") -> str:
    """Name of the cache that services of a namespace share.

    `beside` is the template's scope, to be given only if a cache of another template holds the plain name.
    """
    return derived([template], namespace, template, beside) if beside else derived_apart([template], namespace)


def dedicated_template_cache(template: str, service: str, service_uid: str) -> str:
    return derived_apart([template, service], service_uid)


def artifact(source_uri: str, env: Sequence[EnvVar], storage_class: str, dedicated_to: str | None = None) -> str:
    """Name of the download object of one source; `dedicated_to` is the cache that keeps it for itself."""
    own = () if dedicated_to is None else ("dedicated", dedicated_to)
    return derived([source_uri], source_uri, env_for_hash(env), storage_class, *own, digits=10)


def volume(artifact: str, uid: str) -> str:
    return derived([artifact, "cache"], uid)


def check_size_job(artifact: str, uid: str) -> str:
    return derived([artifact, "check-size"], uid)


def download_job(artifact: str, uid: str) -> str:
    return derived([artifact, "download"], uid)


def model_of_image(image: str) -> str | images.InvalidImage:
    """Name of the model a service creates for an image nobody has a model of."""
    parts = images.parts(image)
    return parts if isinstance(parts, images.InvalidImage) else derived([parts.name, parts.tag], image)


def custom_model(base_image: str, sources: Sequence[ModelSource], beside: HardwareRequirements | None = None) -> str:
    """Name of the model a service creates for its own weights.

    `beside` is its hardware, to be given only if a model with other hardware holds the plain name.
    """
    inputs: list[HashInput] = [base_image]
    for source in sources:
        inputs += [source.model_id, source.source_uri]
        inputs += [endpoint] if (endpoint := s3_endpoint(source)) else []
    if beside is not None:
        inputs += [*_visible(beside.gpu), *_invisible(beside)] or ["hardware"]
    return derived([sources[0].model_id if sources else "custom-model"], *inputs)


def s3_endpoint(source: ModelSource) -> str:
    """The literal AWS_ENDPOINT_URL of a source; empty if there is none or it comes from elsewhere."""
    return next((entry.value or "" for entry in source.env if entry.name == "AWS_ENDPOINT_URL"), "")


def cluster_model(registry: str, repository: str, tag: str) -> str:
    """Name of the AIMClusterModel a model source creates for an image."""
    return derived([repository, tag], registry, repository, tag, digits=6)


def recommended_template(model: str, image: str, deployment: RecommendedDeployment, apart: bool = False) -> str:
    """Name of the template made from a recommended deployment.

    `apart` tells it from an earlier entry that differs in nothing but the profile id.
    """
    gpu, count = deployment.gpu_model, deployment.gpu_count or 0
    hardware = f"{count}x-{gpu}" if gpu and count else gpu or (f"x{count}" if count else "")
    metric = {"latency": "lat", "throughput": "thr"}.get(deployment.metric or "", deployment.metric)
    suffix = "-".join(piece for piece in (hardware, metric, deployment.precision) if piece)
    hashed = (gpu, f"x{count}" if count else "", deployment.metric, deployment.precision)
    pieces = [model, image, *hashed, deployment.profile_id if apart else ""]
    return derived([image, suffix], "-".join(piece for piece in pieces if piece), digits=4)


def custom_template(model: str, index: int, entry: CustomTemplate | None) -> str:
    """Name made up for a custom template; no entry means the one template of a model without custom templates."""
    parts, inputs = [model, "custom"], list[HashInput]([model, index])
    if entry is not None:
        profile, gpu = entry.profile, entry.hardware.gpu if entry.hardware else None
        visible = (entry.name, profile and profile.precision, gpu and gpu.model)
        parts += [part for part in visible if part]
        inputs.append(entry.name or "")
        inputs += [profile.precision or "", profile.metric or ""] if profile else []
        inputs += [gpu.requests or 0, gpu.model or ""] if gpu else []
    return derived(parts, *inputs)


def overridden_template(base: str, overrides: RuntimeParameters | None) -> str:
    """Name of the template derived from `base` for a service's overrides; `base` itself if there are none."""
    if overrides is None:
        return base
    hardware = overrides.hardware or HardwareRequirements()
    gpu = hardware.gpu or overrides.gpu
    inputs = _visible(gpu)
    parts = [gpu.model.lower()] if gpu and gpu.model else []
    parts += [f"{gpu.requests}gpu"] if gpu and gpu.requests is not None else []
    for label, value in (("precision", overrides.precision), ("metric", overrides.metric)):
        parts += [value] if value else []
        inputs += [label, value] if value else []
    inputs += _invisible(HardwareRequirements(gpu=gpu, cpu=hardware.cpu))
    return derived([base, "ovr", *parts], *inputs, digits=4) if inputs else base


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """What the outcome of discovery depends on."""

    model_name: str
    image: str
    parameters: RuntimeParameters = RuntimeParameters()
    """With the effective hardware in `hardware`."""
    profile_id: str = ""

    def text(self, of_the_pod: str = "") -> str:
        gpu = self.parameters.hardware.gpu if self.parameters.hardware else None
        wish = f"{self.parameters.metric or ''}{self.parameters.precision or ''}"
        hardware = f"{gpu.model or ''}{gpu.requests or 0}" if gpu else ""
        return f"{self.model_name}{self.image}{of_the_pod}{wish}{hardware}{self.profile_id}"


def discovery_job(
    template: str, discovery: Discovery, service_account: str, env: Sequence[EnvVar], pull_secrets: Sequence[str]
) -> str:
    """Name of a template's discovery Job; `env` is what users set, merged."""
    variables = "".join(f"{entry.name}{entry.value or ''}" for entry in env)
    digest = sha256(discovery.text(f"{service_account}{variables}{''.join(pull_secrets)}"))[:8]
    return f"discover-{template[:_TEMPLATE_IN_JOB_NAME].rstrip('.')}-{digest}"


def discovery_hash(discovery: Discovery) -> str:
    """What changes when discovery has to start anew."""
    return sha256(discovery.text())[:16]


_ENV_ORDER: Final = (
    *("name", "value", "valueFrom"),
    *("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"),
    *("apiVersion", "fieldPath", "containerName", "resource", "divisor", "volumeName", "path", "key", "optional"),
)


def env_for_hash(env: Sequence[EnvVar]) -> list[Manifest]:
    """The variables in the one order of fields that names were always made from, without empty fields."""
    entries: list[Manifest] = msgspec.to_builtins(env)
    return [_ordered(entry) for entry in entries]


def _ordered(fields: Manifest) -> Manifest:
    present = {key: fields[key] for key in _ENV_ORDER if fields.get(key) not in (None, "")}
    inner = {key: _ordered(present[key]) for key in present if isinstance(present[key], dict)}
    return {**present, **inner}


def _visible(gpu: GpuRequirements | None) -> list[HashInput]:
    return [*_pair("gpu", (gpu.model if gpu else None) or None), *_pair("count", gpu.requests if gpu else None)]


def _invisible(hardware: HardwareRequirements) -> list[HashInput]:
    """Hardware that shows only in the hash: in this order, what is given, quantities in canonical form."""
    gpu, cpu = hardware.gpu or GpuRequirements(), hardware.cpu
    resource = gpu.resource_name if gpu.resource_name != names.DEFAULT_GPU_RESOURCE else None
    return [
        *_pair("minVram", _canonical(gpu.min_vram)),
        *_pair("resource", resource or None),
        *_pair("cpu", _canonical(cpu.requests if cpu else None)),
        *_pair("cpuLimit", _canonical(cpu.limits if cpu else None)),
    ]


def _pair(label: str, value: str | int | None) -> Iterator[HashInput]:
    if value is not None:
        yield from (label, value)


def _canonical(value: int | str | None) -> str | None:
    return None if value is None else quantity.canonical(value)
