"""HTTP peers of the tests: a gate that counts what reaches a real registry, and scripted servers for all else."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import aiohttp
from aiohttp import web

Respond: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
HOP_BY_HOP = {"connection", "content-length", "host", "transfer-encoding"}


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    form: Mapping[str, str]

    @property
    def kind(self) -> str:
        """What of the distribution API it asks for: manifests, blobs, tags, _catalog, or / for the way in."""
        parts = self.path.removeprefix("/v2/").split("/")
        return parts[-2] if len(parts) > 2 else parts[0] or "/"


@dataclass
class Peer:
    """A listening server and what it has seen."""

    host: str = ""
    seen: list[Seen] = field(default_factory=list)

    def kinds(self) -> list[str]:
        """The kinds of all requests but the way in, sorted."""
        return sorted(seen.kind for seen in self.seen if seen.kind != "/")

    def paths(self) -> list[str]:
        return [seen.path for seen in self.seen]


@contextlib.asynccontextmanager
async def serving(respond: Respond, trust: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    """A server that answers every request so."""
    peer = Peer()

    async def noted(request: web.Request) -> web.StreamResponse:
        form = await request.post()
        texts = {name: str(value) for name, value in form.items()}
        peer.seen.append(Seen(request.method, request.path, dict(request.query), dict(request.headers), texts))
        return await respond(request)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", noted)
    runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=trust).start()
        host, port = runner.addresses[0][:2]
        peer.host = f"{host}:{port}"
        yield peer
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def gate(
    registry: str, *, before: Callable[[web.Request], Respond | None] = lambda _: None, change: bytes | None = None
) -> AsyncIterator[Peer]:
    """A server in front of a real registry; `before` may answer in its place, `change` is added to every blob."""
    async with aiohttp.ClientSession(f"http://{registry}", auto_decompress=False) as session:

        async def forward(request: web.Request) -> web.StreamResponse:
            other = before(request)
            if other is not None:
                return await other(request)
            headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
            async with session.get(request.rel_url, headers=headers, allow_redirects=False) as response:
                body = await response.read() + (change or b"" if "/blobs/" in request.path else b"")
                kept = [(name, text) for name, text in response.headers.items() if name.lower() not in HOP_BY_HOP]
                return web.Response(status=response.status, headers=kept, body=body)

        async with serving(forward) as peer:
            yield peer


def says(body: Any, status: int = 200, **headers: str) -> Respond:
    """A JSON body; header names are written with underscores."""

    async def respond(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return web.json_response(body, status=status, headers=named)

    return respond


def sends(content: bytes, status: int = 200, **headers: str) -> Respond:
    """Any bytes."""

    async def respond(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return web.Response(body=content, status=status, headers=named)

    return respond


async def hangs_up(request: web.Request) -> web.StreamResponse:
    """The connection is reset before any answer."""
    assert request.transport
    request.transport.abort()
    return web.Response()


async def breaks_off(request: web.Request) -> web.StreamResponse:
    """The connection ends in the middle of the body."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"results": [')
    assert request.transport
    request.transport.abort()
    return response


async def stays_silent(request: web.Request) -> web.StreamResponse:
    """Nothing comes until the client goes away."""
    while request.transport and not request.transport.is_closing():
        await asyncio.sleep(0.01)
    return web.Response()


def in_turn(responses: Sequence[Respond]) -> Respond:
    """The responses in order; the last one stays."""
    left = list(responses)

    async def respond(request: web.Request) -> web.StreamResponse:
        return await (left.pop(0) if len(left) > 1 else left[0])(request)

    return respond
