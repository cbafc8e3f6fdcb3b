"""300 AIMArtifacts at once, from their creation until all are Ready, on a real control plane: the operator's writes.

There is no node. The benchmark itself ends every download pod well, and offers a volume for every claim, so that what
is measured is the operator and not the transport of bytes.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import structlog
from rich.console import Console
from rich.table import Table
from tests.bench.measuring import at_once, control_plane

from aim_engine.cli import registries
from aim_engine.controllers import assembly, pipeline
from aim_engine.kube.client import Client, Selection
from aim_engine.kube.errors import NotFound
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.kube.metrics import Metrics
from aim_engine.kube.resource import PODS, Resource
from aim_engine.kube.runtime import Runtime
from aim_engine.kube.transport import Call, Observer
from aim_engine.objects import Manifest
from aim_engine.settings import Settings

NUMBER = 300
REST = 15.0
DEADLINE = 300.0
NAMESPACE = "default"
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
ARTIFACTS = Resource("aim.eai.amd.com", "v1alpha1", "aimartifacts", "AIMArtifact")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
SUCCEEDED = {"status": {"phase": "Succeeded"}}


class Writes(Observer):
    """Counts what the operator writes, by what it is."""

    def __init__(self) -> None:
        self.of: Counter[str] = Counter()

    def called(self, call: Call, code: int, seconds: float) -> None:  # noqa: ARG002
        if call.method not in ("GET", "HEAD"):
            subresource = "status of " if call.path.endswith("/status") else ""
            self.of[f"{subresource}{call.resource}"] += 1


def run() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    asyncio.run(_run())


async def _run() -> None:
    writes = Writes()
    async with control_plane(CRDS) as cluster:
        connection = from_kubeconfig([cluster.kubeconfig])
        async with Client(connection) as client, Client(connection, observer=writes) as operator:
            await _prepare(client)
            async with _operator(operator):
                started = time.perf_counter()
                await at_once(range(NUMBER), lambda number: client.create(ARTIFACTS, artifact(number), msgspec.Raw))
                await _until(lambda: _finish(client))
                seconds = time.perf_counter() - started
                await _until(lambda: _is_quiet(writes))
                made = writes.of.copy()
                await asyncio.sleep(REST)
                at_rest = writes.of.total() - made.total()
    table = Table(f"{NUMBER} artifacts", "writes", "each")
    for name, count in made.most_common():
        table.add_row(name, str(count), f"{count / NUMBER:.2f}")
    table.add_row("all but events", str(total := made.total() - made["events"]), f"{total / NUMBER:.2f}")
    table.add_row(f"at rest, {REST:.0f} s", str(at_rest), "")
    table.add_row("until all are Ready", f"{seconds:.0f} s", "")
    Console(width=100).print(table)


@asynccontextmanager
async def _operator(client: Client) -> AsyncGenerator[None]:
    """The operator, in this process, while a block runs."""
    registry = registries.of(Settings())
    parts = assembly.assemble(client, registry, "aim-system", "bench", Metrics(), pipeline.Timings())
    runtime = Runtime(informers=parts.cluster.informers, controllers=parts.controllers, recorder=parts.recorder)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(runtime.run(stop))
        yield
        stop.set()


def artifact(number: int) -> Manifest:
    name = f"weights-{number:03}"
    spec = {"sourceUri": f"hf://acme/{name}", "size": "100Mi", "storageClassName": "bench"}
    kind = {"apiVersion": ARTIFACTS.api_version, "kind": ARTIFACTS.kind}
    return {**kind, "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def volume(number: int) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"volume-{number:03}"},
        "spec": {
            "storageClassName": "bench",
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "hostPath": {"path": "/tmp"},
        },
    }


async def _prepare(client: Client) -> None:
    async def installed() -> bool:
        try:
            await client.list(ARTIFACTS)
        except NotFound:
            return False
        return True

    await _until(installed)
    await at_once(range(NUMBER), lambda number: client.create(VOLUMES, volume(number), msgspec.Raw))


async def _finish(client: Client) -> bool:
    """End the pods that are there; whether every artifact is Ready."""
    pods = (await client.list(PODS, Selection(NAMESPACE))).items
    waiting = [PODS.key(pod) for pod in pods if pod["status"].get("phase") == "Pending"]
    await at_once(waiting, lambda key: client.patch(PODS, key, SUCCEEDED, msgspec.Raw, subresource="status"))
    found = (await client.list(ARTIFACTS, Selection(NAMESPACE))).items
    return sum(one.get("status", {}).get("status") == "Ready" for one in found) == NUMBER


async def _is_quiet(writes: Writes) -> bool:
    before = writes.of.total()
    await asyncio.sleep(1)
    return writes.of.total() == before


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not await holds():
            await asyncio.sleep(0.2)
