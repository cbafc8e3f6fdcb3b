"""A namespace for all tests of the API: they differ in the names of their objects."""

import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.api_server import ApiServer
from tests.cluster.api.objects import Objects

from aim_engine.local.control_plane import Cluster

Kubectl = Callable[..., str]


@pytest.fixture(scope="session")
def objects(api_server: ApiServer) -> Iterator[Objects]:
    name = f"api-{uuid.uuid4().hex[:8]}"
    api_server.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    objects = Objects(api_server, name)
    yield objects
    objects.delete_all()
    api_server.call("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def kubectl(cluster: Cluster, tmp_path: Path) -> Kubectl:
    """The real kubectl, as an administrator; what it prints, or a failed test."""
    return kubectl_of(cluster, tmp_path)


def kubectl_of(cluster: Cluster, cache: Path) -> Kubectl:
    def run(*arguments: str) -> str:
        program = Path(cluster.programs) / "kubectl"
        command = [str(program), "--kubeconfig", str(cluster.kubeconfig), "--cache-dir", str(cache), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    return run
