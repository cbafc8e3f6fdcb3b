"""The CRDs of KServe, the Gateway API and KEDA, as their Go modules have them."""

from pathlib import Path

import pytest
from tests.api_server import ApiServer

from aim_engine.local import foreign_crds
from aim_engine.local.binaries.sources import Sources, cache_directory
from aim_engine.local.errors import LocalError


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        pytest.param("serving.kserve.io/v1beta1", {"InferenceService"}, id="KServe's services"),
        pytest.param("serving.kserve.io/v1alpha1", {"ServingRuntime", "ClusterServingRuntime"}, id="KServe's runtimes"),
        pytest.param("gateway.networking.k8s.io/v1", {"Gateway", "GatewayClass", "HTTPRoute"}, id="the Gateway API"),
        pytest.param("keda.sh/v1alpha1", {"ScaledObject", "TriggerAuthentication"}, id="KEDA"),
    ],
)
def test_the_cluster_of_the_tests_serves(api_server: ApiServer, version: str, kinds: set[str]) -> None:
    served = {resource["kind"] for resource in api_server.call("GET", f"/apis/{version}")["resources"]}
    assert kinds <= served


async def test_what_was_fetched_once_needs_neither_go_nor_a_network() -> None:
    first = await foreign_crds.paths()
    cache = str(cache_directory().parent)
    assert await foreign_crds.paths(Sources.from_environment({"XDG_CACHE_HOME": cache, "PATH": ""})) == first
    assert len(first) == len({path.name for path in first}) >= 15


async def test_without_go_and_network_one_sentence_says_what_is_missing(tmp_path: Path) -> None:
    offline = {"XDG_CACHE_HOME": str(tmp_path), "PATH": "", "UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "uv")}
    with pytest.raises(LocalError, match=r"The CRDs of KServe, the Gateway API and KEDA .*: no go is on PATH, and"):
        await foreign_crds.paths(Sources.from_environment({**offline, "PIP_NO_INDEX": "1"}))
