"""One look at a download object in worlds of many kinds."""

from datetime import timedelta
from typing import Any

import pytest
from tests.controllers.world import NOW, Look, World

from aim_engine.controllers import artifact
from aim_engine.core.downloads import Timings

ARTIFACTS, MODEL_CACHES = artifact.concepts(Timings())
UID = "3f8a1c52-7d44-4b0e-9a6f-0c2d5e718b90"
CLAIM, CHECK, FETCH = (f"my-model-{part}-fd4a46fc" for part in ("cache", "check-size", "download"))
CREATED = "2026-01-01T11:00:00Z"

BINDING = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: aim-engine-artifact-status-updater}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: aim-engine-artifact-status-updater}
"""


def weights(size: str | None = "5Gi", *, kind: str = "AIMArtifact", status: Any = None, **spec: Any) -> dict[str, Any]:
    source = {"sourceUri": "hf://acme/tiny", **({"size": size} if size else {}), **spec}
    item = {"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": kind, "metadata": {"name": "my-model", "uid": UID}}
    return {**item, "spec": source, **({"status": status} if status else {})}


def claim(phase: str = "Bound", created: str = CREATED, **metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM, "creationTimestamp": created, **metadata},
        "spec": {"resources": {"requests": {"storage": "6Gi"}}},
        "status": {"phase": phase},
    }


def job(name: str, end: str = "", *, ended: str = "2026-01-01T11:59:00Z", reason: str = "") -> dict[str, Any]:
    conditions = [{"type": end, "status": "True", "reason": reason, "lastTransitionTime": ended}] if end else []
    metadata = {"name": name, "uid": f"uid-{name}", "creationTimestamp": CREATED}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "status": {"conditions": conditions}}


def pod(name: str, phase: str, *, container: str = "model-download", reason: str = "Error") -> dict[str, Any]:
    """The pod of the Job of this name."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"uid-{name}"}
    state = {"terminated": {"exitCode": 1, "reason": reason}} if phase == "Failed" else {}
    ready = [{"type": "Ready", "status": "True"}] if phase == "Running" else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-pod", "labels": {"job-name": name}, "ownerReferences": [owner]},
        "status": {"phase": phase, "containerStatuses": [{"name": container, "state": state}], "conditions": ready},
    }


async def look(*objects: Any, log: str = "", after: timedelta = timedelta(0), check_log: str | None = None) -> Look:
    logs = {f"{FETCH}-pod/model-download": log}
    if check_log is not None:
        logs[f"{CHECK}-pod/check-size"] = check_log
    return await World(*objects, logs=logs).look(ARTIFACTS, "my-model", NOW + after)


READY = {
    "status": "Ready",
    "progress": {"percentage": 100},
    "conditions": [
        {
            "type": "DownloadComplete",
            "status": "True",
            "reason": "Verified",
            "message": "",
            "lastTransitionTime": "2026-01-01T11:30:00Z",
        }
    ],
}


@pytest.mark.parametrize(
    ("objects", "made"),
    [
        pytest.param(
            (weights(),),
            [f"PersistentVolumeClaim {CLAIM}", "RoleBinding aim-engine-artifact-status-updater"],
            id="the claim comes first, with the right to report",
        ),
        pytest.param((weights(), BINDING), [f"PersistentVolumeClaim {CLAIM}"], id="the right is given once"),
        pytest.param((weights(None), BINDING), [f"Job {CHECK}"], id="without a size a Job finds it out"),
        pytest.param((weights("0"), BINDING), [f"Job {CHECK}"], id="a size of zero is no size"),
        pytest.param((weights(None), BINDING, job(CHECK)), [], id="one check-size Job is enough"),
        pytest.param(
            (weights(None, status={"discoveredSizeBytes": 5}), BINDING),
            [f"PersistentVolumeClaim {CLAIM}"],
            id="a size that was found out stays known",
        ),
        pytest.param(
            (weights(), BINDING, claim("Pending")), [f"Job {FETCH}"], id="the download does not wait for the volume"
        ),
        pytest.param(
            (weights(), claim()),
            ["RoleBinding aim-engine-artifact-status-updater"],
            id="the download waits for the right to report",
        ),
        pytest.param((weights(), BINDING, claim(), job(FETCH)), [], id="one download Job is enough"),
        pytest.param((weights(status=READY), BINDING, claim()), [], id="what is Ready is not fetched again"),
        pytest.param(
            (weights(status=READY), BINDING), [f"PersistentVolumeClaim {CLAIM}"], id="a lost claim is made again"
        ),
        pytest.param(
            (weights(status=READY), BINDING, claim(created="2026-01-01T11:45:00Z")),
            [f"Job {FETCH}"],
            id="a volume made after the download is filled",
        ),
    ],
)
async def test_each_pass_takes_one_step(objects: tuple[Any, ...], made: list[str]) -> None:
    assert (await look(*objects)).made == made


