"""What is said when the API server does not do what the administrator of a local cluster asks."""

from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web
from tests.kube.peer import Answer, hangs_up, peer, refuses, says

from aim_engine.local import control_plane
from aim_engine.local.control_plane import Cluster
from aim_engine.local.control_plane.certificates import Authority
from aim_engine.local.errors import LocalError
from aim_engine.local.kserve import running as kserve

NOTHING = says({"items": None})
CRD = """
metadata: {name: toys.example.com}
spec: {group: example.com, names: {plural: toys}, versions: [{name: v1, served: true}]}
"""


async def says_no_json(_: web.Request) -> web.StreamResponse:
    """As something between us and the API server would."""
    return web.Response(status=502, text="bad gateway")


@pytest.fixture
def reached(tmp_path: Path) -> Callable[[str], Cluster]:
    """A cluster whose administrator has a certificate, by the address of its API server."""

    def made(server: str) -> Cluster:
        cluster = Cluster(
            directory=str(tmp_path), server=server, network="127.9.0.0/16", programs="", version="v1", ephemeral=True
        )
        cluster.keys.mkdir()
        Authority(cluster.keys).client("admin", "administrator")
        return cluster

    return made


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param([refuses(403, message="not you")], "does not tell its CRDs: not you", id="it shows no CRDs"),
        pytest.param([says_no_json], "does not tell its CRDs: HTTP status 502", id="another one answers"),
        pytest.param([hangs_up], "The API server does not answer: ", id="it hangs up"),
        pytest.param(
            [NOTHING, refuses(422, message="no group")], r"refuses .*toys\.yaml: no group", id="it refuses a CRD"
        ),
        pytest.param([NOTHING, says_no_json], r"refuses .*toys\.yaml: HTTP status 502", id="another one refuses a CRD"),
        pytest.param(
            [NOTHING, says({}), hangs_up], "The API server does not answer: ", id="it ends before all is known"
        ),
    ],
)
async def test_crds_that_cannot_be_installed_are_one_sentence(
    reached: Callable[[str], Cluster], tmp_path: Path, script: list[Answer], said: str
) -> None:
    file = tmp_path / "toys.yaml"
    file.write_text(CRD)
    async with peer(*script) as server:
        with pytest.raises(LocalError, match=said):
            await control_plane.install(reached(server.connection.server), [file])


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        pytest.param(says({}, 201), True, id="it takes it"),
        pytest.param(refuses(500, message="no endpoint"), False, id="a webhook does not answer yet"),
        pytest.param(hangs_up, False, id="it hangs up"),
    ],
)
async def test_a_trial_says_whether_inference_services_are_accepted(
    reached: Callable[[str], Cluster], answer: Answer, taken: bool
) -> None:
    async with peer(answer) as server:
        assert await kserve.accepts(reached(server.connection.server)) is taken
