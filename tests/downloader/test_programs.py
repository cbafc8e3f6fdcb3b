"""The other programs of the image, the image's own files, and the same download by hand."""

import os
import pty
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.downloader.stage import TOKEN, Hub, Outcome, Volume, ended, until

import aim_engine
from aim_engine.downloader.__main__ import PROGRAMS

PACKAGE = Path(aim_engine.__file__).parent / "downloader"
IMAGE = PACKAGE / "image"
FILES = {"config.json": b"{}", "model.safetensors": random.Random(1).randbytes(700_000)}
SIZE = sum(map(len, FILES.values()))


def script(volume: Volume, name: str, *words: str, **variables: str) -> Outcome:
    """Run a file of the image as a pod does."""
    environment = {**volume.environment, "PYTHON": sys.executable, **variables}
    command = [sys.executable, IMAGE / name] if name.endswith(".py") else [IMAGE / name, *words]
    return ended(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))


def test_the_entrypoint_of_the_image_downloads(hub: Hub, hub_volume: Volume) -> None:
    outcome = script(hub_volume, "entrypoint.sh", hub.add("org/name", FILES))
    assert outcome.code == 0, outcome.log
    assert hub_volume.files() == FILES


def test_the_words_that_kserve_uses_download_too(hub: Hub, hub_volume: Volume, tmp_path: Path) -> None:
    outcome = script(hub_volume, "initializer-entrypoint", hub.add("org/name", FILES), str(tmp_path / "other"))
    assert outcome.code == 0, outcome.log
    assert (tmp_path / "other" / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_download_and_verification_can_be_run_apart(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", FILES)
    outcome = script(hub_volume, "hf-download.sh", uri, str(hub_volume.path))
    assert outcome.code == 0, outcome.log
    assert "SUCCESS: HTTP (attempt 1/1)" in outcome.out and "Verifying" not in outcome.out
    verified = script(hub_volume, "hf-verify.sh", uri, str(hub_volume.path))
    assert verified.code == 0, verified.log
    assert re.search(r"Download complete and verified\nSize of HF_HOME: \d+(\.\d)? \w+\n$", verified.out)
    (hub_volume.path / "model.safetensors").write_bytes(bytes(700_000))
    damaged = script(hub_volume, "hf-verify.sh", uri, str(hub_volume.path))
    assert damaged.code == 65
    assert "Checksum mismatch: model.safetensors" in damaged.err


@pytest.mark.parametrize(
    ("variables", "code", "line"),
    [
        ({}, 0, "[SIMULATE] Verification PASSED"),
        ({"AIM_DEBUG_VERIFY_FAIL": "1"}, 1, "[SIMULATE] Verification FAILED"),
    ],
    ids=["passes", "fails"],
)
def test_a_simulated_verification_asks_no_hub(volume: Volume, variables: dict[str, str], code: int, line: str) -> None:
    variables = {"AIM_DEBUG_SIMULATE_HF_DOWNLOAD": "1", "HF_ENDPOINT": "http://127.0.0.1:9", **variables}
    outcome = script(volume, "hf-verify.sh", "hf://org/name", str(volume.path), **variables)
    assert outcome.code == code, outcome.log
    assert line in outcome.log


@pytest.mark.parametrize(
    ("uri", "rules", "variables", "lines", "code"),
    [
        pytest.param("hf://org/name", {}, {}, [], 0, id="found"),
        pytest.param(
            "hf://org/none", {}, {}, ["Repository Not Found: org/none", "Failed to get size for"], 1, id="missing"
        ),
        pytest.param(
            "hf://org/name",
            {},
            {"HF_TOKEN": TOKEN},
            ["Failed to fetch model info: Invalid token for huggingface", "Failed to get size for"],
            1,
            id="wrong token",
        ),
        pytest.param("ftp://org/name", {}, {}, ["Unknown protocol"], 1, id="unknown scheme"),
    ],
)
def test_the_check_size_program_prints_one_json_line(
    hub: Hub,
    hub_volume: Volume,
    uri: str,
    rules: dict[str, object],
    variables: dict[str, str],
    lines: list[str],
    code: int,
) -> None:
    hub.add("org/name", FILES)
    hub.rules(**rules)
    outcome = script(hub_volume, "check-size.sh", uri, AIM_DEBUG_SIMULATE_DOWNLOAD="1", **variables)
    assert outcome.code == code, outcome.log
    assert all(line in outcome.err for line in lines)
    assert outcome.out == (f'{{"url":"{uri}","sizeBytes":{SIZE}}}\n' if code == 0 else "")
    assert TOKEN not in outcome.log


def test_a_hub_that_hides_what_a_gated_repository_holds(hub: Hub, hub_volume: Volume) -> None:
    hub.add("org/name", FILES)
    hub.faults({"kind": "status", "status": 403, "headers": {"X-Error-Code": "GatedRepo"}, "over": "api"})
    outcome = script(hub_volume, "check-size.sh", "hf://org/name")
    assert (outcome.code, outcome.reason) == (1, "AuthError")
    assert "Cannot access gated repo: org/name" in outcome.err
    assert "Model requires authentication: org/name\nSet HF_TOKEN environment variable" in outcome.err
    assert script(hub_volume, "check-hf-size.py", MODEL_PATH="org/name").code == 2


def test_an_empty_repository_has_no_size(hub: Hub, hub_volume: Volume) -> None:
    outcome = script(hub_volume, "check-size.sh", hub.add("org/name", {"empty.txt": b""}))
    assert outcome.code == 1
    assert "Error: Size is zero or negative (0)" in outcome.err


@pytest.mark.parametrize(("repository", "code"), [("org/name", 0), ("org/none", 1)])
def test_the_inner_size_program_prints_a_bare_number(hub: Hub, hub_volume: Volume, repository: str, code: int) -> None:
    hub.add("org/name", FILES)
    outcome = script(hub_volume, "check-hf-size.py", MODEL_PATH=repository)
    assert (outcome.code, outcome.out) == (code, f"{SIZE}\n" if code == 0 else "")


def test_the_monitor_alone_follows_a_directory_until_it_is_stopped(hub: Hub, hub_volume: Volume) -> None:
    hub_volume.path.mkdir()
    (hub_volume.path / "file").write_bytes(bytes(50))
    process = hub_volume.start(
        "progress-monitor", hub.add("org/name", FILES), str(hub_volume.path), EXPECTED_SIZE_BYTES="100"
    )
    assert process.stderr
    until(lambda: "Progress: 50% (50/100 bytes)" in (process.stderr and process.stderr.readline()))
    process.terminate()
    outcome = ended(process)
    assert outcome.code == 0
    assert "Progress monitor terminated: final_size=50 bytes" in outcome.err


def test_the_image_holds_what_its_contract_names() -> None:
    recipe = (PACKAGE / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (src/\S+)", recipe, re.MULTILINE)
    root = PACKAGE.parents[2]
    assert copied and all(list(root.glob(pattern)) for pattern in copied)
    for name in ("entrypoint.sh", "check-size.sh", "progress-monitor.sh", "hf-download.sh", "hf-verify.sh"):
        assert os.access(IMAGE / name, os.X_OK)
        assert (IMAGE / name).read_text().split()[-2] in PROGRAMS


def by_hand(*words: str) -> list[str]:
    return [str(Path(sys.executable).with_name("aim")), "download", *words]


def test_by_hand_without_a_terminal_it_prints_lines(hub: Hub, hub_volume: Volume, tmp_path: Path) -> None:
    words = by_hand(hub.add("org/name", FILES), str(tmp_path / "here"), "--protocols", "XET,HTTP")
    environment = {**hub_volume.environment, "ARTIFACT_NAME": "ignored", "AIM_DOWNLOADER_PROTOCOL": ""}
    outcome = ended(subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    assert outcome.code == 0, outcome.log
    assert "SUCCESS: XET (attempt 1/2)" in outcome.out
    assert (tmp_path / "here" / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert not hub_volume.path.exists()


def test_by_hand_two_repositories_fit_into_one_directory(hub: Hub, hub_volume: Volume) -> None:
    for repository, files in (("org/one", {"one.json": b"1"}), ("org/two", {"two.json": b"2"})):
        words = by_hand(hub.add(repository, files), str(hub_volume.path))
        subprocess.run(words, env=hub_volume.environment, capture_output=True, check=True)
    assert hub_volume.files() == {"one.json": b"1", "two.json": b"2"}


@pytest.mark.parametrize(
    ("repository", "code", "shown"),
    [
        ("org/name", 0, [r"downloading \S+ [1-9][\d.]*/683\.6 KiB", r"verifying \S+ 683\.6/683\.6 KiB"]),
        ("org/none", 12, ["Repository Not Found: org/none"]),
    ],
    ids=["a repository, slowly", "none"],
)
def test_by_hand_on_a_terminal_it_draws_a_bar(
    hub: Hub, hub_volume: Volume, tmp_path: Path, repository: str, code: int, shown: list[str]
) -> None:
    hub.add("org/name", FILES)
    hub.faults({"kind": "slow", "path": "*.safetensors", "after": 100_000})
    ours, theirs = pty.openpty()
    environment = {**hub_volume.environment, "TERM": "xterm-256color", "COLUMNS": "200"}
    words = by_hand(f"hf://{repository}", str(tmp_path / "here"), "--protocols", "HTTP")
    process = subprocess.Popen(words, env=environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    drawn = bytearray()
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:
            break
        if not block:
            break
        drawn += block
    os.close(ours)
    assert process.wait(30) == code, drawn.decode()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn.decode())
    assert [words for words in shown if not re.search(words, plain)] == [], plain
