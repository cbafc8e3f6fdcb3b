"""Services that scale: KServe asks KEDA, KEDA's autoscaler decides, and the operator keeps its hands off."""

from typing import Any

import pytest
from tests.cluster.asking import ask
from tests.cluster.services.serving import METRIC, Serving, condition

pytestmark = pytest.mark.usefixtures("operator", "node", "kserve", "autoscaler", "status_updaters")
OPERATOR = "aim-service-controller"


def owners(item: Any, *path: str) -> set[str]:
    """The managers that own a field."""
    found: set[str] = set()
    for entry in item["metadata"]["managedFields"]:
        fields: Any = entry.get("fieldsV1", {})
        for part in path:
            fields = fields.get(f"f:{part}") if fields else None
        if fields is not None:
            found.add(entry["manager"])
    return found


def deployment(serving: Serving) -> Any:
    return serving.only(serving.foreign("apps/v1", "deployments"))


def until_replicas(serving: Serving, count: int) -> Any:
    name = deployment(serving)["metadata"]["name"]
    return serving.server.wait_until(
        serving.foreign("apps/v1", "deployments", name), lambda item: item["status"].get("readyReplicas") == count
    )


def test_a_service_scales_by_its_metrics_and_follows_its_bounds(serving: Serving) -> None:
    serving.template()
    serving.service("chat", minReplicas=1, maxReplicas=3, autoScaling={"metrics": [METRIC]})
    running = serving.until_status("chat", "Running")
    assert condition(running, "HPAReady")["reason"] == "HPAOperational"
    assert running["status"]["runtime"]["replicas"] == "1/1 (1-3)"

    (pod,) = serving.pods()
    ask(f"http://{pod['status']['podIP']}:8000", "/load", {"requests": 4})
    scaled = until_replicas(serving, 2)
    serving.until("chat", lambda item: item["status"]["runtime"]["replicas"] == "2/2 (1-3)")
    served = serving.only(serving.inference_services())
    assert owners(scaled, "spec", "replicas") == {"aim-autoscaler"}
    assert OPERATOR in owners(served, "spec", "predictor", "minReplicas"), "which tells KServe the bounds, and no more"
    assert "replicas" not in served["spec"]["predictor"]

    serving.change("chat", minReplicas=3)
    until_replicas(serving, 3)
    serving.change("chat", minReplicas=1, maxReplicas=1)
    last = until_replicas(serving, 1)
    assert owners(last, "spec", "replicas") == {"aim-autoscaler"}
    serving.until("chat", lambda item: item["status"]["runtime"]["replicas"] == "1")


def test_scaling_is_switched_on_and_off_while_the_service_runs(serving: Serving) -> None:
    serving.template()
    serving.service("chat", replicas=2)
    fixed = serving.until_status("chat", "Running")
    assert fixed["status"]["runtime"]["replicas"] == "2"
    assert condition(fixed, "HPAReady") == {}
    scaled_objects = serving.foreign("keda.sh/v1alpha1", "scaledobjects")

    serving.change("chat", minReplicas=1, maxReplicas=3, autoScaling={"metrics": [METRIC]})
    serving.until_told("chat", "HPAReady", "HPAOperational")
    serving.until_status("chat", "Running")
    serving.only(scaled_objects)

    serving.change("chat", minReplicas=None, maxReplicas=None, autoScaling=None)
    off = serving.until("chat", lambda item: condition(item, "HPAReady") == {})
    assert off["status"]["runtime"]["replicas"] == "2"
    annotations = serving.only(serving.inference_services())["metadata"]["annotations"]
    assert annotations["serving.kserve.io/autoscalerClass"] == "none"
    assert "sidecar.opentelemetry.io/inject" not in annotations
    left = serving.only(scaled_objects)["metadata"]["name"]  # which KServe does not take away, as the guide says
    serving.server.call("DELETE", f"{scaled_objects}/{left}")
    until_replicas(serving, 2)
    serving.until_status("chat", "Running")


def test_bounds_without_a_metric_are_refused_in_the_words_of_keda(serving: Serving) -> None:
    serving.template()
    serving.service("chat", minReplicas=1, maxReplicas=3)
    refused = serving.until_told("chat", "InferenceServiceReady", "InternalError")
    assert "spec.triggers: Required value" in condition(refused, "InferenceServiceReady")["message"]
    serving.change("chat", autoScaling={"metrics": [METRIC]})
    serving.until_status("chat", "Running")
