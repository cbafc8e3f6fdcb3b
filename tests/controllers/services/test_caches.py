"""From which cache a service has its weights: every mode with every state of what is there."""

from typing import Any

import pytest
from tests.controllers.services.cast import (
    OWN,
    OWNER,
    SHARED,
    STRANGER,
    TEMPLATE_REF,
    WHOLE,
    cache,
    condition,
    config,
    download,
    look,
    model,
    own_cache,
    pod,
    route,
    running,
    served,
    service,
    stage,
    template,
)
from tests.controllers.world import NAMESPACE

from aim_engine.controllers.service.concept import SERVICES
from aim_engine.objects import Manifest

ANOTHERS = cache("Ready", "others", mode="Dedicated", owner=STRANGER)
BEGUN = (model(), template())
STATES = ("Ready", "Progressing", "Pending", "Degraded", "NotAvailable", "Failed", None)


def used(name: str, uid: str = "gone") -> Manifest:
    return {"templateCacheRef": {"name": name, "namespace": NAMESPACE, "uid": uid}}


def told_of(word: str | None) -> str:
    """What a first download in this state is told as."""
    return {
        "Ready": "True/CacheReady",
        "Progressing": "False/CacheNotReady",
        "Failed": "False/CacheFailed",
    }.get(word or "", "False/CacheCreating")


@pytest.mark.parametrize("word", STATES)
@pytest.mark.parametrize("mode", ["Shared", "Always"])
async def test_shared_uses_a_shared_cache_in_whatever_state(mode: str, word: str | None) -> None:
    seen = await look(service(caching={"mode": mode}), *BEGUN, cache(word))
    assert seen.condition("CacheReady") == told_of(word)
    assert [made.split()[0] for made in seen.made] == (["InferenceService"] if word == "Ready" else [])


@pytest.mark.parametrize("word", STATES)
@pytest.mark.parametrize("mode", ["Dedicated", "Never"])
async def test_dedicated_uses_its_own_cache_and_no_other(mode: str, word: str | None) -> None:
    seen = await look(service(caching={"mode": mode}), *BEGUN, cache("Ready"), ANOTHERS)
    assert seen.made == [f"AIMTemplateCache {OWN}"]
    own = await look(service(caching={"mode": mode}), *BEGUN, cache("Ready"), own_cache(word))
    assert own.condition("CacheReady") == told_of(word)
    assert [made.split()[0] for made in own.made] == (["InferenceService"] if word == "Ready" else [])


@pytest.mark.parametrize("word", STATES)
async def test_auto_waits_for_a_shared_cache_unless_that_failed(word: str | None) -> None:
    seen = await look(service(), *BEGUN, cache(word))
    if word == "Failed":
        assert (seen.made, seen.condition("CacheReady")) == ([f"AIMTemplateCache {OWN}"], "False/CacheCreating")
    else:
        assert seen.condition("CacheReady") == told_of(word)
        assert [made.split()[0] for made in seen.made] == (["InferenceService"] if word == "Ready" else [])


@pytest.mark.parametrize("word", STATES)
async def test_auto_stays_with_its_own_cache_once_it_has_one(word: str | None) -> None:
    seen = await look(service(), *BEGUN, cache("Ready"), own_cache(word))
    assert seen.condition("CacheReady") == told_of(word)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        pytest.param("Ready", "True/CacheReady", id="it is kept while it is ready"),
        pytest.param("Progressing", "False/CacheCreating", id="its own is taken while it is not"),
    ],
)
async def test_auto_stays_with_the_shared_cache_it_uses(word: str, told: str) -> None:
    status = running(cache=used(SHARED, f"uid-of-{SHARED}"))
    seen = await look(service(status=status), *BEGUN, cache(word), own_cache("Pending"), served())
    assert seen.condition("CacheReady") == told
    assert seen.status["cache"]["templateCacheRef"]["name"] == SHARED


