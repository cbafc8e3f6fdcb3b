"""How a status names another object that was found."""

from aim_engine.api.model import AIMClusterModel, Model
from aim_engine.api.runtime_config import AIMClusterRuntimeConfig, AIMRuntimeConfig
from aim_engine.api.status import ResolutionScope, ResolvedReference
from aim_engine.api.template import Template
from aim_engine.api.template_cache import AIMTemplateCache


def resolved(
    found: Model | Template | AIMTemplateCache | AIMRuntimeConfig | AIMClusterRuntimeConfig,
    scope: ResolutionScope | None = None,
) -> ResolvedReference:
    """The object that satisfied a reference; its scope is its own unless another one is given.

    What is of the cluster has an empty namespace, which is written out, but for models, of which it is left out.
    """
    metadata = found.metadata
    own = ResolutionScope.NAMESPACE if metadata.namespace else ResolutionScope.CLUSTER
    return ResolvedReference(
        name=metadata.name,
        namespace=None if isinstance(found, AIMClusterModel) else metadata.namespace,
        scope=scope or own,
        kind=type(found).__name__,
        uid=metadata.uid,
    )
