"""Stories of AIMArtifact and AIMModelCache: real Jobs fetch from a hub and from S3, fail, are mended and heal."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.session import get_session
from tests.api_server import ApiServer
from tests.cluster.weights import DOWNLOADER, Weights, condition, env, from_secret, word
from tests.downloader import stage

from aim_engine.local import binaries

pytestmark = pytest.mark.usefixtures("operator", "node", "status_updaters")

FILES = {"config.json": b'{"model_type": "tiny"}', "model.safetensors": bytes(range(256)) * 2000}
SIZE = sum(map(len, FILES.values()))
MERGE = "application/merge-patch+json"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[stage.Hub]:
    with stage.hub(tmp_path / "hub") as running:
        yield running


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    binary = asyncio.run(binaries.find("versitygw"))
    with stage.s3_server(binary, tmp_path_factory.mktemp("s3")) as address:
        yield address


def from_hub(hub: stage.Hub, **more: str) -> list[dict[str, Any]]:
    """Variables by which a download reaches the hub; plain HTTP unless told otherwise."""
    return env(**{"HF_ENDPOINT": hub.url, "AIM_DOWNLOADER_PROTOCOL": "HTTP", "PROGRESS_INTERVAL": "0.5", **more})


def test_a_repository_of_unknown_size_arrives_whole_and_stays_ready(weights: Weights, hub: stage.Hub) -> None:
    uri = hub.add("acme/tiny", FILES)
    weights.add("AIMArtifact", "tiny", {"sourceUri": uri, "env": from_hub(hub)})
    ready = weights.ready("tiny")

    assert weights.files(ready) == FILES
    status = ready["status"]
    assert status["discoveredSizeBytes"] == SIZE
    assert status["displaySize"] == "500 KiB"
    assert (status["allocatedSize"], status["headroomPercent"], status["mode"]) == ("1Gi", 10, "Shared")
    assert status["progress"] == {
        "totalBytes": SIZE,
        "downloadedBytes": SIZE,
        "percentage": 100,
        "displayPercentage": "100 %",
    }
    assert (status["download"]["protocol"], status["download"]["message"]) == ("HTTP", "Complete")
    assert condition(ready, "DownloadComplete")["reason"] == "Verified"
    assert not [one["type"] for one in status["conditions"] if one["status"] == "False"]

    weights.api_server.wait_until(
        f"/apis/batch/v1/namespaces/{weights.namespace}/jobs", lambda listed: listed["items"] == []
    )
    assert weights.writes_within(4, "aimartifacts") == []
    assert word(weights.ready("tiny")) == "Ready"


def test_a_model_cache_does_the_same_under_its_own_names(weights: Weights, hub: stage.Hub) -> None:
    uri = hub.add("acme/tiny", FILES)
    spec = {"sourceUri": uri, "size": str(SIZE), "modelDownloadImage": DOWNLOADER, "env": from_hub(hub)}
    weights.add("AIMModelCache", "tiny", spec)
    job = weights.api_server.wait_until(
        f"/apis/batch/v1/namespaces/{weights.namespace}/jobs", lambda listed: listed["items"] != []
    )["items"][0]
    assert job["metadata"]["labels"]["aim.eai.amd.com/cache.type"] == "model-cache"
    assert job["metadata"]["labels"]["aim.eai.amd.com/model-cache.name"] == "tiny"
    assert job["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "aim-model-cache-controller"
    variables = {each["name"]: each.get("value") for each in job["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert (variables["CACHE_NAME"], variables["CACHE_NAMESPACE"]) == ("tiny", weights.namespace)

    ready = weights.ready("tiny", "aimmodelcaches")
    assert weights.files(ready) == FILES
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{weights.namespace}/rolebindings"
    names = {one["metadata"]["name"] for one in weights.api_server.call("GET", bindings)["items"]}
    assert "aim-engine-modelcache-status-updater" in names


def test_a_bucket_that_is_missing_is_told_and_its_object_arrives_once_it_is_there(weights: Weights, s3: str) -> None:
    bucket = f"weights-{weights.namespace}"
    weights.secret("s3", key=stage.S3_KEY, secret=stage.S3_SECRET)
    credentials = [
        from_secret("AWS_ACCESS_KEY_ID", "s3", "key"),
        from_secret("AWS_SECRET_ACCESS_KEY", "s3", "secret"),
        *env(AWS_ENDPOINT_URL=s3),
    ]
    spec = {"sourceUri": f"s3://{bucket}/tiny", "modelId": "acme/tiny", "size": str(SIZE), "env": credentials}
    weights.add("AIMArtifact", "tiny", spec)
    failed = weights.failing("tiny", "DownloadJobPodsReady")
    assert condition(failed, "DownloadJobPodsReady")["reason"] == "SourceNotFound"
    assert condition(failed, "ConfigValid")["reason"] == "InvalidSpec"
    assert failed["status"]["progress"]["displayPercentage"] == "N/A"
    assert stage.S3_SECRET not in str(failed)

    client: Any = get_session().create_client(
        "s3",
        endpoint_url=s3,
        region_name="us-east-1",
        aws_access_key_id=stage.S3_KEY,
        aws_secret_access_key=stage.S3_SECRET,
        config=Config(s3={"addressing_style": "path"}),
    )
    client.create_bucket(Bucket=bucket)
    only = {"model.safetensors": FILES["model.safetensors"]}  # of two, a download could begin when one is there
    for path, content in only.items():
        client.put_object(Bucket=bucket, Key=f"tiny/{path}", Body=content)
    client.close()
    healed = weights.ready("tiny")
    assert weights.files(healed) == only
    assert condition(healed, "ConfigValid")["status"] == "True"
    assert "download" not in healed["status"]


def test_a_repository_that_is_missing_is_told_and_arrives_once_it_is_there(weights: Weights, hub: stage.Hub) -> None:
    weights.add("AIMArtifact", "late", {"sourceUri": "hf://acme/late", "env": from_hub(hub)})
    failed = weights.failing("late", "CheckSizeJobPodsReady")
    assert condition(failed, "CheckSizeJobPodsReady")["reason"] == "SourceNotFound"
    assert condition(failed, "Ready")["reason"] == "InvalidSpec"
    hub.add("acme/coming", FILES)
    (hub.root / "acme/coming").rename(hub.root / "acme/late")  # all files at once
    assert weights.files(weights.ready("late")) == FILES


def test_a_wrong_token_is_told_and_the_right_one_heals(weights: Weights, hub: stage.Hub) -> None:
    uri = hub.add("acme/gated", FILES)
    hub.rules(tokens={stage.TOKEN: ["acme/gated"], "hf_other": []}, gated=["acme/gated"])
    weights.secret("hf", token="hf_other")
    spec = {
        "sourceUri": uri,
        "size": str(SIZE),
        "env": [*from_hub(hub), from_secret("HF_TOKEN", "hf", "token")],
    }
    weights.add("AIMArtifact", "gated", spec)
    failed = weights.failing("gated", "DownloadJobPodsReady")
    assert condition(failed, "DownloadJobPodsReady")["reason"] == "AuthError"
    assert condition(failed, "AuthValid")["reason"] == "AuthError"
    assert condition(failed, "Ready")["reason"] == "AuthError"
    weights.secret("hf", token=stage.TOKEN)
    healed = weights.ready("gated")
    assert condition(healed, "AuthValid")["status"] == "True"
    assert stage.TOKEN not in str(healed)


def offer_class(weights: Weights, name: str) -> None:
    """A storage class like that of the node, under another name."""
    offered = weights.api_server.wait_for("/apis/storage.k8s.io/v1/storageclasses/local")
    copied = {key: offered[key] for key in ("provisioner", "reclaimPolicy", "volumeBindingMode")}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    weights.api_server.call("POST", "/apis/storage.k8s.io/v1/storageclasses", {**kind, **copied})


def test_a_storage_class_that_is_missing_is_told_and_the_volume_comes_with_it(weights: Weights, hub: stage.Hub) -> None:
    uri = hub.add("acme/tiny", FILES)
    name = f"class-{weights.namespace}"
    spec = {"sourceUri": uri, "size": str(SIZE), "storageClassName": name, "env": from_hub(hub)}
    weights.add("AIMArtifact", "tiny", spec)
    told = weights.until("tiny", lambda item: name in condition(item, "CachePvcReady").get("message", ""))
    assert condition(told, "CachePvcReady")["reason"] == "PvcPending"
    offer_class(weights, name)
    assert weights.files(weights.ready("tiny")) == FILES
    weights.api_server.call("DELETE", f"/apis/storage.k8s.io/v1/storageclasses/{name}")


def test_a_volume_that_is_too_small_is_told_and_a_larger_one_heals(
    weights: Weights, hub: stage.Hub, small_disk: Callable[[str, int], Path]
) -> None:
    uri = hub.add("acme/tiny", FILES)
    name = f"class-{weights.namespace}"
    spec = {"sourceUri": uri, "size": "10", "storageClassName": name, "env": from_hub(hub)}
    weights.add("AIMArtifact", "tiny", spec)
    claimed = weights.until("tiny", lambda item: "persistentVolumeClaim" in item.get("status", {}))
    claim = weights.core("persistentvolumeclaims", claimed["status"]["persistentVolumeClaim"])
    small = weights.api_server.call("GET", claim)
    on_disk = small_disk(small["metadata"]["uid"], SIZE // 2)
    offer_class(weights, name)
    failed = weights.failing("tiny", "DownloadJobPodsReady")
    assert condition(failed, "DownloadJobPodsReady")["reason"] == "StorageFull"
    assert condition(failed, "Ready")["reason"] == "StorageFull"
    assert f"{SIZE} bytes are still to be fetched, " in condition(failed, "DownloadJobPodsReady")["message"]
    assert not [path for path in on_disk.rglob("*") if path.is_file()], "bytes were fetched for which there is no room"
    assert not [seen for seen in hub.requests() if seen["sent"]]

    larger = {"spec": {"size": "2Gi"}}
    weights.api_server.request("PATCH", weights.path("aimartifacts", "tiny"), larger, content_type=MERGE)
    weights.api_server.call("DELETE", claim)
    healed = weights.ready("tiny")
    assert weights.files(healed) == FILES
    assert weights.api_server.call("GET", claim)["spec"]["resources"]["requests"] == {"storage": "3Gi"}
    assert healed["metadata"]["uid"] == failed["metadata"]["uid"]
    weights.api_server.call("DELETE", f"/apis/storage.k8s.io/v1/storageclasses/{name}")


def test_a_content_store_that_refuses_makes_the_next_protocol_try(weights: Weights, hub: stage.Hub) -> None:
    files = {**FILES, "other.safetensors": bytes(300_000)}
    uri = hub.add("acme/tiny", files)
    hub.faults({"kind": "status", "status": 403, "over": "xet", "path": "acme/tiny/model*"})
    # The protocols are the operator's own; hf_xet alone would ask again until stall detection ends it.
    variables = env(HF_ENDPOINT=hub.url, PROGRESS_INTERVAL="0.5", HF_XET_CLIENT_RETRY_MAX_ATTEMPTS="0")
    size = sum(map(len, files.values()))
    weights.add("AIMArtifact", "tiny", {"sourceUri": uri, "size": str(size), "env": variables})
    ready = weights.ready("tiny")
    assert weights.files(ready) == files
    told = ready["status"]["download"]
    assert (told["protocol"], told["attempt"], told["protocolSequence"]) == ("HF_TRANSFER", 2, "XET,HF_TRANSFER")
    fetched = {(seen["over"], seen["path"]) for seen in hub.requests() if seen["sent"]}
    assert ("xet", "acme/tiny/other.safetensors") in fetched
    assert ("http", "acme/tiny/other.safetensors") not in fetched, "what had arrived was fetched again"
    assert ("http", "acme/tiny/model.safetensors") in fetched


def test_a_stalled_server_makes_the_next_protocol_try(weights: Weights, hub: stage.Hub) -> None:
    uri = hub.add("acme/tiny", FILES)
    hub.faults({"kind": "stall", "over": "http", "path": "acme/tiny/model*", "after": 1000, "times": 1})
    variables = from_hub(hub, AIM_DOWNLOADER_PROTOCOL="HF_TRANSFER,HTTP", STALL_TIMEOUT="15")
    weights.add("AIMArtifact", "tiny", {"sourceUri": uri, "size": str(SIZE), "env": variables})
    ready = weights.ready("tiny")
    assert weights.files(ready) == FILES
    told = ready["status"]["download"]
    assert (told["protocol"], told["attempt"], told["totalAttempts"]) == ("HTTP", 2, 2)
    assert told["protocolSequence"] == "HF_TRANSFER,HTTP"


def test_a_pod_that_was_killed_is_followed_by_one_that_resumes(weights: Weights, hub: stage.Hub) -> None:
    files = {f"part-{number}.safetensors": bytes([number]) * 400_000 for number in range(4)}
    uri = hub.add("acme/parts", files)
    hub.faults({"kind": "slow", "path": "acme/parts/part-3*", "after": 40_000})
    weights.add("AIMArtifact", "parts", {"sourceUri": uri, "size": "1600000", "env": from_hub(hub)})
    under_way = weights.until(
        "parts", lambda item: item.get("status", {}).get("progress", {}).get("downloadedBytes", 0) > 1_200_000
    )
    assert word(under_way) == "Progressing"
    before = len(hub.requests())
    for pod in weights.pods("parts"):
        weights.api_server.call("DELETE", f"{weights.core('pods', pod['metadata']['name'])}?gracePeriodSeconds=0")
    hub.faults()
    ready = weights.ready("parts")
    assert weights.files(ready) == files
    again = [seen for seen in hub.requests()[before:] if seen["status"] in (200, 206)]
    assert {seen["path"] for seen in again} == {"acme/parts/part-3.safetensors"}
    asked = sum(seen["last"] - seen["first"] + 1 for seen in again)
    assert asked <= 1_600_000 - under_way["status"]["progress"]["downloadedBytes"], (
        "bytes that had arrived were asked for"
    )


def test_what_a_pod_reports_is_never_overwritten(weights: Weights) -> None:
    spec = {
        "sourceUri": "hf://acme/slow",
        "size": "1Mi",
        "env": env(AIM_DEBUG_SIMULATE_DOWNLOAD="1", AIM_DEBUG_DOWNLOAD_DURATION="600", PROGRESS_INTERVAL="600"),
    }
    weights.add("AIMArtifact", "slow", spec)
    weights.until("slow", lambda item: condition(item, "DownloadJobPodsReady").get("reason") == "PodsReady")
    weights.until("slow", lambda item: "progress" in item["status"])  # the pod's only report, before ours
    path = f"{weights.path('aimartifacts', 'slow')}/status"
    for percentage in range(1, 41):
        reported = {"progress": {"percentage": percentage}, "download": {"attempt": percentage}}
        answer, _ = weights.api_server.request("PATCH", path, {"status": reported}, content_type=MERGE)
        assert answer == 200
        meta = {"metadata": {"labels": {"touched": str(percentage)}}}  # wakes the operator
        weights.api_server.request("PATCH", weights.path("aimartifacts", "slow"), meta, content_type=MERGE)
    used = {"status": {"lastUsed": "2026-01-01T00:00:00Z"}}
    weights.api_server.request("PATCH", path, used, content_type=MERGE)
    seen = weights.until("slow", lambda item: item["status"].get("lastUsed") is not None)
    assert weights.writes_within(2, "aimartifacts") == []
    seen = weights.api_server.call("GET", weights.path("aimartifacts", "slow"))
    assert seen["status"]["progress"]["percentage"] == 40
    assert seen["status"]["download"]["attempt"] == 40
    assert seen["status"]["lastUsed"] == "2026-01-01T00:00:00Z"


def test_a_volume_that_was_deleted_is_made_and_filled_again(weights: Weights, hub: stage.Hub) -> None:
    uri = hub.add("acme/tiny", FILES)
    weights.add("AIMArtifact", "tiny", {"sourceUri": uri, "size": str(SIZE), "env": from_hub(hub)})
    first = weights.ready("tiny")
    claim = weights.core("persistentvolumeclaims", first["status"]["persistentVolumeClaim"])
    before = weights.api_server.call("GET", claim)["metadata"]["uid"]
    weights.api_server.call("DELETE", claim)
    weights.api_server.wait_until(
        claim, lambda item: item["metadata"]["uid"] != before and item["status"].get("phase") == "Bound"
    )
    assert weights.files(weights.ready("tiny")) == FILES


def test_a_namespace_goes_while_a_download_hangs(weights: Weights, api_server: ApiServer) -> None:
    name = f"{weights.namespace}-going"
    api_server.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    api_server.wait_for(f"/api/v1/namespaces/{name}/serviceaccounts/default")
    going = Weights(api_server, name)
    source = {"modelId": "acme/slow", "sourceUri": "hf://acme/slow", "size": "1Mi"}
    template = {"modelName": "nothing", "modelSources": [source]}
    going.add("AIMServiceTemplate", "template", template)
    hanging = env(AIM_DEBUG_CAUSE_HANG="1")
    going.add("AIMTemplateCache", "cache", {"templateName": "template", "modelSources": [source], "env": hanging})
    going.add("AIMArtifact", "own", {"sourceUri": "hf://acme/slow", "size": "1Mi", "env": hanging})
    going.until("own", lambda item: condition(item, "DownloadJobPodsReady").get("reason") == "PodsReady")
    api_server.call("DELETE", f"/api/v1/namespaces/{name}")
    api_server.wait_until(
        "/api/v1/namespaces", lambda listed: name not in [n["metadata"]["name"] for n in listed["items"]]
    )
