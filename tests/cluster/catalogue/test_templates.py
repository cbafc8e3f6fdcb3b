"""Templates on the real API server: what they depend on, discovery Jobs, GPUs that come and go."""

import time
from typing import Any

import pytest
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
    assert failed["status"]["discovery"]["attempts"] == 1
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
    catalogue.apply(MODELS, "m", {"image": IMAGE, **KNOWN})
    for index in range(50):
        catalogue.apply(TEMPLATES, f"t-{index}", {"modelName": "m", "profileId": f"p-{index}"})
    most, deadline = 0, time.monotonic() + 300
    while {state(one) for one in catalogue.all(TEMPLATES)} != {"Ready"}:
        most = max(most, active_jobs(catalogue))
        assert time.monotonic() < deadline, [state(one) for one in catalogue.all(TEMPLATES)]
    assert 2 <= most <= 10
    catalogue.until_state(MODELS, "m", "Ready")


def active_jobs(catalogue: Catalogue) -> int:
    """Discovery Jobs of the whole cluster that have not ended."""
    path = "/apis/batch/v1/jobs?labelSelector=app.kubernetes.io/component%3Ddiscovery"
    jobs = catalogue.server.call("GET", path)["items"]
    ended = {"Complete", "Failed"}
    return sum(not any(c["type"] in ended for c in job.get("status", {}).get("conditions", [])) for job in jobs)


def test_what_is_ready_is_left_alone(catalogue: Catalogue) -> None:
    catalogue.apply(MODELS, "m", {"image": IMAGE, **KNOWN})
    catalogue.apply(TEMPLATES, "given", {"modelName": "m", "modelSources": INLINE})
    catalogue.apply(TEMPLATES, "found", {"modelName": "m"})
    catalogue.until_state(TEMPLATES, "found", "Ready")
    catalogue.until(
        MODELS,
        "m",
        lambda one: condition(one, "ServiceTemplatesReady") == ("True", "AllTemplatesReady"),
    )
    catalogue.until(TEMPLATES, "found", lambda one: condition(one, "DiscoveryJobReady") == ("", ""))

    def versions() -> list[str]:
        objects = [catalogue.get(MODELS, "m"), catalogue.get(TEMPLATES, "given"), catalogue.get(TEMPLATES, "found")]
        return [one["metadata"]["resourceVersion"] for one in objects]

    before = versions()
    catalogue.apply(MODELS, "other", {"image": IMAGE, **KNOWN})
    catalogue.apply(TEMPLATES, "other", {"modelName": "other"})
    catalogue.until_state(TEMPLATES, "other", "Ready")
    assert versions() == before
