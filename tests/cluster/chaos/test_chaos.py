"""Two hundred services come, change and go while the operator is killed again and again, and the API server once.

Everything here runs on a control plane of its own. The operator has an API server of its own on the same data, which
can be killed without the others, and which counts the operator's writes and nobody else's. What users do follows from
a seed; AIM_TESTS_SEED names one, to see a failure again.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from tests import server_counts
from tests.api_server import ApiServer
from tests.cluster.chaos.verdicts import wrong
from tests.cluster.chaos.wishes import PLACES, SERVED, TEMPLATES, Users, aim
from tests.cluster.conftest import BOOK
from tests.cluster.operator.stage import Operator, until
from tests.companion import die_with_parent
from tests.kube.extra_server import ExtraServer

from aim_engine.kube.client import Client
from aim_engine.local import control_plane, foreign_crds
from aim_engine.local.control_plane import Cluster

pytestmark = pytest.mark.xdist_group("chaos")

SERVICES = 200
LIVES = 8
"""How many operators die before the last one is left in peace."""
DEEDS = 50
"""What users do in the life of one operator."""
CONVERGED = 300.0
QUIET = 5.0
OUR_CRDS = Path(__file__).parents[3] / "deploy" / "crds"


@asynccontextmanager
async def stage(directory: Path) -> AsyncGenerator[tuple[Cluster, ExtraServer]]:
    """A control plane, and the API server of the operator."""
    crds = (OUR_CRDS, *await foreign_crds.paths())
    async with (
        control_plane.running(directory / "cluster", crds=crds) as cluster,
        ExtraServer.running(cluster) as extra,
    ):
        yield cluster, extra


@contextmanager
def companions(cluster: Cluster) -> Iterator[None]:
    """A node, and what stands for KServe and a gateway in one namespace."""
    node = [str(Path(sys.executable).with_name("aim")), "node", "--images", str(BOOK)]
    commands = (
        [*node, "--kubeconfig", str(cluster.kubeconfig)],
        [sys.executable, "-m", "tests.serving", str(cluster.kubeconfig), SERVED],
    )
    with cluster.files.log("companions").open("wb") as log:
        running = [
            subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=die_with_parent) for command in commands
        ]
    try:
        yield
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(120)


def leading_to(server: ExtraServer, directory: Path) -> Path:
    """A kubeconfig for that server."""
    path = directory / "kubeconfig"
    path.write_text(server.cluster.kubeconfig.read_text().replace(server.cluster.server, server.connection.server))
    return path


async def written(server: ExtraServer) -> int:
    """How many objects were written through this server; what stays wrong may be told again in an Event at any time."""
    async with Client(server.connection) as client:
        counts = await server_counts.writes(client)
    return sum(number for what, number in counts.items() if not what.endswith(" events"))


async def test_services_end_as_their_users_wish_whatever_dies_meanwhile(tmp_path: Path) -> None:
    seed = int(os.environ.get("AIM_TESTS_SEED") or random.randrange(10**6))
    chance = random.Random(seed)
    async with stage(tmp_path) as (cluster, extra):
        kubeconfig = leading_to(extra, tmp_path)
        users = Users(ApiServer(cluster), chance, SERVICES)
        users.prepare()
        with companions(cluster):
            for life in range(LIVES):
                with Operator(kubeconfig, tmp_path) as operator:
                    operator.wait_ready()
                    if life == 0:
                        wait_for_templates(users)
                    await live(users, operator, extra if life == LIVES // 2 else None)
            while users.made < SERVICES:
                users.create()
            with Operator(kubeconfig, tmp_path) as operator:
                await ends_well(users, extra, seed)
                assert operator.process.poll() is None
                assert "Traceback" not in operator.log.read_text(), f"seed {seed}"


def wait_for_templates(users: Users) -> None:
    for place in PLACES:
        for name in TEMPLATES:
            path = aim(place, "aimservicetemplates", name)
            users.server.wait_until(path, lambda one: one.get("status", {}).get("status") == "Ready")


async def live(users: Users, operator: Operator, fragile: ExtraServer | None) -> None:
    """The life of one operator among its users: it is killed in the midst of their deeds, a `fragile` server before."""
    end = users.chance.randrange(DEEDS // 2, DEEDS)
    for deed in range(DEEDS):
        users.act()
        if deed == end // 2 and fragile:
            await fragile.kill()
        if deed == end:
            if fragile:
                await fragile.start()
            operator.send(signal.SIGKILL)
            operator.wait()


async def ends_well(users: Users, extra: ExtraServer, seed: int) -> None:
    left: list[str] = []

    def is_well() -> bool:
        left[:] = wrong(users, users.server)
        return not left

    try:
        until(is_well, "every wish came true", CONVERGED)
    except AssertionError as failure:
        shown = "\n".join(left[:20])
        raise AssertionError(f"seed {seed}: {len(left)} things are wrong:\n{shown}") from failure
    deadline, before = time.monotonic() + CONVERGED, 0
    while (now := await written(extra)) != before:
        assert time.monotonic() < deadline, f"seed {seed}: the operator does not stop writing"
        before = now
        await asyncio.sleep(QUIET)
    assert before > SERVICES, f"seed {seed}: the writes were not counted"
    assert wrong(users, users.server) == [], f"seed {seed}"
