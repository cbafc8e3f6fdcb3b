"""The guide to installing, followed command by command on a real control plane whose node runs the Deployment's pod."""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.api_server import ApiServer
from tests.cluster.operator.stage import until
from tests.companion import die_with_parent
from tests.conftest import DENIED, run
from tests.deploy.conftest import CHART, ROOT, Helm

from aim_engine.local import control_plane
from aim_engine.local.control_plane import Cluster

GUIDE = (ROOT / "docs" / "guides" / "deploying.md").read_text()
DEPLOYMENT = "/apis/apps/v1/namespaces/aim-system/deployments/aim-engine-controller-manager"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/aim-system/leases/3be10d2f.eai.amd.com"
MANAGER = """#!/bin/bash
# As in the image, but at the pod's own address: the pods of a local node share the machine's network.
exec aim operator "${@//=:/=$POD_IP:}"
"""
KINDS = "/apis/aim.eai.amd.com/v1alpha1"


@dataclass(frozen=True)
class Shell:
    """Runs commands as a reader of the guide would, in the project's folder."""

    cluster: Cluster
    programs: Path

    def run(self, script: str) -> str:
        """What the script prints; it has to succeed."""
        environment = {
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "HOME": str(self.programs),
            "KUBECONFIG": str(self.cluster.kubeconfig),
        }
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout


def commands(section: str) -> list[str]:
    """The commands in one section of the guide, block by block."""
    found = re.search(rf"^#+ {section}\n(.*?)(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE)
    assert found, f"the guide has no section {section}"
    return re.findall(r"^```sh\n(.*?)^```", found[1], re.DOTALL | re.MULTILINE)


@pytest.fixture
def empty_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A control plane that has never heard of AIM Engine."""
    yield run(control_plane.start(tmp_path / "cluster", ephemeral=True, owner=os.getpid()))
    run(control_plane.stop(tmp_path / "cluster"))


@pytest.fixture
def shell(helm: Helm, empty_cluster: Cluster, tmp_path: Path) -> Iterator[Shell]:
    """A shell with helm and kubectl; the cluster has a node for which the operator's image is this project."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "helm").symlink_to(helm.program)
    (programs / "kubectl").symlink_to(empty_cluster.kubectl)
    manager, book = tmp_path / "manager", tmp_path / "book.yaml"
    manager.write_text(MANAGER)
    manager.chmod(0o755)
    image = {
        "image": "docker.io/amdenterpriseai/aim-engine",
        "entrypoint": ["/manager"],
        "programs": {"/manager": str(manager)},
        "environment": {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
    }
    book.write_text(json.dumps({"images": [image]}))
    aim = Path(sys.executable).with_name("aim")
    node = [aim, "node", "--kubeconfig", str(empty_cluster.kubeconfig), "--images", str(book), "--gpus", "MI300X:8"]
    with (tmp_path / "node.log").open("wb") as log:
        process = subprocess.Popen(node, stdout=log, stderr=log, preexec_fn=die_with_parent)
    yield Shell(empty_cluster, programs)
    process.send_signal(signal.SIGTERM)
    process.wait()


def test_the_guide_works_from_the_first_command_to_the_last(shell: Shell, helm: Helm) -> None:
    server = ApiServer(shell.cluster)
    early = ("--namespace", "aim-system", "--kubeconfig", str(shell.cluster.kubeconfig), "--create-namespace")
    refused = helm.call("install", "aim-engine", str(CHART), *early, "--set", "clusterModelSource.enable=true")
    assert "ensure CRDs are installed first" in refused.stderr

    install, fill = commands("With Helm")
    said = shell.run(install)
    assert "AIM Engine 0.1.0 is installed in the namespace aim-system." in said
    assert "successfully rolled out" in said
    pod = the_pod(server)
    assert server.wait_for(LEASE)["spec"]["holderIdentity"] == pod["metadata"]["name"]
    metrics = f"https://{pod['status']['podIP']}:8443/metrics"
    assert [asked(metrics, ""), asked(metrics, token(server, reader=False))] == [401, 403]
    assert asked(metrics, token(server, reader=True)) == 200

    shell.run(fill)
    config = f"{KINDS}/aimclusterruntimeconfigs/default"
    server.wait_until(config, lambda one: bool(one.get("status", {}).get("conditions")))
    assert server.request("GET", f"{KINDS}/aimclustermodelsources/amd-aim-model-source")[0] == 200
    for block in commands("Upgrading"):
        shell.run(block)
    assert DENIED not in shell.run("kubectl -n aim-system logs deployment/aim-engine-controller-manager")

    remove, forget = commands("Removing")
    shell.run(remove)
    assert server.request("GET", DEPLOYMENT)[0] == 404
    assert server.request("GET", config)[0] == 404
    assert server.request("GET", f"{KINDS}/aimservices")[0] == 200, "the kinds are kept"
    shell.run(install.splitlines()[0])
    shell.run(f"{remove}\n{forget}")
    assert server.request("GET", f"{KINDS}/aimservices")[0] == 404

    (without_helm,) = commands("Without Helm")
    shell.run(without_helm)
    shell.run("kubectl -n aim-system rollout status deployment/aim-engine-controller-manager --timeout=300s")


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
        review = {
            "spec": {
                "user": f"system:serviceaccount:default:{name}",
                "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
            }
        }
        reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        until(lambda: server.call("POST", reviews, review)["status"]["allowed"], "the reader may read")
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
