"""How `aim up` ends: by Ctrl-C, by a part that dies, by a signal that nobody can catch; and what it refuses."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kube.world import until
from tests.local.census import alive, of

from aim_engine.local import control_plane
from aim_engine.local.up import facts

PARTS = ("kserve", "gateway", "autoscaler", "registry", "hub")
LEAN = ("--no-sample", *(word for part in PARTS for word in ("--without", part)))
"""The control plane, the nodes and the operator, which is enough to see how a start ends."""
SECONDS = 240


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A directory where nothing runs after the test, whatever happened in it."""
    place = tmp_path / "cluster"
    yield place
    aim("down", directory=place)


def aim(
    *arguments: str, directory: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    line = command(*arguments, directory=directory)
    return subprocess.run(line, env=environment, capture_output=True, text=True, check=False)


def command(*arguments: str, directory: Path) -> list[str]:
    return [str(Path(sys.executable).with_name("aim")), *arguments, "--directory", str(directory)]


def launched(directory: Path) -> subprocess.Popen[str]:
    line = command("up", *LEAN, directory=directory)
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


async def started(directory: Path) -> tuple[subprocess.Popen[str], facts.Facts]:
    """A start in the foreground that has come up."""
    process = launched(directory)
    await until(lambda: facts.find(directory) is not None or process.poll() is not None, seconds=SECONDS)
    found = facts.find(directory)
    assert found, process.communicate()
    return process, found


async def test_ctrl_c_ends_everything_in_good_order(directory: Path) -> None:
    process, _ = await started(directory)
    again = aim("up", directory=directory)
    assert (again.returncode, "AIM Engine is up already" in again.stdout) == (0, True)
    running = of(directory)
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, errors) == (0, "")
    assert "AIM Engine is up: Kubernetes" in printed
    assert printed.endswith("Everything is stopped; the next `aim up` goes on from here.\n")
    assert not [each for each in running if alive(each)]
    assert "is not up" in aim("status", directory=directory).stderr


async def test_a_part_that_dies_is_named_with_its_last_lines_and_all_others_end(directory: Path) -> None:
    process, found = await started(directory)
    running = of(directory)
    operator = next(part for part in found.parts if part.name == "operator")
    os.kill(operator.process, signal.SIGKILL)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert errors.startswith(f"aim: AIM Engine operator was killed by SIGKILL; the last lines of {operator.log}:\n")
    assert not [each for each in running if alive(each)]
    assert "AIM Engine operator was killed by SIGKILL" in aim("status", directory=directory).stderr


async def test_nothing_is_left_when_the_process_above_all_is_killed(directory: Path) -> None:
    process, _ = await started(directory)
    running = of(directory)
    process.kill()
    process.communicate()
    await until(lambda: not any(map(alive, running)), seconds=SECONDS)
    assert not of(directory)


def test_a_start_without_the_operator_leaves_its_kinds_to_whoever_brings_one(directory: Path) -> None:
    started = aim("up", "--detach", *LEAN, "--without", "operator", directory=directory)
    assert (started.returncode, "Everything but the operator is up" in started.stdout) == (0, True), started.stderr
    status = aim("status", directory=directory)
    assert (status.returncode, status.stdout.endswith("\nservices\n  none\n")) == (0, True), status.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("--gpus", "RTX:8"), "which is not known; known are", id="a GPU that AMD does not make"),
        pytest.param(
            ("--images", "/nowhere.yaml"), "Image book /nowhere.yaml can't be read", id="a missing image book"
        ),
    ],
)
def test_what_cannot_work_is_told_before_anything_starts(
    directory: Path, arguments: tuple[str, ...], words: str
) -> None:
    run = aim("up", *arguments, directory=directory)
    assert run.returncode == 1
    assert words in run.stderr
    assert not (directory / "etcd").exists()


@pytest.mark.parametrize("way", [(), ("--detach",)], ids=["in the foreground", "in the background"])
def test_a_port_that_is_taken_is_named(directory: Path, way: tuple[str, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        run = aim("up", "--port", port, *way, directory=directory)
    expected = f"aim: Port {port} is in use on 127.0.0.1; name another one with --port, or none.\n"
    assert (run.returncode, run.stderr) == (1, expected)


def test_a_start_that_fails_before_it_takes_a_running_cluster_over_leaves_that_alone(
    directory: Path, tmp_path: Path
) -> None:
    assert aim("cluster", "start", "--ephemeral", directory=directory).returncode == 0
    programs = control_plane.require(directory).programs
    offline = {"AIM_KUBERNETES_BIN": programs, "UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "uv")}
    nowhere = {"HOME": str(tmp_path), "PATH": str(tmp_path), "PIP_NO_INDEX": "1"}
    run = aim("up", "--no-sample", directory=directory, environment={**offline, **nowhere})
    assert (run.returncode, "cannot be had with Go" in run.stderr) == (1, True), run.stderr
    assert control_plane.find(directory)


def test_a_directory_that_is_no_clusters_is_not_purged(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    run = aim("down", "--purge", directory=tmp_path)
    assert (run.returncode, (tmp_path / "mine").exists()) == (1, True)
    assert "is not the directory of a cluster; nothing is removed" in run.stderr
