"""The API server is killed and restarted while objects pour in; the operator says so, stays, and converges."""

import asyncio
import threading
from pathlib import Path

from tests.api_server import ApiServer
from tests.cluster.operator.proxy import Proxy
from tests.cluster.operator.stage import Operator, artifact, create, is_seen, plural, until
from tests.kube.extra_server import ExtraServer

from aim_engine.local.control_plane import Cluster

OBJECTS = 30


async def test_a_restart_of_the_api_server_under_load_is_survived(
    own_cluster: Cluster, own_server: ApiServer, own_namespace: str, tmp_path: Path
) -> None:
    async with ExtraServer.running(own_cluster) as extra:
        with (
            Proxy(own_cluster, server=extra.connection.server) as proxy,
            Operator(proxy.kubeconfig(tmp_path), tmp_path) as operator,
        ):
            await asyncio.to_thread(operator.wait_ready)
            half = threading.Event()
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.to_thread(pour, own_server, own_namespace, half))
                await asyncio.to_thread(half.wait, 60)
                await extra.kill()
                await asyncio.to_thread(until, lambda: not operator.ready, "the operator is not ready")
                assert operator.process.poll() is None
            await extra.start()
            await asyncio.to_thread(until, lambda: operator.ready, "the operator is ready again")
            await asyncio.to_thread(converged, own_server, own_namespace)
            assert operator.process.poll() is None
            assert "Traceback" not in operator.log.read_text()


def pour(server: ApiServer, namespace: str, half: threading.Event) -> None:
    for number in range(OBJECTS):
        create(server, namespace, artifact(f"weights-{number}"))
        if number == OBJECTS // 2:
            half.set()


def converged(server: ApiServer, namespace: str) -> None:
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    server.wait_until(jobs, lambda found: len(found["items"]) >= OBJECTS)
    path = plural(namespace, "AIMArtifact")
    server.wait_until(path, lambda found: all(map(is_seen, found["items"])))
    owners = [one["metadata"]["ownerReferences"][0]["name"] for one in server.call("GET", jobs)["items"]]
    assert sorted(owners) == sorted(f"weights-{number}" for number in range(OBJECTS)), "one Job each"