@pytest.mark.parametrize(
    ("spec", "name", "mode", "owners"),
    [
        pytest.param({"caching": {"mode": "Shared"}}, SHARED, "Shared", None, id="Shared: for everybody"),
        pytest.param({"caching": {"mode": "Always"}}, SHARED, "Shared", None, id="Always: for everybody"),
        pytest.param({"caching": {"mode": "Dedicated"}}, OWN, "Dedicated", [OWNER], id="Dedicated: for itself"),
        pytest.param({"caching": {"mode": "Never"}}, OWN, "Dedicated", [OWNER], id="Never: for itself"),
        pytest.param({"caching": {"mode": "Auto"}}, OWN, "Dedicated", [OWNER], id="Auto: for itself"),
        pytest.param({}, OWN, "Dedicated", [OWNER], id="nothing said: Auto"),
        pytest.param({"caching": {}}, OWN, "Dedicated", [OWNER], id="caching without a mode: Auto"),
        pytest.param({"cacheModel": True}, SHARED, "Shared", None, id="cacheModel true: Always"),
        pytest.param({"cacheModel": False}, OWN, "Dedicated", [OWNER], id="cacheModel false: Never"),
        pytest.param(
            {"cacheModel": False, "caching": {"mode": "Shared"}}, SHARED, "Shared", None, id="caching over cacheModel"
        ),
    ],
)
async def test_a_cache_is_made_where_there_is_none(spec: Any, name: str, mode: str, owners: Any) -> None:
    seen = await look(service(**spec), *BEGUN)
    assert (seen.condition("CacheReady"), seen.message("CacheReady")) == (
        "False/CacheCreating",
        "Creating template cache",
    )
    made = seen.manifest("AIMTemplateCache")
    assert (made["metadata"]["name"], made["spec"]["mode"]) == (name, mode)
    assert made["metadata"].get("ownerReferences") == owners
    assert made["metadata"]["labels"] == {
        "aim.eai.amd.com/service": "chat",
        "aim.eai.amd.com/service.name": "chat",
        "app.kubernetes.io/managed-by": "aim-service-controller",
    }
    assert (seen.word, len(seen.made)) == ("Starting", 1), "there are no pods before the weights"


async def test_a_cache_is_made_while_the_model_is_not_ready() -> None:
    seen = await look(service(template={"name": "fast"}), model("Progressing"), template())
    assert (seen.made, seen.word) == ([f"AIMTemplateCache {OWN}"], "Pending")
    with_weights = await look(service(template={"name": "fast"}), model("Progressing"), template(), cache())
    assert with_weights.made == [], "pods wait for the model"


async def test_a_template_without_sources_has_no_cache_and_no_pods() -> None:
    seen = await look(service(), model(), template(sources=()))
    assert (seen.made, seen.word) == ([], "Starting")
    assert seen.condition("CacheReady") == "False/CacheCreating"
    assert seen.condition("InferenceServiceReady") == "False/CreatingRuntime"
    assert seen.status["resolvedTemplate"]["name"] == "fast"


async def test_what_a_cache_is_told() -> None:
    def variables(**values: str) -> list[Manifest]:
        return [{"name": name, "value": value} for name, value in values.items()]

    wanted = service(
        runtimeConfigName="default",
        storage={"defaultStorageClassName": "ssd", "pvcHeadroomPercent": 0},
        env=variables(HF_TOKEN="service", HTTPS_PROXY="service"),
    )
    rich = template(
        env=variables(A="template", HF_TOKEN="template"),
        caching={"enabled": False, "env": variables(HF_TOKEN="caching", HTTP_PROXY="caching")},
    )
    settings = config(storage={"defaultStorageClassName": "nfs"}, env=variables(NOT="here"))
    made = (await look(wanted, model(), rich, settings)).manifest("AIMTemplateCache")
    assert made["spec"] == {
        "templateName": "fast",
        "templateScope": "Namespace",
        "mode": "Dedicated",
        "storageClassName": "ssd",
        "runtimeConfigName": "default",
        "env": variables(A="template", HF_TOKEN="service", HTTP_PROXY="caching", HTTPS_PROXY="service"),
    }
    assert made["metadata"]["annotations"] == {"aim.eai.amd.com/pvc-headroom-percent": "0"}
    plain = (await look(service(), model(), template(everywhere=True), settings)).manifest("AIMTemplateCache")
    assert plain["spec"]["templateScope"] == "Cluster"
    assert plain["spec"]["storageClassName"] == "nfs"
    assert "annotations" not in plain["metadata"]


