"""What tests of the runtime on the real API server share."""

from collections.abc import AsyncGenerator

import pytest

from aim_engine.kube.client import Client
from aim_engine.kube.connection import Connection
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.local.control_plane import Cluster


@pytest.fixture
def connection(cluster: Cluster) -> Connection:
    """The way to the API server of this run."""
    return from_kubeconfig([cluster.kubeconfig])


@pytest.fixture
async def client(connection: Connection) -> AsyncGenerator[Client]:
    async with Client(connection) as made:
        yield made
