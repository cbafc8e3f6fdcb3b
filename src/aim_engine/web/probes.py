"""`/healthz` answers while the process runs; `/readyz` only while it is able to reconcile."""

from collections.abc import Callable

from aiohttp import web

Readiness = Callable[[], str | None]
"""What still keeps the process from working, as one sentence; `None` when it is ready."""


def application(unready: Readiness) -> web.Application:
    """The probe endpoints, with the sub-paths that Go's operators serve."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def readyz(_: web.Request) -> web.Response:
        reason = unready()
        return web.Response(text="ok") if reason is None else web.Response(text=reason, status=503)

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/healthz/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/readyz/readyz", readyz)
    return app
