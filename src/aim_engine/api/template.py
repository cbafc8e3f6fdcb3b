"""Runtime profiles: AIMServiceTemplate and AIMClusterServiceTemplate."""

from datetime import datetime
from typing import Annotated, Any, TypeAlias

import msgspec

from aim_engine.api.declare import ANY_JSON, INT32, among, default, doc, immutable, length
from aim_engine.api.environment import EnvVars, LocalObjectReference, ResourceRequirements
from aim_engine.api.hardware import HardwareRequirements, Metric, Precision, ProfileType, RuntimeParameters
from aim_engine.api.placement import NodeAffinity
from aim_engine.api.runtime import RuntimeConfigName
from aim_engine.api.sources import ModelSource
from aim_engine.api.status import (
    RESOURCE_STATES,
    AIMStatus,
    Conditions,
    ObservedGeneration,
    ResolvedReference,
    ResolvedRuntimeConfig,
)
from aim_engine.objects import ObjectMeta, Wire


class TemplateSpec(RuntimeParameters):
    """Which model to run, tuned for what, on which hardware."""

    model_name: Annotated[
        str,
        doc("Name of an AIMModel, or of an AIMClusterModel if the namespace has no such model."),
        length(at_least=1),
        immutable("model name is immutable"),
    ]
    runtime_config_name: RuntimeConfigName | None = None
    image_pull_secrets: Annotated[
        tuple[LocalObjectReference, ...],
        doc(
            "Secrets for pulling the image in discovery and inference pods, beside the model's."
            " They live in the template's namespace; those of a cluster template in the operator's namespace."
        ),
    ] = ()
    service_account_name: Annotated[
        str | None, doc("Service account for discovery and inference pods; the namespace's `default` if empty.")
    ] = None
    resources: Annotated[
        ResourceRequirements | None, doc("Default container resources; the service's win per resource.")
    ] = None
    model_sources: Annotated[
        tuple[ModelSource, ...],
        doc("Weights this template needs; given, they are used as they are and no discovery runs."),
    ] = ()
    profile_id: Annotated[
        str | None, doc("AIM profile to pin; absent lets the image choose by metric, precision and GPU.")
    ] = None
    type: Annotated[
        ProfileType | None,
        doc("Optimisation level: optimized, preview or unoptimized; given, it wins over what discovery reports."),
    ] = None
    env: Annotated[
        EnvVars,
        doc("Variables for the inference containers of this template, for its downloads and for its discovery."),
    ] = ()


class TemplateCaching(Wire):
    """Downloading of the weights ahead of the first service."""

    enabled: Annotated[
        bool | None, doc("Whether to download the weights as soon as the template is usable."), default(False)
    ] = None
    env: Annotated[EnvVars, doc("Variables for these downloads; the template's `env` if absent.")] = ()


class AIMServiceTemplateSpec(TemplateSpec):
    """Which model to run, tuned for what, on which hardware, and whether to fetch its weights at once."""

    caching: Annotated[TemplateCaching | None, doc("Downloading of the weights ahead of the first service.")] = None


class ProfileMetadata(Wire):
    """Traits of a runtime profile."""

    engine: Annotated[str | None, doc("Inference engine, for example vllm.")] = None
    gpu: Annotated[str | None, doc("GPU model the profile is made for.")] = None
    gpu_count: Annotated[int | None, INT32, doc("GPUs per replica.")] = None
    metric: Annotated[Metric | None, doc("What the profile is optimised for.")] = None
    precision: Annotated[Precision | None, doc("Its numeric precision.")] = None
    type: Annotated[ProfileType | None, doc("How much tuning went into it: optimized, preview or unoptimized.")] = None


class Profile(Wire):
    """The runtime profile of a template, as the image's dry run reports it or as the spec implies it."""

    engine_args: Annotated[Any, ANY_JSON, doc("Arguments of the inference engine.")] = msgspec.field(
        name="engine_args", default=None
    )
    env_vars: Annotated[dict[str, str], doc("Variables the profile sets.")] = msgspec.field(name="env_vars", default={})
    metadata: Annotated[ProfileMetadata | None, doc("Traits of the profile.")] = None
    original_discovery_output: Annotated[Any, ANY_JSON, doc("What the dry run printed, unchanged.")] = None


class DiscoveryState(Wire):
    """How often discovery has been tried."""

    attempts: Annotated[int | None, INT32, doc("Failed attempts so far.")] = None
    last_attempt_time: Annotated[
        datetime | None, doc("When the last attempt was made; the pause after it doubles each time.")
    ] = None
    last_failure_reason: Annotated[str | None, doc("Why it failed.")] = None
    spec_hash: Annotated[
        str | None, doc("Hash of what discovery depends on; a change of it starts the count anew.")
    ] = None


class TemplateStatus(Wire):
    """What is known of the template."""

    observed_generation: ObservedGeneration | None = None
    conditions: Conditions = ()
    resolved_runtime_config: ResolvedRuntimeConfig | None = None
    resolved_model: Annotated[ResolvedReference | None, doc("Model that `modelName` stands for.")] = None
    resolved_cache: Annotated[
        ResolvedReference | None, doc("AIMTemplateCache that holds the weights; on namespaced templates only.")
    ] = None
    resolved_hardware: Annotated[
        HardwareRequirements | None,
        doc("Hardware that services will use: discovery's word first, then the spec's, then defaults."),
    ] = None
    resolved_node_affinity: Annotated[
        NodeAffinity | None, doc("Nodes with the right GPU; copied to the inference pods.")
    ] = None
    hardware_summary: Annotated[
        str | None, doc("Hardware in short: `2 x MI300X`, the GPU model alone if no GPU is taken, or `CPU`.")
    ] = None
    status: Annotated[
        AIMStatus | None,
        doc("Overall state; NotAvailable means that the cluster lacks the GPU."),
        among(*RESOURCE_STATES),
        default("Pending"),
    ] = None
    model_sources: Annotated[
        tuple[ModelSource, ...], doc("Weights to download: the spec's, or those discovery found.")
    ] = ()
    profile: Annotated[Profile | None, doc("The runtime profile.")] = None
    discovery_job: Annotated[ResolvedReference | None, doc("Job that ran the discovery.")] = None
    discovery: Annotated[DiscoveryState | None, doc("How often discovery has been tried.")] = None


class AIMServiceTemplate(Wire):
    """A runtime profile for one model in one namespace: tuned for what, on which hardware."""

    metadata: ObjectMeta = ObjectMeta()
    spec: AIMServiceTemplateSpec | None = None
    status: TemplateStatus | None = None


class AIMClusterServiceTemplate(Wire):
    """A runtime profile for one model in all namespaces; an AIMServiceTemplate of that name comes first in its own."""

    metadata: ObjectMeta = ObjectMeta()
    spec: TemplateSpec | None = None
    status: TemplateStatus | None = None


Template: TypeAlias = AIMServiceTemplate | AIMClusterServiceTemplate