SHARED_MODE = {"caching": {"mode": "Shared"}}


@pytest.mark.parametrize(
    ("caches", "taken"),
    [
        pytest.param([cache("Progressing", "a"), cache("Ready", "b")], "b", id="the best state"),
        pytest.param([cache("Pending", "b"), cache("Pending", "a")], "a", id="the first by name of equals"),
        pytest.param([cache(name="a", templateName="other")], None, id="not one of another template"),
        pytest.param([cache(name="a", templateScope="Cluster")], None, id="not one of a cluster template"),
        pytest.param([cache(name="a", templateScope=None)], "a", id="one that names no scope"),
        pytest.param([cache(name="a", mode=None)], "a", id="one that names no mode, as templates make them"),
        pytest.param([ANOTHERS], None, id="not one that is another's own"),
    ],
)
async def test_which_shared_cache_is_used(caches: list[Manifest], taken: str | None) -> None:
    seen = await look(service(**SHARED_MODE), *BEGUN, *caches)
    assert bool([made for made in seen.made if made.startswith("AIMTemplateCache")]) == (taken is None)
    if taken and caches[-1]["status"]["status"] == "Ready":
        assert seen.status["cache"]["templateCacheRef"]["name"] == taken


async def test_a_shared_cache_in_use_is_kept_beside_an_equal_one() -> None:
    used = {"templateCacheRef": {"name": "b", "uid": "uid-of-b", "namespace": NAMESPACE}}
    seen = await look(service(**SHARED_MODE, status=running(cache=used)), *BEGUN, cache(name="a"), cache(name="b"))
    assert seen.status["cache"]["templateCacheRef"]["name"] == "b"


async def test_a_cache_that_is_going_is_not_used() -> None:
    going = cache()
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    seen = await look(service(**SHARED_MODE), *BEGUN, going)
    assert seen.condition("CacheReady") == "False/CacheCreating"


@pytest.mark.parametrize(
    "in_the_way",
    [
        pytest.param(cache(templateName="fa.st"), id="of a template whose name looks the same"),
        pytest.param(cache(templateScope="Cluster"), id="of a cluster template of the same name"),
    ],
)
async def test_a_shared_cache_gets_another_name_if_its_own_is_taken(in_the_way: Manifest) -> None:
    seen = await look(service(**SHARED_MODE), *BEGUN, in_the_way)
    made = seen.manifest("AIMTemplateCache")
    assert made["metadata"]["name"] != SHARED
    assert made["metadata"]["name"].startswith("fast-")
    again = await look(service(**SHARED_MODE), *BEGUN, in_the_way, cache("Progressing", made["metadata"]["name"]))
    assert (again.made, again.condition("CacheReady")) == ([], "False/CacheNotReady")


GONE = "Shared template cache was deleted but InferenceService still references cached storage volumes"
AGAIN = "Dedicated template cache is being recreated"


@pytest.mark.parametrize(
    ("spec", "before", "told", "message", "made"),
    [
        pytest.param(SHARED_MODE, used(SHARED), "False/CacheLost", GONE, SHARED, id="Shared"),
        pytest.param({"caching": {"mode": "Never"}}, used(OWN), "False/CacheCreating", AGAIN, OWN, id="Dedicated"),
        pytest.param({}, used(SHARED), "False/CacheLost", GONE, OWN, id="Auto with a shared one"),
        pytest.param({}, used(OWN), "False/CacheCreating", AGAIN, OWN, id="Auto with its own"),
    ],
)
async def test_a_cache_that_is_lost_is_told_and_made_again_while_pods_keep_their_volumes(
    spec: Any, before: Manifest, told: str, message: str, made: str
) -> None:
    seen = await look(service(**spec, status=running(cache=before)), *BEGUN, served())
    assert (seen.condition("CacheReady"), seen.message("CacheReady"), seen.word) == (told, message, "Degraded")
    assert f"AIMTemplateCache {made}" in seen.made
    predictor = seen.manifest("InferenceService")["spec"]["predictor"]
    assert predictor["volumes"][1:] == [
        {"name": "weights-claim", "persistentVolumeClaim": {"claimName": "weights-claim"}}
    ]


