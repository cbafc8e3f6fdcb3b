"""`/metrics` in Prometheus' text form, to everyone or only to callers that may read it."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

Access = Callable[[str], Awaitable[int]]
"""A bearer token -> 200 if its owner may read `/metrics`, else the HTTP status that says why not."""


def application(collectors: CollectorRegistry, access: Access | None) -> web.Application:
    """The metrics endpoint; without `access` it is open."""

    async def metrics(request: web.Request) -> web.Response:
        if access is not None and (verdict := await access(bearer(request))) != 200:
            return web.Response(text=f"{HTTPStatus(verdict).phrase}\n", status=verdict)
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(collectors), headers={"Content-Type": content_type})

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    return app


def bearer(request: web.Request) -> str:
    """The bearer token of a request, empty if it has none."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