@pytest.mark.parametrize(
    ("objects", "log", "word", "ready", "pods"),
    [
        pytest.param((), "", "Progressing", "Progressing", "", id="just created"),
        pytest.param((claim("Pending"),), "", "Progressing", "Progressing", "", id="the claim is pending"),
        pytest.param(
            (claim(), job(FETCH)), "", "Progressing", "Progressing", "False/NoPods", id="the Job has no pod yet"
        ),
        pytest.param(
            (claim(), job(FETCH), pod(FETCH, "Pending")),
            "",
            "Pending",
            "Progressing",
            "False/PodsPending",
            id="the pod is pending",
        ),
        pytest.param(
            (claim(), job(FETCH), pod(FETCH, "Running")),
            "",
            "Progressing",
            "Progressing",
            "True/PodsReady",
            id="the pod runs",
        ),
        pytest.param(
            (claim(), job(FETCH, "Complete")), "", "Ready", "AllComponentsReady", "True/PodsReady", id="the Job is done"
        ),
        pytest.param(
            (claim(), job(FETCH), pod(FETCH, "Failed")),
            "Cannot access gated repo: acme/tiny",
            "Failed",
            "AuthError",
            "False/AuthError",
            id="the log tells of credentials",
        ),
        pytest.param(
            (claim(), job(FETCH), pod(FETCH, "Failed")),
            "Repository Not Found: acme/tiny",
            "Failed",
            "InvalidSpec",
            "False/SourceNotFound",
            id="the log tells of a missing source",
        ),
        pytest.param(
            (claim(), job(FETCH), pod(FETCH, "Failed")),
            "no space left on device",
            "Failed",
            "StorageFull",
            "False/StorageFull",
            id="the log tells of a full volume",
        ),
        pytest.param(
            (claim(), job(FETCH, "Failed", reason="BackoffLimitExceeded"), pod(FETCH, "Failed")),
            "no space left on device",
            "Failed",
            "StorageFull",
            "False/StorageFull",
            id="a full volume stays the reason when the Job gives up",
        ),
        pytest.param(
            (claim(), job(FETCH, "Failed", reason="BackoffLimitExceeded"), pod(FETCH, "Failed", reason="OOMKilled")),
            "",
            "Failed",
            "PodOOMKilled",
            "False/PodOOMKilled",
            id="lack of memory stays the reason when the Job gives up",
        ),
        pytest.param(
            (claim(), job(FETCH), pod(FETCH, "Failed")), "", "Failed", "InvalidSpec", "False/PodFailed", id="no reason"
        ),
        pytest.param((claim("Lost"),), "", "Degraded", "PvcLost", "", id="the volume is lost"),
    ],
)
async def test_the_state_follows_from_the_parts(
    objects: tuple[Any, ...], log: str, word: str, ready: str, pods: str
) -> None:
    seen = await look(weights(), BINDING, *objects, log=log)
    assert (seen.word, seen.condition("Ready").partition("/")[2], seen.condition("DownloadJobPodsReady")) == (
        word,
        ready,
        pods,
    )


@pytest.mark.parametrize(
    ("percentage", "objects", "told", "shown"),
    [
        pytest.param(40, (job(FETCH), pod(FETCH, "Running")), "False/Downloading", "40 %", id="under way"),
        pytest.param(100, (job(FETCH), pod(FETCH, "Running")), "True/Verifying", "100 %", id="arrived, being verified"),
        pytest.param(40, (job(FETCH), pod(FETCH, "Failed")), "False/Downloading", "N/A", id="failed on the way"),
        pytest.param(
            100, (job(FETCH), pod(FETCH, "Failed")), "False/VerificationFailed", "N/A", id="failed afterwards"
        ),
        pytest.param(99, (job(FETCH, "Complete"),), "True/Verified", "100 %", id="complete"),
    ],
)
async def test_progress_is_the_pods_until_there_is_an_end(
    percentage: int, objects: tuple[Any, ...], told: str, shown: str
) -> None:
    progress = {"percentage": percentage, "displayPercentage": f"{percentage} %"}
    download = {"protocol": "XET", "message": "Downloading with XET"}
    before = weights(status={"status": "Progressing", "progress": progress, "download": download})
    seen = await look(before, BINDING, claim(), *objects)
    assert seen.condition("DownloadComplete") == told
    assert seen.status["progress"]["displayPercentage"] == shown
    assert seen.status["download"]["message"] == ("Complete" if told == "True/Verified" else "Downloading with XET")