async def test_a_service_given_another_template_has_not_lost_the_cache_of_the_first() -> None:
    before = running(cache=used(SHARED, f"uid-of-{SHARED}"))
    for spec in (SHARED_MODE, {}):
        seen = await look(service(**spec, status=before), model(), template(name="other"), cache(), served(), pod())
        assert seen.condition("CacheReady") == "False/CacheCreating"
        assert (seen.message("CacheReady"), seen.word) == ("Creating template cache", "Starting")
        assert [made.split()[0] for made in seen.made] == ["AIMTemplateCache"], "pods wait for its weights"


async def test_auto_has_not_lost_a_shared_cache_that_failed() -> None:
    before = running(cache=used(SHARED, f"uid-of-{SHARED}"))
    seen = await look(service(status=before), *BEGUN, cache("Failed"), served(), pod())
    assert (seen.message("CacheReady"), seen.word) == ("Creating template cache", "Starting")
    assert f"AIMTemplateCache {OWN}" in seen.made


async def test_a_cache_that_is_being_deleted_is_lost() -> None:
    going = cache()
    going["metadata"]["deletionTimestamp"] = "2026-01-01T11:00:00Z"
    before = running(cache=used(SHARED, f"uid-of-{SHARED}"))
    seen = await look(service(**SHARED_MODE, status=before), *BEGUN, going, served())
    assert seen.condition("CacheReady") == "False/CacheLost"


@pytest.mark.parametrize("word", ["Progressing", "Pending", None])
async def test_what_replaces_a_lost_cache_is_being_created_whatever_it_says(word: str | None) -> None:
    seen = await look(service(**SHARED_MODE, status=running(cache=used(SHARED))), *BEGUN, served(), cache(word))
    assert seen.condition("CacheReady") == "False/CacheCreating"
    assert seen.message("CacheReady") == f"Template cache status: {word or ''}".rstrip()


async def test_a_running_service_loses_and_regains_its_cache() -> None:
    world = stage(service(**SHARED_MODE, status=running(cache=used(SHARED))), *WHOLE, served())
    assert (await world.settle(SERVICES, "chat")).condition("CacheReady") == "True/CacheReady"
    world.drop("AIMTemplateCache", SHARED)
    assert (await world.settle(SERVICES, "chat")).condition("CacheReady") == "False/CacheLost"
    assert (await world.settle(SERVICES, "chat")).condition("CacheReady") == "False/CacheCreating"
    world.put(cache())
    assert (await world.settle(SERVICES, "chat")).condition("CacheReady") == "True/CacheReady"


GIVEN_UP = condition("DownloadJobReady", "False", "JobBackoffLimitExceeded", "Job has reached the backoff limit")
FAILED_POD = condition("DownloadJobPodsReady", "False", "PodFailed", "Container model-download failed")
WRONG_TOKEN = condition("DownloadJobPodsReady", "False", "AuthError", "Container failed\n\nLog excerpt:\nInvalid token")
INCOMPLETE = condition("DownloadComplete", "False", "Downloading", "Download failed before completion")
SUMMARY = condition("Ready", "False", "InvalidSpec", "Configuration validation failed")


def retry(attempts: int) -> Manifest:
    return service(**SHARED_MODE, status=running(cache={"retryAttempts": attempts}))


@pytest.mark.parametrize(
    ("wanted", "downloads", "deleted", "attempts", "overall"),
    [
        pytest.param(
            retry(0),
            [download("Failed", conditions=[GIVEN_UP, FAILED_POD])],
            ["weights"],
            1,
            "Failed",
            id="a Job gave up: once more",
        ),
        pytest.param(
            retry(0), [download("Failed", conditions=[FAILED_POD])], [], 0, "Failed", id="only a pod failed: not yet"
        ),
        pytest.param(
            retry(0),
            [download("Failed", made=False, conditions=[GIVEN_UP])],
            [],
            0,
            "Failed",
            id="a user's own is never deleted",
        ),
        pytest.param(
            retry(1), [download("Failed", conditions=[GIVEN_UP])], [], 1, "Degraded", id="the second time it is over"
        ),
    ],
)
async def test_a_failed_cache_gets_one_retry(
    wanted: Manifest, downloads: list[Manifest], deleted: list[str], attempts: int, overall: str
) -> None:
    seen = await look(wanted, *BEGUN, cache("Failed"), *downloads)
    assert [target.name for target in seen.plan.delete] == deleted
    assert seen.status["cache"]["retryAttempts"] == attempts
    assert (seen.condition("CacheReady"), seen.word) == ("False/CacheFailed", overall)


