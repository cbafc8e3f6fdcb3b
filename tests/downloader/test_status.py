"""What the status of the Kubernetes object shows, and that a download does not need it."""

import random

from tests.downloader.stage import ApiServer, Hub, Volume

MIB = 1024 * 1024
FILES = {"model.safetensors": random.Random(1).randbytes(3 * MIB)}


def test_progress_and_attempts_are_patched_into_the_status(hub: Hub, hub_volume: Volume, api_server: ApiServer) -> None:
    uri = hub.add("org/name", FILES)
    hub.faults({"kind": "slow", "path": "*.safetensors", "after": MIB // 2})
    outcome = hub_volume.run(uri, EXPECTED_SIZE_BYTES=str(3 * MIB))
    assert outcome.code == 0, outcome.log
    path = "/apis/aim.eai.amd.com/v1alpha1/namespaces/ml-team/aimartifacts/qwen/status"
    assert {where for where, _ in api_server.patches} == {path}
    assert {headers["Content-Type"] for headers in api_server.headers} == {"application/merge-patch+json"}
    assert {headers["Authorization"] for headers in api_server.headers} == {"Bearer the-pods-own-token"}
    shown = api_server.statuses("progress")
    assert [progress["percentage"] for progress in shown] == sorted(progress["percentage"] for progress in shown)
    assert any(0 < progress["percentage"] < 100 for progress in shown)
    assert shown[-1] == {
        "percentage": 100,
        "displayPercentage": "100 %",
        "downloadedBytes": 3 * MIB,
        "totalBytes": 3 * MIB,
    }
    assert [download["message"] for download in api_server.statuses("download")] == [
        "Downloading with HTTP",
        "Verifying integrity...",
    ]


def test_progress_stays_below_one_hundred_while_the_expected_size_is_too_small(
    hub: Hub, hub_volume: Volume, api_server: ApiServer
) -> None:
    uri = hub.add("org/name", FILES)
    hub.faults({"kind": "slow", "path": "*.safetensors", "after": MIB // 2})
    outcome = hub_volume.run(uri, EXPECTED_SIZE_BYTES="1000")
    assert outcome.code == 0, outcome.log
    percentages = [progress["percentage"] for progress in api_server.statuses("progress")]
    assert max(percentages[:-1]) == 99 and percentages[-1] == 100


def test_a_download_shorter_than_the_interval_shows_where_it_began(
    hub: Hub, hub_volume: Volume, api_server: ApiServer
) -> None:
    hub_volume.environment |= {"PROGRESS_INTERVAL": "60", "EXPECTED_SIZE_BYTES": str(3 * MIB)}
    outcome = hub_volume.run(hub.add("org/name", FILES))
    assert outcome.code == 0, outcome.log
    assert "Progress: 0% (" in outcome.err
    assert [progress["percentage"] for progress in api_server.statuses("progress")] == [0, 100]


def test_a_new_pod_takes_back_the_hundred_of_the_last_one_and_begins_with_what_is_there(
    hub: Hub, hub_volume: Volume, api_server: ApiServer
) -> None:
    hub_volume.environment |= {"PROGRESS_INTERVAL": "60", "EXPECTED_SIZE_BYTES": str(4 * MIB)}
    assert hub_volume.run(hub.add("org/name", FILES)).code == 0
    hub.rules(private=["org/name"])
    assert hub_volume.run("hf://org/name").code == 12
    assert [progress["percentage"] for progress in api_server.statuses("progress")] == [0, 100, 75]


def test_without_an_expected_size_the_source_tells_it(hub: Hub, hub_volume: Volume, api_server: ApiServer) -> None:
    outcome = hub_volume.run(hub.add("org/name", FILES))
    assert outcome.code == 0, outcome.log
    assert api_server.statuses("progress")[-1]["totalBytes"] == 3 * MIB


def test_a_model_cache_is_patched_by_the_names_of_its_generation(
    hub: Hub, hub_volume: Volume, api_server: ApiServer
) -> None:
    names = {"ARTIFACT_NAME": "", "ARTIFACT_NAMESPACE": "", "CACHE_NAME": "old", "CACHE_NAMESPACE": "ml-team"}
    assert hub_volume.run(hub.add("org/name", FILES), **names).code == 0
    where = {path for path, _ in api_server.patches}
    assert where == {"/apis/aim.eai.amd.com/v1alpha1/namespaces/ml-team/aimmodelcaches/old/status"}


def test_a_single_attempt_without_a_sequence_shows_no_protocol(
    hub: Hub, hub_volume: Volume, api_server: ApiServer
) -> None:
    assert hub_volume.run(hub.add("org/name", FILES), AIM_DOWNLOADER_PROTOCOL="").code == 0
    assert api_server.statuses("download") == []
    assert api_server.statuses("progress")[-1]["percentage"] == 100


def test_a_pod_that_may_not_patch_downloads_all_the_same(hub: Hub, hub_volume: Volume, api_server: ApiServer) -> None:
    api_server.status = 403
    outcome = hub_volume.run(hub.add("org/name", FILES))
    assert outcome.code == 0, outcome.log
    assert "WARN: Failed to update progress: HTTP 403 from the API server" in outcome.err
    assert hub_volume.files() == FILES


def test_an_object_that_is_gone_is_not_taken_for_a_missing_source(
    hub: Hub, hub_volume: Volume, api_server: ApiServer
) -> None:
    api_server.status = 404
    hub.add("org/name", FILES)
    hub.faults({"kind": "stall", "path": "*.safetensors"})
    outcome = hub_volume.run("hf://org/name", STALL_TIMEOUT="0.5")
    assert "WARN: Failed to update progress" in outcome.err
    assert outcome.reason == "PodFailed"


def test_an_api_server_that_is_not_there_does_not_matter(hub: Hub, hub_volume: Volume, api_server: ApiServer) -> None:
    outcome = hub_volume.run(hub.add("org/name", FILES), KUBERNETES_SERVICE_PORT="9")
    assert outcome.code == 0, outcome.log
    assert "WARN: Failed to update progress: the API server can't be reached" in outcome.err
    assert api_server.patches == []
