"""Kinds of KServe and the Gateway API that are installed after the operator are followed without a restart."""

from pathlib import Path

from tests.api_server import ApiServer
from tests.cluster.operator.conftest import run
from tests.cluster.operator.proxy import Proxy
from tests.cluster.operator.stage import Operator, until

from aim_engine.local import control_plane, foreign_crds
from aim_engine.local.control_plane import Cluster

LATE = {
    "inferenceservices.serving.kserve.io": "/apis/serving.kserve.io/v1beta1/inferenceservices",
    "httproutes.gateway.networking.k8s.io": "/apis/gateway.networking.k8s.io/v1/httproutes",
}


def test_kinds_that_appear_later_are_followed(own_cluster: Cluster, own_server: ApiServer, tmp_path: Path) -> None:
    for path in LATE.values():
        assert own_server.request("GET", path)[0] == 404
    with Proxy(own_cluster) as proxy, Operator(proxy.kubeconfig(tmp_path), tmp_path) as operator:
        operator.wait_ready()
        run(control_plane.install(own_cluster, run(foreign_crds.paths())))
        for kind, path in LATE.items():
            operator.wait_line(msg="kind appeared", resource=kind)
            watch = f"{path}?watch=1"
            until(lambda start=watch: any(one.startswith(start) for one in list(proxy.reads)), f"{kind} is watched")
        assert operator.ready
