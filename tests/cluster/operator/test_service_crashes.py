"""An operator that is killed after every write of a service's life makes the same children as one that is not."""

from pathlib import Path
from typing import Any

import pytest
from tests.api_server import ApiServer
from tests.cluster.operator.conftest import fresh_namespace, run
from tests.cluster.operator.crashing import Story, disturbed_and_not
from tests.cluster.operator.stage import aim, create, is_seen, plural

from aim_engine.local import control_plane, foreign_crds
from aim_engine.local.control_plane import Cluster

other_namespace = pytest.fixture(fresh_namespace, name="other_namespace")
PAUSED = {"aim.eai.amd.com/reconciliation-paused": "true"}
SOURCE = {"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny", "size": "1Gi"}
HELD = {"uid": "1", "name": "tiny", "model": "acme/tiny", "status": "Ready", "persistentVolumeClaim": "weights"}
READY_BY_HAND: tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("AIMModel", "tiny", {"image": "registry.local/tiny:1.0"}, {}),
    ("AIMServiceTemplate", "tiny", {"modelName": "tiny"}, {"modelSources": [SOURCE]}),
    ("AIMTemplateCache", "tiny", {"templateName": "tiny", "mode": "Shared"}, {"artifacts": {"tiny": HELD}}),
)
"""Kind, name, spec, status."""


def populate(server: ApiServer, namespace: str) -> None:
    """A service that has all it needs."""
    for kind, name, spec, status in READY_BY_HAND:
        item = aim(kind, name, spec)
        item["metadata"]["annotations"] = PAUSED
        create(server, namespace, item)
        path = f"{plural(namespace, kind)}/{name}"
        found = server.call("GET", path)
        server.call("PUT", f"{path}/status", {**found, "status": {"status": "Ready", **status}})
    routing = {"enabled": True, "gatewayRef": {"name": "gateway"}, "pathTemplate": "/{.metadata.name}"}
    wanted = {"model": {"name": "tiny"}, "template": {"name": "tiny"}, "caching": {"mode": "Shared"}}
    create(server, namespace, aim("AIMService", "chat", {**wanted, "routing": routing}))


def is_complete(server: ApiServer, namespace: str) -> bool:
    found = SERVICES.objects(server, namespace)
    made = all(len(found[kind]) == 1 for kind in ("InferenceService", "HTTPRoute"))
    return made and all(map(is_seen, found["AIMService"]))


SERVICES = Story(
    populate,
    {
        "AIMService": "/apis/aim.eai.amd.com/v1alpha1/namespaces/{}/aimservices",
        "InferenceService": "/apis/serving.kserve.io/v1beta1/namespaces/{}/inferenceservices",
        "HTTPRoute": "/apis/gateway.networking.k8s.io/v1/namespaces/{}/httproutes",
        "AIMTemplateCache": "/apis/aim.eai.amd.com/v1alpha1/namespaces/{}/aimtemplatecaches",
    },
    is_complete,
)


def test_a_service_ends_with_the_same_children_none_twice_none_lost(
    own_cluster: Cluster, own_server: ApiServer, own_namespace: str, other_namespace: str, tmp_path: Path
) -> None:
    run(control_plane.install(own_cluster, run(foreign_crds.paths())))
    namespaces = (own_namespace, other_namespace)
    shape = disturbed_and_not(SERVICES, own_cluster, own_server, namespaces, tmp_path, at_least=5)
    assert {kind: len(found) for kind, found in shape.items()} == {
        "AIMService": 1,
        "InferenceService": 1,
        "HTTPRoute": 1,
        "AIMTemplateCache": 1,
    }
    assert [owners for owners, *_ in shape["InferenceService"]] == [["AIMService/chat"]]
    assert [owners for owners, *_ in shape["HTTPRoute"]] == [["AIMService/chat"]]
