"""hf:// against the hub stand-in: the bytes arrive, by every protocol, and the volume is left clean."""

import random
import subprocess
import sys

import pytest
from tests.downloader.stage import Hub, Volume

MIB = 1024 * 1024


def content(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


REPOSITORY = {
    "config.json": b"{}",
    "tokenizer/vocab.txt": b"a\nb\n",
    "tokenizer/empty.txt": b"",
    ".gitattributes": b"*.safetensors filter=lfs",
    "model-00001-of-00002.safetensors": content(3 * MIB + 17, 1),
    "model-00002-of-00002.safetensors": content(200_000, 2),
    "big.json": content(600_000, 3),
}


@pytest.mark.parametrize("protocol", ["XET", "HF_TRANSFER", "HTTP", ""])
def test_a_repository_arrives_with_every_protocol(hub: Hub, hub_volume: Volume, protocol: str) -> None:
    uri = hub.add("org/name", REPOSITORY)
    outcome = hub_volume.run(uri, AIM_DOWNLOADER_PROTOCOL=protocol)
    assert outcome.code == 0, outcome.log
    assert hub_volume.files() == REPOSITORY
    assert hub_volume.leftovers() == []
    assert "Download complete and verified" in outcome.out
    assert "Size of HF_HOME: " in outcome.out
    over_xet = {request["path"] for request in hub.requests() if request["over"] == "xet"}
    large = {f"org/name/{path}" for path in REPOSITORY if path.endswith(".safetensors")}
    assert over_xet == (large if protocol in ("XET", "") else set())


def test_what_is_printed_reads_like_a_protocol_of_the_attempts(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", REPOSITORY)
    outcome = hub_volume.run(uri, AIM_DOWNLOADER_PROTOCOL="NOPE,HTTP", EXPECTED_SIZE_BYTES="4000000")
    assert outcome.code == 0, outcome.log
    lines = [line for line in outcome.out.splitlines() if not line.startswith("=")]
    assert lines[:7] == [
        "WARNING: Unknown protocol 'NOPE'",
        "DOWNLOAD ATTEMPT 2/2",
        "Protocol: HTTP",
        "Model: org/name",
        "Protocol switch: NOPE -> HTTP",
        "SUCCESS: HTTP (attempt 2/2)",
        "Verifying download (this may take a while for large models)...",
    ]
    assert "Progress monitor started: expected=4000000 bytes, interval=0.1s, stall_timeout=120s" in outcome.err
    assert f"Progress monitor terminated: final_size={sum(map(len, REPOSITORY.values()))} bytes" in outcome.err
    assert "WARN: ARTIFACT_NAME not set" in outcome.err


def test_a_repository_without_organisation_arrives(hub: Hub, hub_volume: Volume) -> None:
    outcome = hub_volume.run(hub.add("gpt2", {"model.safetensors": content(MIB)}))
    assert outcome.code == 0, outcome.log
    assert hub_volume.files() == {"model.safetensors": content(MIB)}


def test_a_private_repository_arrives_with_its_token_which_goes_to_no_other_origin(
    hub: Hub, hub_volume: Volume
) -> None:
    uri = hub.add("org/private", {"config.json": b"{}", "model.safetensors": content(MIB)})
    hub.rules(tokens={"hf_good_token": ["org/private"]}, private=["org/private"], gated=["org/private"])
    outcome = hub_volume.run(uri, HF_TOKEN="hf_good_token")
    assert outcome.code == 0, outcome.log
    assert "hf_good_token" not in outcome.log
    sent = {request["path"]: request["authorized"] for request in hub.requests()}
    assert sent == {"org/private/config.json": True, "org/private/model.safetensors": False}


def test_huggingface_hub_finds_every_file_done_afterwards(hub: Hub, hub_volume: Volume) -> None:
    hub_volume.run(hub.add("org/name", REPOSITORY))
    before = len(hub.requests())
    again = "import sys, huggingface_hub; huggingface_hub.snapshot_download('org/name', local_dir=sys.argv[1])"
    subprocess.run([sys.executable, "-c", again, hub_volume.path], env=hub_volume.environment, check=True)
    assert hub.requests()[before:] == []


def test_a_second_run_fetches_nothing(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", REPOSITORY)
    assert hub_volume.run(uri).code == 0
    before = len(hub.requests())
    assert hub_volume.run(uri).code == 0
    assert hub.requests()[before:] == []


def test_files_that_lie_there_without_any_record_are_compared_and_kept(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", REPOSITORY)
    for path, right in REPOSITORY.items():
        location = hub_volume.path / path
        location.parent.mkdir(parents=True, exist_ok=True)
        location.write_bytes(bytes(len(right)) if path == "big.json" else right)
    assert hub_volume.run(uri).code == 0
    assert hub_volume.files() == REPOSITORY
    assert [request["path"] for request in hub.requests()] == ["org/name/big.json"]


def test_files_that_a_new_revision_no_longer_has_are_removed_and_those_of_others_stay(
    hub: Hub, hub_volume: Volume
) -> None:
    uri = hub.add("org/name", {"old/model.safetensors": content(MIB), "config.json": b"1", "simulated": b"x"})
    assert hub_volume.run(uri).code == 0
    (hub_volume.path / "notes.txt").write_text("mine")
    (hub.root / "org/name/old/model.safetensors").unlink()
    (hub.root / "org/name/old").rmdir()
    hub.add("org/name", {"config.json": b"22", "new/model.safetensors": content(MIB, 5)})
    assert hub_volume.run(uri).code == 0
    assert hub_volume.files() == {
        "config.json": b"22",
        "new/model.safetensors": content(MIB, 5),
        "notes.txt": b"mine",
        "simulated": b"x",
    }
    assert hub_volume.leftovers() == []


def test_files_are_as_readable_as_the_mask_says(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", REPOSITORY)
    assert hub_volume.run(uri, UMASK="0027").code == 0
    modes = {(hub_volume.path / path).stat().st_mode & 0o777 for path in REPOSITORY}
    assert modes == {0o640}


def test_a_time_out_with_a_unit_is_told_once_and_does_not_hold_up_the_download(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", REPOSITORY)
    outcome = hub_volume.run(uri, HF_HUB_DOWNLOAD_TIMEOUT="30s")
    assert outcome.code == 0, outcome.log
    assert outcome.err.count("HF_HUB_DOWNLOAD_TIMEOUT=30s is no whole number of seconds; write it without a unit") == 1
    assert hub_volume.files() == REPOSITORY


def test_a_name_that_leaves_the_directory_is_refused(volume: Volume) -> None:
    from aim_engine.downloader import files
    from aim_engine.downloader.failures import Failure

    for path in ("../x", "a/../../x", "/etc/passwd", "a\\b", ""):
        with pytest.raises(Failure, match="outside the target directory"):
            files.refuse_impossible([path])
    with pytest.raises(Failure, match="'a/b' as a file and as a directory"):
        files.refuse_impossible(["a/b/c", "a/b", "x"])
    files.refuse_impossible(["a/b..c", "..a", ".hidden", "a/b", "ab"])
    assert volume.files() == {}
