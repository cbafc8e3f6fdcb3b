"""500 models of 50 images with 4 templates each, from creation to Ready, against a bare loop with the same writes.

The weights are given by hand, so that no discovery has to run; the images are read from a real registry. The operator
is a process of its own. The floor makes the least that has to be written, at concurrency 8 on the same server: every
template, and one status for every template and model.
"""

import asyncio
import contextlib
import re
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

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
from aim_engine.local import binaries
from aim_engine.local.control_plane import Cluster, running
from aim_engine.objects import Manifest

NUMBER = 500
IMAGES, EACH = 50, 4
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
DEADLINE = 900.0


def run() -> None:
    asyncio.run(_run())


async def _run() -> None:
    program = await binaries.find("registry")
    with tempfile.TemporaryDirectory(prefix="aim-bench-") as folder:
        directory = Path(folder)
        log = {"level": "info", "formatter": "text", "accesslog": {"disabled": False}}
        with servers.registry(program, directory / "registry", log=log) as host:
            await _push(host)
            pushed = _requests(directory)
            async with (
                running(directory / "cluster", crds=(CRDS,)) as cluster,
                Client(from_kubeconfig([cluster.kubeconfig])) as client,
            ):
                for namespace in ("floor", "bench", "aim-system"):
                    await client.create(NAMESPACES, _object("v1", "Namespace", {"name": namespace}))
                floor = await _floor(client, host)
                measured = await _operator(cluster, client, host, directory)
            asked = _requests(directory) - pushed
    _print(floor, measured, asked)


async def _push(host: str) -> None:
    async with Pusher(f"http://{host}") as pusher:
        for number in range(IMAGES):
            await pusher.image(f"bench/aim-{number}", "1.0.0", {"number": str(number)})


def _requests(directory: Path) -> int:
    """Manifests and blobs that were read from the registry so far."""
    text = (directory / "registry" / "log").read_text()
    return len(re.findall(r'"GET /v2/[^"]*/(?:manifests|blobs)/[^"]*" 200', text))


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


async def _floor(client: Client, host: str) -> float:
    """Seconds for the least that has to be written; what was written goes again."""
    await at_once(range(NUMBER), lambda number: client.create(MODELS, _model(host, number, "floor"), msgspec.Raw), 8)

    async def write(number: int) -> None:
        for index in range(EACH):
            metadata = {"name": f"model-{number}-{index}", "namespace": "floor"}
            spec = {"modelName": f"model-{number}", "hardware": {"cpu": {"requests": "1"}}}
            template = _object(TEMPLATES.api_version, TEMPLATES.kind, metadata, spec=spec)
            made = await client.apply(TEMPLATES, template, manager="floor")
            done = {**made, "status": {"status": "Ready"}}
            await client.replace(TEMPLATES, done, msgspec.Raw, subresource="status")
        change = {"status": {"status": "Ready"}}
        key = MODELS.key(_model(host, number, "floor"))
        await client.patch(MODELS, key, change, msgspec.Raw, subresource="status")

    started = time.perf_counter()
    await at_once(range(NUMBER), write, 8)
    seconds = time.perf_counter() - started
    for resource in (TEMPLATES, MODELS):
        items = (await client.list(resource, Selection("floor"))).items
        await at_once(items, lambda item, of=resource: client.delete(of, of.key(item)), 8)
    return seconds


async def _operator(cluster: Cluster, client: Client, host: str, directory: Path) -> dict[str, float]:
    """What the operator takes from the creation of the models until all are Ready."""
    port = free_port()
    async with _process(cluster, port, directory) as process:
        before = await _ready(port)
        memory_before = _memory(process.pid)
        started = time.perf_counter()
        await at_once(
            range(NUMBER), lambda number: client.create(MODELS, _model(host, number, "bench"), msgspec.Raw), 8
        )
        async with asyncio.timeout(DEADLINE):
            while not await _all_ready(client):
                await asyncio.sleep(0.2)
        seconds = time.perf_counter() - started
        after = await _ready(port)
        return {
            "seconds": seconds,
            "status": after["update"] - before["update"],
            "applies": after["apply"] - before["apply"],
            "memory_before": memory_before,
            "memory": _memory(process.pid),
        }


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


async def _ready(port: int) -> dict[str, float]:
    """Writes of our kinds by verb, as soon as the operator tells."""
    async with asyncio.timeout(60):
        while True:
            try:
                text = await asyncio.to_thread(_scrape, port)
                break
            except OSError:
                await asyncio.sleep(0.1)
    counts = {"update": 0.0, "apply": 0.0}
    for line in text.splitlines():
        if line.startswith("kube_api_calls_total{") and "aim.eai.amd.com" in line:
            verb = re.search(r'verb="(\w+)"', line)
            if verb and verb[1] in counts:
                counts[verb[1]] += float(line.rpartition(" ")[2])
    return counts


def _scrape(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


async def _all_ready(client: Client) -> bool:
    models = (await client.list(MODELS, Selection("bench"))).items
    return len(models) == NUMBER and all(one.get("status", {}).get("status") == "Ready" for one in models)


def _memory(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found, "this system does not tell the memory of a process"
    return int(found[1]) / 1024


def _print(floor: float, measured: dict[str, float], asked: int) -> None:
    objects = NUMBER * (1 + EACH)
    table = Table(f"{NUMBER} models of {IMAGES} images, {NUMBER * EACH:,} templates", "")
    table.add_row("floor: the least that has to be written", f"{floor:.1f} s")
    table.add_row("from creation to Ready", f"{measured['seconds']:.1f} s")
    table.add_row("against the floor", f"{measured['seconds'] / floor:.2f}x")
    table.add_row("status writes per object", f"{measured['status'] / objects:.2f}")
    table.add_row("applies per template", f"{measured['applies'] / (NUMBER * EACH):.2f}")
    table.add_row("registry reads per image (3 at most)", f"{asked / IMAGES:.2f}")
    table.add_row("memory at the start", f"{measured['memory_before']:.0f} MB")
    table.add_row("memory with everything", f"{measured['memory']:.0f} MB")
    Console(width=110).print(table)
