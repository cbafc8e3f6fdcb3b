"""Every way to fail: one line that says what to do, the reason that the operator reads from it, and an exit code."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.downloader.stage import DEADLINE, TOKEN, Hub, Outcome, Volume, ended, until

MIB = 1024 * 1024
FILES = {"config.json": b"{}", "model.safetensors": bytes(2 * MIB)}
GATED = {"gated": ["org/name"], "tokens": {TOKEN: []}}


@dataclass(frozen=True)
class Case:
    """What is wrong, and what a user sees of it."""

    line: str
    code: int
    reason: str
    rules: dict[str, Any] = field(default_factory=dict[str, Any])
    faults: tuple[dict[str, Any], ...] = ()
    variables: dict[str, str] = field(default_factory=dict[str, str])
    uri: str = "hf://org/name"


CASES = {
    "a repository that is missing": Case(
        "Repository Not Found: org/missing (401 from", 12, "SourceNotFound", uri="hf://org/missing"
    ),
    "a repository that is private": Case(
        "Repository Not Found: org/name (404 from",
        12,
        "SourceNotFound",
        rules={"private": ["org/name"], "tokens": {TOKEN: []}},
        variables={"HF_TOKEN": TOKEN},
    ),
    "a name that is none": Case("Repository Not Found: a/b/c/d is no name", 12, "SourceNotFound", uri="hf://a/b/c/d"),
    "a wrong token": Case("Invalid token for huggingface: 401 from", 77, "AuthError", variables={"HF_TOKEN": TOKEN}),
    "a gated repository without token": Case("Cannot access gated repo: org/name", 76, "AuthError", rules=GATED),
    "a gated repository with a token that has no access": Case(
        "Cannot access gated repo: org/name", 76, "AuthError", rules=GATED, variables={"HF_TOKEN": TOKEN}
    ),
    "a gated repository over Xet": Case(
        "Cannot access gated repo: org/name", 76, "AuthError", rules=GATED, variables={"AIM_DOWNLOADER_PROTOCOL": "XET"}
    ),
    "a hub that asks to come back much later": Case(
        "Rate limited: 429 from",
        75,
        "PodFailed",
        faults=({"kind": "status", "status": 429, "headers": {"Retry-After": "3600"}, "over": "http"},),
    ),
    "a hub that is broken": Case(
        "Network failure: HTTP 503 from", 69, "PodFailed", faults=({"kind": "status", "status": 503, "over": "api"},)
    ),
    "a hub that is not there": Case(
        "Network failure: http://127.0.0.1:9 can't be reached",
        69,
        "PodFailed",
        variables={"HF_ENDPOINT": "http://127.0.0.1:9"},
    ),
    "a server that stalls": Case(
        "Download stalled for ",
        137,
        "PodFailed",
        faults=({"kind": "stall", "path": "*.safetensors", "after": MIB},),
        variables={"STALL_TIMEOUT": "5"},
    ),
    "a server that sends wrong bytes": Case(
        "Checksum mismatch: model.safetensors has sha256",
        65,
        "PodFailed",
        faults=({"kind": "corrupt", "path": "*.safetensors"},),
    ),
    "an unknown scheme": Case(
        "Error: Unknown protocol. URL must start with hf:// or s3:// - was oci://x/y", 1, "PodFailed", uri="oci://x/y"
    ),
    "a URI without a name": Case(
        "Error: hf:// names no repository; write hf://<organisation>/<name>", 1, "PodFailed", uri="hf://"
    ),
    "a URI of slashes": Case("Error: hf:/// names no repository", 1, "PodFailed", uri="hf:///"),
    "a URI without bucket and prefix": Case(
        "Error: s3:// names no bucket; write s3://<bucket>/<prefix>", 1, "PodFailed", uri="s3://"
    ),
    "a URI without bucket": Case("Error: s3:///x names no bucket", 1, "PodFailed", uri="s3:///x"),
}
MISNAMED = {name: case for name, case in CASES.items() if case.line.startswith("Error: ")}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_failure_tells_what_is_wrong(hub: Hub, hub_volume: Volume, case: Case) -> None:
    hub.add("org/name", FILES)
    hub.rules(**case.rules)
    hub.faults(*case.faults)
    outcome = hub_volume.run(case.uri, **case.variables)
    assert case.line in outcome.err
    assert (outcome.code, outcome.reason) == (case.code, case.reason), outcome.log
    assert TOKEN not in outcome.log
    assert "Traceback" not in outcome.log
    assert not (hub_volume.path / ".aim-download.lock").exists()


@pytest.mark.parametrize("case", MISNAMED.values(), ids=MISNAMED.keys())
def test_the_check_size_program_refuses_what_a_download_refuses(volume: Volume, case: Case) -> None:
    outcome = volume.run("check-size", case.uri)
    assert (outcome.code, outcome.reason, outcome.out) == (1, "PodFailed", "")
    assert outcome.err.startswith(case.line) and outcome.err.count("\n") == 1, outcome.err


def test_no_uri_is_a_usage_error(volume: Volume) -> None:
    outcome = volume.run()
    assert (outcome.code, outcome.err) == (
        1,
        "Error: say what to download: hf://<organisation>/<name> or s3://<bucket>/<prefix>\n",
    )


def test_a_damaged_file_is_removed_and_the_next_run_heals_it(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", FILES)
    hub.faults({"kind": "corrupt", "path": "*.safetensors", "times": 1})
    assert hub_volume.run(uri).code == 65
    assert hub_volume.files() == {"config.json": b"{}"}
    outcome = hub_volume.run(uri)
    assert outcome.code == 0, outcome.log
    assert hub_volume.files() == FILES


def test_a_short_wait_that_the_hub_asks_for_is_kept(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", FILES)
    limit = {"kind": "status", "status": 429, "headers": {"Retry-After": "1"}, "times": 2}
    hub.faults({**limit, "over": "http"})
    outcome = hub_volume.run(uri)
    assert outcome.code == 0, outcome.log
    assert "asks for fewer requests; going on in 1 s" in outcome.err


def test_a_directory_that_can_not_be_written_is_told(hub: Hub, hub_volume: Volume) -> None:
    hub_volume.path.write_text("a file where the volume should be")
    outcome = hub_volume.run(hub.add("org/name", FILES))
    assert outcome.code == 1
    assert f"Cannot write to {hub_volume.path}: " in outcome.err


def test_a_file_of_the_container_that_is_missing_is_told_and_not_taken_for_a_missing_source(volume: Volume) -> None:
    outcome = volume.run("hf://org/name", TMPDIR="/proc/none")
    assert (outcome.code, outcome.reason) == (1, "PodFailed"), outcome.log
    assert outcome.err == "Error: [Errno 2] No such file or directory: '/proc/none'\n"


def broken_library(folder: Path, name: str) -> dict[str, str]:
    """The variables of a container in which a library fails with a credential in its words when it is loaded."""
    (folder / f"{name}.py").write_text(f"raise ImportError('{name} can not use {TOKEN}')")
    return {"PYTHONPATH": str(folder), "HF_TOKEN": TOKEN}


def test_what_nobody_foresaw_is_one_line_without_credentials(hub: Hub, hub_volume: Volume, tmp_path: Path) -> None:
    uri = hub.add("org/name", FILES)
    hub.rules(tokens={TOKEN: []})
    outcome = hub_volume.run(uri, AIM_DOWNLOADER_PROTOCOL="XET", **broken_library(tmp_path, "hf_xet"))
    assert (outcome.code, outcome.reason) == (1, "PodFailed"), outcome.log
    assert "Error: ImportError: hf_xet can not use ***\n" in outcome.err
    for unwanted in (TOKEN, "Traceback", "Fatal Python error", "ended by signal"):
        assert unwanted not in outcome.log


WATCH_AND_END = """
import array, fcntl, sys, termios, threading
from aim_engine.downloader import attempt

