"""The real control plane that every test of one run shares, and a namespace of its own for each test.

The process that runs pytest owns the cluster: the first test that asks for it has it started, in whichever xdist
worker that is, and it ends with the owner, also if that is killed. A cluster that cannot start fails every test that
needs it.
"""

import asyncio
import concurrent.futures
import contextlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
import pytest
from tests.api_server import ApiServer

from aim_engine.local import foreign_crds, locks
from aim_engine.local.control_plane import Cluster, find, start, stop
from aim_engine.local.errors import LocalError

hypothesis.settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], derandomize=True
)
hypothesis.settings.register_profile(
    "search", hypothesis.settings.get_profile("busy machine"), derandomize=False, max_examples=5_000
)
hypothesis.settings.load_profile("busy machine")

DIRECTORY, OWNER = "AIM_TESTS_DIRECTORY", "AIM_TESTS_OWNER"
DENIED = "a role lacks a right"
"""What the operator logs when the API server denies it something."""
T = TypeVar("T")


def pytest_configure(config: pytest.Config) -> None:
    asyncio.set_event_loop(None)  # else looptime makes one for the first test without a loop, and nobody closes it
    if not _is_worker(config):
        os.environ[DIRECTORY] = tempfile.mkdtemp(prefix="aim-tests-")
        os.environ[OWNER] = str(os.getpid())


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run when tests that must not meet each other would: a pytest that xdist does not know breaks groups."""
    if not getattr(session.config.option, "loadgroup", False):
        return
    for item in session.items:
        if item.get_closest_marker("xdist_group") and "@" not in item.nodeid.rpartition("]")[2]:
            raise pytest.UsageError(f"pytest-xdist did not put {item.nodeid} into its group: check pytest's version")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run whose operator was denied something: it runs with the rights that an installation gives it."""
    log = Path(os.environ[DIRECTORY]) / "operator.log"
    if _is_worker(session.config) or not log.exists():
        return
    denied = [line for line in log.read_text().splitlines() if DENIED in line]
    if denied:
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        assert isinstance(reporter, pytest.TerminalReporter)
        reporter.ensure_newline()
        reporter.section("the operator's role in deploy/helm lacks rights", red=True)
        reporter.write("\n".join(denied) + "\n")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    if not _is_worker(config):
        directory = Path(os.environ[DIRECTORY])
        run(stop(directory / "cluster"))
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """The control plane of this run, with our CRDs and those of KServe, the Gateway API and KEDA."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():  # the first run has to build
        return run(_shared(Path(os.environ[DIRECTORY]), int(os.environ[OWNER])))


@pytest.fixture(scope="session")
def api_server(cluster: Cluster) -> ApiServer:
    """Calls the API server of this run as an administrator, synchronously and without any code of ours."""
    return ApiServer(cluster)


@pytest.fixture
def namespace(api_server: ApiServer) -> Iterator[str]:
    """A fresh namespace, ready for pods; deleted after the test."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    api_server.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    api_server.wait_for(f"/api/v1/namespaces/{name}/serviceaccounts/default")
    yield name
    api_server.call("DELETE", f"/api/v1/namespaces/{name}")


async def _shared(directory: Path, owner: int) -> Cluster:
    failure = directory / "failure"
    async with locks.awaited(directory / "lock"):
        if failure.exists():
            raise LocalError(failure.read_text())
        if running := find(directory / "cluster"):
            return running
        try:
            crds = (Path(__file__).parents[1] / "deploy" / "crds", *await foreign_crds.paths())
            return await start(directory / "cluster", ephemeral=True, crds=crds, owner=owner)
        except LocalError as reason:
            failure.write_text(str(reason))
            raise


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run `coroutine` on a loop of its own, away from the loops of the tests."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, coroutine).result()


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")
