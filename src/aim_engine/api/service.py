"""AIMService: one model, served."""

from enum import StrEnum
from typing import Annotated, ClassVar

from aim_engine.api.autoscaling import AutoScaling
from aim_engine.api.declare import INT32, Rule, among, default, doc, immutable, items, minimum
from aim_engine.api.environment import LocalObjectReference, ResourceRequirements
from aim_engine.api.hardware import HardwareRequirements, RuntimeParameters
from aim_engine.api.runtime import RuntimeConfigName, ServiceRuntime
from aim_engine.api.sources import ModelSource
from aim_engine.api.status import (
    SERVICE_STATES,
    AIMStatus,
    Conditions,
    ObservedGeneration,
    ResolvedReference,
    ResolvedRuntimeConfig,
)
from aim_engine.objects import ObjectMeta, Wire


class CachingMode(StrEnum):
    """How a service comes to its weights. Always is another name of Shared, Never another name of Dedicated."""

    AUTO = "Auto"
    ALWAYS = "Always"
    NEVER = "Never"
    DEDICATED = "Dedicated"
    SHARED = "Shared"


class InlineModel(Wire):
    """A custom model written into the service; an AIMModel is found or created for it."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("size(self.modelSources) >= 1", "at least one model source must be specified"),
    )

    base_image: Annotated[str, doc("Container image that serves the weights.")]
    model_sources: Annotated[tuple[ModelSource, ...], doc("The weights to serve."), items(1, 1)]
    hardware: Annotated[HardwareRequirements, doc("What one replica needs; without `gpu` it runs on CPU only.")]


class ModelSelection(Wire):
    """The model to serve, chosen in exactly one way."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "[has(self.name), has(self.ref), has(self.image), has(self.custom)].filter(given, given).size() == 1",
            "exactly one of name, image, or custom must be specified",
        ),
        immutable("model selection is immutable after creation"),
    )

    name: Annotated[
        str | None, doc("Name of an AIMModel, or of an AIMClusterModel if the namespace has no such model.")
    ] = None
    ref: Annotated[str | None, doc("Another spelling of `name`.")] = None
    image: Annotated[
        str | None, doc("AIM container image; a model with this image is used, or an AIMModel is created for it.")
    ] = None
    custom: Annotated[
        InlineModel | None, doc("A custom model of your own; an AIMModel with the same contents is used or created.")
    ] = None


class TemplateSelection(Wire):
    """The runtime profile to use."""

    name: Annotated[
        str | None,
        doc(
            "Name of an AIMServiceTemplate, or of an AIMClusterServiceTemplate if the namespace has no such template."
            " Absent: the model's default template, otherwise the best one for the GPUs of the cluster."
        ),
    ] = None
    allow_unoptimized: Annotated[
        bool | None, doc("Whether the automatic choice may take preview and unoptimized profiles; false if absent.")
    ] = None


class ServiceCaching(Wire):
    """How the service comes to its weights."""

    mode: Annotated[
        CachingMode | None,
        doc(
            "Auto: use a shared cache if there is one, otherwise download for this service alone."
            " Shared (or Always): use a shared cache, and create it if there is none; it outlives the service."
            " Dedicated (or Never): download for this service alone, whatever is cached."
        ),
        default(CachingMode.AUTO.value),
    ] = None


class AIMServiceSpec(ServiceRuntime):
    """What to serve, and how."""

    model: Annotated[ModelSelection, doc("The model to serve: give exactly one of name, image or custom.")]
    template: Annotated[
        TemplateSelection | None,
        doc("The runtime profile to use."),
        immutable("template selection is immutable after creation"),
    ] = None
    caching: Annotated[
        ServiceCaching | None,
        doc("How the service comes to its weights."),
        immutable("caching mode is immutable after creation"),
    ] = None
    cache_model: Annotated[
        bool | None, doc("Deprecated: use `caching.mode`. Without `caching`, true means Shared and false Dedicated.")
    ] = None
    replicas: Annotated[
        int | None, INT32, doc("Number of replicas; without effect once the service scales automatically."), default(1)
    ] = None
    min_replicas: Annotated[
        int | None, INT32, doc("Fewest replicas when scaling automatically; 1 if absent."), minimum(1)
    ] = None
    max_replicas: Annotated[
        int | None, INT32, doc("Most replicas when scaling automatically; `minReplicas` if absent."), minimum(1)
    ] = None
    auto_scaling: Annotated[
        AutoScaling | None,
        doc("Metrics to scale by. This, `minReplicas` or `maxReplicas` switches automatic scaling on."),
    ] = None
    runtime_config_name: RuntimeConfigName | None = None
    resources: Annotated[
        ResourceRequirements | None,
        doc("Container resources; they win, per resource, over the template's, the model's and those of its GPUs."),
    ] = None
    overrides: Annotated[
        RuntimeParameters | None,
        doc("Parameters that win over the template's, and narrow the automatic choice of one."),
    ] = None
    image_pull_secrets: Annotated[
        tuple[LocalObjectReference, ...], doc("Secrets for pulling the image, beside the template's and the model's.")
    ] = ()
    service_account_name: Annotated[
        str | None,
        doc("Service account of the inference pods; the template's, then the model's, then `default`, if empty."),
    ] = None


class ServiceRouting(Wire):
    """The route of the service."""

    path: Annotated[str | None, doc("Path prefix under which the gateway serves it.")] = None


class ServiceCache(Wire):
    """The cache of the service."""

    template_cache_ref: Annotated[ResolvedReference | None, doc("AIMTemplateCache that holds the weights.")] = None
    retry_attempts: Annotated[int | None, doc("How often a failed cache was tried again: at most once.")] = None


class ServiceReplicas(Wire):
    """The replicas of the service."""

    current_replicas: Annotated[int | None, INT32, doc("Replicas there are.")] = None
    desired_replicas: Annotated[int | None, INT32, doc("Replicas there should be.")] = None
    min_replicas: Annotated[int | None, INT32, doc("Fewest replicas.")] = None
    max_replicas: Annotated[int | None, INT32, doc("Most replicas.")] = None
    replicas: Annotated[
        str | None, doc("The same for display: `3` if the number is fixed, `2/3 (1-4)` for current/desired (min-max).")
    ] = None


class AIMServiceStatus(Wire):
    """How the service is doing."""

    observed_generation: ObservedGeneration | None = None
    conditions: Conditions = ()
    resolved_runtime_config: ResolvedRuntimeConfig | None = None
    resolved_model: Annotated[ResolvedReference | None, doc("Model in use, once it is Ready.")] = None
    resolved_template: Annotated[ResolvedReference | None, doc("Template in use, once it is Ready.")] = None
    status: Annotated[
        AIMStatus | None,
        doc("Overall state; Running once requests are served."),
        among(*SERVICE_STATES),
        default("Pending"),
    ] = None
    routing: Annotated[ServiceRouting | None, doc("The route, when routing is enabled.")] = None
    cache: Annotated[ServiceCache | None, doc("The cache with the weights.")] = None
    runtime: Annotated[ServiceReplicas | None, doc("The replicas.")] = None


class AIMService(Wire):
    """One model, served: the operator chooses a runtime profile, fetches the weights, runs the pods and the route."""

    metadata: ObjectMeta = ObjectMeta()
    spec: AIMServiceSpec | None = None
    status: AIMServiceStatus | None = None