threading.Thread(target=attempt.end_with_parent, daemon=True).start()
unread = array.array("i", [1])
while unread[0]:  # until the thread is in the middle of its wait
    fcntl.ioctl(sys.stdin.fileno(), termios.FIONREAD, unread)
sys.exit(7)
"""


def test_an_attempt_may_end_while_it_watches_the_process_that_started_it() -> None:
    with subprocess.Popen([sys.executable, "-c", WATCH_AND_END], stdin=subprocess.PIPE) as process:
        assert process.stdin
        process.stdin.write(b"a byte that is taken as soon as the thread waits")
        process.stdin.flush()
        assert process.wait(DEADLINE) == 7


def test_an_attempt_ends_with_the_process_that_started_it() -> None:
    forever = "from aim_engine.downloader import attempt; attempt.end_with_parent()"
    with subprocess.Popen([sys.executable, "-c", forever], stdin=subprocess.PIPE) as process:
        process.communicate(b"not yet the end", timeout=DEADLINE)
        assert process.returncode == 1


FILL = (
    "for look in $(seq 600); do"
    ' ls "$TARGET_DIR"/.cache/huggingface/download/*.incomplete && cat /dev/zero > "$TARGET_DIR/other" && break;'
    " sleep 0.1; done"
)
"""Something else takes the room that is left, as soon as the download has begun."""


def on_a_small_volume(volume: Volume, uri: str, mebibytes: int, meanwhile: str = ":", **variables: str) -> Outcome:
    """Run the program on a file system of its own that has only so much room."""
    volume.path.mkdir()
    mounted = (
        f'mount -t tmpfs -o size={mebibytes}m tmpfs "$TARGET_DIR" || exit; ({meanwhile}) > /dev/null 2>&1 & exec "$@"'
    )
    words = [sys.executable, "-m", "aim_engine.downloader", uri]
    return ended(
        subprocess.Popen(
            ["unshare", "--map-root-user", "--mount", "sh", "-c", mounted, "sh", *words],
            env={**volume.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    )


def test_a_volume_that_is_too_small_is_told_before_the_first_byte(hub: Hub, hub_volume: Volume) -> None:
    outcome = on_a_small_volume(hub_volume, hub.add("org/name", FILES), 1, EXPECTED_SIZE_BYTES="10")
    assert (outcome.code, outcome.reason) == (1, "StorageFull"), outcome.log
    assert "no space left on device: 2097154 bytes are still to be fetched, " in outcome.err
    assert hub.requests() == []


def test_a_missing_source_is_never_reported_as_lack_of_space(hub: Hub, hub_volume: Volume) -> None:
    outcome = on_a_small_volume(hub_volume, "hf://org/missing", 1, EXPECTED_SIZE_BYTES="999999999999")
    assert outcome.reason == "SourceNotFound", outcome.log
    assert "no space left" not in outcome.log
    assert hub.requests() == []


def test_a_volume_that_fills_up_meanwhile_is_told(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", FILES)
    hub.faults({"kind": "slow", "path": "*.safetensors", "after": MIB // 8})
    outcome = on_a_small_volume(hub_volume, uri, 3, meanwhile=FILL)
    assert (outcome.code, outcome.reason) == (1, "StorageFull"), outcome.log
    assert f"no space left on device: the volume at {hub_volume.path} is full" in outcome.err


def test_a_simulation_that_fills_the_volume_is_told(hub_volume: Volume) -> None:
    size = {"EXPECTED_SIZE_BYTES": str(4 * MIB), "AIM_DEBUG_DOWNLOAD_DURATION": "0"}
    outcome = on_a_small_volume(hub_volume, "hf://org/name", 1, AIM_DEBUG_SIMULATE_DOWNLOAD="1", **size)
    assert (outcome.code, outcome.reason) == (1, "StorageFull"), outcome.log


def test_a_process_that_was_killed_for_its_memory_is_told(hub: Hub, hub_volume: Volume) -> None:
    uri = hub.add("org/name", FILES)
    hub.faults({"kind": "stall", "path": "*.safetensors"})
    process = hub_volume.start(uri)
    until(lambda: children(process.pid))
    os.kill(children(process.pid)[0], signal.SIGKILL)
    outcome = ended(process)
    assert outcome.code == 137
    assert "Out of memory: the download process was killed" in outcome.log


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
