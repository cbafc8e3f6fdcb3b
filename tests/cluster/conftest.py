"""The operator and a node agent as processes beside the control plane of the run; all tests of the run share them."""

import fcntl
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import own_disks
from tests.api_server import ApiServer
from tests.cluster.weights import Weights
from tests.conftest import DIRECTORY, OWNER, run
from tests.internet import Internet

from aim_engine.local.control_plane import Cluster
from aim_engine.local.installation import prepare

DEADLINE = 300.0
BOOK = Path(__file__).parent / "images" / "book.yaml"


COMPANIONS: list[subprocess.Popen[bytes]] = []
"""Kept, because a Popen that is forgotten complains that its process still runs."""


@pytest.fixture(scope="session")
def installation(cluster: Cluster) -> Path:
    """The account and the roles of an installation; returns the kubeconfig with which a process is the operator."""
    directory = Path(os.environ[DIRECTORY])
    file = directory / "operator.kubeconfig"
    with (directory / "installation.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            run(prepare(cluster, file))
    return file


@pytest.fixture(scope="session")
def internet() -> Internet:
    """What the operator of this run finds outside: Docker Hub and GitHub, and nothing else."""
    directory = Path(os.environ[DIRECTORY])
    command = [sys.executable, "-m", "tests.internet", str(directory)]
    companion("internet", command, (directory / "internet.json").exists)
    return Internet.at(directory)


@pytest.fixture(scope="session")
def operator(installation: Path, internet: Internet) -> Path:
    """The operator on the cluster of this run, with the rights an installation gives it, ready; returns its log.

    A right that it lacks fails the run, see tests/conftest.py.
    """
    port = free_port()
    outside = [f"HTTPS_PROXY={internet.proxy}", "NO_PROXY=127.0.0.1"]
    registries = [f"AIM_REGISTRY_CA_FILE={internet.ca_file}", f"AIM_REGISTRY_MIRRORS={internet.mirror}"]
    program = ["env", *outside, *registries, sys.executable, "-m", "tests.fast_operator"]
    command = [*program, f"--health-probe-bind-address=127.0.0.1:{port}"]
    rights = ["--kubeconfig", str(installation)]
    return companion("operator", [*command, *rights], lambda: answers(f"http://127.0.0.1:{port}/readyz"))


@pytest.fixture(scope="session")
def node(cluster: Cluster) -> Path:
    """A node with eight MI300X that runs the images of the test book; returns the agent's log."""
    program = [*aim("node", "--images", str(BOOK), "--gpus", "MI300X:8"), *kubeconfig(cluster)]
    command = [sys.executable, "-m", "tests.own_disks", str(node_pid()), "--", *program]
    return companion("node", command, lambda: node_pid().exists() and node_pid().read_text() != "")


@pytest.fixture(scope="session")
def kserve(cluster: Cluster) -> Path:
    """The real KServe controller on the cluster of this run, ready; returns the log of its program."""
    return companion("kserve", [*aim("kserve"), *kubeconfig(cluster)], says("kserve", "is ready"))


@pytest.fixture(scope="session")
def gateway(cluster: Cluster) -> str:
    """The gateway stand-in, which serves Gateways of the class `aim-local`; returns its address."""
    command = aim("gateway", "--port", "0", *kubeconfig(cluster))
    log = companion("gateway", command, says("gateway", "is ready at"))
    return re.findall(r"is ready at (\S+)", log.read_text())[0]


@pytest.fixture(scope="session")
def autoscaler(cluster: Cluster) -> Path:
    """The autoscaler stand-in, which follows ScaledObjects as KEDA does; returns the log of its program."""
    command = aim("autoscaler", "--interval", "0.5", *kubeconfig(cluster))
    return companion("autoscaler", command, says("autoscaler", "is ready"))


@pytest.fixture(scope="session")
def status_updaters(installation: Path) -> None:
    """The roles by which download pods report their progress, as an installation brings them."""
    assert installation.exists()


@pytest.fixture
def small_disk(node: Path, cluster: Cluster) -> Callable[[str, int], Path]:  # noqa: ARG001
    """Gives the volume of a claim, by its UID, a disk of so many bytes before it is made; returns what others see."""

    def give(claim: str, size: int) -> Path:
        place = Path(cluster.directory, "volumes", f"pvc-{claim}")
        place.mkdir(parents=True)
        return own_disks.give_disk(int(node_pid().read_text()), place, size)

    return give


@pytest.fixture
def weights(api_server: ApiServer, namespace: str) -> Weights:
    """Download objects and template caches of a namespace of their own."""
    return Weights(api_server, namespace)


def node_pid() -> Path:
    """The file with the process id of the node agent."""
    return Path(os.environ[DIRECTORY], "node.pid")


def aim(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("aim")), *arguments]


def says(name: str, words: str) -> Callable[[], bool]:
    """Whether the companion of this name has said these words."""
    log = Path(os.environ[DIRECTORY]) / f"{name}.log"
    return lambda: words in log.read_text()


def kubeconfig(cluster: Cluster) -> tuple[str, str]:
    return "--kubeconfig", str(Path(cluster.directory) / "kubeconfig")


def companion(name: str, command: list[str], is_ready: Callable[[], bool]) -> Path:
    """Start a program once for all workers of the run; return its log when it is ready."""
    directory = Path(os.environ[DIRECTORY])
    log, marker = directory / f"{name}.log", directory / f"{name}.started"
    with (directory / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not marker.exists():
            start(log, command, is_ready)
            marker.touch()
    return log


def start(log: Path, command: list[str], is_ready: Callable[[], bool]) -> subprocess.Popen[bytes]:
    """Start a program that ends with the run; return the process above it when it is ready."""
    with log.open("wb") as output:
        guarded = [sys.executable, "-m", "tests.companion", os.environ[OWNER], "--", *command]
        process = subprocess.Popen(guarded, stdout=output, stderr=output, start_new_session=True)
    COMPANIONS.append(process)
    deadline = time.monotonic() + DEADLINE
    while not is_ready():
        assert process.poll() is None, f"{command} ended: {log.read_text()[-2000:]}"
        assert time.monotonic() < deadline, f"{command} is not ready: {log.read_text()[-2000:]}"
        time.sleep(0.05)
    return process


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
