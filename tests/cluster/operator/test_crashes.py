"""An operator that is killed after a write leaves nothing behind that its successor does not put right."""

from pathlib import Path

import pytest
from tests.api_server import ApiServer
from tests.cluster.operator.conftest import fresh_namespace
from tests.cluster.operator.crashing import Story, disturbed_and_not
from tests.cluster.operator.stage import aim, artifact, create, is_seen, plural

from aim_engine.local.control_plane import Cluster

other_namespace = pytest.fixture(fresh_namespace, name="other_namespace")
JOBS = "/apis/batch/v1/namespaces/{}/jobs"


def populate(server: ApiServer, namespace: str) -> None:
    """An artifact, and a cache of a template whose source is known."""
    template = aim("AIMServiceTemplate", "profile", {"modelName": "llama"})
    template["metadata"]["annotations"] = {"aim.eai.amd.com/reconciliation-paused": "true"}
    create(server, namespace, template)
    path = f"{plural(namespace, 'AIMServiceTemplate')}/profile"
    found = server.call("GET", path)
    found["status"] = {
        "status": "Ready",
        "modelSources": [{"modelId": "acme/base", "sourceUri": "hf://acme/base", "size": "1Gi"}],
    }
    server.call("PUT", f"{path}/status", found)
    create(server, namespace, artifact("alone"), aim("AIMTemplateCache", "profile", {"templateName": "profile"}))


def is_complete(server: ApiServer, namespace: str) -> bool:
    jobs = server.call("GET", JOBS.format(namespace))["items"]
    cache = server.call("GET", f"{plural(namespace, 'AIMTemplateCache')}/profile")
    return len(jobs) == 2 and is_seen(cache)


WEIGHTS = Story(
    populate,
    {
        "AIMArtifact": "/apis/aim.eai.amd.com/v1alpha1/namespaces/{}/aimartifacts",
        "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
        "Job": JOBS,
        "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
        "AIMTemplateCache": "/apis/aim.eai.amd.com/v1alpha1/namespaces/{}/aimtemplatecaches",
    },
    is_complete,
)


def test_killed_after_every_write_it_ends_where_an_undisturbed_one_does(
    own_cluster: Cluster, own_server: ApiServer, own_namespace: str, other_namespace: str, tmp_path: Path
) -> None:
    namespaces = (own_namespace, other_namespace)
    shape = disturbed_and_not(WEIGHTS, own_cluster, own_server, namespaces, tmp_path, at_least=10)
    assert {kind: len(found) for kind, found in shape.items()} == {
        "AIMArtifact": 2,
        "PersistentVolumeClaim": 2,
        "Job": 2,
        "RoleBinding": 1,
        "AIMTemplateCache": 1,
    }
