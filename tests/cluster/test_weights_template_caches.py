"""Stories of AIMTemplateCache on the real API server: one download for all, owners, promotion, failure, deletion."""

import concurrent.futures
from typing import Any

import pytest
from tests.cluster.weights import Weights, condition, env, word

pytestmark = pytest.mark.usefixtures("operator", "node", "status_updaters")

URI = "hf://acme/tiny"
QUICK = env(AIM_DEBUG_SIMULATE_DOWNLOAD="1", AIM_DEBUG_DOWNLOAD_DURATION="0", AIM_DEBUG_VERIFY_DURATION="0")
FAILING = env(AIM_DEBUG_CAUSE_FAILURE="1")
MERGE = "application/merge-patch+json"
PAUSED = {"aim.eai.amd.com/reconciliation-paused": "true"}


def template(weights: Weights) -> None:
    """A template that is Ready and wants one source; its own controller is told to leave it alone."""
    weights.add("AIMServiceTemplate", "template", {"modelName": "tiny"}, annotations=PAUSED)
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Discovered",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    source = {"modelId": "acme/tiny", "sourceUri": URI, "size": "1Mi"}
    status = {"status": "Ready", "modelSources": [source], "conditions": [ready]}
    path = f"{weights.path('aimservicetemplates', 'template')}/status"
    answer, said = weights.api_server.request("PATCH", path, {"status": status}, content_type=MERGE)
    assert answer == 200, said


def cache(name: str, weights: Weights, **spec: Any) -> None:
    weights.add("AIMTemplateCache", name, {"templateName": "template", "env": QUICK, **spec})


def gone(weights: Weights, plural: str, name: str) -> None:
    weights.api_server.wait_until(
        weights.path(plural), lambda listed: name not in [one["metadata"]["name"] for one in listed["items"]]
    )


def test_caches_that_race_share_one_download(weights: Weights) -> None:
    template(weights)
    names = [f"cache-{number}" for number in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: cache(name, weights, env=[*QUICK, *env(WHO=name)]), names))
    made = {next(iter(weights.ready(name, "aimtemplatecaches")["status"]["artifacts"])) for name in names}
    assert [*made] == weights.names("aimartifacts")
    assert weights.writes_within(3, "aimtemplatecaches") == []


def test_services_and_caches_that_race_share_one_download(weights: Weights) -> None:
    template(weights)
    weights.add("AIMModel", "tiny", {"image": "registry.example/tiny:1"}, annotations=PAUSED)
    path = f"{weights.path('aimmodels', 'tiny')}/status"
    weights.api_server.request("PATCH", path, {"status": {"status": "Ready"}}, content_type=MERGE)

    def ask(number: int) -> None:
        own = [*QUICK, *env(WHO=str(number))]
        if number % 2:
            cache(f"cache-{number}", weights, env=own)
        else:
            wanted = {"model": {"name": "tiny"}, "template": {"name": "template"}, "caching": {"mode": "Shared"}}
            weights.add("AIMService", f"service-{number}", {**wanted, "env": own})

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(ask, range(6)))
    for number in (0, 2, 4):
        service = weights.until(
            f"service-{number}",
            lambda item: condition(item, "CacheReady").get("reason") == "CacheReady",
            "aimservices",
        )
        used = service["status"]["cache"]["templateCacheRef"]["name"]
        assert [*weights.ready(used, "aimtemplatecaches")["status"]["artifacts"]] == weights.names("aimartifacts")
    for number in (1, 3, 5):
        held = weights.ready(f"cache-{number}", "aimtemplatecaches")["status"]["artifacts"]
        assert [*held] == weights.names("aimartifacts")
    assert len(weights.names("aimartifacts")) == 1


def test_caches_that_race_to_promote_agree_also_while_the_owner_goes(weights: Weights) -> None:
    template(weights)
    cache("own", weights, mode="Dedicated")
    [first] = weights.ready("own", "aimtemplatecaches")["status"]["artifacts"]
    names = [f"cache-{number}" for number in range(4)]
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        going = pool.submit(weights.api_server.call, "DELETE", weights.path("aimtemplatecaches", "own"))
        list(pool.map(lambda name: cache(name, weights), names))
        going.result()
    gone(weights, "aimtemplatecaches", "own")

    def settled(listed: Any) -> bool:
        """Promoted in time, or made anew after the owner took it along; either way one that nobody owns, for all."""
        items = listed["items"]
        return len(items) == 1 and word(items[0]) == "Ready" and "ownerReferences" not in items[0]["metadata"]

    [left] = weights.api_server.wait_until(weights.path("aimartifacts"), settled)["items"]
    for name in names:
        weights.until(
            name,
            lambda item: word(item) == "Ready" and [*item["status"]["artifacts"]] == [left["metadata"]["name"]],
            "aimtemplatecaches",
        )
    assert left["status"]["mode"] == "Shared" or left["metadata"]["name"] != first


def test_what_is_dedicated_is_promoted_by_a_shared_cache_and_outlives_its_owner(weights: Weights) -> None:
    template(weights)
    cache("own", weights, mode="Dedicated")
    [name] = weights.ready("own", "aimtemplatecaches")["status"]["artifacts"]
    assert weights.ready(name)["status"]["mode"] == "Dedicated"
    cache("all", weights)
    weights.until(name, lambda item: item["status"]["mode"] == "Shared")
    assert [*weights.ready("all", "aimtemplatecaches")["status"]["artifacts"]] == [name]
    weights.api_server.call("DELETE", weights.path("aimtemplatecaches", "own"))
    gone(weights, "aimtemplatecaches", "own")
    assert weights.names("aimartifacts") == [name]


def test_a_cache_mirrors_a_failure_and_heals_with_its_artifact(weights: Weights) -> None:
    template(weights)
    cache("shared", weights, env=FAILING)
    failed = weights.until("shared", lambda item: word(item) == "Failed", "aimtemplatecaches")
    assert condition(failed, "ArtifactsReady")["message"].startswith("One or more caches are not ready: ")
    [name] = weights.names("aimartifacts")
    path = weights.path("aimartifacts", name)
    weights.api_server.request("PATCH", path, {"spec": {"env": QUICK}}, content_type=MERGE)
    for job in weights.jobs(name):  # the next attempt has the new variables
        where = f"/apis/batch/v1/namespaces/{weights.namespace}/jobs/{job['metadata']['name']}"
        weights.api_server.call("DELETE", f"{where}?propagationPolicy=Background")
    healed = weights.ready("shared", "aimtemplatecaches")
    assert healed["status"]["modelCaches"]["acme/tiny"]["name"] == name
    assert weights.names("aimartifacts") == [name]


def test_a_cache_takes_what_is_not_done_with_it(weights: Weights) -> None:
    template(weights)
    cache("hanging", weights, env=env(AIM_DEBUG_CAUSE_HANG="1"))
    held = weights.until("hanging", lambda item: bool(item.get("status", {}).get("artifacts")), "aimtemplatecaches")
    [name] = held["status"]["artifacts"]
    weights.api_server.call("DELETE", weights.path("aimtemplatecaches", "hanging"))
    gone(weights, "aimtemplatecaches", "hanging")
    gone(weights, "aimartifacts", name)
