"""500 models of 50 images with 4 templates each, from creation to Ready, against a bare loop with the same writes.

The weights are given by hand, so that no discovery has to run; the images, each an index of platforms, are read from a
real registry, whose access log tells what was read. The operator is a process of its own. When all is done, the API
server itself counts what is still written.

The floor makes the least that has to be written, at concurrency 8 on the same server: every model and template as they
are in the end, and one status for each of them. The operator also writes Events, and a second status of each model.
"""

import asyncio
import contextlib
import os
import re
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table
from tests.bench.measuring import at_once
from tests.cluster.conftest import free_port
from tests.registry import servers
from tests.registry.pushing import Pusher

from aim_engine.controllers.kinds import MODELS, NAMESPACES, TEMPLATES
from aim_engine.kube.client import Client, Selection
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.kube.resource import Resource
from aim_engine.local import binaries
from aim_engine.local.control_plane import Cluster, running
from aim_engine.objects import Manifest

NUMBER = 500
IMAGES, EACH = 50, 4
REST = 15.0
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
DEADLINE = 900.0

READS = {
    "tag manifest": r"manifests/1\.0\.0",
    "platform manifest": r"manifests/sha256:\w+",
    "config blob": r"blobs/\S+",
}
"""What there is to read of an image -> how its address ends."""

