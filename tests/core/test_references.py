"""How a status names what was found."""

import pytest

from aim_engine.api.model import AIMClusterModel, AIMModel
from aim_engine.api.runtime_config import AIMClusterRuntimeConfig, AIMRuntimeConfig
from aim_engine.api.status import ResolutionScope, ResolvedReference
from aim_engine.api.template import AIMClusterServiceTemplate, AIMServiceTemplate
from aim_engine.api.template_cache import AIMTemplateCache
from aim_engine.core import references
from aim_engine.objects import ObjectMeta


@pytest.mark.parametrize("kind", [AIMModel, AIMServiceTemplate, AIMTemplateCache, AIMRuntimeConfig])
def test_what_is_in_a_namespace_is_named_with_it(
    kind: type[AIMModel | AIMServiceTemplate | AIMTemplateCache | AIMRuntimeConfig],
) -> None:
    found = kind(metadata=ObjectMeta(namespace="team", name="fast", uid="u"))
    assert references.resolved(found) == ResolvedReference(
        name="fast", namespace="team", scope=ResolutionScope.NAMESPACE, kind=kind.__name__, uid="u"
    )


@pytest.mark.parametrize(
    ("kind", "namespace"), [(AIMClusterModel, None), (AIMClusterServiceTemplate, ""), (AIMClusterRuntimeConfig, "")]
)
def test_what_is_of_the_cluster_is_named_without_a_namespace(
    kind: type[AIMClusterModel | AIMClusterServiceTemplate | AIMClusterRuntimeConfig], namespace: str | None
) -> None:
    found = kind(metadata=ObjectMeta(name="fast", uid="u"))
    assert references.resolved(found) == ResolvedReference(
        name="fast", namespace=namespace, scope=ResolutionScope.CLUSTER, kind=kind.__name__, uid="u"
    )


def test_two_configs_in_one_are_of_a_scope_of_their_own() -> None:
    found = AIMRuntimeConfig(metadata=ObjectMeta(namespace="team", name="default"))
    assert references.resolved(found, ResolutionScope.MERGED).scope is ResolutionScope.MERGED
