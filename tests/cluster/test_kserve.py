"""The real KServe controller beside the control plane takes what the operator makes to Ready."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.api_server import ApiServer
from tests.cluster.conftest import aim, start
from tests.cluster.operator.conftest import run
from tests.local.census import alive, children

from aim_engine.api.service import AIMService
from aim_engine.api.template import AIMServiceTemplate
from aim_engine.core import service as services
from aim_engine.local import control_plane
from aim_engine.local.control_plane import Cluster
from aim_engine.manifests import inference_service

SERVING = "/apis/serving.kserve.io/v1beta1/namespaces/{}/inferenceservices"
HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


def manifest(namespace: str, **spec: Any) -> Any:
    """An InferenceService as the operator makes them."""
    service = msgspec.convert(
        {"metadata": {"name": "chat", "namespace": namespace}, "spec": {"model": {"name": "tiny"}, **spec}}, AIMService
    )
    template = msgspec.convert({"metadata": {"name": "tiny-cpu"}, "spec": {"modelName": "tiny"}}, AIMServiceTemplate)
    pod = inference_service.Pod(
        image="registry.local/served/tiny:1.0",
        env=[],
        resources={"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
    )
    return inference_service.build(services.of(service), "chat", template, pod)


def is_ready(item: Any) -> bool:
    conditions = item.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


@pytest.mark.usefixtures("kserve", "node")
def test_an_inference_service_of_our_shape_gets_ready_with_pods_on_the_node(
    api_server: ApiServer, namespace: str
) -> None:
    api_server.call("POST", SERVING.format(namespace), manifest(namespace, replicas=2))
    api_server.wait_until(f"{SERVING.format(namespace)}/chat", is_ready)

    pods = api_server.call(
        "GET", f"/api/v1/namespaces/{namespace}/pods?labelSelector=serving.kserve.io/inferenceservice=chat"
    )["items"]
    assert [(pod["status"]["phase"], len(pod["spec"]["containers"])) for pod in pods] == [("Running", 1)] * 2
    service = api_server.call("GET", f"/api/v1/namespaces/{namespace}/services/chat-predictor")
    assert [(port["port"], port["targetPort"]) for port in service["spec"]["ports"]] == [(80, 8000)]
    assert api_server.call("GET", f"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses")["items"] == []


@pytest.mark.usefixtures("kserve")
def test_its_webhooks_refuse_what_kserve_cannot_scale(api_server: ApiServer, namespace: str) -> None:
    metric = {"type": "PodMetric", "podmetric": {"metric": {"backend": "opentelemetry"}, "target": {"type": "Value"}}}
    scaled = manifest(namespace, minReplicas=1, maxReplicas=2, autoScaling={"metrics": [metric]})
    code, answer = api_server.request("POST", SERVING.format(namespace), scaled)
    assert code == 403, answer
    assert 'admission webhook "inferenceservice.kserve-webhook-server.validator" denied' in answer["message"]


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A control plane on which KServe may come and go."""
    yield run(control_plane.start(tmp_path / "cluster", ephemeral=True, owner=os.getpid()))
    run(control_plane.stop(tmp_path / "cluster"))


def test_it_ends_with_its_program_and_leaves_nothing_that_waits_for_it(own_cluster: Cluster, tmp_path: Path) -> None:
    log, command = tmp_path / "kserve.log", aim("kserve", "--kubeconfig", str(own_cluster.kubeconfig))
    program = start(log, command, lambda: "is ready" in log.read_text())
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (second.returncode, second.stdout) == (1, "")
    assert "Another process holds" in second.stderr

    controller = next(pid for pid, name in processes_below(program.pid).items() if name == "kserve")
    os.kill(controller, signal.SIGKILL)
    assert program.wait(60) == 1
    last_words = f"aim: kserve was killed by SIGKILL; the last lines of {own_cluster.files.log('kserve')}:"
    assert last_words in log.read_text()

    program = start(log, command, lambda: "is ready" in log.read_text())
    family = processes_below(program.pid)
    os.kill(program.pid, signal.SIGTERM)
    assert program.wait(60) == 0
    assert not [pid for pid in family if alive(pid)]
    server = ApiServer(own_cluster)
    assert server.call("GET", HOOKS)["items"] == []
    server.call("POST", SERVING.format("default"), manifest("default"))


def processes_below(parent: int) -> dict[int, str]:
    """Process id -> program of everything that `parent` started, and what that started."""
    found = children(parent)
    return found | {pid: name for child in found for pid, name in processes_below(child).items()}
