"""The catalogue: AIMModel and AIMClusterModel, one entry per AIM container image or custom model."""

from enum import StrEnum
from typing import Annotated, ClassVar, TypeAlias

from aim_engine.api.declare import Rule, among, default, doc, items, length
from aim_engine.api.environment import EnvVars, LocalObjectReference, ResourceRequirements
from aim_engine.api.hardware import HardwareRequirements, Metric, Precision, ProfileType
from aim_engine.api.image_metadata import ImageMetadata
from aim_engine.api.runtime import RuntimeConfigName
from aim_engine.api.sources import ModelSource
from aim_engine.api.status import RESOURCE_STATES, AIMStatus, Conditions, ObservedGeneration, ResolvedRuntimeConfig
from aim_engine.objects import ObjectMeta, Wire


class ModelSourceType(StrEnum):
    """Whether the weights are known from the image or named in the spec."""

    IMAGE = "Image"
    CUSTOM = "Custom"


class ModelDiscovery(Wire):
    """What to do with the metadata of the image."""

    extract_metadata: Annotated[
        bool | None, doc("Whether to read the image's labels from its registry."), default(True)
    ] = None
    create_service_templates: Annotated[
        bool | None,
        doc("Whether to create service templates from the recommended deployments in the image's labels."),
        default(True),
    ] = None


class CustomModel(Wire):
    """Defaults for the templates of a custom model, one with `modelSources`."""

    hardware: Annotated[
        HardwareRequirements | None,
        doc(
            "Hardware of all templates; entries of `customTemplates` override it field by field. Needed unless"
            " each of them has its own."
        ),
    ] = None
    type: Annotated[
        ProfileType | None,
        doc("Optimisation level of the template made when `customTemplates` is empty; unoptimized if absent."),
    ] = None


class TemplateProfile(Wire):
    """What a custom template is optimised for."""

    metric: Annotated[Metric | None, doc("Becomes the template's `metric`.")] = None
    precision: Annotated[Precision | None, doc("Becomes the template's `precision`.")] = None


class CustomTemplate(Wire):
    """A service template that is created as described here, without discovery."""

    name: Annotated[
        str | None,
        doc("Name of the template; made up from model and profile if absent, or if another owner has it already."),
        length(at_most=63),
    ] = None
    type: Annotated[
        ProfileType | None,
        doc("Optimisation level: optimized is tuned, preview is experimental, unoptimized is neither."),
        default(ProfileType.UNOPTIMIZED.value),
    ] = None
    env: Annotated[
        EnvVars, doc("Variables of this template; they win over the model's `env` by name."), items(at_most=64)
    ] = ()
    hardware: Annotated[
        HardwareRequirements | None, doc("Hardware of one replica, merged field by field over `custom.hardware`.")
    ] = None
    profile: Annotated[TemplateProfile | None, doc("What the template is optimised for; services select by it.")] = None


class AIMModelSpec(Wire):
    """What the model is and how it is looked into."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.modelSources) || size(self.modelSources) == 0 || (has(self.custom) && has(self.custom.hardware))"
            " || (has(self.customTemplates) && size(self.customTemplates) > 0"
            " && self.customTemplates.all(template, has(template.hardware)))",
            "when using modelSources, hardware must be specified: set custom.hardware (inherited by all templates)"
            " or set hardware on each template individually",
        ),
    )

    image: Annotated[str, doc("AIM container image, with tag or digest."), length(at_least=1)]
    discovery: Annotated[
        ModelDiscovery | None,
        doc("What to do with the image's metadata; absent leaves it to the runtime config, then does both."),
    ] = None
    default_service_template: Annotated[
        str | None,
        doc("Template for services of this model that name none; absent lets each service choose the best one."),
    ] = None
    custom: Annotated[
        CustomModel | None,
        doc("Defaults for the templates of a custom model; without `modelSources` it has no effect."),
    ] = None
    custom_templates: Annotated[
        tuple[CustomTemplate, ...],
        doc("Templates to create as described, beside those from the image's metadata."),
        items(at_most=16),
    ] = ()
    model_sources: Annotated[
        tuple[ModelSource, ...],
        doc("Weights to serve with this image; given, they make this a custom model and replace discovery."),
        items(at_most=1),
    ] = ()
    runtime_config_name: RuntimeConfigName | None = None
    image_pull_secrets: Annotated[
        tuple[LocalObjectReference, ...],
        doc(
            "Secrets for reading the image's metadata and for pulling it, in discovery and in inference pods."
            " They live in the model's namespace; those of a cluster model in the operator's namespace."
        ),
    ] = ()
    env: Annotated[
        EnvVars,
        doc(
            "Variables, such as credentials, for the discovery of its templates; the base of the custom"
            " templates' `env`."
        ),
    ] = ()
    service_account_name: Annotated[
        str | None, doc("Service account for the jobs and pods of this model; the namespace's `default` if empty.")
    ] = None
    resources: Annotated[
        ResourceRequirements | None,
        doc("Default container resources; the template's, then the service's, win per resource."),
    ] = None
    image_metadata: Annotated[
        ImageMetadata | None,
        doc("Metadata to use instead of the image's labels; given, the registry is not asked at all."),
    ] = None


class AIMModelStatus(Wire):
    """What is known of the model."""

    observed_generation: ObservedGeneration | None = None
    status: Annotated[
        AIMStatus | None,
        doc("Overall state, summed up from the image's metadata and the model's templates."),
        among(*RESOURCE_STATES),
        default("Pending"),
    ] = None
    conditions: Conditions = ()
    resolved_runtime_config: ResolvedRuntimeConfig | None = None
    image_metadata: Annotated[
        ImageMetadata | None, doc("Metadata of the image, read from its labels or taken from the spec.")
    ] = None
    inspected_image: Annotated[
        str | None, doc("Image that `imageMetadata` is about; when the spec names another one, that is read anew.")
    ] = None
    source_type: Annotated[
        ModelSourceType | None, doc("Custom if the spec names `modelSources`, Image if the image knows its weights.")
    ] = None


class AIMModel(Wire):
    """A model that services of this namespace can run: an AIM container image, or an image with weights of your own."""

    metadata: ObjectMeta = ObjectMeta()
    spec: AIMModelSpec | None = None
    status: AIMModelStatus | None = None


class AIMClusterModel(Wire):
    """A model that services of all namespaces can run; an AIMModel of that name or image comes first in its own."""

    metadata: ObjectMeta = ObjectMeta()
    spec: AIMModelSpec | None = None
    status: AIMModelStatus | None = None


Model: TypeAlias = AIMModel | AIMClusterModel
