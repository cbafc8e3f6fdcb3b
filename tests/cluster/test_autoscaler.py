"""The autoscaler stand-in as a program of its own: a ScaledObject becomes a HorizontalPodAutoscaler that scales."""

from typing import Any

import pytest
from tests.api_server import ApiServer
from tests.cluster.asking import ask
from tests.cluster.operator.stage import until

pytestmark = pytest.mark.usefixtures("node", "autoscaler")
MERGE = "application/merge-patch+json"


class Stage:
    """A Deployment `chat` of model servers in a namespace, and what scales it."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self.server, self.namespace = server, namespace
        self.deployment = f"/apis/apps/v1/namespaces/{namespace}/deployments/chat"
        self.scaled = f"/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects"
        self.autoscaler = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/keda-hpa-chat"
        self.pods = f"/api/v1/namespaces/{namespace}/pods"

    def deploy(self) -> None:
        container = {
            "name": "main",
            "image": "registry.local/served/tiny:1.0",
            "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
        }
        labels = {"app": "chat"}
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "chat"}, "spec": spec}
        self.server.call("POST", self.deployment.rpartition("/")[0], body)

    def scale(self, metric: str = "vllm:num_requests_running", **spec: Any) -> None:
        trigger = {"type": "external", "metadata": {"metricQuery": f"sum({metric})", "targetValue": "2"}}
        body = {
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "metadata": {
                "name": "chat",
                "labels": {"team": "blue"},
                "annotations": {"prometheus.kserve.io/port": "8000"},
            },
            "spec": {
                "scaleTargetRef": {"name": "chat"},
                "minReplicaCount": 1,
                "maxReplicaCount": 3,
                "triggers": [trigger],
                **spec,
            },
        }
        self.server.call("POST", self.scaled, body)

    def change(self, **spec: Any) -> None:
        code, answer = self.server.request("PATCH", f"{self.scaled}/chat", {"spec": spec}, content_type=MERGE)
        assert code == 200, answer

    def until_replicas(self, count: int) -> Any:
        return self.server.wait_until(self.deployment, lambda item: item["status"].get("readyReplicas") == count)

    def until_said(self, kind: str, reason: str) -> Any:
        return self.server.wait_until(self.autoscaler, lambda item: told(item, kind).get("reason") == reason)


def told(item: Any, kind: str) -> dict[str, Any]:
    return next((one for one in item.get("status", {}).get("conditions") or [] if one["type"] == kind), {})


def measured(item: Any) -> list[str]:
    return [one["external"]["current"]["averageValue"] for one in item["status"].get("currentMetrics") or []]


@pytest.fixture
def stage(api_server: ApiServer, namespace: str) -> Stage:
    return Stage(api_server, namespace)


def test_a_deployment_follows_its_metrics_within_changing_bounds(stage: Stage) -> None:
    stage.scale()
    missing = stage.server.wait_until(f"{stage.scaled}/chat", lambda item: told(item, "Ready"))
    assert told(missing, "Ready")["reason"] == "ScaledObjectCheckFailed"

    stage.deploy()
    made = stage.until_said("ScalingActive", "ValidMetricFound")
    assert (made["spec"]["minReplicas"], made["spec"]["maxReplicas"]) == (1, 3)
    assert made["metadata"]["labels"]["team"] == "blue"
    assert [(one["kind"], one["controller"]) for one in made["metadata"]["ownerReferences"]] == [("ScaledObject", True)]
    ready = stage.server.wait_until(f"{stage.scaled}/chat", lambda item: told(item, "Ready").get("status") == "True")
    assert ready["status"]["hpaName"] == "keda-hpa-chat"
    assert ready["status"]["originalReplicaCount"] == 1

    (pod,) = stage.server.call("GET", stage.pods)["items"]
    ask(f"http://{pod['status']['podIP']}:8000", "/load", {"requests": 4})
    stage.until_replicas(2)
    scaled = stage.server.wait_until(stage.autoscaler, lambda item: item["status"].get("currentReplicas") == 2)
    assert scaled["status"]["desiredReplicas"] == 2

    stage.change(minReplicaCount=3)
    stage.until_replicas(3)
    stage.change(minReplicaCount=1, maxReplicaCount=1)
    stage.until_replicas(1)

    stage.server.call("DELETE", f"{stage.scaled}/chat")
    stage.server.wait_until(stage.autoscaler.rpartition("/")[0], lambda found: found["items"] == [])


def test_it_says_why_it_cannot_measure_and_keeps_the_bounds_all_the_same(stage: Stage) -> None:
    stage.deploy()
    stage.scale(metric="vllm:unheard_of", minReplicaCount=2)
    stage.until_replicas(2)
    said = stage.server.wait_until(
        stage.autoscaler, lambda item: "no metric vllm:unheard_of" in told(item, "ScalingActive").get("message", "")
    )
    assert told(said, "ScalingActive")["reason"] == "FailedGetExternalMetric"


def test_a_scaled_object_at_rest_is_not_written(stage: Stage) -> None:
    stage.deploy()
    stage.scale()
    stage.until_said("ScalingActive", "ValidMetricFound")
    pods = stage.until_replicas(1) and stage.server.call("GET", stage.pods)["items"]
    ask(f"http://{pods[0]['status']['podIP']}:8000", "/load", {"requests": 1})
    stage.server.wait_until(stage.autoscaler, lambda item: measured(item) == ["1"])
    stage.server.wait_until(f"{stage.scaled}/chat", lambda item: told(item, "Active").get("status") == "True")
    before = versions(stage)
    asked = len(looks(stage, pods[0]))
    until(lambda: len(looks(stage, pods[0])) >= asked + 3, "it looks again")
    assert versions(stage) == before


def versions(stage: Stage) -> list[str]:
    items = (stage.server.call("GET", path) for path in (stage.autoscaler, f"{stage.scaled}/chat"))
    return [item["metadata"]["resourceVersion"] for item in items]


def looks(stage: Stage, pod: Any) -> list[str]:
    """The lines in which the pod tells that it was asked for metrics."""
    _, log = stage.server.request("GET", f"{stage.pods}/{pod['metadata']['name']}/log", text=True)
    return [line for line in log.splitlines() if "/metrics" in line]
