"""What stories of services share: a namespace of their own, a hub with weights, and a registry with an AIM image."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.api_server import ApiServer
from tests.cluster.services.serving import Serving
from tests.cluster.services.stage import Stage
from tests.conftest import run
from tests.downloader import stage as hubs
from tests.registry import servers
from tests.registry.pushing import Pusher

from aim_engine.local import binaries

PROFILE = {"gpuModel": "MI300X", "gpuCount": 1, "precision": "fp8", "metric": "latency", "profileId": "p-1"}


@pytest.fixture
def serving(api_server: ApiServer, namespace: str, tmp_path: Path) -> Iterator[Serving]:
    """A namespace with a model, and a hub with its weights."""
    with hubs.hub(tmp_path / "hub") as hub:
        made = Serving(api_server, namespace, hub)
        made.model()
        yield made


@pytest.fixture
def stage(api_server: ApiServer, namespace: str) -> Stage:
    """A namespace, and services whose weights are there at once."""
    return Stage(api_server, namespace)


@pytest.fixture(scope="session")
def aim_image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An image in a real registry that says by which profile it serves, and serves."""
    program = run(binaries.find("registry"))
    with servers.registry(program, tmp_path_factory.mktemp("aims") / "registry") as host:
        run(push(host))
        yield f"{host}/aims/tiny:1.0.0"


async def push(host: str) -> None:
    described = {
        "com.amd.aim.model.canonicalName": "acme/tiny-chat",
        "com.amd.aim.model.recommendedDeployments": json.dumps([PROFILE]),
    }
    async with Pusher(f"http://{host}") as pusher:
        await pusher.image("aims/tiny", "1.0.0", described)
