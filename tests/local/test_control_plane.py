"""The control plane that tests share: its versions, who may come in, and what its controllers do."""

import http.client
import json
import ssl
import stat
import subprocess
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.api_server import ApiServer
from tests.local.census import children, listening_addresses, supervisor

from aim_engine.local.binaries.catalog import CONTROL_PLANE
from aim_engine.local.control_plane import Cluster

KUBERNETES = CONTROL_PLANE.required("k8s.io/kubernetes")
ETCD = CONTROL_PLANE.required("go.etcd.io/etcd/server/v3").removeprefix("v")


@pytest.mark.parametrize(
    ("program", "arguments", "version"),
    [
        pytest.param("etcd", ["--version"], f"etcd Version: {ETCD}", id="etcd"),
        pytest.param("kube-apiserver", ["--version"], f"Kubernetes {KUBERNETES}", id="kube-apiserver"),
        pytest.param(
            "kube-controller-manager", ["--version"], f"Kubernetes {KUBERNETES}", id="kube-controller-manager"
        ),
        pytest.param("kube-scheduler", ["--version"], f"Kubernetes {KUBERNETES}", id="kube-scheduler"),
        pytest.param("kubectl", ["version", "--client"], f"Client Version: {KUBERNETES}", id="kubectl"),
    ],
)
def test_a_program_is_what_it_is_called(cluster: Cluster, program: str, arguments: list[str], version: str) -> None:
    command = [Path(cluster.programs) / program, *arguments]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0] == version


def test_the_api_server_has_the_version_that_is_promised(cluster: Cluster, api_server: ApiServer) -> None:
    assert api_server.call("GET", "/version")["gitVersion"] == cluster.version == KUBERNETES


def test_kubectl_works_with_the_kubeconfig(cluster: Cluster, namespace: str) -> None:
    command = [cluster.kubectl, f"--kubeconfig={cluster.kubeconfig}", "get", "namespace", namespace, "--output=name"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == f"namespace/{namespace}"


def test_only_the_owner_reads_the_kubeconfig_and_the_keys(cluster: Cluster) -> None:
    assert stat.S_IMODE(Path(cluster.directory).stat().st_mode) == 0o700
    lasting = (file for file in cluster.keys.iterdir() if not file.name.startswith(("node-", ".node-")))
    for file in (cluster.kubeconfig, *lasting):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_every_port_is_one_of_the_clusters_own_loopback_network(cluster: Cluster) -> None:
    prefix = cluster.network.removesuffix(".0.0/16")
    addresses = [address for child in children(supervisor(cluster)) for address in listening_addresses(child)]
    assert len(addresses) == 3, "the API server, the controllers and the scheduler"
    assert all(address.startswith(f"{prefix}.0.") for address in addresses)


def test_the_certificate_of_the_api_server_is_not_trusted_without_the_clusters_authority(cluster: Cluster) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        call(cluster, "/version", ssl.create_default_context())


def test_nobody_comes_in_without_credentials(cluster: Cluster) -> None:
    status, answer = call(cluster, "/api/v1/namespaces/default/secrets", authority_only(cluster))
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert 'User "system:anonymous" cannot list resource "secrets"' in answer["message"]


def test_a_client_certificate_of_another_authority_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    from aim_engine.local.control_plane.certificates import Authority

    Authority(tmp_path).client("intruder", "intruder", ["system:masters"])
    tls = authority_only(cluster)
    tls.load_cert_chain(tmp_path / "intruder.crt", tmp_path / "intruder.key")
    assert call(cluster, "/api/v1/namespaces/default/secrets", tls)[0] == 401


def test_a_service_account_may_do_what_a_role_says(cluster: Cluster, api_server: ApiServer, namespace: str) -> None:
    """Tokens are signed and accepted, and RBAC decides."""
    base = f"/api/v1/namespaces/{namespace}"
    token = api_server.call("POST", f"{base}/serviceaccounts/default/token", {"spec": {}})["status"]["token"]

    def list_secrets() -> int:
        return call(cluster, f"{base}/secrets", authority_only(cluster), {"Authorization": f"Bearer {token}"})[0]

    assert list_secrets() == 403
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    }
    api_server.call("POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings", binding)
    until(lambda: list_secrets() == 200)


def test_what_an_object_of_ours_owns_is_collected_with_it(api_server: ApiServer, namespace: str) -> None:
    configs = f"/apis/aim.eai.amd.com/v1alpha1/namespaces/{namespace}/aimruntimeconfigs"
    kind = {"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": "AIMRuntimeConfig"}
    owner = api_server.call("POST", configs, {**kind, "metadata": {"name": "owner"}, "spec": {}})
    reference = {**kind, "name": "owner", "uid": owner["metadata"]["uid"]}
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    api_server.call("POST", maps, {"metadata": {"name": "owned", "ownerReferences": [reference]}})
    api_server.call("DELETE", f"{configs}/owner")
    until(lambda: api_server.request("GET", f"{maps}/owned")[0] == 404)


def test_a_job_gets_a_pod_and_the_scheduler_looks_at_it(api_server: ApiServer, namespace: str) -> None:
    jobs, pods = f"/apis/batch/v1/namespaces/{namespace}/jobs", f"/api/v1/namespaces/{namespace}/pods"
    pod = {
        "containers": [{"name": "main", "image": "example.com/none"}],
        "restartPolicy": "Never",
        "nodeSelector": {"no-node": "has-this"},
    }
    api_server.call("POST", jobs, {"metadata": {"name": "work"}, "spec": {"template": {"spec": pod}}})

    def unschedulable() -> bool:
        return any(
            (condition["type"], condition.get("reason")) == ("PodScheduled", "Unschedulable")
            for item in api_server.call("GET", pods)["items"]
            for condition in item["status"].get("conditions", [])
        )

    until(unschedulable)


def test_a_volume_claim_is_protected_while_it_is_used(api_server: ApiServer, namespace: str) -> None:
    claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "none"}
    api_server.call("POST", claims, {"metadata": {"name": "weights"}, "spec": spec})
    finalizers = api_server.call("GET", f"{claims}/weights")["metadata"]["finalizers"]
    assert finalizers == ["kubernetes.io/pvc-protection"]
    api_server.call("DELETE", f"{claims}/weights")
    until(lambda: api_server.request("GET", f"{claims}/weights")[0] == 404)


def test_a_pod_may_have_an_address_of_the_clusters_network(
    cluster: Cluster, api_server: ApiServer, namespace: str
) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    pod = {"containers": [{"name": "main", "image": "example.com/none"}], "nodeName": "nobody"}
    api_server.call("POST", pods, {"metadata": {"name": "a"}, "spec": pod})
    address = cluster.network.replace(".0.0/16", ".7.7")
    status = {"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}}
    code, answer = api_server.request("PATCH", f"{pods}/a/status", status, content_type="application/merge-patch+json")
    assert (code, answer["status"]["podIP"]) == (200, address)


def authority_only(cluster: Cluster) -> ssl.SSLContext:
    """Trusts the cluster, and shows no certificate of its own."""
    tls = ssl.create_default_context(cafile=cluster.ca_certificate)
    tls.verify_flags |= ssl.VERIFY_X509_STRICT  # as newer versions of Python do
    return tls


def call(
    cluster: Cluster, path: str, tls: ssl.SSLContext, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPSConnection(urllib.parse.urlsplit(cluster.server).netloc, context=tls, timeout=60)
    try:
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def until(true: Callable[[], bool], seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"still not so after {seconds:.0f} s"
        time.sleep(0.05)
