"""One download onto one volume: AIMArtifact, and its twin of the earlier naming, AIMModelCache."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, TypeAlias

from aim_engine.api.declare import INT32, INT64, among, default, doc, immutable, length, maximum, minimum
from aim_engine.api.environment import EnvVars, LocalObjectReference
from aim_engine.api.names import ARTIFACT_DOWNLOADER_IMAGE, MODEL_CACHE_DOWNLOADER_IMAGE
from aim_engine.api.quantity import Quantity
from aim_engine.api.runtime import RuntimeConfigName
from aim_engine.api.sources import MODEL_ID, SOURCE_URI
from aim_engine.api.status import RESOURCE_STATES, AIMStatus, Conditions, ObservedGeneration
from aim_engine.objects import ObjectMeta, Wire


class CacheMode(StrEnum):
    """Whether a cache belongs to one owner and goes with it, or stays for all."""

    DEDICATED = "Dedicated"
    SHARED = "Shared"


class AIMArtifactSpec(Wire):
    """What to download, and onto what volume."""

    source_uri: Annotated[
        str,
        doc("What to download: `hf://org/model` for Hugging Face, `s3://bucket/key` for S3-compatible storage."),
        length(at_least=1),
        SOURCE_URI,
        immutable("sourceUri is immutable"),
    ]
    model_id: Annotated[
        str | None,
        doc(
            "Canonical `{org}/{name}`, for people. Pods find the weights under the model id of their template's source."
        ),
        MODEL_ID,
    ] = None
    storage_class_name: Annotated[
        str | None, doc("Storage class of the volume; the runtime config's, then the cluster's default, if empty.")
    ] = None
    size: Annotated[
        Quantity | None, doc("Size of the weights before headroom; found out by a job when absent or 0.")
    ] = None
    env: Annotated[
        EnvVars, doc("Variables, such as HF_TOKEN, for the download; they win over the runtime config's.")
    ] = ()
    model_download_image: Annotated[
        str | None, doc("Image of the download job; the default if empty."), default(ARTIFACT_DOWNLOADER_IMAGE)
    ] = None
    image_pull_secrets: Annotated[tuple[LocalObjectReference, ...], doc("Secrets for pulling that image.")] = ()
    runtime_config_name: RuntimeConfigName | None = None


class AIMModelCacheSpec(AIMArtifactSpec):
    """What to download, and onto what volume."""

    model_download_image: Annotated[
        str | None, doc("Image of the download job; the default if empty."), default(MODEL_CACHE_DOWNLOADER_IMAGE)
    ] = None


class DownloadProgress(Wire):
    """How far the download is; keeps its last value afterwards."""

    total_bytes: Annotated[int | None, INT64, doc("Bytes to download.")] = None
    downloaded_bytes: Annotated[int | None, INT64, doc("Bytes downloaded.")] = None
    percentage: Annotated[int | None, INT32, doc("Share that is downloaded."), minimum(0), maximum(100)] = None
    display_percentage: Annotated[
        str | None, doc("The same for display: `45 %`, `100 %` when done, `N/A` after a failure.")
    ] = None


class DownloadState(Wire):
    """What the download job is doing; written by the job itself."""

    protocol: Annotated[str | None, doc("Protocol in use: XET, HF_TRANSFER or HTTP.")] = None
    attempt: Annotated[int | None, INT32, doc("Which attempt this is, from 1.")] = None
    total_attempts: Annotated[int | None, INT32, doc("How many attempts the list of protocols allows.")] = None
    protocol_sequence: Annotated[str | None, doc("Protocols in the order they are tried.")] = None
    message: Annotated[str | None, doc("What is going on; `Complete` in the end.")] = None


class DownloadStatus(Wire):
    """How far the download is, and where the weights are."""

    observed_generation: ObservedGeneration | None = None
    conditions: Conditions = ()
    status: Annotated[
        AIMStatus | None,
        doc("Overall state; Ready once the weights are complete on the volume."),
        among(*RESOURCE_STATES),
        default("Pending"),
    ] = None
    progress: Annotated[DownloadProgress | None, doc("How far the download is.")] = None
    download: Annotated[DownloadState | None, doc("What the download job is doing.")] = None
    display_size: Annotated[str | None, doc("Size of the weights for display, for example `42 GiB`.")] = None
    last_used: Annotated[datetime | None, doc("When a service last mounted the volume.")] = None
    persistent_volume_claim: Annotated[str | None, doc("Claim of the volume with the weights.")] = None
    mode: Annotated[
        CacheMode | None, doc("Dedicated if the object has an owner and goes with it, Shared if it stays for all.")
    ] = None
    discovered_size_bytes: Annotated[int | None, INT64, doc("Size that was found out when the spec gave none.")] = None
    allocated_size: Annotated[Quantity | None, doc("Size that was requested for the volume, headroom included.")] = None
    headroom_percent: Annotated[int | None, INT32, doc("Headroom that was added, in percent.")] = None


class AIMArtifact(Wire):
    """Weights of one model on one volume of this namespace, downloaded once for all services that need them."""

    metadata: ObjectMeta = ObjectMeta()
    spec: AIMArtifactSpec | None = None
    status: DownloadStatus | None = None


class AIMModelCache(Wire):
    """The same as an AIMArtifact in the earlier naming; it differs in the default download image only."""

    metadata: ObjectMeta = ObjectMeta()
    spec: AIMModelCacheSpec | None = None
    status: DownloadStatus | None = None


DownloadObject: TypeAlias = AIMArtifact | AIMModelCache
