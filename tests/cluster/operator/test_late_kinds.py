"""Kinds of KServe and the Gateway API that are installed after the operator are followed without a restart.

Services say what is missing until then, and go on by themselves.
"""

from pathlib import Path
from typing import Any

import pytest
from tests.api_server import ApiServer
from tests.cluster.operator.conftest import run
from tests.cluster.operator.proxy import Proxy
from tests.cluster.operator.stage import GROUP, Operator, until

from aim_engine.local import control_plane, foreign_crds
from aim_engine.local.control_plane import Cluster

LATE = {
    "inferenceservices.serving.kserve.io": "/apis/serving.kserve.io/v1beta1/inferenceservices",
    "httproutes.gateway.networking.k8s.io": "/apis/gateway.networking.k8s.io/v1/httproutes",
}


@pytest.fixture
def service(own_server: ApiServer, own_namespace: str) -> str:
    """A service that wants an InferenceService and a route at once; returns its path."""

    def create(kind: str, name: str, spec: Any, **annotations: str) -> str:
        body = {"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": kind, "spec": spec}
        metadata = {"name": name, "annotations": annotations}
        plural = f"{GROUP}/namespaces/{own_namespace}/{kind.lower()}s"
        own_server.call("POST", plural, {**body, "metadata": metadata})
        return f"{plural}/{name}"

    image = {"image": "registry.local/tiny:1.0"}
    model = create("AIMModel", "tiny", image, **{"aim.eai.amd.com/reconciliation-paused": "true"})
    own_server.call("PUT", f"{model}/status", {**own_server.call("GET", model), "status": {"status": "Ready"}})
    sources = [{"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny", "size": "1Mi"}]
    hardware = {"cpu": {"requests": "100m"}}
    template = {"modelName": "tiny", "modelSources": sources, "type": "optimized", "hardware": hardware}
    create("AIMServiceTemplate", "tiny-cpu", template)
    routing = {"enabled": True, "gatewayRef": {"name": "edge"}}
    return create("AIMService", "chat", {"model": {"name": "tiny"}, "routing": routing})


def told(item: Any, kind: str) -> str:
    conditions = item.get("status", {}).get("conditions", [])
    return next((one["reason"] for one in conditions if one["type"] == kind), "")


def test_kinds_that_appear_later_are_followed(
    own_cluster: Cluster, own_server: ApiServer, service: str, tmp_path: Path
) -> None:
    for path in LATE.values():
        assert own_server.request("GET", path)[0] == 404
    with Proxy(own_cluster) as proxy, Operator(proxy.kubeconfig(tmp_path), tmp_path) as operator:
        operator.wait_ready()
        own_server.wait_until(service, lambda item: told(item, "InferenceServiceReady") == "KServeNotInstalled")
        own_server.wait_until(service, lambda item: told(item, "HTTPRouteReady") == "GatewayAPINotInstalled")
        run(control_plane.install(own_cluster, run(foreign_crds.paths())))
        for kind, path in LATE.items():
            operator.wait_line(msg="kind appeared", resource=kind)
            watch = f"{path}?watch=1"
            until(lambda start=watch: any(one.startswith(start) for one in list(proxy.reads)), f"{kind} is watched")
        own_server.wait_until(service, lambda item: told(item, "InferenceServiceReady") == "CreatingRuntime")
        own_server.wait_until(service, lambda item: told(item, "HTTPRouteReady") == "HTTPRoutePending")
        routes = own_server.call("GET", LATE["httproutes.gateway.networking.k8s.io"])["items"]
        assert [one["spec"]["parentRefs"][0]["name"] for one in routes] == ["edge"]
        until(lambda: operator.ready, "the operator is ready all the time")
