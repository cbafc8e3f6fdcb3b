"""Templates on the real API server: what they depend on, discovery Jobs, GPUs that come and go."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.api_server import ApiServer
from tests.cluster.catalogue.words import Catalogue, condition, message, state

pytestmark = pytest.mark.usefixtures("node")

MODELS, TEMPLATES, CONFIGS = "aimmodels", "aimservicetemplates", "aimruntimeconfigs"
IMAGE = "registry.invalid/catalogue/hand:1.0.0"
"""Never read: its metadata is given by hand. The node knows it from its book."""
KNOWN: dict[str, Any] = {"imageMetadata": {"model": {}}}
INLINE = [{"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny", "size": "1Gi"}]


def test_a_template_before_its_model_recovers(catalogue: Catalogue) -> None:
    catalogue.apply(TEMPLATES, "early", {"modelName": "late", "modelSources": INLINE})
    failed = catalogue.until_state(TEMPLATES, "early", "Failed")
    assert condition(failed, "ModelReady") == ("False", "ReferenceNotFound")
    assert message(failed, "ModelReady") == "Upstream dependency not found"
    assert condition(failed, "ConfigValid") == ("False", "ReferenceNotFound")
    catalogue.apply(MODELS, "late", {"image": IMAGE, **KNOWN})
    ready = catalogue.until_state(TEMPLATES, "early", "Ready")
    assert condition(ready, "ModelReady") == ("True", "ModelFound")
    assert ready["status"]["resolvedModel"]["name"] == "late"


def test_a_named_runtime_config_is_waited_for(catalogue: Catalogue) -> None:
    catalogue.apply(MODELS, "m", {"image": IMAGE, **KNOWN})
    spec = {"modelName": "m", "modelSources": INLINE, "runtimeConfigName": "team"}
    catalogue.apply(TEMPLATES, "t", spec)
    failed = catalogue.until_state(TEMPLATES, "t", "Failed")
    assert condition(failed, "RuntimeConfigReady") == ("False", "ConfigNotFound")
    catalogue.apply(CONFIGS, "team", {})
    ready = catalogue.until_state(TEMPLATES, "t", "Ready")
    assert condition(ready, "ConfigValid") == ("True", "ConfigurationValid")
    assert ready["status"]["resolvedRuntimeConfig"]["name"] == "team"


def test_a_template_falls_back_to_the_model_of_the_cluster(catalogue: Catalogue) -> None:
    name = f"shared-{catalogue.unique}"
    catalogue.apply("aimclustermodels", name, {"image": IMAGE, **KNOWN})
    catalogue.apply(TEMPLATES, "t", {"modelName": name})
    ready = catalogue.until_state(TEMPLATES, "t", "Ready")
    assert ready["status"]["resolvedModel"] == {
        "kind": "AIMClusterModel",
        "name": name,
        "scope": "Cluster",
        "uid": ready["status"]["resolvedModel"]["uid"],
    }
    assert ready["status"]["discoveryJob"]["namespace"] == catalogue.namespace


def test_gpus_come_and_go(catalogue: Catalogue) -> None:
    catalogue.apply(MODELS, "m", {"image": IMAGE, **KNOWN})
    catalogue.apply(TEMPLATES, "t", {"modelName": "m", "hardware": {"gpu": {"requests": 1, "model": "MI210"}}})
    absent = catalogue.until_state(TEMPLATES, "t", "NotAvailable")
    assert condition(absent, "GPUReady") == ("False", "GPUNotAvailable")
    assert message(absent, "GPUReady").startswith("Required GPU model 'MI210' not available in cluster. Available: ")
    assert condition(absent, "Ready") == ("False", "GPUNotAvailable")
    assert catalogue.jobs() == []

    node = f"/api/v1/nodes/gpu-{catalogue.unique}"
    try:
        catalogue.server.call("POST", "/api/v1/nodes", {"metadata": {"name": node.rpartition("/")[2]}})
        relabel(catalogue, node, "0x740F")
        ready = catalogue.until_state(TEMPLATES, "t", "Ready")
        assert ready["status"]["hardwareSummary"] == "1 x MI210"
        (term,) = ready["status"]["resolvedNodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
            "nodeSelectorTerms"
        ]
        assert term["matchExpressions"][0]["values"] == ["0x740F", "740f", "7410"]

        relabel(catalogue, node, None)
        gone = catalogue.until_state(TEMPLATES, "t", "NotAvailable")
        assert gone["status"]["modelSources"] == ready["status"]["modelSources"]
        relabel(catalogue, node, "740f")
        again = catalogue.until_state(TEMPLATES, "t", "Ready")
        assert again["status"]["discoveryJob"] == ready["status"]["discoveryJob"]

        catalogue.server.call("DELETE", node)
        catalogue.until_state(TEMPLATES, "t", "NotAvailable")
        labels = {"beta.amd.com/gpu.device-id.7410": "8"}
        catalogue.server.call(
            "POST", "/api/v1/nodes", {"metadata": {"name": node.rpartition("/")[2], "labels": labels}}
        )
        back = catalogue.until_state(TEMPLATES, "t", "Ready")
        assert back["status"]["profile"] == ready["status"]["profile"]
        catalogue.until_state(MODELS, "m", "Ready")
    finally:
        catalogue.server.request("DELETE", node)


def relabel(catalogue: Catalogue, node: str, device: str | None) -> None:
    change = {"metadata": {"labels": {"amd.com/gpu.device-id": device}}}
    status, answer = catalogue.server.request("PATCH", node, change, content_type="application/merge-patch+json")
    assert status == 200, answer


def test_memory_that_no_gpu_has(catalogue: Catalogue) -> None:
    catalogue.apply(MODELS, "m", {"image": IMAGE, **KNOWN})
    catalogue.apply(TEMPLATES, "big", {"modelName": "m", "hardware": {"gpu": {"requests": 1, "minVram": "1Ti"}}})
    catalogue.apply(TEMPLATES, "fits", {"modelName": "m", "hardware": {"gpu": {"requests": 1, "minVram": "192Gi"}}})
    absent = catalogue.until_state(TEMPLATES, "big", "NotAvailable")
    assert condition(absent, "GPUReady") == ("False", "VRAMNotAvailable")
    assert message(absent, "GPUReady").startswith("Required minimum VRAM (1024Gi) exceeds available GPUs.")
    ready = catalogue.until_state(TEMPLATES, "fits", "Ready")
    assert ready["status"]["resolvedHardware"]["gpu"] == {
        "requests": 1,
        "model": "MI300X",
        "minVram": "192Gi",
        "resourceName": "amd.com/gpu",
    }


@pytest.mark.parametrize(
    ("image", "reason", "told"),
    [
        pytest.param("broken", "JobBackoffLimitExceeded", "backoff limit", id="a dry run that fails"),
        pytest.param("garbage", "DiscoveryFailed", "the dry run printed no JSON array", id="output without a profile"),
    ],
)
def test_a_failed_discovery_is_counted_and_told(catalogue: Catalogue, image: str, reason: str, told: str) -> None:
    catalogue.apply(MODELS, "m", {"image": f"registry.invalid/catalogue/{image}:1.0.0", **KNOWN})
    catalogue.apply(TEMPLATES, "t", {"modelName": "m"})
    failed = catalogue.until(TEMPLATES, "t", lambda one: "attempts" in one.get("status", {}).get("discovery", {}))
    assert state(failed) == "Failed"
    assert condition(failed, "DiscoveryJobReady") == ("False", reason)
    assert condition(failed, "Discovered")[0] == "False"
    assert condition(failed, "ConfigValid") == ("False", "InvalidSpec")
    assert attempts(failed) == 1
    assert told in failed["status"]["discovery"]["lastFailureReason"]
    model = catalogue.until_state(MODELS, "m", "Failed")
    assert condition(model, "ServiceTemplatesReady") == ("False", "AllTemplatesFailed")


def test_a_template_that_asks_for_it_gets_a_cache(catalogue: Catalogue) -> None:
    catalogue.apply(MODELS, "m", {"image": IMAGE, **KNOWN})
    env = [{"name": "HF_TOKEN", "value": "x"}]
    spec = {"modelName": "m", "modelSources": INLINE, "env": env, "caching": {"enabled": True}}
    catalogue.apply(TEMPLATES, "t", spec)
    found = catalogue.until(TEMPLATES, "t", lambda one: "resolvedCache" in one.get("status", {}))
    assert found["status"]["resolvedCache"]["name"] == "t"
    assert condition(found, "CacheReady")[0] in ("True", "False")
    path = f"/apis/aim.eai.amd.com/v1alpha1/namespaces/{catalogue.namespace}/aimtemplatecaches/t"
    cache = catalogue.server.call("GET", path)
    assert cache["metadata"]["ownerReferences"][0]["kind"] == "AIMServiceTemplate"
    assert cache["spec"]["env"] == env
    assert cache["spec"]["mode"] == "Shared"
    catalogue.delete(TEMPLATES, "t")
    catalogue.wait(lambda: catalogue.server.request("GET", path)[0] == 404, "the cache goes with its template")


def test_fifty_templates_take_turns_and_all_finish(catalogue: Catalogue) -> None:
    crowd = Crowd(catalogue.server)
    catalogue.apply(MODELS, "m", {"image": IMAGE, **KNOWN})
    for index in range(50):
        catalogue.apply(TEMPLATES, f"t-{index}", {"modelName": "m", "profileId": f"p-{index}"})

    def all_are_ready() -> bool:
        crowd.follow()
        return {state(one) for one in catalogue.all(TEMPLATES)} == {"Ready"}

    catalogue.wait(all_are_ready, "all fifty are Ready")
    assert 2 <= crowd.most <= 10
    catalogue.until_state(MODELS, "m", "Ready")


DISCOVERY = "/apis/batch/v1/jobs?labelSelector=app.kubernetes.io/component%3Ddiscovery"
"""All discovery Jobs of the cluster, which the limit is about, those of other tests too."""


class Crowd:
    """How many Jobs ran at the same time at the most, as short watches tell that follow each other."""

    def __init__(self, server: ApiServer) -> None:
        beginning = server.call("GET", DISCOVERY)
        self._server, self._version = server, beginning["metadata"]["resourceVersion"]
        self._running = {job["metadata"]["uid"] for job in beginning["items"] if not ended(job)}
        self.most = len(self._running)

    def follow(self) -> None:
        """Hear what has changed since the last time."""
        watch = f"{DISCOVERY}&watch=true&timeoutSeconds=1&resourceVersion={self._version}"
        status, told = self._server.request("GET", watch, text=True)
        assert status == 200, told
        for event in map(json.loads, told.splitlines()):
            assert event["type"] != "ERROR", event
            metadata = event["object"]["metadata"]
            self._version = metadata["resourceVersion"]
            if event["type"] == "DELETED" or ended(event["object"]):
                self._running.discard(metadata["uid"])
            else:
                self._running.add(metadata["uid"])
            self.most = max(self.most, len(self._running))


def ended(job: Any) -> bool:
    return any(one["type"] in ("Complete", "Failed") for one in job.get("status", {}).get("conditions", []))


def test_what_is_ready_is_left_alone(catalogue: Catalogue, operator: Path) -> None:
    catalogue.apply(MODELS, "m", {"image": IMAGE, **KNOWN})
    catalogue.apply(TEMPLATES, "given", {"modelName": "m", "modelSources": INLINE})
    catalogue.apply(TEMPLATES, "found", {"modelName": "m"})
    catalogue.until_state(TEMPLATES, "found", "Ready")
    catalogue.until(MODELS, "m", lambda one: condition(one, "ServiceTemplatesReady") == ("True", "AllTemplatesReady"))
    catalogue.until(TEMPLATES, "found", lambda one: condition(one, "DiscoveryJobReady") == ("", ""))
    ready = [(MODELS, "m"), (TEMPLATES, "given"), (TEMPLATES, "found")]
    for plural, name in ready:
        catalogue.annotate(plural, name, {"note": "woken"})
    ready_too(catalogue, "before")
    written = writes_about(operator, catalogue.namespace, {name for _, name in ready})
    versions = [catalogue.get(plural, name)["metadata"]["resourceVersion"] for plural, name in ready]

    ready_too(catalogue, "other")
    assert [catalogue.get(plural, name)["metadata"]["resourceVersion"] for plural, name in ready] == versions
    assert writes_about(operator, catalogue.namespace, {name for _, name in ready}) == written


def ready_too(catalogue: Catalogue, name: str) -> None:
    """Another model with a template; when they are ready, the operator has logged what came before them."""
    catalogue.apply(MODELS, name, {"image": IMAGE, **KNOWN})
    catalogue.apply(TEMPLATES, name, {"modelName": name})
    catalogue.until_state(TEMPLATES, name, "Ready")


def writes_about(log: Path, namespace: str, names: set[str]) -> int:
    """How often the operator has written for these objects, also if that changed nothing."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if '"reconciled"' in line]
    return sum(line["writes"] for line in lines if line["namespace"] == namespace and line["name"] in names)


