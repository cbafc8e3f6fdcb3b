"""300 and 1,000 services at once over 10 namespaces, with routes and a shared cache that is ready, against a bare loop.

The operator is a process of its own. The floor is the least that has to be written until every InferenceService
exists, by a bare loop at concurrency 8 on the same server in the same run: the service itself, its finalizer, HTTPRoute
and InferenceService. Both times begin with the first creation of a service, which a user does at concurrency 8. KServe
is off then, so that only the operator is measured. After that a small program stands for KServe and the gateway, with
idle pods on `aim node`, until every service is Running. All writes are counted by the API server.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import structlog
from rich.console import Console
from rich.table import Table
from tests import serving
from tests.bench import processes
from tests.bench.measuring import at_once, control_plane
from tests.server_counts import writes

from aim_engine.api.service import AIMService
from aim_engine.api.status import AIMStatus
from aim_engine.controllers.kinds import (
    CLUSTER_MODELS,
    INFERENCE_SERVICES,
    NAMESPACES,
    ROUTES,
    SERVICES,
    TEMPLATE_CACHES,
    TEMPLATES,
)
from aim_engine.kube.client import Client, Selection
from aim_engine.kube.informer import Informer
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.kube.resource import Resource
from aim_engine.kube.selection import PartialObject
from aim_engine.local import foreign_crds
from aim_engine.local.control_plane import Cluster
from aim_engine.objects import Key, Manifest

NUMBERS = (300, 1000)
PLACES = 10
REST = 30.0
DEADLINE = 1800.0
NODES = "MI300X:8x4"
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
PAUSED = {"aim.eai.amd.com/reconciliation-paused": "true"}
SIMULATED = [
    {"name": "AIM_DEBUG_SIMULATE_DOWNLOAD", "value": "1"},
    {"name": "AIM_DEBUG_DOWNLOAD_DURATION", "value": "0"},
    {"name": "AIM_DEBUG_VERIFY_DURATION", "value": "0"},
]
KINDS = {
    "finalizer": "PATCH aimservices",
    "HTTPRoute": "APPLY httproutes",
    "InferenceService": "APPLY inferenceservices",
    "status": "PUT aimservices/status",
}
"""What the operator writes for a service, by how the API server counts it."""


@dataclass(frozen=True)
class Measured:
    """What one number of services took."""

    floors: tuple[float, float]
    """Before and after, because a machine that does other things too is not equally fast all the time."""
    exists: float
    cpu: float
    running: float
    made: Counter[str]
    events: int
    memory_before: float
    memory: float
    at_rest: int
    cpu_at_rest: float
    restarted: int
    cpu_restarted: float


def run() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    for number in NUMBERS:
        measured = asyncio.run(_run(number))
        table = Table(f"{number:,} services at once", "")
        for name, show in rows():
            table.add_row(name, show(number, measured))
        Console(width=110).print(table)


def rows() -> list[tuple[str, Callable[[int, Measured], str]]]:
    """Name of a row -> what it shows."""
    kinds = [
        (f"{name} writes each", lambda number, one, what=what: f"{one.made[what] / number:.2f}")
        for name, what in KINDS.items()
    ]
    return [
        ("floor before, and after", lambda _, one: ", ".join(f"{seconds:.1f} s" for seconds in one.floors)),
        ("until every InferenceService exists", lambda _, one: f"{one.exists:.1f} s"),
        ("against the mean floor", lambda _, one: f"{one.exists / fmean(one.floors):.2f}x"),
        ("CPU of the operator until then", lambda _, one: f"{one.cpu:.1f} s"),
        ("from then until all are Running", lambda _, one: f"{one.running:.1f} s"),
        *kinds,
        ("all of these each", lambda number, one: f"{sum(one.made[what] for what in KINDS.values()) / number:.2f}"),
        ("Events each", lambda number, one: f"{one.events / number:.2f}"),
        ("memory at the start", lambda _, one: f"{one.memory_before:.0f} MB"),
        ("memory with everything", lambda _, one: f"{one.memory:.0f} MB"),
        (f"writes in {REST:.0f} s at rest", lambda _, one: str(one.at_rest)),
        ("CPU at rest", lambda _, one: f"{one.cpu_at_rest:.2f} %"),
        ("writes after a restart", lambda _, one: str(one.restarted)),
        ("CPU of a restart", lambda _, one: f"{one.cpu_restarted:.1f} s"),
    ]


async def _run(number: int) -> Measured:
    async with (
        control_plane(CRDS, *await foreign_crds.paths()) as cluster,
        Client(from_kubeconfig([cluster.kubeconfig])) as client,
        processes.node(cluster, NODES),
    ):
        async with processes.operator(cluster):
            pattern = await _prepare(client)
        return await _measure(cluster, client, number, pattern)


async def _measure(cluster: Cluster, client: Client, number: int, pattern: Manifest) -> Measured:
    floor = await _floor(client, number, pattern)
    made_there = Informer(client, INFERENCE_SERVICES, PartialObject, metadata_only=True)
    services = Informer(client, SERVICES, AIMService)
    async with AsyncExitStack() as stack:
        watching = await stack.enter_async_context(asyncio.TaskGroup())
        followed = [watching.create_task(informer.run()) for informer in (made_there, services)]
        async with processes.operator(cluster) as operator:
            await _quiet(client)
            before, memory_before, cpu = await writes(client), operator.memory, operator.cpu
            started = time.perf_counter()
            await at_once(
                range(number), lambda index: client.create(SERVICES, _service(_place(index), index), msgspec.Raw)
            )
            await _until(lambda: len(made_there.store) == number)
            exists, cpu = time.perf_counter() - started, operator.cpu - cpu
            started = time.perf_counter()
            async with serving.running(client):
                await _until(lambda: sum(map(_is_running, services.store)) == number)
                running = time.perf_counter() - started
                await _quiet(client)
            made = await writes(client)
            resting = operator.cpu
            await asyncio.sleep(REST)
            resting, memory = operator.cpu - resting, operator.memory
            at_rest = await writes(client)
        async with processes.operator(cluster) as operator:
            await asyncio.sleep(REST)
            cpu_restarted = operator.cpu
        restarted = await writes(client)
        for task in followed:
            task.cancel()
    return Measured(
        floors=(floor, await _floor(client, number, pattern)),
        exists=exists,
        cpu=cpu,
        running=running,
        made=made - before,
        events=await _events(client),
        memory_before=memory_before,
        memory=memory,
        at_rest=(at_rest - made).total(),
        cpu_at_rest=resting / REST * 100,
        restarted=(restarted - at_rest).total(),
        cpu_restarted=cpu_restarted,
    )


async def _prepare(client: Client) -> Manifest:
    """Namespaces with a shared cache that is ready; returns what the operator makes of one service, to copy it."""
    model = _object(CLUSTER_MODELS, "", "tiny", {"image": "registry.local/tiny:1.0"}, annotations=PAUSED)
    made = await client.create(CLUSTER_MODELS, model)
    ready = {**made, "status": {"status": "Ready"}}
    await client.replace(CLUSTER_MODELS, ready, msgspec.Raw, subresource="status")
    places = sorted({_place(index) for index in range(PLACES)})
    for place in (*places, "floor"):
        named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}}
        await client.create(NAMESPACES, named)
    sources = [{"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny", "size": "1Mi"}]
    template = {"modelName": "tiny", "modelSources": sources, "hardware": {"cpu": {"requests": "10m"}}}
    for place in places:
        await client.create(TEMPLATES, _object(TEMPLATES, place, "tiny", {**template, "type": "optimized"}))
        cache = {"templateName": "tiny", "mode": "Shared", "env": SIMULATED}
        await client.create(TEMPLATE_CACHES, _object(TEMPLATE_CACHES, place, "tiny", cache))

    async def cached() -> bool:
        caches = (await client.list(TEMPLATE_CACHES)).items
        return len(caches) == PLACES and all(one.get("status", {}).get("status") == "Ready" for one in caches)

    await _until(cached)
    return await _pattern(client, places[0])


async def _pattern(client: Client, place: str) -> Manifest:
    """Route and InferenceService of one service, which goes again."""
    await client.create(SERVICES, _service(place, 0))
    found: dict[str, Manifest] = {}

    async def exists() -> bool:
        for resource in (ROUTES, INFERENCE_SERVICES):
            items = (await client.list(resource, Selection(place))).items
            if items:
                found[resource.kind] = items[0]
        return len(found) == 2

    async def gone() -> bool:
        left = [(await client.list(resource, Selection(place))).items for resource in (SERVICES, INFERENCE_SERVICES)]
        return left == [[], []]

    await _until(exists)
    await client.delete(SERVICES, Key(place, _name(0)))
    await _until(gone)
    return found


async def _floor(client: Client, number: int, pattern: Manifest) -> float:
    """Seconds of the bare loop; what it wrote goes again."""

    async def write(index: int) -> None:
        service = _service("floor", index)
        paused = {**service, "metadata": {**service["metadata"], "annotations": PAUSED}}
        await client.create(SERVICES, paused, msgspec.Raw)
        finalizers = {"metadata": {"finalizers": ["example.com/bench"]}}
        await client.patch(SERVICES, Key("floor", _name(index)), finalizers, msgspec.Raw)
        for resource in (ROUTES, INFERENCE_SERVICES):
            child = _copied(pattern[resource.kind], index)
            await client.apply(resource, child, msgspec.Raw, manager="floor", force=True)

    async def remove(index: int) -> None:
        key = Key("floor", _name(index))
        await client.patch(SERVICES, key, {"metadata": {"finalizers": []}}, msgspec.Raw)
        for resource in (ROUTES, INFERENCE_SERVICES, SERVICES):
            await client.delete(resource, key)

    started = time.perf_counter()
    await at_once(range(number), write)
    seconds = time.perf_counter() - started
    await at_once(range(number), remove)
    return seconds


def _copied(item: Manifest, index: int) -> Manifest:
    """An object like one that was made for a service, for another; not owned, so that nobody collects it."""
    kept = {name: item["metadata"][name] for name in ("labels", "annotations") if name in item["metadata"]}
    metadata = {**kept, "namespace": "floor", "name": _name(index)}
    return {**{name: item[name] for name in ("apiVersion", "kind", "spec")}, "metadata": metadata}


def _place(index: int) -> str:
    return f"place-{index % PLACES}"


def _name(index: int) -> str:
    return f"service-{index:04}"


def _service(namespace: str, index: int) -> Manifest:
    routing = {
        "enabled": True,
        "gatewayRef": {"name": "gateway", "namespace": "gateways"},
        "pathTemplate": "/{.metadata.namespace}/{.metadata.name}",
    }
    spec = {"model": {"name": "tiny"}, "caching": {"mode": "Shared"}, "routing": routing}
    return _object(SERVICES, namespace, _name(index), spec)


def _object(resource: Resource, namespace: str, name: str, spec: Manifest, **metadata: Any) -> Manifest:
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**kind, "metadata": {"namespace": namespace, "name": name, **metadata}, "spec": spec}


def _is_running(service: AIMService) -> bool:
    return service.status is not None and service.status.status is AIMStatus.RUNNING


async def _events(client: Client) -> int:
    """Events that the service controller wrote, repeated ones as often as they were."""
    events = Resource("", "v1", "events", "Event")
    selection = Selection(fields="source=aim-service-controller")
    return sum(one.get("count", 1) for one in (await client.list(events, selection)).items)


async def _quiet(client: Client) -> None:
    """Wait until nothing is written any more."""
    before = await writes(client)
    async with asyncio.timeout(DEADLINE):
        while True:
            await asyncio.sleep(3)
            now = await writes(client)
            if now == before:
                return
            before = now


async def _until(holds: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE):
        while True:
            held = holds()
            if held if isinstance(held, bool) else await held:
                return
            await asyncio.sleep(0.1)
