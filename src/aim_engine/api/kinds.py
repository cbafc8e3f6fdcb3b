"""The eleven kinds in one table: their names, scopes and the columns of `kubectl get`."""

from typing import Any, Final, NamedTuple

import msgspec

from aim_engine.api import names
from aim_engine.api.artifact import AIMArtifact, AIMModelCache
from aim_engine.api.model import AIMClusterModel, AIMModel
from aim_engine.api.model_source import AIMClusterModelSource
from aim_engine.api.runtime_config import AIMClusterRuntimeConfig, AIMRuntimeConfig
from aim_engine.api.service import AIMService
from aim_engine.api.template import AIMClusterServiceTemplate, AIMServiceTemplate
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.objects import Manifest, Wire


class Column(NamedTuple):
    """A column of `kubectl get`; priority 1 shows only with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


class Kind(NamedTuple):
    """One kind of `aim.eai.amd.com/v1alpha1`."""

    type: type[Wire]
    short: str
    columns: tuple[Column, ...] = ()
    namespaced: bool = True

    @property
    def name(self) -> str:
        return self.type.__name__

    @property
    def singular(self) -> str:
        return self.name.lower()

    @property
    def plural(self) -> str:
        return f"{self.singular}s"


_STATUS = Column("Status", ".status.status")
_AGE = Column("Age", ".metadata.creationTimestamp", "date")

_MODEL = (
    _STATUS,
    Column("Source", ".status.sourceType"),
    Column("Image", ".spec.image"),
    Column("Model", ".status.imageMetadata.model.canonicalName"),
    _AGE,
)
_MODEL_SOURCE = (
    _STATUS,
    Column("Models", ".status.discoveredModels", "integer"),
    Column("LastSync", ".status.lastSyncTime", "date"),
    _AGE,
)
_TEMPLATE = (
    Column("Model", ".spec.modelName"),
    _STATUS,
    Column("Hardware", ".status.hardwareSummary"),
    Column("Metric", ".status.profile.metadata.metric"),
    Column("Precision", ".status.profile.metadata.precision"),
    Column("GPUs", ".status.resolvedHardware.gpu.requests", "integer", priority=1),
)
_SERVICE = (
    _STATUS,
    Column("Model", ".status.resolvedModel.name"),
    Column("Template", ".status.resolvedTemplate.name"),
    Column("Replicas", ".status.runtime.replicas"),
    _AGE,
)
_TEMPLATE_CACHE = (
    Column("Template", ".spec.templateName"),
    Column("Mode", ".spec.mode"),
    _STATUS,
    Column("Kind", ".status.resolvedTemplateKind"),
    _AGE,
)
_DOWNLOAD = (
    _STATUS,
    Column("Mode", ".status.mode"),
    Column("Model Size", ".status.displaySize"),
    Column("Progress", ".status.progress.displayPercentage"),
)
_ATTEMPT = (
    Column("Protocol", ".status.download.protocol", priority=1),
    Column("Attempt", ".status.download.attempt", priority=1),
)

KINDS: Final = (
    Kind(AIMModel, "aimmdl", _MODEL),
    Kind(AIMClusterModel, "aimclmdl", _MODEL, namespaced=False),
    Kind(AIMClusterModelSource, "aimclsrc", _MODEL_SOURCE, namespaced=False),
    Kind(AIMServiceTemplate, "aimtpl", _TEMPLATE),
    Kind(AIMClusterServiceTemplate, "aimcltpl", _TEMPLATE, namespaced=False),
    Kind(AIMService, "aimsvc", _SERVICE),
    Kind(AIMTemplateCache, "aimtc", _TEMPLATE_CACHE),
    Kind(AIMArtifact, "aimart", (*_DOWNLOAD, *_ATTEMPT, _AGE)),
    Kind(AIMModelCache, "aimmc", (*_DOWNLOAD, _AGE)),
    Kind(AIMRuntimeConfig, "aimrc"),
    Kind(AIMClusterRuntimeConfig, "aimclrc", namespaced=False),
)

BY_NAME: Final = {kind.name: kind for kind in KINDS}


def manifest(resource: Wire) -> Manifest:
    """Return one of the eleven kinds as the API server takes it, with its apiVersion and kind."""
    body: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(resource))
    return {"apiVersion": names.API_VERSION, "kind": type(resource).__name__, **body}
