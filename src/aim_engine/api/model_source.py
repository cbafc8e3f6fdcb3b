"""AIMClusterModelSource: a registry that is scanned for AIM images."""

from datetime import datetime
from typing import Annotated

from aim_engine.api.declare import default, doc, items, length, maximum, minimum
from aim_engine.api.environment import LocalObjectReference
from aim_engine.api.names import DEFAULT_MAX_MODELS, DEFAULT_REGISTRY, DEFAULT_SYNC_INTERVAL
from aim_engine.api.status import AIMStatus, Conditions, ObservedGeneration
from aim_engine.objects import ObjectMeta, Wire


class ModelSourceFilter(Wire):
    """Images to take."""

    image: Annotated[
        str,
        doc(
            "Images to take: a repository (`amdenterpriseai/aim-qwen`), with `*` (`amdenterpriseai/aim-*`), with"
            " a tag, or with a registry."
            " A registry here wins over `registry`, a tag here over all version constraints."
        ),
        length(at_most=512),
    ]
    exclude: Annotated[tuple[str, ...], doc("Repositories to skip, by their exact name without registry.")] = ()
    versions: Annotated[
        tuple[str, ...],
        doc("Semantic version constraints of this filter, which replace the global ones, for example `>=1.0.0`."),
    ] = ()


class AIMClusterModelSourceSpec(Wire):
    """What to scan, and how often."""

    registry: Annotated[str | None, doc("Registry to scan, for example ghcr.io."), default(DEFAULT_REGISTRY)] = None
    image_pull_secrets: Annotated[
        tuple[LocalObjectReference, ...],
        doc(
            "Secrets in the operator's namespace for listing the registry and reading images; copied to the"
            " models created."
        ),
    ] = ()
    filters: Annotated[
        tuple[ModelSourceFilter, ...], doc("Images to take; an image that fits any filter is taken."), items(1, 100)
    ]
    sync_interval: Annotated[
        str | None,
        doc("Time between scans, for example 30m or 2h30m. Below 15m registries may limit the rate."),
        default(DEFAULT_SYNC_INTERVAL),
    ] = None
    versions: Annotated[
        tuple[str, ...],
        doc(
            "Semantic version constraints for all filters, for example `>=1.0.0` or `~1.2`; tags that are no"
            " versions are skipped."
        ),
    ] = ()
    max_models: Annotated[
        int | None,
        doc("Most AIMClusterModels this source creates; it never deletes one."),
        default(DEFAULT_MAX_MODELS),
        minimum(1),
        maximum(10000),
    ] = None


class AIMClusterModelSourceStatus(Wire):
    """What the last scan found."""

    status: Annotated[AIMStatus | None, doc("Overall state of the source.")] = None
    last_sync_time: Annotated[datetime | None, doc("When a scan last succeeded.")] = None
    discovered_models: Annotated[int | None, doc("AIMClusterModels of this source, old and new.")] = None
    available_models: Annotated[
        int | None, doc("Images that fit the filters; more than `discoveredModels` at the limit.")
    ] = None
    models_limit_reached: Annotated[
        bool | None, doc("Whether `maxModels` is reached, so that no more models are created.")
    ] = None
    conditions: Conditions = ()
    observed_generation: ObservedGeneration | None = None


class AIMClusterModelSource(Wire):
    """A registry that is scanned for AIM images; each image that fits becomes an AIMClusterModel."""

    metadata: ObjectMeta = ObjectMeta()
    spec: AIMClusterModelSourceSpec | None = None
    status: AIMClusterModelSourceStatus | None = None
