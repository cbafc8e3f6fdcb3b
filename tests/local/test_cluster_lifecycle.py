"""Starting and ending a control plane: what lasts, what ends with whom, and what is said when something dies."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.api_server import ApiServer
from tests.kube.world import until
from tests.local.census import alive, children, supervisor

from aim_engine.local import control_plane
from aim_engine.local.control_plane import Cluster
from aim_engine.local.control_plane.network import Network
from aim_engine.local.errors import LocalError

PROGRAMS = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
async def directory(tmp_path: Path) -> AsyncGenerator[Path]:
    """A directory whose cluster is stopped after the test, whatever the test did."""
    place = tmp_path / "cluster"
    yield place
    await control_plane.stop(place)


def aim(*arguments: str, directory: Path, code: int = 0) -> str:
    """Run the command `aim` as a user does; return what it prints."""
    command = [Path(sys.executable).with_name("aim"), *arguments]
    environment = {**os.environ, "AIM_CLUSTER_DIRECTORY": str(directory)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == code, run
    return (run.stderr if code else run.stdout).strip()


def authority(kubeconfig: Path) -> str:
    """Whom a kubeconfig trusts."""
    return next(line for line in kubeconfig.read_text().splitlines() if "certificate-authority-data" in line)


def test_state_lasts_from_stop_to_start_and_that_of_an_ephemeral_cluster_does_not(directory: Path) -> None:
    assert "is running at https://127." in aim("cluster", "start", directory=directory)
    kubeconfig = aim("cluster", "kubeconfig", directory=directory)
    trusted = authority(Path(kubeconfig))
    aim("kubectl", "create", "configmap", "kept", directory=directory)
    assert "was already running" in aim("cluster", "start", directory=directory)

    assert aim("cluster", "stop", directory=directory) == f"The cluster in {directory} is stopped."
    assert "No cluster is running" in aim("cluster", "status", directory=directory, code=1)
    assert "No cluster is running" in aim("kubectl", "get", "configmaps", directory=directory, code=1)
    assert aim("cluster", "stop", directory=directory) == f"No cluster was running in {directory}."

    aim("cluster", "start", "--ephemeral", directory=directory)
    assert "ephemeral" in aim("cluster", "status", directory=directory)
    assert "kept" not in aim("kubectl", "get", "configmaps", directory=directory)
    aim("cluster", "stop", directory=directory)

    aim("cluster", "start", directory=directory)
    assert "kept" in aim("kubectl", "get", "configmaps", directory=directory)
    assert authority(Path(kubeconfig)) == trusted


async def test_two_clusters_run_side_by_side(cluster: Cluster, api_server: ApiServer, directory: Path) -> None:
    async with control_plane.running(directory) as second:
        assert second.network != cluster.network
        ApiServer(second).call("POST", MAPS, {"metadata": {"name": "only-in-the-second"}})
        assert api_server.request("GET", f"{MAPS}/only-in-the-second")[0] == 404
        with pytest.raises(LocalError, match=f"A cluster is running in {directory} already"):
            async with control_plane.running(directory):
                pass
        living = [supervisor(second), *children(supervisor(second))]
    await until(lambda: not any(map(alive, living)))
    await until(lambda: not control_plane.find(directory))


async def test_two_starts_at_once_give_one_cluster(directory: Path) -> None:
    async with asyncio.TaskGroup() as group:
        starts = [group.create_task(control_plane.start(directory, ephemeral=True)) for _ in range(2)]
    assert starts[0].result() == starts[1].result()


async def test_nothing_is_left_when_the_owner_is_killed(directory: Path) -> None:
    program = (
        "import asyncio, pathlib, sys\n"
        "from aim_engine.local import control_plane\n"
        "async def main():\n"
        "    async with control_plane.running(pathlib.Path(sys.argv[1])):\n"
        "        print('ready', flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(directory), stdout=asyncio.subprocess.PIPE
    )
    assert owner.stdout
    assert await owner.stdout.readline() == b"ready\n"
    above = supervisor(control_plane.require(directory))
    below = children(above)
    assert set(below.values()) == PROGRAMS
    owner.kill()
    await owner.wait()
    await until(lambda: not any(map(alive, [above, *below])))


async def test_nothing_is_left_when_a_start_is_given_up(directory: Path) -> None:
    start = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("aim"), "cluster", "start", "--ephemeral", "--directory", str(directory)
    )
    lock = directory / "running.lock"
    await until(lambda: lock.exists() and lock.read_text() != "")
    above = int(lock.read_text())
    start.kill()
    await start.wait()
    await until(lambda: not alive(above))
    await until(lambda: not control_plane.find(directory))


async def test_nothing_is_left_when_the_supervisor_is_killed(directory: Path) -> None:
    cluster = await control_plane.start(directory, ephemeral=True)
    above = supervisor(cluster)
    below = children(above)
    assert set(below.values()) == PROGRAMS
    os.kill(above, signal.SIGKILL)
    await until(lambda: not any(map(alive, [above, *below])))
    await until(lambda: not control_plane.find(directory))


async def test_a_cluster_that_is_told_twice_to_end_ends_in_good_order_all_the_same(directory: Path) -> None:
    cluster = await control_plane.start(directory)
    above = supervisor(cluster)
    below = children(above)
    youngest = next(pid for pid, program in below.items() if program == "kube-controller-manager")
    os.kill(above, signal.SIGTERM)
    await until(lambda: not alive(youngest))  # the first to go, so the others are being ended now
    with contextlib.suppress(ProcessLookupError):
        os.kill(above, signal.SIGTERM)
    await until(lambda: not any(map(alive, [above, *below])))
    assert "stopped insecure grpc server" in cluster.files.log("etcd").read_text(), "the eldest, which ends last"


async def test_a_program_that_dies_is_reported_with_its_last_lines(directory: Path) -> None:
    cluster = await control_plane.start(directory, ephemeral=True)
    below = children(supervisor(cluster))
    scheduler = next(pid for pid, program in below.items() if program == "kube-scheduler")
    os.kill(scheduler, signal.SIGKILL)
    await until(lambda: not any(map(alive, below)))
    await until(lambda: not control_plane.find(directory))

    log = directory / "logs" / "kube-scheduler.log"
    last = log.read_text().splitlines()[-1]
    for command in (["cluster", "status"], ["kubectl", "get", "namespaces"]):
        said = aim(*command, directory=directory, code=1)
        assert "kube-scheduler was killed by SIGKILL" in said
        assert f"the last lines of {log}" in said
        assert said.endswith(last)


async def test_a_program_that_dies_ends_the_block_with_the_report(directory: Path) -> None:
    with pytest.raises(LocalError, match=r"etcd was killed by SIGKILL; the last lines of .*etcd\.log"):
        async with control_plane.running(directory) as cluster:
            below = children(supervisor(cluster))
            os.kill(next(pid for pid, program in below.items() if program == "etcd"), signal.SIGKILL)
            await until(lambda: not control_plane.find(directory))


def test_a_port_that_is_taken_is_named(directory: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = aim("cluster", "start", "--port", str(port), directory=directory, code=1)
    assert f"Port {port} is in use on 127." in said


async def test_crds_that_the_api_server_refuses_are_named(directory: Path, tmp_path: Path) -> None:
    file = tmp_path / "crd.yaml"
    file.write_text("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.y}\n")
    with pytest.raises(LocalError, match=rf"The API server refuses {file}: .*spec\.group: Required value"):
        await control_plane.start(directory, ephemeral=True, crds=[file])
    await until(lambda: not control_plane.find(directory))


def test_a_network_is_given_to_one_cluster_at_a_time() -> None:
    first, second = Network("one and the same"), Network("one and the same")
    assert first.block != second.block
    block = first.block
    first.close()
    third = Network("one and the same")
    assert third.block == block
    second.close()
    third.close()
