"""A controller with two children and a status per object, 1,000 objects, against a bare loop with the same writes.

The controller runs in a process of its own, so that its memory and CPU are its own. The floor is a bare loop in a
process of its own too, which makes the same 3 writes per object at concurrency 8, on the same server, in the same run.
"""

import asyncio
import json
import sys
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from tests.bench.measuring import at_once, control_plane
from tests.bench.toy_process import DEFINITION, TOYS, toy

from aim_engine.kube.client import Client
from aim_engine.kube.errors import NotFound
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.kube.resource import Resource
from aim_engine.local.control_plane import Cluster

NUMBER = 1000
REST = 30.0
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)


def run() -> None:
    asyncio.run(_run())


async def _run() -> None:
    async with control_plane() as cluster, Client(from_kubeconfig([cluster.kubeconfig])) as client:
        await _prepare(client)
        floor = await _process(cluster, "floor", "floor")
        first = await _process(cluster, "controller", "toys")
        again = await _process(cluster, "controller", "toys")
        second_floor = await _process(cluster, "floor", "floor-again")
    lowest = min(floor["seconds"], second_floor["seconds"])
    table = Table(f"{NUMBER:,} objects", "floor", "controller", "after a restart")
    table.add_row(
        "until everything is written", f"{lowest:.2f} s", f"{first['seconds']:.2f} s", f"{again['seconds']:.2f} s"
    )
    table.add_row("against the floor", "1", f"{first['seconds'] / lowest:.2f}x", "")
    for name, field, form in (
        ("writes per object", "writes_each", "{:.2f}"),
        ("passes per object", "passes_each", "{:.2f}"),
        ("CPU of the process until then", "cpu", "{:.2f} s"),
        ("memory at the start", "memory_before", "{:.0f} MB"),
        ("memory with everything", "memory", "{:.0f} MB"),
        (f"writes in {REST:.0f} s at rest", "writes_at_rest", "{}"),
        ("CPU at rest", "cpu_at_rest", "{:.2f} %"),
    ):
        row = [form.format(one[field]) if field in one else "" for one in (floor, first, again)]
        table.add_row(name, *row)
    Console(width=110).print(table)


async def _prepare(client: Client) -> None:
    await client.create(DEFINITIONS, DEFINITION)
    for namespace in ("floor", "floor-again", "toys"):
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    async with asyncio.timeout(30):
        while True:
            try:
                await client.list(TOYS)
                break
            except NotFound:
                await asyncio.sleep(0.1)
    for namespace in ("floor", "floor-again", "toys"):
        await at_once(range(NUMBER), lambda number, at=namespace: client.create(TOYS, toy(at, number), msgspec.Raw), 16)


async def _process(cluster: Cluster, role: str, namespace: str) -> dict[str, Any]:
    """Run one role in a process of its own; what it measured."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.toy_process", role, str(cluster.kubeconfig), namespace),
        *(str(NUMBER), str(REST)),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"the {role} of the benchmark ended with code {process.returncode}")
    return json.loads(output.splitlines()[-1])
