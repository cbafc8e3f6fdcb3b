"""Real registries with real images, and the words in which the stories of the catalogue are told."""

import asyncio
import concurrent.futures
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.api_server import ApiServer
from tests.cluster.catalogue.words import Catalogue
from tests.registry import servers
from tests.registry.pushing import Pusher

from aim_engine.local import binaries

LATENCY = {"gpuModel": "MI300X", "gpuCount": 1, "precision": "fp8", "metric": "latency", "profileId": "p-1"}
ELSEWHERE = {"gpuModel": "MI355X", "gpuCount": 8, "precision": "fp8", "metric": "throughput"}


@pytest.fixture(scope="session")
def program() -> Path:
    """The registry's executable."""
    return run(binaries.find("registry"))


@pytest.fixture(scope="session")
def open_registry(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A registry for everyone, with the images of the stories; host:port."""
    with servers.registry(program, tmp_path_factory.mktemp("open") / "registry") as host:
        run(fill(host, {}))
        yield host


@pytest.fixture(scope="session")
def locked_registry(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same for one user only."""
    directory = tmp_path_factory.mktemp("locked")
    passwords = directory / "htpasswd"
    passwords.write_text(servers.HTPASSWD)
    auth = {"htpasswd": {"realm": "test", "path": str(passwords)}}
    with servers.registry(program, directory / "registry", auth=auth) as host:
        run(fill(host, {"Authorization": servers.BASIC}))
        yield host


@pytest.fixture(scope="session")
def distrusted_registry(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One whose certificate nobody knows."""
    directory = tmp_path_factory.mktemp("distrusted")
    authority = servers.Authority(directory / "authority")
    tls = {"certificate": str(authority.certificate_file), "key": str(authority.key_file)}
    with servers.registry(program, directory / "registry", http={"tls": tls}) as host:
        yield host


@pytest.fixture
def catalogue(api_server: ApiServer, namespace: str, operator: Path) -> Iterator[Catalogue]:
    """Models, templates and sources of one test; the cluster-scoped ones are gone after it."""
    assert operator
    api_server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "aim-system"}})
    api_server.wait_for("/api/v1/namespaces/aim-system/serviceaccounts/default")
    stage = Catalogue(api_server, namespace)
    yield stage
    stage.clear()


async def fill(host: str, headers: Mapping[str, str]) -> None:
    async with Pusher(f"http://{host}", headers=headers) as push:
        both = json.dumps([LATENCY, ELSEWHERE])
        named = {"com.amd.aim.model.canonicalName": "acme/tiny-chat"}
        recommended = "com.amd.aim.model.recommendedDeployments"
        await push.image("catalogue/tiny", "1.0.0", {**named, recommended: both})
        await push.image("catalogue/tiny", "2.0.0", {**named, recommended: json.dumps([LATENCY])})
        await push.image("catalogue/base", "1.0.0", {})
        await push.image("catalogue/malformed", "1.0.0", {recommended: "[{"})
        for name in ("garbage", "broken"):
            await push.image(f"catalogue/{name}", "1.0.0", {recommended: json.dumps([LATENCY])})


def run(coroutine: Any) -> Any:
    """Run a coroutine on a loop of its own, away from the loops of the tests."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, coroutine).result()
