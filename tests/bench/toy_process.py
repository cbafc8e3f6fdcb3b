"""One process of the benchmark `toy`: the controller, or the bare loop that is its floor.

python -m tests.bench.toy_process controller|floor KUBECONFIG NAMESPACE NUMBER REST
"""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from tests.bench.measuring import at_once, resident

from aim_engine.kube.applier import Applier
from aim_engine.kube.client import Client
from aim_engine.kube.controller import Controller, Wake, owners
from aim_engine.kube.events import Recorder
from aim_engine.kube.informer import Informer
from aim_engine.kube.kubeconfig import from_kubeconfig
from aim_engine.kube.metrics import Metrics
from aim_engine.kube.resource import Resource
from aim_engine.kube.runtime import Runtime
from aim_engine.kube.selection import PartialObject, Selection
from aim_engine.objects import Key, Manifest, ObjectMeta, Wire

TOYS = Resource("bench.example.com", "v1", "toys", "Toy")
MAPS = Resource("", "v1", "configmaps", "ConfigMap")
MANAGER = "toy-controller"
WRITES = ("create", "apply", "patch", "update", "delete")
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}, "seen": {"type": "integer"}}},
    },
}
DEFINITION: Manifest = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"toys.{TOYS.group}"},
    "spec": {
        "group": TOYS.group,
        "scope": "Namespaced",
        "names": {"plural": "toys", "singular": "toy", "kind": "Toy"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": SCHEMA},
            }
        ],
    },
}


class ToySpec(Wire):
    size: int = 0


class ToyStatus(Wire):
    ready: bool = False
    seen: int = 0


class Toy(Wire):
    metadata: ObjectMeta
    spec: ToySpec = ToySpec()
    status: ToyStatus = ToyStatus()


def toy(namespace: str, number: int) -> Manifest:
    metadata = {"namespace": namespace, "name": f"toy-{number}"}
    return {"apiVersion": TOYS.api_version, "kind": "Toy", "metadata": metadata, "spec": {"size": number}}


def child(parent: Toy, part: str) -> Manifest:
    owner = {"apiVersion": TOYS.api_version, "kind": "Toy", "name": parent.metadata.name, "uid": parent.metadata.uid}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": parent.metadata.namespace,
            "name": f"{parent.metadata.name}-{part}",
            "labels": {"app.kubernetes.io/managed-by": MANAGER},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "data": {f"key-{index}": f"{part} {index} of size {parent.spec.size}" for index in range(20)},
    }


def status(parent: Toy) -> Manifest:
    metadata = {"namespace": parent.metadata.namespace, "name": parent.metadata.name}
    told = {"ready": True, "seen": parent.spec.size}
    return {"apiVersion": TOYS.api_version, "kind": "Toy", "metadata": metadata, "status": told}


async def write_status(client: Client, parent: Toy) -> msgspec.Raw:
    return await client.apply(TOYS, status(parent), msgspec.Raw, manager=MANAGER, subresource="status")


async def floor(client: Client, namespace: str) -> dict[str, Any]:
    """The same writes, by a bare loop."""
    toys = (await client.list(TOYS, Selection(namespace), Toy)).items

    async def write(parent: Toy) -> None:
        for part in ("left", "right"):
            await client.apply(MAPS, child(parent, part), msgspec.Raw, manager=MANAGER)
        await write_status(client, parent)

    begin, cpu = time.perf_counter(), time.process_time()
    await at_once(toys, write)
    return {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu, "writes_each": 3}


class ToyOperator:
    """Two children and a status for every toy."""

    def __init__(self, client: Client, namespace: str, metrics: Metrics) -> None:
        self.client = client
        self.toys = Informer(client, TOYS, Toy, selection=Selection(namespace))
        ours = Selection(namespace, labels=f"app.kubernetes.io/managed-by={MANAGER}")
        self.maps = Informer(client, MAPS, PartialObject, selection=ours, managers=(MANAGER,))
        self.applier = Applier(client)
        self.passes = 0
        self.ready: set[Key] = set()
        wakes = [Wake(self.maps, owners(TOYS))]
        self.controller = Controller("toy", self.toys, self.reconcile, wakes=wakes, metrics=metrics)

    async def reconcile(self, key: Key) -> None:
        self.passes += 1
        parent = self.toys.store.get(key)
        if parent is None:
            return
        for part in ("left", "right"):
            await self.applier.apply(self.maps, child(parent, part), manager=MANAGER)
        if parent.status != ToyStatus(ready=True, seen=parent.spec.size):
            self.toys.learn(await write_status(self.client, parent))
        self.ready.add(key)


async def controller(client: Client, namespace: str, number: int, rest: float, metrics: Metrics) -> dict[str, Any]:
    operator = ToyOperator(client, namespace, metrics)
    runtime = Runtime(
        informers=[operator.toys, operator.maps], controllers=[operator.controller], recorder=Recorder(client)
    )
    stop = asyncio.Event()
    before = resident()
    async with asyncio.TaskGroup() as group:
        begin, cpu = time.perf_counter(), time.process_time()
        group.create_task(runtime.run(stop))
        await _until(lambda: len(operator.ready) == number and operator.controller.queue.idle)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        written = writes(metrics)
        await asyncio.sleep(2)  # events of the last writes
        passes = operator.passes
        gc.collect()
        at_rest, resting = writes(metrics), time.process_time()
        await asyncio.sleep(rest)
        resting = time.process_time() - resting
        stop.set()
    return {
        "seconds": seconds,
        "cpu": cpu,
        "writes_each": written / number,
        "passes_each": passes / number,
        "memory_before": before,
        "memory": resident(),
        "writes_at_rest": int(writes(metrics) - at_rest),
        "cpu_at_rest": resting / rest * 100,
    }


async def _until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.01)


def writes(metrics: Metrics) -> float:
    samples = [sample for family in metrics.calls.collect() for sample in family.samples]
    return sum(s.value for s in samples if s.name.endswith("_total") and s.labels["verb"] in WRITES)


async def main(role: str, kubeconfig: str, namespace: str, number: str, rest: str) -> None:
    connection = from_kubeconfig([Path(kubeconfig)])
    metrics = Metrics(connection.server)
    async with Client(connection, observer=metrics) as client:
        if role == "floor":
            measured = await floor(client, namespace)
        else:
            measured = await controller(client, namespace, int(number), float(rest), metrics)
    print(json.dumps(measured))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
