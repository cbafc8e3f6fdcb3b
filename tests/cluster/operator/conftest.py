"""A control plane without an operator: these tests start, freeze and kill operators of their own.

It begins without the kinds of KServe and the Gateway API. All tests here run in one worker, one after the other.
"""

import asyncio
import concurrent.futures
import os
import uuid
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.api_server import ApiServer

from aim_engine.local import control_plane
from aim_engine.local.control_plane import Cluster

T = TypeVar("T")
OUR_CRDS = Path(__file__).parents[3] / "deploy" / "crds"


@pytest.hookimpl(tryfirst=True)  # before xdist makes groups of marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("operator"))


@pytest.fixture(scope="session")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A control plane that only the tests of this folder use."""
    directory = tmp_path_factory.mktemp("own-cluster")
    yield run(control_plane.start(directory, ephemeral=True, crds=(OUR_CRDS,), owner=os.getpid()))
    run(control_plane.stop(directory))


@pytest.fixture(scope="session")
def own_server(own_cluster: Cluster) -> ApiServer:
    """Calls the API server of that control plane as an administrator."""
    return ApiServer(own_cluster)


def fresh_namespace(own_server: ApiServer) -> Iterator[str]:
    """A fresh namespace in that control plane; deleted after the test."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    own_server.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    own_server.wait_for(f"/api/v1/namespaces/{name}/serviceaccounts/default")
    yield name
    own_server.call("DELETE", f"/api/v1/namespaces/{name}")


own_namespace = pytest.fixture(fresh_namespace, name="own_namespace")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run `coroutine` on a loop of its own, away from the loops of the tests."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, coroutine).result()
