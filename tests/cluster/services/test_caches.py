"""Where services have their weights from: every mode beside every state of what is there, lost caches, and retries."""

from typing import Any

import pytest
from tests.cluster.services.stage import (
    PAUSED,
    SIMULATED,
    SOURCE,
    Stage,
    claims_of,
    condition,
    owners,
    word,
)

pytestmark = pytest.mark.usefixtures("operator", "node", "kserve", "status_updaters")

MODES: dict[str, dict[str, Any]] = {
    "shared": {"caching": {"mode": "Shared"}},
    "always": {"cacheModel": True},
    "auto": {},
    "dedicated": {"caching": {"mode": "Dedicated"}},
    "never": {"cacheModel": False},
}


SOON = ("Starting", "Pending", "Running")
"""How services are whose pods are on their way."""


def cache_of(stage: Stage, service: str) -> str:
    """The name of the cache a running service uses."""
    name: str = stage.get("aimservices", service)["status"]["cache"]["templateCacheRef"]["name"]
    return name


def test_every_mode_beside_a_shared_cache_that_is_ready(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service("first", **MODES["shared"])
    stage.supplied("first")
    shared = cache_of(stage, "first")
    for name, spec in MODES.items():
        stage.service(name, **spec)
    for name in MODES:
        stage.supplied(name)
    used = {name: cache_of(stage, name) for name in MODES}
    assert {name for name, cache in used.items() if cache == shared} == {"shared", "always", "auto"}
    assert len(set(used.values())) == 3
    caches = {item["metadata"]["name"]: item for item in stage.all("aimtemplatecaches")}
    assert {name: owners(caches[cache]) for name, cache in used.items()} == {
        "shared": [],
        "always": [],
        "auto": [],
        "dedicated": ["dedicated"],
        "never": ["never"],
    }
    assert len(stage.all("aimartifacts")) == 3, "one for all who share, and one for each who does not"


def test_every_mode_where_there_is_no_cache(stage: Stage) -> None:
    stage.model()
    for name, spec in MODES.items():
        stage.ready_template(name)
        stage.service(name, template={"name": name}, **spec)
    for name in MODES:
        stage.supplied(name)
    made = {item["spec"]["templateName"]: item["spec"]["mode"] for item in stage.all("aimtemplatecaches")}
    assert made == {
        "shared": "Shared",
        "always": "Shared",
        "auto": "Dedicated",
        "dedicated": "Dedicated",
        "never": "Dedicated",
    }


@pytest.mark.parametrize("state", ["Progressing", "Failed"])
def test_every_mode_beside_a_shared_cache_that_is_not_ready(stage: Stage, state: str) -> None:
    stage.model()
    stage.ready_template()
    spec = {"templateName": "fast", "templateScope": "Namespace", "mode": "Shared"}
    stage.create("AIMTemplateCache", "theirs", spec, annotations=PAUSED)
    stage.say("aimtemplatecaches", "theirs", {"status": state})
    reason = {"Progressing": "CacheNotReady", "Failed": "CacheFailed"}[state]
    for name, mode in MODES.items():
        stage.service(name, **mode)
    waiting = ["shared", "always", *(["auto"] if state == "Progressing" else [])]
    for name in MODES:
        seen = stage.told("CacheReady", reason, name) if name in waiting else stage.supplied(name)
        assert word(seen) in ({"Progressing": "Starting", "Failed": "Failed"}[state] if name in waiting else SOON)
    stage.say("aimtemplatecaches", "theirs", {"status": "Ready", "artifacts": {}})
    for name in waiting:
        assert condition(stage.told("CacheReady", "CacheReady", name), "CacheReady")["status"] == "True"


def test_a_cache_that_is_deleted_while_its_service_runs_comes_back_and_no_pod_notices(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service("shared", **MODES["shared"])
    stage.service("own", **MODES["dedicated"])
    for name, reason in (("shared", "CacheLost"), ("own", "CacheCreating")):
        stage.running(name)
        served = stage.served(name)
        pods = uids(stage, served)
        cache = stage.get("aimtemplatecaches", cache_of(stage, name))
        stage.delete("aimtemplatecaches", cache["metadata"]["name"])
        stage.until_event(reason, name)
        stage.until(
            "aimservices",
            name,
            lambda one, uid=cache["metadata"]["uid"]: (
                word(one) == "Running" and one["status"]["cache"]["templateCacheRef"]["uid"] != uid
            ),
        )
        after = stage.served(name)
        assert claims_of(after) == claims_of(served)
        assert after["metadata"]["generation"] == served["metadata"]["generation"]
        assert uids(stage, after) == pods


def uids(stage: Stage, served: Any) -> list[str]:
    pods = stage.all("pods", f"serving.kserve.io/inferenceservice={served['metadata']['name']}")
    return sorted(pod["metadata"]["uid"] for pod in pods)


def test_a_failed_download_is_told_in_its_own_words(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service(env=[{"name": "AIM_DEBUG_CAUSE_FAILURE", "value": "1"}])
    seen = stage.told("CacheReady", "CacheFailed")
    assert word(seen) == "Failed"
    told = condition(seen, "CacheReady")["message"]
    assert told.startswith("Template cache failed: hf---acme-tiny-")
    assert "model-download failed with exit code" in told


def test_a_failed_cache_is_tried_again_once(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    failed = [
        {
            "type": "DownloadJobReady",
            "status": "False",
            "reason": "JobBackoffLimitExceeded",
            "message": "Job has reached the specified backoff limit",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    spec = {"sourceUri": SOURCE["sourceUri"], "size": "1Mi"}
    stage.create("AIMArtifact", "broken", spec, annotations=PAUSED, labels={"template-created": "true"})
    stage.say("aimartifacts", "broken", {"status": "Failed", "conditions": failed})
    stage.service(env=SIMULATED, **MODES["shared"])
    assert stage.supplied()["status"]["cache"]["retryAttempts"] == 1
    assert "broken" not in stage.names("aimartifacts")
    assert stage.until_event("CacheFailed")[0] == "Warning"


def test_a_shared_cache_made_later_shares_what_a_service_fetched_for_itself(stage: Stage) -> None:
    stage.model()
    stage.ready_template()
    stage.service("own", **MODES["auto"])
    stage.supplied("own")
    stage.service("shared", **MODES["shared"])
    stage.supplied("shared")
    (artifact,) = stage.all("aimartifacts")
    assert owners(artifact) == [], "it is everybody's now"
    stage.delete("aimservices", "own")
    stage.gone("aimservices", "own")
    assert condition(stage.supplied("shared"), "CacheReady")["status"] == "True"
