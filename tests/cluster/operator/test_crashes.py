"""An operator that is killed after a write leaves nothing behind that its successor does not put right."""

import time
from pathlib import Path
from typing import Any

import pytest
from tests.api_server import ApiServer
from tests.cluster.operator.conftest import fresh_namespace
from tests.cluster.operator.proxy import Proxy, Write
from tests.cluster.operator.stage import Operator, aim, artifact, create, is_seen, plural, until

from aim_engine.local.control_plane import Cluster

other_namespace = pytest.fixture(fresh_namespace, name="other_namespace")
MOST_CRASHES = 40
QUIET = 2.0
CHILDREN = {
    "AIMArtifact": "/apis/aim.eai.amd.com/v1alpha1/namespaces/{}/aimartifacts",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
}


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


def shape(server: ApiServer, namespace: str) -> dict[str, list[Any]]:
    """What is there, without what differs from one making to the next: names from UIDs, times, versions."""
    shown: dict[str, list[Any]] = {}
    for kind, path in CHILDREN.items():
        items = server.call("GET", path.format(namespace))["items"]
        shown[kind] = sorted((owners(one), one.get("spec", {}).get("sourceUri", ""), said(one)) for one in items)
    shown["AIMTemplateCache"] = [said(server.call("GET", f"{plural(namespace, 'AIMTemplateCache')}/profile"))]
    return shown


def owners(item: Any) -> list[str]:
    return [f"{one['kind']}/{one['name']}" for one in item["metadata"].get("ownerReferences", [])]


def said(item: Any) -> list[tuple[str, str, str]]:
    """The conditions of one of our objects."""
    conditions = item.get("status", {}).get("conditions", []) if "observedGeneration" in item.get("status", {}) else []
    return sorted((one["type"], one["status"], one["reason"]) for one in conditions)


def complete(server: ApiServer, namespace: str) -> bool:
    jobs = server.call("GET", CHILDREN["Job"].format(namespace))["items"]
    cache = server.call("GET", f"{plural(namespace, 'AIMTemplateCache')}/profile")
    return len(jobs) == 2 and is_seen(cache)


def uids(server: ApiServer, namespace: str) -> set[str]:
    return {
        one["metadata"]["uid"]
        for path in CHILDREN.values()
        for one in server.call("GET", path.format(namespace))["items"]
    }


def killed_until_done(server: ApiServer, namespace: str, proxy: Proxy, directory: Path) -> int:
    """Run one operator after the other, each killed by its first write, until one has nothing to write; count them."""
    current: list[Operator] = []

    def kill(write: Write) -> bool:
        mortal = write.of_object and f"/namespaces/{namespace}/" in write.path and write.status < 300
        if mortal:
            current[-1].process.kill()
        return not mortal

    proxy.after_write = kill
    made = set[str]()
    for crashes in range(MOST_CRASHES):
        with Operator(proxy.kubeconfig(directory), directory) as operator:
            current.append(operator)
            proxy.open = True
            until(
                lambda: is_over(current[-1]) or at_rest(server, namespace, current[-1]), "it is killed, or all is done"
            )
            if not is_over(operator):
                return crashes
        now = uids(server, namespace)
        assert made <= now, "something that was made is lost"
        made = now
    raise AssertionError(f"no end in sight: {proxy.writes}")


def is_over(operator: Operator) -> bool:
    return operator.process.poll() is not None


def at_rest(server: ApiServer, namespace: str, operator: Operator) -> bool:
    """Whether an operator works and, for a while, finds nothing to do."""
    if not (operator.ready and complete(server, namespace)):
        return False
    time.sleep(QUIET)
    return True


def test_killed_after_every_write_it_ends_where_an_undisturbed_one_does(
    own_cluster: Cluster, own_server: ApiServer, own_namespace: str, other_namespace: str, tmp_path: Path
) -> None:
    populate(own_server, own_namespace)
    with Proxy(own_cluster) as proxy:
        assert killed_until_done(own_server, own_namespace, proxy, tmp_path) >= 10
        before = uids(own_server, own_namespace)
        populate(own_server, other_namespace)
        with Operator(proxy.kubeconfig(tmp_path), tmp_path):
            until(
                lambda: complete(own_server, other_namespace) and proxy.quiet(other_namespace) > QUIET,
                "the measure is there",
            )
        assert uids(own_server, own_namespace) == before
    disturbed, undisturbed = shape(own_server, own_namespace), shape(own_server, other_namespace)
    assert disturbed == undisturbed
    assert {kind: len(found) for kind, found in disturbed.items()} == {
        "AIMArtifact": 2,
        "PersistentVolumeClaim": 2,
        "Job": 2,
        "RoleBinding": 1,
        "AIMTemplateCache": 1,
    }