def test_an_image_that_cannot_be_pulled_is_given_up_and_tried_again(catalogue: Catalogue) -> None:
    catalogue.apply(MODELS, "m", {"image": "registry.invalid/not-in-the-book:1.0.0", **KNOWN})
    catalogue.apply(TEMPLATES, "t", {"modelName": "m"})
    stuck = catalogue.until(TEMPLATES, "t", lambda one: condition(one, "DiscoveryPodsReady")[0] == "False")
    assert "attempts" not in stuck["status"].get("discovery", {})
    (job,) = catalogue.jobs()
    given_up = catalogue.until(TEMPLATES, "t", lambda one: attempts(one) == 1)
    assert given_up["status"]["discovery"]["lastFailureReason"].startswith(("ErrImagePull: ", "ImagePullBackOff: "))
    assert message(given_up, "Discovered").endswith("before retry (attempt 1 failed)")
    catalogue.wait(lambda: job["metadata"]["uid"] not in uids(catalogue.jobs()), "its Job makes room for others")
    catalogue.wait(lambda: job["metadata"]["uid"] not in owners_of_pods(catalogue), "and its pod")
    catalogue.until(TEMPLATES, "t", lambda one: attempts(one) >= 2)

    catalogue.change(MODELS, "m", {"image": IMAGE})
    ready = catalogue.until_state(TEMPLATES, "t", "Ready")
    assert list(ready["status"]["discovery"]) == ["specHash"]
    assert condition(ready, "Discovered") == ("True", "DiscoveryComplete")