async def test_a_complete_download_tells_its_sizes() -> None:
    status = (await look(weights("2.2Gi"), BINDING, claim(), job(FETCH, "Complete"))).status
    assert status["progress"]["totalBytes"] == status["progress"]["downloadedBytes"] == 2362232013
    assert (status["displaySize"], status["allocatedSize"], status["headroomPercent"]) == ("2.2 GiB", "6Gi", 10)
    assert (status["persistentVolumeClaim"], status["mode"]) == (CLAIM, "Shared")


@pytest.mark.parametrize(
    ("output", "word", "told"),
    [
        pytest.param('{"url":"hf://acme/tiny","sizeBytes":1024}\n', "Progressing", "", id="a size"),
        pytest.param(None, "Progressing", "False/OutputPending", id="a log that cannot be read is waited for"),
        pytest.param("", "Failed", "False/InvalidSizeOutput", id="silence"),
        pytest.param("Killed", "Failed", "False/InvalidSizeOutput", id="no JSON"),
        pytest.param('{"sizeBytes":0}', "Failed", "False/InvalidSizeOutput", id="nothing to fetch"),
        pytest.param('{"sizeBytes":1125899906842625}', "Failed", "False/InvalidSizeOutput", id="more than a pebibyte"),
        pytest.param('{"sizeBytes":1125899906842624}', "Progressing", "", id="exactly a pebibyte"),
    ],
)
async def test_the_output_of_a_check_is_read_when_it_is_complete(output: str | None, word: str, told: str) -> None:
    checked = (job(CHECK, "Complete"), pod(CHECK, "Succeeded", container="check-size"))
    seen = await look(weights(None), BINDING, *checked, check_log=output)
    assert (seen.word, seen.condition("CheckSizeOutputReady")) == (word, told)
    assert bool(seen.status.get("discoveredSizeBytes")) is (told == "")


async def test_a_check_that_succeeded_at_its_second_attempt_has_not_failed() -> None:
    first, second = (pod(CHECK, phase, container="check-size") for phase in ("Failed", "Succeeded"))
    first["metadata"]["name"] += "-first"
    seen = await look(weights(None), BINDING, job(CHECK, "Complete"), first, second)
    assert (seen.word, seen.condition("CheckSizeJobPodsReady")) == ("Progressing", "True/PodsReady")


@pytest.mark.parametrize(
    ("name", "objects", "kept_for"),
    [
        pytest.param(FETCH, (weights(), claim()), timedelta(minutes=10), id="a download after ten minutes"),
        pytest.param(CHECK, (weights(None),), timedelta(minutes=5), id="a check after five"),
    ],
)
async def test_a_failed_job_that_nobody_removes_makes_room_for_the_next(
    name: str, objects: tuple[Any, ...], kept_for: timedelta
) -> None:
    failed = job(name, "Failed", ended="2026-01-01T12:00:00Z", reason="BackoffLimitExceeded")
    wait = kept_for + timedelta(seconds=30)
    early = await look(*objects, BINDING, failed, after=wait - timedelta(seconds=1))
    assert (early.word, early.plan.delete, early.plan.requeue_after) == ("Failed", (), timedelta(seconds=1))
    due = await look(*objects, BINDING, failed, after=wait)
    assert due.may_apply, "the failure of the Job must not keep it from being removed"
    assert [str(target) for target in due.plan.delete] == [f"Job team/{name}"]
    assert due.made == []


async def test_a_download_that_filled_a_replaced_volume_is_done_again() -> None:
    newer = claim(created="2026-01-01T11:45:00Z")
    seen = await look(weights(), BINDING, newer, job(FETCH, "Complete"))
    assert [target.name for target in seen.plan.delete] == [FETCH]
    assert seen.word == "Progressing"
    assert seen.condition("DownloadComplete") == ""


