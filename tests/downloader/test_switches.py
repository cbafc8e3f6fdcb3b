"""The switches for tests and simulations."""

import subprocess
import sys

import pytest
from tests.downloader.stage import ApiServer, Volume

QUICK = {"AIM_DEBUG_DOWNLOAD_DURATION": "0.3", "AIM_DEBUG_VERIFY_DURATION": "0.1"}
QUICK_HUB = {"AIM_DEBUG_SIMULATE_HF_DOWNLOAD": "1", "AIM_DEBUG_SIMULATE_HF_DURATION": "0.1"}


@pytest.mark.parametrize("uri", ["hf://org/name", "s3://bucket/prefix", "anything"])
def test_a_simulated_download_grows_to_the_expected_size(volume: Volume, api_server: ApiServer, uri: str) -> None:
    long_enough_to_be_seen = {**QUICK, "AIM_DEBUG_DOWNLOAD_DURATION": "3"}
    outcome = volume.run(
        uri, AIM_DEBUG_SIMULATE_DOWNLOAD="true", EXPECTED_SIZE_BYTES="2000000", **long_enough_to_be_seen
    )
    assert outcome.code == 0, outcome.log
    assert {path: len(content) for path, content in volume.files().items()} == {"simulated_data": 2000000}
    seen = [progress["percentage"] for progress in api_server.statuses("progress")]
    assert 50 in seen and seen[-1] == 100


def test_a_simulated_download_has_a_default_size_and_can_fail_its_verification(volume: Volume) -> None:
    outcome = volume.run("hf://org/name", AIM_DEBUG_SIMULATE_DOWNLOAD="1", AIM_DEBUG_VERIFY_FAIL="1", **QUICK)
    assert outcome.code == 1
    assert len(volume.files()["simulated_data"]) == 1048576


def test_simulated_attempts_fail_by_protocol_and_the_next_one_succeeds(volume: Volume, api_server: ApiServer) -> None:
    outcome = volume.run(
        "hf://org/name",
        AIM_DOWNLOADER_PROTOCOL="XET,HF_TRANSFER,HTTP",
        AIM_DEBUG_SIMULATE_HF_FAIL_PROTOCOLS="XET,HF_TRANSFER",
        **QUICK_HUB,
    )
    assert outcome.code == 0, outcome.log
    assert [line for line in outcome.out.splitlines() if line.startswith(("FAILED", "SUCCESS", "[SIM"))] == [
        "FAILED: XET (attempt 1/3)",
        "FAILED: HF_TRANSFER (attempt 2/3)",
        "SUCCESS: HTTP (attempt 3/3)",
        "[SIMULATE] Verification PASSED",
    ]
    assert len(volume.files()["simulated_data"]) == 100 * 1024
    told = [(d["protocol"], d["attempt"], d["message"]) for d in api_server.statuses("download")]
    assert told == [
        ("XET", 1, "Downloading with XET"),
        ("XET", 1, "Failed with XET"),
        ("HF_TRANSFER", 2, "Downloading with HF_TRANSFER"),
        ("HF_TRANSFER", 2, "Failed with HF_TRANSFER"),
        ("HTTP", 3, "Downloading with HTTP"),
        ("HTTP", 3, "Verifying integrity..."),
    ]
    assert {(d["totalAttempts"], d["protocolSequence"]) for d in api_server.statuses("download")} == {
        (3, "XET,HF_TRANSFER,HTTP")
    }


def test_when_all_simulated_attempts_fail_the_sequence_is_exhausted(volume: Volume, api_server: ApiServer) -> None:
    outcome = volume.run(
        "hf://org/name",
        AIM_DOWNLOADER_PROTOCOL="XET,HTTP",
        AIM_DEBUG_SIMULATE_HF_FAIL_PROTOCOLS="XET,HTTP",
        **QUICK_HUB,
    )
    assert outcome.code == 1
    assert "ALL 2 DOWNLOAD ATTEMPTS EXHAUSTED\nSequence: XET,HTTP\n" in outcome.out
    assert api_server.statuses("download")[-1]["message"] == "All 2 attempts exhausted"
    assert all(progress["percentage"] < 100 for progress in api_server.statuses("progress"))


def test_a_simulated_verification_fails_with_progress_at_one_hundred(volume: Volume, api_server: ApiServer) -> None:
    outcome = volume.run("hf://org/name", AIM_DOWNLOADER_PROTOCOL="HTTP", AIM_DEBUG_VERIFY_FAIL="1", **QUICK_HUB)
    assert outcome.code == 1
    assert api_server.statuses("progress")[-1]["percentage"] == 100


def test_the_failure_switch_fails_at_once(volume: Volume) -> None:
    outcome = volume.run("hf://org/name", AIM_DEBUG_CAUSE_FAILURE="yes")
    assert outcome.code == 1
    assert "AIM_DEBUG_CAUSE_FAILURE" in outcome.out
    assert volume.files() == {}


def test_the_failure_switch_lets_the_monitor_start_first(volume: Volume) -> None:
    words = [sys.executable, "-m", "aim_engine.downloader", "hf://org/name"]
    environment = {**volume.environment, "AIM_DEBUG_CAUSE_FAILURE": "yes"}
    log = subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    started, notice = log.find("Progress monitor started"), log.find("AIM_DEBUG_CAUSE_FAILURE is set")
    assert 0 <= started < notice, log


def test_the_hang_switch_hangs_until_stall_detection_ends_it(volume: Volume) -> None:
    outcome = volume.run("hf://org/name", AIM_DEBUG_CAUSE_HANG="1", STALL_TIMEOUT="0.5")
    assert outcome.code == 137
    assert "Download stalled for" in outcome.err
    assert volume.files() == {}


def test_the_hang_switch_comes_before_the_failure_switch(volume: Volume) -> None:
    outcome = volume.run("hf://org/name", AIM_DEBUG_CAUSE_HANG="1", AIM_DEBUG_CAUSE_FAILURE="1", STALL_TIMEOUT="0.5")
    assert outcome.code == 137, outcome.log
    assert "AIM_DEBUG_CAUSE_FAILURE" not in outcome.log
