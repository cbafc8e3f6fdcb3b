"""The guide to installing, followed command by command on a real control plane whose node runs the Deployment's pod."""

import json
import os
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.api_server import ApiServer
from tests.cluster.operator.stage import until
from tests.companion import die_with_parent
from tests.conftest import DENIED, run
from tests.walks.pages import Command, commands
from tests.walks.shell import Shell, shell
from tests.walks.your_cluster import AIM, linked, operator_image

from aim_engine.local import control_plane
from aim_engine.local.control_plane import Cluster

GUIDE = "docs/guides/deploying.md"
DEPLOYMENT = "/apis/apps/v1/namespaces/aim-system/deployments/aim-engine-controller-manager"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/aim-system/leases/3be10d2f.eai.amd.com"
KINDS = "/apis/aim.eai.amd.com/v1alpha1"


@pytest.fixture
def empty_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A control plane that has never heard of AIM Engine."""
    yield run(control_plane.start(tmp_path / "cluster", ephemeral=True, owner=os.getpid()))
    run(control_plane.stop(tmp_path / "cluster"))


@pytest.fixture
def reader(empty_cluster: Cluster, tmp_path: Path) -> Iterator[Shell]:
    """A shell with helm and kubectl; the cluster has a node for which the operator's image is this project."""
    book, programs = tmp_path / "book.yaml", tmp_path / "programs"
    book.write_text(json.dumps({"images": [operator_image(tmp_path, {})]}))
    node = [AIM, "node", "--kubeconfig", str(empty_cluster.kubeconfig), "--images", str(book), "--gpus", "MI300X:8"]
    with (tmp_path / "node.log").open("wb") as log:
        process = subprocess.Popen(node, stdout=log, stderr=log, preexec_fn=die_with_parent)
    environment = {
        "PATH": f"{linked(programs)}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "KUBECONFIG": str(empty_cluster.kubeconfig),
    }
    with shell(environment) as walking:
        yield walking
    process.send_signal(signal.SIGTERM)
    process.wait()


def test_the_guide_works_from_the_first_command_to_the_last(reader: Shell, empty_cluster: Cluster) -> None:
    server = ApiServer(empty_cluster)
    install, rollout, fill, kinds, install_after = commands(GUIDE, "With Helm")
    early = f"! {install.text} --set clusterModelSource.enable=true"
    assert "ensure CRDs are installed first" in reader.run(Command(early))

    reader.run(install)
    reader.run(rollout)
    pod = the_pod(server)
    assert server.wait_for(LEASE)["spec"]["holderIdentity"] == pod["metadata"]["name"]
    metrics = f"https://{pod['status']['podIP']}:8443/metrics"
    assert [asked(metrics, ""), asked(metrics, token(server, reader=False))] == [401, 403]
    assert asked(metrics, token(server, reader=True)) == 200

    reader.run(fill)
    config = f"{KINDS}/aimclusterruntimeconfigs/default"
    server.wait_until(config, lambda one: bool(one.get("status", {}).get("conditions")))
    assert server.request("GET", f"{KINDS}/aimclustermodelsources/amd-aim-model-source")[0] == 200
    for command in commands(GUIDE, "Upgrading"):
        reader.run(command)
    log = reader.run(Command("kubectl -n aim-system logs deployment/aim-engine-controller-manager"))
    assert DENIED not in log

    *remove, forget = commands(GUIDE, "Removing")
    for command in remove:
        reader.run(command)
    assert server.request("GET", DEPLOYMENT)[0] == 404
    assert server.request("GET", config)[0] == 404
    assert server.request("GET", f"{KINDS}/aimservices")[0] == 200, "the kinds are kept"
    for command in (install, *remove, forget):
        reader.run(command)
    until(lambda: server.request("GET", f"{KINDS}/aimservices")[0] == 404, "the kinds are gone")

    for command in (kinds, install_after, rollout):
        reader.run(command)
    assert server.request("GET", f"{KINDS}/aimclustermodelsources/amd-aim-model-source")[0] == 200
    for command in (*remove, forget):
        reader.run(command)

    for command in (*commands(GUIDE, "Without Helm"), rollout):
        reader.run(command)


def the_pod(server: ApiServer) -> dict[str, Any]:
    """The pod of the operator that runs."""
    pods = server.call("GET", "/api/v1/namespaces/aim-system/pods?labelSelector=control-plane%3Dcontroller-manager")
    (found,) = pods["items"]
    return found


def token(server: ApiServer, *, reader: bool) -> str:
    """A token of an account that may, or may not, read metrics."""
    name, accounts = ("reader" if reader else "stranger"), "/api/v1/namespaces/default/serviceaccounts"
    server.call("POST", accounts, {"metadata": {"name": name}})
    if reader:
        binding = {
            "metadata": {"name": "metrics-readers"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "aim-engine-metrics-reader",
            },
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
        }
        server.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
        until(lambda: server.may(f"system:serviceaccount:default:{name}", "/metrics"), "the reader may read")
    return server.call("POST", f"{accounts}/{name}/token", {"spec": {}})["status"]["token"]


def asked(url: str, bearer: str) -> int:
    """The status of the answer."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {bearer}"} if bearer else {})
    try:
        with urllib.request.urlopen(request, timeout=60, context=ssl._create_unverified_context()) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code
