"""What changes around a service reaches its pods, and what is lost is made again."""

import pytest
from tests.cluster.services.stage import MERGE, SIMULATED, Manifest, Stage, claims_of, condition, env_of, word

pytestmark = pytest.mark.usefixtures("operator", "node", "kserve")


def test_a_config_that_is_missing_is_waited_for_and_its_changes_reach_the_pods(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service(runtimeConfigName="named")
    failed = stage.told("RuntimeConfigReady", "ConfigNotFound")
    assert word(failed) == "Failed"
    assert condition(failed, "RuntimeConfigReady")["message"] == "RuntimeConfig named not found"
    assert stage.all("inferenceservices") == stage.all("aimtemplatecaches") == []
    stage.create("AIMRuntimeConfig", "named", {"env": [{"name": "FROM", "value": "config"}]})
    assert stage.supplied()["status"]["resolvedRuntimeConfig"]["scope"] == "Namespace"
    served = stage.served()
    assert env_of(served)["FROM"] == "config"
    stage.change("aimruntimeconfigs", "named", {"spec": {"env": [{"name": "FROM", "value": "later"}]}})
    stage.until("inferenceservices", served["metadata"]["name"], lambda one: env_of(one)["FROM"] == "later")


def test_changes_of_a_service_reach_its_pods(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service()
    name = stage.served()["metadata"]["name"]
    wrong = {"name": "AIM_ENGINE_ARGS", "value": "--fast"}
    stage.change(
        "aimservices",
        "chat",
        {"spec": {"env": [*SIMULATED, wrong], "replicas": 2, "resources": {"limits": {"memory": "1Gi"}}}},
    )
    changed = stage.until("inferenceservices", name, lambda one: one["spec"]["predictor"]["minReplicas"] == 2)
    assert env_of(changed)["AIM_ENGINE_ARGS"] == "--fast"
    assert changed["spec"]["predictor"]["containers"][0]["resources"]["limits"] == {"memory": "1Gi"}
    assert stage.until_event("InvalidEngineArgs") == (
        "Warning",
        "InvalidEngineArgs",
        "AIM_ENGINE_ARGS of the service is no JSON object",
    )
    stage.until("aimservices", "chat", lambda one: one["status"]["runtime"]["replicas"] == "2")
    stage.until("deployments", f"{name}-predictor", lambda one: one.get("status", {}).get("readyReplicas") == 2)
    stage.running()


def test_labels_reach_everything_that_is_made_for_a_service(stage: Stage) -> None:
    propagation = {"enabled": True, "match": ["org.example/*"]}
    stage.create("AIMRuntimeConfig", "default", {"labelPropagation": propagation})
    stage.model()
    stage.ready_template()
    labels = {"org.example/team": "red", "aim.eai.amd.com/mine": "1", "else": "where"}
    routing = {"enabled": True, "gatewayRef": {"name": "none"}}
    stage.service(labels=labels, routing=routing)
    served = stage.served()
    stage.until("deployments", f"{served['metadata']['name']}-predictor", lambda _: True)
    stage.server.wait_until(stage.path("pods") + "?labelSelector=component=predictor", lambda one: bool(one["items"]))
    made = {
        "inferenceservices": [served],
        "httproutes": stage.all("httproutes"),
        "aimtemplatecaches": stage.all("aimtemplatecaches"),
        "aimartifacts": stage.all("aimartifacts"),
        "persistentvolumeclaims": stage.all("persistentvolumeclaims"),
        "deployments": stage.all("deployments"),
        "pods": stage.all("pods", "component=predictor"),
    }
    expected = {"org.example/team": "red", "aim.eai.amd.com/mine": "1"}
    for kind, items in made.items():
        assert items, kind
        for item in items:
            found = item["metadata"]["labels"]
            assert {key: found.get(key) for key in expected} == expected, kind
            assert "else" not in found
    for kind in ("inferenceservices", "httproutes", "aimtemplatecaches"):
        found = made[kind][0]["metadata"]["labels"]
        assert (found["aim.eai.amd.com/service"], found["aim.eai.amd.com/service.name"]) == ("chat", "chat")


def test_what_serves_is_made_again_if_somebody_deletes_it(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service()
    stage.supplied()
    before = stage.served()
    stage.delete("inferenceservices", before["metadata"]["name"])
    stage.until(
        "inferenceservices",
        before["metadata"]["name"],
        lambda one: one["metadata"]["uid"] != before["metadata"]["uid"],
    )
    assert claims_of(stage.served()) == claims_of(before)


def test_what_somebody_changes_in_what_serves_is_set_right(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service()
    name = stage.served()["metadata"]["name"]
    stage.change("inferenceservices", name, {"spec": {"predictor": {"minReplicas": 3, "maxReplicas": 3}}})
    stage.until("inferenceservices", name, lambda one: one["spec"]["predictor"]["maxReplicas"] == 1)


def test_a_paused_service_is_left_alone_and_can_be_deleted(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    paused = {"aim.eai.amd.com/reconciliation-paused": "true"}
    stage.create("AIMService", "chat", {"model": {"name": "tiny"}, "env": SIMULATED}, annotations=paused)
    stage.until("aimservices", "chat", lambda one: bool(one["metadata"].get("finalizers")))
    stage.service("other")
    stage.supplied("other")
    assert "conditions" not in stage.get("aimservices", "chat").get("status", {})
    stage.change("aimservices", "chat", {"metadata": {"annotations": {next(iter(paused)): "false"}}})
    stage.supplied()
    stage.delete("aimservices", "chat")
    stage.gone("aimservices", "chat")


def test_who_scales_automatically_is_given_bounds_and_owns_the_number_of_replicas(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service(minReplicas=1, maxReplicas=3)
    served = stage.served()
    (ours,) = [one for one in served["metadata"]["managedFields"] if one["manager"] == "aim-service-controller"]
    assert {"f:minReplicas", "f:maxReplicas"} <= set(ours["fieldsV1"]["f:spec"]["f:predictor"])
    deployment = stage.until("deployments", f"{served['metadata']['name']}-predictor", lambda _: True)
    managers = [one["manager"] for one in deployment["metadata"]["managedFields"]]
    assert "aim-service-controller" not in managers, "no field of a Deployment is the operator's"
    scaled = {"spec": {"replicas": 2}}
    code, answer = stage.server.request(
        "PATCH", f"{stage.path('deployments', deployment['metadata']['name'])}/scale", scaled, content_type=MERGE
    )
    assert code == 200, answer
    stage.change("aimservices", "chat", {"spec": {"env": [*SIMULATED, {"name": "A", "value": "1"}]}})
    stage.until("inferenceservices", served["metadata"]["name"], lambda one: "A" in env_of(one))
    rolled = stage.until("deployments", deployment["metadata"]["name"], lambda one: has_variable(one, "A"))
    assert rolled["spec"]["replicas"] == 2, "what the autoscaler set outlives a change of the service"


def has_variable(deployment: Manifest, name: str) -> bool:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return name in [entry["name"] for entry in container["env"]]
