"""The GPU that a service runs on leaves the cluster and comes back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.api_server import ApiServer
from tests.cluster.conftest import BOOK, aim, start
from tests.cluster.operator.stage import until
from tests.cluster.services.serving import Serving, condition

from aim_engine.local.control_plane import Cluster

pytestmark = pytest.mark.usefixtures("operator", "node", "kserve", "status_updaters")


class Machine:
    """A node with a GPU that no other story uses. It goes, and so pods of other stories had better not be there."""

    model, path = "V620", "/api/v1/nodes/v620-1"

    def __init__(self, cluster: Cluster, server: ApiServer, directory: Path) -> None:
        self._command = aim("node", "--images", str(BOOK), "--gpus", f"{self.model}:1")
        self._command += ["--kubeconfig", str(cluster.kubeconfig)]
        self._server, self._log = server, directory / "node.log"
        self.come()

    def come(self) -> None:
        avoided = {"taints": [{"key": "tests.aim.eai.amd.com/goes", "effect": "PreferNoSchedule"}]}
        self._server.call("POST", "/api/v1/nodes", {"metadata": {"name": "v620-1"}, "spec": avoided})
        self._process = start(self._log, self._command, lambda: "Nodes are ready" in self._log.read_text())

    def go(self) -> None:
        """End the node, and take it out of the cluster as its administrator does."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(60)
            self._server.call("DELETE", self.path)


@pytest.fixture
def machine(cluster: Cluster, api_server: ApiServer, tmp_path: Path) -> Iterator[Machine]:
    made = Machine(cluster, api_server, tmp_path)
    yield made
    made.go()


def test_a_service_waits_for_its_gpu_and_runs_again_when_it_is_back(serving: Serving, machine: Machine) -> None:
    serving.template("tiny-gpu", hardware={"gpu": {"model": machine.model, "requests": 1}})
    serving.service("chat")
    serving.until_status("chat", "Running")
    served = serving.only(serving.inference_services())
    (pod,) = serving.pods()
    assert pod["spec"]["nodeName"] == "v620-1"
    assert pod["spec"]["containers"][0]["resources"]["limits"]["amd.com/gpu"] == "1"

    machine.go()
    waiting = serving.until_told("chat", "TemplateReady", "TemplateNotReady")
    assert condition(waiting, "TemplateReady")["status"] == "False"
    serving.until_status("chat", "Pending")
    left = serving.only(serving.inference_services())
    assert (left["metadata"]["uid"], left["spec"]) == (served["metadata"]["uid"], served["spec"])

    machine.come()
    serving.until_told("chat", "TemplateReady", "Resolved")
    serving.until_status("chat", "Running")
    until(lambda: [one["spec"].get("nodeName") for one in serving.pods()] == ["v620-1"], "it runs on that node again")
