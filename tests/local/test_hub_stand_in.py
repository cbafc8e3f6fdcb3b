"""What the hub that `aim up` runs lets others ask and tell it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from aim_engine.local.control_plane import Cluster
from aim_engine.local.control_plane.network import Network
from aim_engine.local.stand_ins.hub_faults import Faults, Seen
from aim_engine.local.up.parts import PARTS, Site


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """The address of a hub that was started as `aim up` does it."""
    network = Network(str(tmp_path))
    repository = tmp_path / "hub" / "demo" / "tiny"
    repository.mkdir(parents=True)
    (repository / "config.json").write_text("{}")
    cluster = Cluster(
        directory=str(tmp_path), server="", network=str(network.block), programs="", version="v1", ephemeral=True
    )
    site = Site(cluster, gpus=(), images=(), port=0, without=frozenset())
    part = next(part for part in PARTS if part.name == "hub")
    with subprocess.Popen(part.arguments(site), stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert site.hub
        try:
            process.stdout.readline()
            yield site.hub
        finally:
            process.terminate()
    network.close()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/api/models/demo/tiny", 200, id="it answers what it is there for"),
        pytest.param("PUT", "/-/faults", 404, id="nobody can have it fail"),
        pytest.param("GET", "/-/requests", 404, id="nobody can ask what others asked"),
    ],
)
async def test_a_pod_cannot_reach_what_is_there_for_tests(hub: str, method: str, path: str, status: int) -> None:
    async with aiohttp.ClientSession() as session, session.request(method, f"{hub}{path}", json=[]) as answer:
        assert answer.status == status


def test_only_the_last_requests_are_remembered() -> None:
    faults = Faults()
    for number in range(20_000):
        faults.seen.append(Seen("GET", str(number), "http"))
    assert len(faults.seen) < 20_000
    assert faults.seen[-1].path == "19999"
