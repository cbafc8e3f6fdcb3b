"""A pipeline for a kind of our own making, with a peer in place of the API server that takes writes or refuses them."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from aim_engine.api.artifact import AIMArtifact, DownloadStatus
from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.cli import registries
from aim_engine.controllers.carrying_out import Executor
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.controllers.pipeline import Pipeline, Timings
from aim_engine.core.conditions import Judgement
from aim_engine.core.health import Component
from aim_engine.core.plan import Plan, Target
from aim_engine.core.transitions import Note
from aim_engine.kube.applier import Applier
from aim_engine.kube.client import Client
from aim_engine.kube.connection import Connection
from aim_engine.kube.events import Recorder
from aim_engine.objects import Key
from aim_engine.settings import Settings

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
KEY = Key("team", "weights")
FINALIZER = "example.com/cleanup"


class View(NamedTuple):
    components: tuple[Component, ...]
    notes: tuple[Note, ...] = ()
    config: RuntimeConfigSpec = RuntimeConfigSpec()


class Write(NamedTuple):
    method: str
    path: str
    body: Any

    def __str__(self) -> str:
        return f"{self.method} {'/'.join(self.path.split('/')[-2:])}"


@dataclass
class Peer:
    """Takes every write, counting versions up, unless told to refuse it."""

    refusals: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    """Method and end of a path -> code, reason and message of the answer."""
    writes: list[Write] = field(default_factory=list)
    objects: dict[str, Any] = field(default_factory=dict)
    """By path, so that an answer shows the whole object."""
    version: int = 100

    def refuse(self, method: str, path: str, code: int, reason: str = "", message: str = "") -> None:
        self.refusals[f"{method} {path}"] = (code, reason, message)

    @property
    def told(self) -> list[str]:
        """The writes, Events left out."""
        return [str(write) for write in self.writes if "/events" not in write.path]

    @property
    def events(self) -> list[tuple[str, str, str]]:
        found = [write.body for write in self.writes if write.method == "POST" and write.path.endswith("/events")]
        return [(event["type"], event["reason"], event["message"]) for event in found]

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        content = json.loads(body) if body else {}
        for asked, (code, reason, message) in self.refusals.items():
            method, _, end = asked.partition(" ")
            if request.method == method and request.path.endswith(end):
                status = {"kind": "Status", "code": code, "reason": reason, "message": message}
                return web.json_response(status, status=code)
        self.writes.append(Write(request.method, request.path, content))
        self.version += 1
        path = request.path.removesuffix("/status")
        fresh = {"metadata": {"name": path.rpartition("/")[2], "namespace": "team", "uid": "u"}}
        before = self.objects.get(path, fresh)
        metadata = before["metadata"] | content.get("metadata", {}) | {"resourceVersion": str(self.version)}
        self.objects[path] = before | content | {"metadata": metadata}
        return web.json_response(self.objects[path])


@dataclass
class Clock:
    """Tells the time that a test has set."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Stage:
    """What a test looks at."""

    peer: Peer
    pipeline: Pipeline[Any, Any, Any]
    recorder: Recorder
    clock: Clock

    def put(self, version: int = 1, *, spec: bool = True, **metadata: Any) -> None:
        """Have the store know the object like this."""
        told = {"name": KEY.name, "namespace": KEY.namespace, "uid": "u", "generation": 1, **metadata}
        item: dict[str, Any] = {"metadata": {**told, "resourceVersion": str(version)}}
        if spec:
            item["spec"] = {"sourceUri": "hf://a/b"}
        self.peer.objects[self.pipeline.concept.resource.path(told["namespace"], told["name"])] = item
        self.pipeline.informer.learn(msgspec.Raw(json.dumps(item).encode()))

    async def reconcile(self) -> float | None:
        return await self.pipeline.reconcile(KEY)

    async def events(self) -> list[tuple[str, str, str]]:
        """What users were told so far."""
        async with asyncio.timeout(120):
            await self.recorder.drain()
        return self.peer.events

    def status(self) -> DownloadStatus:
        """The status that was written last."""
        found = self.pipeline.informer.store.get(KEY)
        assert found is not None
        assert found.status is not None
        return found.status


def concept(
    *components: Component, plan: Plan | None = None, observe: Callable[..., View] | None = None, **options: Any
) -> Concept[Any, Any, Any]:
    """A kind whose every pass sees these components and plans this."""

    async def fetch(_: AIMArtifact, __: Cluster) -> None:
        """There is nothing to read."""

    def status(_: AIMArtifact, __: View, judgement: Judgement) -> DownloadStatus:
        return DownloadStatus(status=judgement.status)

    return Concept(
        kind=AIMArtifact,
        controller="artifact",
        fetch=fetch,
        observe=observe or (lambda *_: View(components)),
        plan=lambda *_: plan or Plan(),
        status=status,
        blank=DownloadStatus,
        **options,
    )


def claim(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "team", "name": name},
        "spec": {"accessModes": ["ReadWriteMany"]},
    }


def target(name: str) -> Target:
    return Target(api_version="v1", kind="PersistentVolumeClaim", namespace="team", name=name)


@asynccontextmanager
async def staged(about: Concept[Any, Any, Any], *, crowded: bool = False) -> AsyncGenerator[Stage]:
    """A pipeline on a peer; `crowded` means that other objects wait all the time."""
    peer = Peer()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", peer.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        async with registries.of(Settings()) as registry, Client(Connection(server=f"http://{host}:{port}")) as client:
            executor, recorder = (
                Executor(client, Cluster(client, "aim-system", registry), Applier(client)),
                Recorder(client),
            )
            clock = Clock()
            pipeline = Pipeline(about, executor, recorder, Timings(), clock=clock, crowded=lambda: crowded)
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(recorder.run())
                yield Stage(peer, pipeline, recorder, clock)
                writing.cancel()
    finally:
        await runner.cleanup()