def test_a_dry_run_that_failed_is_tried_again_and_may_succeed(catalogue: Catalogue) -> None:
    catalogue.apply(MODELS, "m", {"image": "registry.invalid/catalogue/flaky:1.0.0", **KNOWN})
    catalogue.apply(TEMPLATES, "t", {"modelName": "m"})
    twice = catalogue.until(TEMPLATES, "t", lambda one: attempts(one) >= 2)
    assert twice["status"]["discovery"]["lastAttemptTime"] > twice["metadata"]["creationTimestamp"]
    catalogue.change(MODELS, "m", {"env": [{"name": "ANSWER", "value": "yes"}]})
    ready = catalogue.until_state(TEMPLATES, "t", "Ready")
    assert "attempts" not in ready["status"]["discovery"]
    assert ready["status"]["profile"]["metadata"]["engine"] == "vllm"


def attempts(template: Any) -> int:
    return template.get("status", {}).get("discovery", {}).get("attempts", 0)


def uids(items: list[Any]) -> set[str]:
    return {item["metadata"]["uid"] for item in items}


def owners_of_pods(catalogue: Catalogue) -> set[str]:
    pods = catalogue.server.call("GET", f"/api/v1/namespaces/{catalogue.namespace}/pods")["items"]
    return {owner["uid"] for pod in pods for owner in pod["metadata"].get("ownerReferences", [])}


@pytest.mark.parametrize(
    ("image", "told"),
    [
        pytest.param("silent", "the dry run printed nothing", id="no output at all"),
        pytest.param("truncated", "the dry run printed no JSON array of profiles", id="output that breaks off"),
        pytest.param("huge", "at most 1048576 fit", id="more than fits an object"),
        pytest.param("unusable", "models[0].source of the dry run is", id="weights that nobody can fetch"),
    ],
)
def test_output_that_cannot_be_used_is_told(catalogue: Catalogue, image: str, told: str) -> None:
    catalogue.apply(MODELS, "m", {"image": f"registry.invalid/catalogue/{image}:1.0.0", **KNOWN})
    catalogue.apply(TEMPLATES, "t", {"modelName": "m"})
    failed = catalogue.until(TEMPLATES, "t", lambda one: condition(one, "Discovered")[1] == "DiscoveryFailed")
    assert state(failed) == "Failed"
    assert told in message(failed, "Discovered")
    assert condition(failed, "DiscoveryJobReady") == ("False", "DiscoveryFailed")