async def test_a_retry_that_cannot_be_made_yet_is_not_counted() -> None:
    wanted = service(**SHARED_MODE, template={"name": "fast"}, status=running(cache={"retryAttempts": 0}))
    given_up = download("Failed", conditions=[GIVEN_UP])
    seen = await look(wanted, model(), template("Progressing"), cache("Failed"), given_up)
    assert (seen.plan.delete, seen.status["cache"]["retryAttempts"]) == ((), 0)
    again = await look(wanted, model(), template(), cache("Failed"), given_up)
    assert ([one.name for one in again.plan.delete], again.status["cache"]["retryAttempts"]) == (["weights"], 1)


async def test_a_route_that_goes_is_no_retry() -> None:
    wanted = service(**SHARED_MODE, status=running(cache={"retryAttempts": 0}))
    seen = await look(wanted, *BEGUN, cache("Failed"), route())
    assert ([one.kind for one in seen.plan.delete], seen.status["cache"]["retryAttempts"]) == (["HTTPRoute"], 0)


@pytest.mark.parametrize(
    ("word", "conditions", "message"),
    [
        pytest.param(
            "Failed",
            [SUMMARY, GIVEN_UP, FAILED_POD],
            "Template cache failed: weights: Container model-download failed",
            id="the pod of a failed download",
        ),
        pytest.param(
            "Failed",
            [SUMMARY, GIVEN_UP, WRONG_TOKEN, INCOMPLETE],
            "Template cache failed: weights: Container failed Log excerpt: Invalid token",
            id="the words of the pod in one line, not that its download has not come to its end",
        ),
        pytest.param(
            "Progressing",
            [condition("CachePvcReady", "False", "PvcPending", "waiting for a volume to be created")],
            "Template cache is progressing: weights: waiting for a volume to be created",
            id="the claim of a download that waits",
        ),
        pytest.param("Progressing", [], "Template cache is progressing", id="nothing is wrong"),
    ],
)
async def test_the_cause_of_a_cache_that_is_not_ready_is_told(word: str, conditions: Any, message: str) -> None:
    seen = await look(service(**SHARED_MODE), *BEGUN, cache(word), download(word, conditions=conditions))
    assert seen.message("CacheReady") == message


async def test_where_the_weights_are_mounted_and_that_this_is_noted() -> None:
    seen = await look(service(), *WHOLE, download())
    predictor = seen.manifest("InferenceService")["spec"]["predictor"]
    assert predictor["volumes"][1:] == [{"name": "weights", "persistentVolumeClaim": {"claimName": "weights-claim"}}]
    assert predictor["containers"][0]["volumeMounts"][1:] == [
        {"name": "weights", "mountPath": "/workspace/model-cache/acme/tiny"}
    ]
    (noted,) = seen.plan.patch
    assert (noted.target.name, noted.subresource, noted.best_effort) == ("weights", "status", True)
    assert noted.body == {
        "metadata": {"uid": "uid-of-aimartifact-weights"},
        "status": {"lastUsed": "2026-01-01T12:00:00Z"},
    }
    assert seen.status["cache"]["templateCacheRef"]["name"] == SHARED


async def test_that_weights_are_used_is_noted_once_a_minute_at_most() -> None:
    just_now = download()
    just_now["status"]["lastUsed"] = "2026-01-01T11:59:30Z"
    assert (await look(service(), *WHOLE, just_now)).plan.patch == ()
    assert (await look(service(status=running()), *WHOLE, served(), download())).plan.patch == ()


async def test_the_cache_of_the_recorded_template_is_told_while_no_template_is_found() -> None:
    seen = await look(service(template={"name": "fast"}, status=running()), model(), cache(), served())
    assert seen.condition("TemplateReady") == "False/TemplateNotFound"
    assert seen.condition("CacheReady") == "True/CacheReady"
    assert seen.status["resolvedTemplate"] == TEMPLATE_REF
