"""A download that is ended in the middle goes on where it stopped."""

import random
import signal
import subprocess
from collections.abc import Mapping

import pytest
from tests.downloader.stage import Hub, Volume, ended, until

MIB = 1024 * 1024
SIZE = 6 * MIB
WEIGHTS = {"config.json": b"{}", "model.safetensors": random.Random(7).randbytes(SIZE)}
SLOW = {"kind": "slow", "path": "*.safetensors", "after": MIB // 2}
HALF = (
    {"kind": "stall", "path": "*.safetensors", "over": "xet", "beyond": SIZE // 2},
    {"kind": "stall", "path": "*.safetensors", "over": "http", "after": SIZE // 2},
)
"""About half of the bytes come, and then no more: over Xet the pieces of the first half, else half of the one piece."""


def started_and_half_done(hub: Hub, volume: Volume, *faults: Mapping[str, object]) -> "subprocess.Popen[str]":
    """Start a download that never ends, or meets the given faults, and wait until some of it is there."""
    uri = hub.add("org/name", WEIGHTS)
    hub.faults(*(faults or HALF))
    process = volume.start(uri)
    until(lambda: volume.arrived() >= MIB)
    return process


@pytest.mark.parametrize("protocol", ["HTTP", "HF_TRANSFER", "XET"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=lambda how: how.name)
def test_no_byte_that_arrived_is_asked_for_again(hub: Hub, hub_volume: Volume, protocol: str, how: int) -> None:
    hub_volume.environment["AIM_DOWNLOADER_PROTOCOL"] = protocol
    process = started_and_half_done(hub, hub_volume)
    process.send_signal(how)
    first = ended(process)
    assert first.code == (-signal.SIGKILL if how == signal.SIGKILL else 143)
    if how == signal.SIGTERM:
        assert "Interrupted by SIGTERM" in first.err
        assert not (hub_volume.path / ".aim-download.lock").exists()
    until(lambda: settled(hub_volume))
    arrived, before = hub_volume.arrived(), len(hub.requests())
    hub.faults()
    outcome = hub_volume.run("hf://org/name")
    assert outcome.code == 0, outcome.log
    assert hub_volume.files() == WEIGHTS
    assert hub_volume.leftovers() == []
    again = [request for request in hub.requests()[before:] if request["path"].endswith(".safetensors")]
    asked = sum(request["last"] - request["first"] + 1 for request in again)
    chunk = 64 * 1024  # the content store hands out whole chunks, each behind a header
    assert asked <= SIZE - arrived + (2 * chunk if protocol == "XET" else 0)


def settled(volume: Volume) -> bool:
    """Tell whether the killed program's own child is gone, too: nothing grows any more."""
    before = volume.arrived()
    return not subprocess.run(["pgrep", "-f", f"attempt hf://org/name {volume.path}"], capture_output=True).stdout and (
        volume.arrived() == before
    )


def test_a_file_that_changed_meanwhile_is_fetched_anew(hub: Hub, hub_volume: Volume) -> None:
    process = started_and_half_done(hub, hub_volume)
    process.terminate()
    ended(process)
    hub.faults()
    changed = {**WEIGHTS, "model.safetensors": random.Random(8).randbytes(SIZE)}
    outcome = hub_volume.run(hub.add("org/name", changed))
    assert outcome.code == 0, outcome.log
    assert hub_volume.files() == changed
    assert hub_volume.leftovers() == []


def test_another_protocol_keeps_what_is_whole_and_drops_what_is_half_done(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", {**WEIGHTS, "first.safetensors": random.Random(9).randbytes(MIB)})
    hub.faults(
        {"kind": "status", "status": 403, "path": "*/model.safetensors", "over": "xet"},
    )
    outcome = hub_volume.run(uri, AIM_DOWNLOADER_PROTOCOL="XET,HTTP")
    assert outcome.code == 0, outcome.log
    assert "FAILED: XET (attempt 1/2)" in outcome.out
    assert "Protocol switch: XET -> HTTP" in outcome.out
    assert "SUCCESS: HTTP (attempt 2/2)" in outcome.out
    over = [(request["over"], request["path"]) for request in hub.requests() if request["sent"]]
    assert ("xet", "org/name/first.safetensors") in over
    assert ("http", "org/name/first.safetensors") not in over
    assert ("http", "org/name/model.safetensors") in over
    assert hub_volume.leftovers() == []


def test_a_switch_cleans_incomplete_files_and_the_same_protocol_again_keeps_them(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", WEIGHTS)
    hub.faults({"kind": "stall", "path": "*.safetensors", "after": 2 * MIB, "times": 2})
    outcome = hub_volume.run(uri, AIM_DOWNLOADER_PROTOCOL="HTTP,HTTP,HF_TRANSFER", STALL_TIMEOUT="15")
    assert outcome.code == 0, outcome.log
    assert outcome.out.count("FAILED: HTTP") == 2
    assert "Protocol switch: HTTP -> HTTP" not in outcome.out
    assert "Protocol switch: HTTP -> HF_TRANSFER\nCleaned 1 incomplete file(s)" in outcome.out
    starts = [request["first"] for request in hub.requests() if request["path"].endswith(".safetensors")]
    assert starts[0] == 0 and starts[1] >= MIB and starts[2] == 0
    assert hub_volume.files() == WEIGHTS


def test_after_the_last_attempt_what_another_protocol_left_is_dropped_too(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", WEIGHTS)
    hub.faults({"kind": "stall", "path": "*.safetensors", "after": 2 * MIB})
    outcome = hub_volume.run(uri, AIM_DOWNLOADER_PROTOCOL="HTTP,HF_TRANSFER", STALL_TIMEOUT="15")
    assert "ALL 2 DOWNLOAD ATTEMPTS EXHAUSTED\nSequence: HTTP,HF_TRANSFER" in outcome.out
    assert outcome.code == 137
    assert outcome.out.count("Cleaned 1 incomplete file(s)") == 2
    assert not list(hub_volume.path.rglob("*.incomplete"))


def test_two_downloads_into_one_directory_wait_for_each_other(hub: Hub, hub_volume: Volume) -> None:
    first = started_and_half_done(hub, hub_volume, SLOW)
    second = hub_volume.start("hf://org/name")
    assert second.stdout
    assert "waiting for it to end" in second.stdout.readline()
    hub.faults()
    outcomes = [ended(first), ended(second)]
    assert [outcome.code for outcome in outcomes] == [0, 0], [outcome.log for outcome in outcomes]
    assert hub_volume.files() == WEIGHTS
    assert hub_volume.leftovers() == []
    fetched = [request for request in hub.requests() if request["path"].endswith(".safetensors")]
    assert len(fetched) == 1


def test_a_connection_that_breaks_is_taken_up_again_at_the_next_byte(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", WEIGHTS)
    hub.faults(
        {"kind": "cut", "path": "*.safetensors", "after": 2 * MIB, "times": 1},
        {"kind": "truncate", "path": "*.safetensors", "after": MIB, "times": 1},
    )
    outcome = hub_volume.run(uri)
    assert outcome.code == 0, outcome.log
    assert hub_volume.files() == WEIGHTS
    fetched = [request for request in hub.requests() if request["path"].endswith(".safetensors")]
    assert [request["last"] for request in fetched] == [SIZE - 1] * 3
    assert 0 == fetched[0]["first"] < fetched[1]["first"] < fetched[2]["first"]
