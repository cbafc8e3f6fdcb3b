"""A scripted HTTP peer: stands where the API server would and misbehaves as told."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aiohttp import web

from aim_engine.kube.connection import Connection

Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
"""How one request is answered."""


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def watches(self) -> bool:
        return "watch" in self.query


@dataclass
class Peer:
    """Takes the answers of its script in order; the last one stays."""

    script: deque[Answer]
    seen: list[Seen] = field(default_factory=list)
    connection: Connection = field(default_factory=lambda: Connection(server="http://unused"))

    def connected(self, **options: Any) -> Connection:
        """A way to the peer with other credentials."""
        return Connection(server=self.connection.server, **options)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.seen.append(Seen(request.method, request.path, dict(request.query), dict(request.headers), body))
        return await (self.script.popleft() if len(self.script) > 1 else self.script[0])(request)


def says(body: Any, code: int = 200, **headers: str) -> Answer:
    """A JSON body; header names are written with underscores."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=code, headers={n.replace("_", "-"): v for n, v in headers.items()})

    return answer


def refuses(code: int, reason: str = "", message: str = "", **headers: str) -> Answer:
    """A Status, as the API server sends it."""
    return says({"kind": "Status", "code": code, "reason": reason, "message": message}, code, **headers)


def waits(seconds: float, then: Answer) -> Answer:
    """A slow answer."""

    async def answer(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await then(request)

    return answer


async def hangs_up(request: web.Request) -> web.StreamResponse:
    """The connection is reset before any answer."""
    assert request.transport
    request.transport.abort()
    await asyncio.sleep(3600)
    raise AssertionError


def streams(*events: Any, then: str = "ends") -> Answer:
    """A watch: its events, then it `ends`, is `cut` in the middle of a line, `half-closed` there, or stays `silent`."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for event in events:
            await response.write(event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n")
        assert request.transport
        if then in ("cut", "half-closed"):
            await response.write(b'{"type":"MODIFIED","object":{"metad')
        if then == "cut":
            request.transport.abort()
        if then == "half-closed":
            request.transport.write_eof()
        if then in ("silent", "half-closed"):
            await asyncio.sleep(3600)
        return response

    return answer


@asynccontextmanager
async def peer(*script: Answer) -> AsyncGenerator[Peer]:
    """A peer with a script, listening."""
    made = Peer(deque(script))
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        made.connection = Connection(server=f"http://{host}:{port}", token="secret")
        yield made
    finally:
        await runner.cleanup()
