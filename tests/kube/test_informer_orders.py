"""Whatever happens in whatever order, the store ends up as the server is: writes, cuts, compactions, late answers."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kube.world import TOYS, Toy, bookmark, event, listing, toy, until

from aim_engine.kube.client import Client
from aim_engine.kube.connection import Connection
from aim_engine.kube.informer import Informer
from aim_engine.kube.store import Change
from aim_engine.kube.timings import Timings

FAST = Timings().scaled(0.005)
NAMES = ("a", "b")


@dataclass
class Server:
    """One kind with its history; streams can be cut and the past forgotten."""

    version: int = 1
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    forgotten: int = 0
    cuts: int = 0
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def write(self, name: str, size: Any) -> dict[str, Any]:
        """Create or change an object, or delete it if `size` is None; the answer."""
        async with self.news:
            self.version += 1
            known = name in self.objects
            if size is None:
                gone = self.objects.pop(name, None)
                answer = toy(name, self.version, gone["spec"]["size"] if gone else 0)
                if gone:
                    self.history.append((self.version, event("DELETED", answer)))
            else:
                answer = self.objects[name] = toy(name, self.version, size)
                self.history.append((self.version, event("MODIFIED" if known else "ADDED", answer)))
            self.news.notify_all()
        return answer

    async def cut(self) -> None:
        async with self.news:
            self.cuts += 1
            self.news.notify_all()

    async def forget(self) -> None:
        """What happened so far can't be watched any more; streams that run end."""
        self.forgotten = self.version
        self.history.clear()
        await self.cut()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response(listing(self.version, *self.objects.values()))
        since = int(request.query["resourceVersion"])
        if since < self.forgotten:
            return web.json_response({"code": 410, "reason": "Expired"}, status=410)
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        await self.stream(response, since)
        return response

    async def stream(self, response: web.StreamResponse, since: int) -> None:
        cuts = self.cuts
        while cuts == self.cuts:
            for version, item in [one for one in self.history if one[0] > since]:
                await response.write(json.dumps(item).encode() + b"\n")
                since = version
            async with self.news:
                if cuts == self.cuts and self.version == since:
                    await self.news.wait()
                elif cuts == self.cuts and not any(version > since for version, _ in self.history):
                    await response.write(json.dumps(bookmark(self.version)).encode() + b"\n")
                    since = self.version


@asynccontextmanager
async def serving(server: Server) -> AsyncGenerator[Connection]:
    application = web.Application()
    application.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield Connection(server=f"http://127.0.0.1:{runner.addresses[0][1]}")
    finally:
        await server.cut()
        await runner.cleanup()


WRITES = st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from([1, None, "nonsense"]))
OUR_WRITES = st.tuples(st.sampled_from(["write and learn", "write and learn late"]), st.sampled_from(NAMES), st.just(2))
OTHERS = st.tuples(st.sampled_from(["cut", "forget", "pause", "catch up", "learn"]), st.none(), st.none())
STEPS = st.lists(st.one_of(WRITES, OUR_WRITES, OTHERS), min_size=5, max_size=30)


@given(STEPS)
@settings(max_examples=150, deadline=None)
def test_the_store_ends_up_as_the_server_is(steps: list[tuple[str, str, Any]]):
    asyncio.run(_play(steps))


async def _play(steps: list[tuple[str, str, Any]]) -> None:
    server = Server()
    async with serving(server) as connection, Client(connection, FAST) as client, asyncio.TaskGroup() as group:
        informer = Informer(client, TOYS, Toy)
        told: dict[str, Toy] = {}
        informer.listen(lambda change: _follow(told, change))
        running = group.create_task(informer.run())
        late: list[dict[str, Any]] = []

        def caught_up() -> bool:
            truth = {name: item["spec"]["size"] for name, item in server.objects.items()}
            sound = {name: size for name, size in truth.items() if isinstance(size, int)}
            return sound == {item.metadata.name: item.spec.size for item in informer.store}

        for step, name, size in steps:
            if step.startswith("write"):
                answer = await server.write(name, size)
                if step == "write and learn":
                    informer.learn(msgspec.Raw(json.dumps(answer).encode()))
                if step == "write and learn late":
                    late.append(answer)
            elif step == "cut":
                await server.cut()
            elif step == "forget":
                await server.forget()
            elif step == "learn" and late:
                informer.learn(msgspec.Raw(json.dumps(late.pop(0)).encode()))
            elif step == "pause":
                await asyncio.sleep(0.002)
            elif step == "catch up":
                await until(caught_up)
        for answer in late:
            informer.learn(msgspec.Raw(json.dumps(answer).encode()))
        await until(caught_up)
        assert told == {item.metadata.name: item for item in informer.store}
        running.cancel()


def _follow(told: dict[str, Toy], change: Change[Toy]) -> None:
    """Every change has to start where the one before ended."""
    assert told.get(change.key.name) == change.old
    if change.new is None:
        del told[change.key.name]
    else:
        told[change.key.name] = change.new
