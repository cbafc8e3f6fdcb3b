"""AIMTemplateCache: all weights of a template, downloaded ahead of use."""

from enum import StrEnum
from typing import Annotated

from aim_engine.api.artifact import CacheMode
from aim_engine.api.declare import among, default, doc, length
from aim_engine.api.environment import EnvVars, LocalObjectReference
from aim_engine.api.runtime import RuntimeConfigName
from aim_engine.api.sources import ModelSource
from aim_engine.api.status import RESOURCE_STATES, AIMStatus, Conditions, ObservedGeneration, ResolvedRuntimeConfig
from aim_engine.objects import ObjectMeta, Wire


class TemplateScope(StrEnum):
    """Where to look for the template of a cache."""

    NAMESPACE = "Namespace"
    CLUSTER = "Cluster"
    UNKNOWN = "Unknown"


class AIMTemplateCacheSpec(Wire):
    """Which template's weights to download, and how."""

    template_name: Annotated[
        str, doc("Name of the AIMServiceTemplate or AIMClusterServiceTemplate to cache."), length(at_least=1)
    ]
    template_scope: Annotated[
        TemplateScope | None,
        doc(
            "Where to look for the template: Namespace, Cluster, or in the namespace first and then in the"
            " cluster if Unknown or absent."
        ),
    ] = None
    env: Annotated[EnvVars, doc("Variables, such as credentials, for the downloads; a source's own `env` wins.")] = ()
    image_pull_secrets: Annotated[tuple[LocalObjectReference, ...], doc("Secrets for pulling the download image.")] = ()
    storage_class_name: Annotated[
        str | None, doc("Storage class of the volumes; the runtime config's, then the cluster's default, if empty.")
    ] = None
    download_image: Annotated[str | None, doc("Image of the download jobs; the default of AIMArtifact if empty.")] = (
        None
    )
    model_sources: Annotated[
        tuple[ModelSource, ...], doc("Weights to cache instead of those the template names in its status.")
    ] = ()
    runtime_config_name: RuntimeConfigName | None = None
    mode: Annotated[
        CacheMode | None,
        doc(
            "Shared: the downloads stay when this cache goes, and other caches use them. Dedicated: they belong"
            " to it and go with it."
        ),
        default(CacheMode.SHARED.value),
    ] = None


class ResolvedDownload(Wire):
    """A download object that holds one of the sources."""

    uid: Annotated[str, doc("UID of the download object.")]
    name: Annotated[str, doc("Its name.")]
    model: Annotated[str, doc("Id of the model it holds.")]
    status: Annotated[str, doc("Its overall state.")]
    persistent_volume_claim: Annotated[str | None, doc("Claim of its volume, once known.")] = None
    mount_point: Annotated[
        str | None, doc("Where inference pods find the weights; /workspace/model-cache/{model} if empty.")
    ] = None


class AIMTemplateCacheStatus(Wire):
    """How far the downloads are."""

    observed_generation: ObservedGeneration | None = None
    conditions: Conditions = ()
    resolved_runtime_config: ResolvedRuntimeConfig | None = None
    status: Annotated[
        AIMStatus | None, doc("Overall state; Ready once all weights are."), among(*RESOURCE_STATES), default("Pending")
    ] = None
    resolved_template_kind: Annotated[
        str | None, doc("Kind of the template that was found: AIMServiceTemplate or AIMClusterServiceTemplate.")
    ] = None
    artifacts: Annotated[dict[str, ResolvedDownload], doc("Download object of each source, by the object's name.")] = {}
    model_caches: Annotated[
        dict[str, ResolvedDownload], doc("The same entries by model id, as in the earlier naming.")
    ] = {}


class AIMTemplateCache(Wire):
    """All weights of a template on volumes of this namespace, downloaded before a service needs them."""

    metadata: ObjectMeta = ObjectMeta()
    spec: AIMTemplateCacheSpec | None = None
    status: AIMTemplateCacheStatus | None = None
