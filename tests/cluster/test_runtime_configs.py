"""Runtime configs say that they were seen, and wake whoever uses them."""

from typing import Any

import pytest
from tests.api_server import ApiServer

pytestmark = pytest.mark.usefixtures("operator")

CONFIGS = "/apis/aim.eai.amd.com/v1alpha1/namespaces/{}/aimruntimeconfigs"
ARTIFACTS = "/apis/aim.eai.amd.com/v1alpha1/namespaces/{}/aimartifacts"


def condition(item: Any, kind: str) -> dict[str, Any]:
    conditions = item.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


def config(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "aim.eai.amd.com/v1alpha1",
        "kind": "AIMRuntimeConfig",
        "metadata": {"name": name},
        "spec": {"env": [{"name": "AIM_DOWNLOADER_PROTOCOL", "value": "HTTP"}]},
    }


def test_a_config_says_that_it_was_seen(api_server: ApiServer, namespace: str) -> None:
    path = CONFIGS.format(namespace)
    api_server.call("POST", path, config("team"))
    seen = api_server.wait_until(f"{path}/team", lambda one: condition(one, "Ready").get("status") == "True")
    assert seen["status"]["observedGeneration"] == 1
    assert condition(seen, "Ready")["reason"] == "AllComponentsReady"


def test_a_missing_config_fails_its_user_until_it_appears(api_server: ApiServer, namespace: str) -> None:
    path = ARTIFACTS.format(namespace)
    api_server.call(
        "POST",
        path,
        {
            "apiVersion": "aim.eai.amd.com/v1alpha1",
            "kind": "AIMArtifact",
            "metadata": {"name": "weights"},
            "spec": {"sourceUri": "hf://acme/tiny", "size": "1Gi", "runtimeConfigName": "team"},
        },
    )
    failed = api_server.wait_until(f"{path}/weights", lambda one: one.get("status", {}).get("status") == "Failed")
    assert condition(failed, "RuntimeConfigReady")["reason"] == "ConfigNotFound"
    assert condition(failed, "RuntimeConfigReady")["message"] == "RuntimeConfig team not found"
    assert condition(failed, "ConfigValid")["reason"] == "ReferenceNotFound"
    assert condition(failed, "Ready")["reason"] == "ReferenceNotFound"

    api_server.call("POST", CONFIGS.format(namespace), config("team"))
    healed = api_server.wait_until(
        f"{path}/weights", lambda one: condition(one, "RuntimeConfigReady").get("status") == "True"
    )
    assert condition(healed, "RuntimeConfigReady")["reason"] == "ConfigFound"
    assert condition(healed, "ConfigValid") | {"lastTransitionTime": ""} == {
        "type": "ConfigValid",
        "status": "True",
        "reason": "ConfigurationValid",
        "message": "Configuration is valid",
        "observedGeneration": 1,
        "lastTransitionTime": "",
    }


def test_a_missing_default_config_is_told_and_harmless(api_server: ApiServer, namespace: str) -> None:
    path = ARTIFACTS.format(namespace)
    api_server.call(
        "POST",
        path,
        {
            "apiVersion": "aim.eai.amd.com/v1alpha1",
            "kind": "AIMArtifact",
            "metadata": {"name": "weights"},
            "spec": {"sourceUri": "hf://acme/tiny", "size": "1Gi"},
        },
    )
    seen = api_server.wait_until(f"{path}/weights", lambda one: condition(one, "RuntimeConfigReady") != {})
    assert condition(seen, "RuntimeConfigReady")["reason"] == "DefaultConfigNotFound"
    assert condition(seen, "RuntimeConfigReady")["status"] == "True"
    told = api_server.wait_until(
        f"/api/v1/namespaces/{namespace}/events",
        lambda events: any(one["reason"] == "DefaultConfigNotFound" for one in events["items"]),
    )
    events = [one for one in told["items"] if one["reason"] == "DefaultConfigNotFound"]
    assert [(one["type"], one["source"]["component"]) for one in events] == [("Normal", "aim-artifact-controller")]


def test_an_object_without_a_spec_is_told_so(api_server: ApiServer, namespace: str) -> None:
    path = ARTIFACTS.format(namespace)
    bare = {"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": "AIMArtifact", "metadata": {"name": "bare"}}
    api_server.call("POST", path, bare)
    refused = api_server.wait_until(f"{path}/bare", lambda one: one.get("status", {}).get("status") == "Failed")
    assert condition(refused, "SpecReady")["message"] == "spec is missing; write what you want"
    assert condition(refused, "ConfigValid")["reason"] == "InvalidSpec"


def test_a_paused_object_is_left_alone(api_server: ApiServer, namespace: str) -> None:
    path = ARTIFACTS.format(namespace)
    paused = {
        "apiVersion": "aim.eai.amd.com/v1alpha1",
        "kind": "AIMArtifact",
        "metadata": {"name": "paused", "annotations": {"aim.eai.amd.com/reconciliation-paused": "true"}},
        "spec": {"sourceUri": "hf://acme/tiny", "size": "1Gi"},
    }
    api_server.call("POST", path, paused)
    api_server.call("POST", path, {**paused, "metadata": {"name": "other"}})
    api_server.wait_until(f"{path}/other", lambda one: "status" in one)
    assert "status" not in api_server.call("GET", f"{path}/paused")
