"""The small kinds that tests of the runtime play with."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from tests.kube.manifests import CONFIG_MAPS

from aim_engine.kube.client import Client
from aim_engine.kube.informer import Informer
from aim_engine.kube.resource import Resource
from aim_engine.kube.selection import Selection
from aim_engine.objects import Key, ObjectMeta, Wire

MAPS = CONFIG_MAPS
TOYS = Resource("toys.example.com", "v1", "toys", "Toy")


class ToySpec(Wire):
    size: int = 0


class Toy(Wire):
    metadata: ObjectMeta
    spec: ToySpec = ToySpec()


def toy(name: str, version: int, size: Any = 0, namespace: str = "team", **metadata: Any) -> dict[str, Any]:
    """A toy as the server sends it; `size` may be nonsense."""
    meta = {"namespace": namespace, "name": name, "resourceVersion": str(version), "uid": f"uid-{name}", **metadata}
    return {"apiVersion": TOYS.api_version, "kind": "Toy", "metadata": meta, "spec": {"size": size}}


def listing(version: int, *items: dict[str, Any], more: str = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version), "continue": more}, "items": list(items)}


def event(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": item}


def bookmark(version: int) -> dict[str, Any]:
    return event("BOOKMARK", {"kind": "Toy", "metadata": {"resourceVersion": str(version)}})


def key(name: str) -> Key:
    return Key("team", name)


async def until(true: Callable[[], bool | Awaitable[bool]], seconds: float = 120.0, every: float = 0.005) -> None:
    """Wait for a condition; a deadline turns waiting in vain into a failure."""
    async with asyncio.timeout(seconds):
        while not (await now if isinstance(now := true(), Awaitable) else now):
            await asyncio.sleep(every)


class ConfigMap(Wire):
    metadata: ObjectMeta
    data: dict[str, str] = msgspec.field(default_factory=dict[str, str])


@asynccontextmanager
async def following(*informers: Informer[Any]) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(informer.run()) for informer in informers]
        for informer in informers:
            await informer.wait_synced()
        yield
        for task in running:
            task.cancel()


def maps_of(client: Client, namespace: str, managers: tuple[str, ...] = ()) -> Informer[ConfigMap]:
    return Informer(client, MAPS, ConfigMap, selection=Selection(namespace), managers=managers)
