"""In what the two kinds of download objects differ; one engine serves both by these values."""

from dataclasses import dataclass

from aim_engine.api import names


@dataclass(frozen=True)
class DownloadKind:
    """The names that one kind uses."""

    kind: str
    controller: str
    default_image: str
    cache_type: str
    name_variable: str
    namespace_variable: str
    status_updater: str
    """Name of the ClusterRole, and of the RoleBinding in each namespace, by which pods may report progress."""


ARTIFACT = DownloadKind(
    kind="AIMArtifact",
    controller="artifact",
    default_image=names.ARTIFACT_DOWNLOADER_IMAGE,
    cache_type=names.CACHE_TYPE_ARTIFACT,
    name_variable="ARTIFACT_NAME",
    namespace_variable="ARTIFACT_NAMESPACE",
    status_updater="aim-engine-artifact-status-updater",
)
MODEL_CACHE = DownloadKind(
    kind="AIMModelCache",
    controller="model-cache",
    default_image=names.MODEL_CACHE_DOWNLOADER_IMAGE,
    cache_type=names.CACHE_TYPE_MODEL_CACHE,
    name_variable="CACHE_NAME",
    namespace_variable="CACHE_NAMESPACE",
    status_updater="aim-engine-modelcache-status-updater",
)
