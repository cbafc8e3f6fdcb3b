"""Where everything is as it should be, nothing is written: not at rest, and not after a restart."""

from pathlib import Path
from typing import Any

from tests.api_server import ApiServer
from tests.cluster.operator.proxy import Proxy
from tests.cluster.operator.stage import Operator, artifact, condition, config, create, is_seen, plural, remains, until

from aim_engine.local.control_plane import Cluster

QUIET, WHILE = 3.0, 3.0
"""Seconds without a write after which all is taken to be done, and for which it is watched then."""


def waits_for_a_node(item: Any) -> bool:
    return condition(item, "DownloadJobPodsReady").get("reason") == "FailedScheduling"


def test_nothing_is_written_at_rest_and_after_a_restart(
    own_cluster: Cluster, own_server: ApiServer, own_namespace: str, tmp_path: Path
) -> None:
    objects = [config("team"), *(artifact(f"weights-{number}") for number in range(5))]
    with Proxy(own_cluster) as proxy:
        kubeconfig = proxy.kubeconfig(tmp_path)
        with Operator(kubeconfig, tmp_path) as operator:
            operator.wait_ready()
            create(own_server, own_namespace, *objects)
            jobs = f"/apis/batch/v1/namespaces/{own_namespace}/jobs"
            own_server.wait_until(jobs, lambda found: len(found["items"]) == 5)
            for one in objects:
                path = f"{plural(own_namespace, one['kind'])}/{one['metadata']['name']}"
                own_server.wait_until(path, is_seen)
            for one in objects[1:]:
                path = f"{plural(own_namespace, one['kind'])}/{one['metadata']['name']}"
                own_server.wait_until(path, waits_for_a_node)
            until(lambda: proxy.quiet(own_namespace) > QUIET, "the operator comes to rest")
            made = proxy.writes_in(own_namespace)
            remains(lambda: proxy.writes_in(own_namespace) == made, "the operator writes nothing at rest", WHILE)
        with Operator(kubeconfig, tmp_path) as operator:
            operator.wait_ready()
            remains(lambda: proxy.writes_in(own_namespace) == made, "nothing is written after a restart", WHILE)