FULL = "no space left on device: 30 bytes are still to be fetched, 20 are free"


async def test_a_volume_that_was_too_small_is_replaced_by_one_of_the_size_written_since() -> None:
    full = (job(FETCH, "Failed", reason="BackoffLimitExceeded"), pod(FETCH, "Failed"))
    seen = await look(weights("50Gi", status={"status": "Failed"}), BINDING, *full, log=FULL)
    assert seen.condition("Ready") == "False/StorageFull"
    [step] = seen.steps
    assert step.manifest["spec"]["resources"]["requests"] == {"storage": "55Gi"}


@pytest.mark.parametrize(
    ("end", "gone"),
    [
        pytest.param("Failed", [FETCH], id="a download that failed on the volume before makes room at once"),
        pytest.param("", [], id="one that still tries takes the new volume"),
    ],
)
async def test_a_volume_that_replaced_another_is_not_kept_waiting(end: str, gone: list[str]) -> None:
    newer = claim(created="2026-01-01T11:59:30Z")
    tried = (job(FETCH, end, reason="BackoffLimitExceeded"), pod(FETCH, "Failed"))
    seen = await look(weights(status={"status": "Failed"}), BINDING, newer, *tried, log=FULL)
    assert [target.name for target in seen.plan.delete] == gone


@pytest.mark.parametrize(
    "around",
    [
        pytest.param((job(FETCH), pod(FETCH, "Failed")), id="between two tries"),
        pytest.param(
            (job(FETCH, "Failed", reason="BackoffLimitExceeded"), pod(FETCH, "Failed")), id="after the last try"
        ),
        pytest.param((job(FETCH, "Complete"), pod(FETCH, "Succeeded")), id="after a download that was done"),
    ],
)
async def test_a_claim_that_is_being_deleted_is_not_held_up_by_the_pods_of_its_download(
    around: tuple[Any, ...],
) -> None:
    going = claim(deletionTimestamp="2026-01-01T11:59:59Z")
    seen = await look(weights(status={"status": "Failed"}), BINDING, going, *around, log=FULL)
    assert [target.name for target in seen.plan.delete] == [FETCH]
    alone = await look(weights(status={"status": "Failed"}), BINDING, going)
    assert (alone.made, alone.plan.delete) == ([], ()), "nothing can be started on a claim that goes"


async def test_pods_of_an_earlier_job_of_the_same_name_do_not_count() -> None:
    earlier = pod(FETCH, "Failed")
    earlier["metadata"]["ownerReferences"][0]["uid"] = "uid-of-the-earlier-job"
    seen = await look(weights(), BINDING, claim(), job(FETCH), earlier)
    assert seen.condition("DownloadJobPodsReady") == "False/NoPods"


@pytest.mark.parametrize(
    ("status", "wait"),
    [
        pytest.param({"status": "Progressing"}, timedelta(seconds=10), id="every ten seconds while under way"),
        pytest.param({"status": "Pending"}, None, id="when something happens, otherwise"),
    ],
)
async def test_a_download_under_way_is_looked_at(status: Any, wait: timedelta | None) -> None:
    assert (await look(weights(status=status), BINDING, claim("Pending"))).plan.requeue_after == wait


async def test_a_pass_over_its_own_status_changes_nothing() -> None:
    world = World(weights(), BINDING, claim(), job(FETCH, "Complete"))
    first = await world.settle(ARTIFACTS, "my-model")
    second = await world.settle(ARTIFACTS, "my-model", NOW + timedelta(hours=1))
    third = await world.settle(ARTIFACTS, "my-model", NOW + timedelta(hours=2))
    assert first.word == second.word == "Ready"
    assert second.status == third.status
    assert second.made == third.made == []


async def test_model_caches_have_names_of_their_own() -> None:
    item = weights(kind="AIMModelCache", modelDownloadImage="kserve/storage-initializer:v0.16.0")
    seen = await World(item).look(MODEL_CACHES, "my-model")
    assert seen.made == [f"PersistentVolumeClaim {CLAIM}", "RoleBinding aim-engine-modelcache-status-updater"]


def test_the_durations_users_are_promised() -> None:
    assert Timings() == Timings(
        again=timedelta(seconds=10),
        check_kept_for=timedelta(seconds=300),
        fetch_kept_for=timedelta(seconds=600),
        margin=timedelta(seconds=30),
    )