SAMPLE = re.compile(r"^(\w+)\{([^}]*)\} (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')
WRITING = {"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}


class Measured(NamedTuple):
    """What the operator took."""

    seconds: float
    processor: float
    """Seconds of it on the processor."""
    status_writes: float
    applies: float
    events: float
    passes: Counter[str]
    memory_before: float
    memory: float
    at_rest: float
    """Writes that the API server saw when nothing happened any more."""


def run() -> None:
    asyncio.run(_run())


async def _run() -> None:
    program = await binaries.find("registry")
    with tempfile.TemporaryDirectory(prefix="aim-bench-") as folder:
        directory = Path(folder)
        log = {"level": "info", "formatter": "text", "accesslog": {"disabled": False}}
        with servers.registry(program, directory / "registry", log=log) as host:
            await _push(host)
            async with (
                running(directory / "cluster", crds=(CRDS,)) as cluster,
                Client(from_kubeconfig([cluster.kubeconfig])) as client,
            ):
                for namespace in ("floor", "bench", "aim-system"):
                    await client.create(NAMESPACES, _object("v1", "Namespace", {"name": namespace}))
                measured = await _operator(cluster, client, host, directory)
                floor = await _floor(client)
            reads = _reads(directory)
    _print(floor, measured, reads)


async def _push(host: str) -> None:
    async with Pusher(f"http://{host}") as pusher:
        for number in range(IMAGES):
            name = f"bench/aim-{number}"
            image = await pusher.image(name, labels={"number": str(number)})
            await pusher.index(name, "1.0.0", [({"os": "linux", "architecture": "amd64"}, image)])


def _reads(directory: Path) -> dict[str, int]:
    """How often each part of an image was read from the registry."""
    text = (directory / "registry" / "log").read_text()
    return {what: len(re.findall(rf'"GET /v2/bench/[^/]+/{end} [^"]*" 200', text)) for what, end in READS.items()}


def _object(api_version: str, kind: str, metadata: Manifest, **content: Any) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def _model(host: str, number: int, namespace: str) -> Manifest:
    templates = [
        {"name": f"model-{number}-{index}", "hardware": {"cpu": {"requests": str(index + 1)}}} for index in range(EACH)
    ]
    spec = {
        "image": f"{host}/bench/aim-{number % IMAGES}:1.0.0",
        "modelSources": [{"modelId": "acme/tiny", "sourceUri": "hf://acme/tiny", "size": "1Gi"}],
        "customTemplates": templates,
    }
    metadata = {"name": f"model-{number}", "namespace": namespace}
    return _object(MODELS.api_version, MODELS.kind, metadata, spec=spec)


async def _floor(client: Client) -> float:
    """Seconds for the least that had to be written: the objects as the operator left them, in another namespace."""
    models = (await client.list(MODELS, Selection("bench"))).items
    templates: dict[str, list[Manifest]] = {}
    for template in (await client.list(TEMPLATES, Selection("bench"))).items:
        templates.setdefault(template["spec"]["modelName"], []).append(template)

    async def write(model: Manifest) -> None:
        made = await client.create(MODELS, _copy(MODELS, model))
        for template in templates[model["metadata"]["name"]]:
            owner = {**template["metadata"]["ownerReferences"][0], "uid": made["metadata"]["uid"]}
            wanted = _copy(TEMPLATES, template, labels=template["metadata"]["labels"], ownerReferences=[owner])
            answer = await client.apply(TEMPLATES, wanted, manager="floor")
            await _report(client, TEMPLATES, answer, template)
        await _report(client, MODELS, made, model)

    started = time.perf_counter()
    await at_once(models, write, 8)
    return time.perf_counter() - started


def _copy(resource: Resource, item: Manifest, **metadata: Any) -> Manifest:
    named = {"name": item["metadata"]["name"], "namespace": "floor", **metadata}
    return _object(resource.api_version, resource.kind, named, spec=item["spec"])


async def _report(client: Client, resource: Resource, item: Manifest, like: Manifest) -> None:
    await client.replace(resource, {**item, "status": like["status"]}, msgspec.Raw, subresource="status")


async def _operator(cluster: Cluster, client: Client, host: str, directory: Path) -> Measured:
    """What the operator takes from the creation of the models until all are Ready, and what it writes after that."""
    port = free_port()
    async with _process(cluster, port, directory) as process:
        before = await _samples(port)
        memory, processor = _memory(process.pid), _processor(process.pid)
        started = time.perf_counter()
        await at_once(
            range(NUMBER), lambda number: client.create(MODELS, _model(host, number, "bench"), msgspec.Raw), 8
        )
        async with asyncio.timeout(DEADLINE):
            while not await _all_ready(client):
                await asyncio.sleep(0.5)
        seconds = time.perf_counter() - started
        processor = _processor(process.pid) - processor
        after = await _samples(port)
        at_rest = await _at_rest(client)
        done = after - before
        return Measured(
            seconds=seconds,
            processor=processor,
            status_writes=_calls(done, "update", "aim.eai.amd.com"),
            applies=_calls(done, "apply", "aim.eai.amd.com"),
            events=_calls(await _samples(port) - before, "create", "events"),
            passes=_passes(done),
            memory_before=memory,
            memory=_memory(process.pid),
            at_rest=at_rest,
        )


@contextlib.asynccontextmanager
async def _process(cluster: Cluster, port: int, directory: Path) -> AsyncGenerator[asyncio.subprocess.Process]:
    with (directory / "operator.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(str(Path(sys.executable).with_name("aim")), "operator", "--kubeconfig", str(cluster.kubeconfig)),
            *(f"--metrics-bind-address=127.0.0.1:{port}", "--metrics-secure=false", "--health-probe-bind-address=0"),
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.terminate()
        await process.wait()


async def _samples(port: int) -> Counter[str]:
    """The operator's metrics, as soon as it tells them."""
    async with asyncio.timeout(60):
        while True:
            try:
                return _counted(await asyncio.to_thread(_scrape, port))
            except OSError:
                await asyncio.sleep(0.1)


def _scrape(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


def _counted(text: str) -> Counter[str]:
    return Counter({f"{name}{{{labels}}}": float(value) for name, labels, value in SAMPLE.findall(text)})


def _labels(sample: str) -> dict[str, str]:
    return dict(LABEL.findall(sample))


def _calls(samples: Counter[str], verb: str, resource: str) -> float:
    """How often the operator called the API server so; `resource` is the end of its name."""
    calls = [(sample, count) for sample, count in samples.items() if sample.startswith("kube_api_calls_total")]
    wanted = [count for sample, count in calls if _labels(sample)["verb"] == verb and resource in sample]
    return sum(wanted)


def _passes(samples: Counter[str]) -> Counter[str]:
    passes: Counter[str] = Counter()
    for sample, count in samples.items():
        if sample.startswith("controller_runtime_reconcile_total"):
            passes[_labels(sample)["controller"]] += int(count)
    return passes


async def _at_rest(client: Client) -> float:
    """Writes of our kinds and of Events in a while, as the API server counts them, once the last Event is written."""
    async with asyncio.timeout(DEADLINE):
        before = await _written(client)
        while True:
            await asyncio.sleep(2.0)
            now = await _written(client)
            if now == before:
                break
            before = now
    await asyncio.sleep(REST)
    return await _written(client) - before


async def _written(client: Client) -> float:
    samples = _counted((await client.read("/metrics")).decode())
    return sum(
        count
        for sample, count in samples.items()
        if sample.startswith("apiserver_request_total{")
        and (labels := _labels(sample))["verb"] in WRITING
        and (labels["group"] == "aim.eai.amd.com" or labels["resource"] == "events")
    )


async def _all_ready(client: Client) -> bool:
    models = (await client.list(MODELS, Selection("bench"))).items
    return len(models) == NUMBER and all(one.get("status", {}).get("status") == "Ready" for one in models)


def _memory(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found, "this system does not tell the memory of a process"
    return int(found[1]) / 1024


def _processor(pid: int) -> float:
    """Seconds that a process has spent on the processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _print(floor: float, measured: Measured, reads: dict[str, int]) -> None:
    objects = NUMBER * (1 + EACH)
    table = Table(f"{NUMBER} models of {IMAGES} images, {NUMBER * EACH:,} templates", "")
    table.add_row("floor: the least that has to be written", f"{floor:.1f} s")
    table.add_row("from creation to Ready", f"{measured.seconds:.1f} s")
    table.add_row("against the floor", f"{measured.seconds / floor:.2f}x")
    table.add_row("of it the operator's processor time", f"{measured.processor:.1f} s")
    table.add_row("status writes per object", f"{measured.status_writes / objects:.2f}")
    table.add_row("applies per template", f"{measured.applies / (NUMBER * EACH):.2f}")
    table.add_row("Events per object", f"{measured.events / objects:.2f}")
    table.add_row("passes per model", f"{measured.passes['model'] / NUMBER:.2f}")
    table.add_row("passes per template", f"{measured.passes['service-template'] / (NUMBER * EACH):.2f}")
    for what, count in reads.items():
        table.add_row(f"reads of a {what} per image", f"{count / IMAGES:.2f}")
    table.add_row("memory at the start", f"{measured.memory_before:.0f} MB")
    table.add_row("memory with everything", f"{measured.memory:.0f} MB")
    table.add_row(f"writes in {REST:.0f} s at rest", f"{measured.at_rest:.0f}")
    Console(width=110).print(table)
