"""The kubelet port of one node: what `kubectl logs` reaches through the API server."""

import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from aim_engine.local.container import logs
from aim_engine.local.node import log_options, pod_logs
from aim_engine.local.node.log_options import BadOption
from aim_engine.local.node.pod import PodRunner
from aim_engine.local.node.pod_logs import NoLog

PORT = 10250
AUTHORISED = "system:masters"
NOT_OFFERED = ("exec", "attach", "portForward", "run")

FindPod = Callable[[str, str], PodRunner | None]
"""Namespace and name of a pod -> who runs it on this node."""


@asynccontextmanager
async def serving(address: str, tls: ssl.SSLContext, find: FindPod) -> AsyncGenerator[int]:
    """Serve the node's pods at its address; give the port."""
    server = web.Application(middlewares=[_only_the_api_server])
    server.router.add_get("/containerLogs/{namespace}/{pod}/{container}", _logs_of(find))
    for name in NOT_OFFERED:
        server.router.add_route("*", f"/{name}/{{rest:.*}}", _refuse)
    runner = web.AppRunner(server, access_log=None, shutdown_timeout=1.0, handler_cancellation=True)
    await runner.setup()
    try:
        yield await _listen(runner, address, tls)
    finally:
        _hang_up(runner)
        await runner.cleanup()


def tls_context(authority: Path, certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS that shows the node's certificate and asks clients for one of the cluster's authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


async def _listen(runner: web.AppRunner, address: str, tls: ssl.SSLContext) -> int:
    """Take the usual port, or any free one where another program has that."""
    try:
        await web.TCPSite(runner, address, PORT, ssl_context=tls).start()
    except OSError:
        await web.TCPSite(runner, address, 0, ssl_context=tls).start()
    port: int = runner.addresses[0][1]
    return port


def _hang_up(runner: web.AppRunner) -> None:
    """End every connection at once: the API server keeps idle ones open and would be waited for."""
    for connection in runner.server.connections if runner.server else ():
        if connection.transport is not None:
            connection.transport.abort()


@web.middleware
async def _only_the_api_server(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A certificate of the authority is not enough: every client of the cluster has one."""
    certificate: dict[str, Any] = request.get_extra_info("peercert") or {}
    named = [tuple(pair) for part in certificate.get("subject", ()) for pair in part]
    if ("organizationName", AUTHORISED) not in named:
        raise web.HTTPForbidden(text="Only the API server of the cluster may ask a node.")
    return await handler(request)


def _logs_of(find: FindPod) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        parts = request.match_info
        runner = find(parts["namespace"], parts["pod"])
        if runner is None:
            raise web.HTTPNotFound(text=f'pod "{parts["pod"]}" is not on this node')
        try:
            selection = log_options.selection(request.query, datetime.now(UTC))
            previous = log_options.flag(request.query, "previous")
            file = pod_logs.locate(runner, parts["container"], previous=previous)
        except (BadOption, NoLog) as error:
            raise web.HTTPBadRequest(text=str(error)) from error
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        async for piece in logs.read(file.path, selection, file.ended):
            await response.write(piece)
        await response.write_eof()
        return response

    return answer


async def _refuse(request: web.Request) -> web.StreamResponse:
    what = request.path.split("/")[1]
    raise web.HTTPNotImplemented(text=f"{what} is not offered by a local node; it serves logs.")
