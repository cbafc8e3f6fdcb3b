"""Passes requests on, and answers itself as a gateway does when it cannot.

404  no route takes the path
500  none of the rule's backends is there
503  no pod of the backend is Ready, or the one that was chosen does not take connections
504  the rule's time is over
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from typing import Final

import aiohttp
import structlog
import yarl
from aiohttp import hdrs, web
from multidict import CIMultiDict, CIMultiDictProxy

from aim_engine.kube.store import Store
from aim_engine.local.stand_ins.gateway import table, verdicts
from aim_engine.local.stand_ins.gateway.objects import Pod
from aim_engine.local.stand_ins.gateway.table import Entry, Table
from aim_engine.local.stand_ins.gateway.verdicts import World

HOP_BY_HOP: Final = frozenset(
    name.lower()
    for name in (
        hdrs.CONNECTION,
        hdrs.KEEP_ALIVE,
        hdrs.PROXY_AUTHENTICATE,
        hdrs.PROXY_AUTHORIZATION,
        hdrs.TE,
        hdrs.TRAILER,
        hdrs.TRANSFER_ENCODING,
        hdrs.UPGRADE,
    )
)
CONNECT_SECONDS: Final = 5.0

log = structlog.get_logger("gateway")


class Proxy:
    """Answers every request by the current table."""

    def __init__(self, current: Callable[[], Table], world: World, pods: Store[Pod]) -> None:
        self._current = current
        self._world = world
        self._pods = pods
        self._session: aiohttp.ClientSession | None = None

    def application(self) -> web.Application:
        """For an aiohttp server; bodies of any size pass through without being kept."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self.answer)
        application.cleanup_ctx.append(self._sessions)
        return application

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The pod's answer, as it comes, or the gateway's own."""
        path = request.raw_path.partition("?")[0]
        host = request.host.partition(":")[0]
        entry = self._current().find(host, path)
        if entry is None:
            return _refusal(404, f"no route for {path}")
        offered = [one for one in entry.rule.backend_refs if one.weight]
        choices = [one for one in offered if verdicts.is_usable(entry.route, one, self._world)]
        if not choices:
            return _refusal(500, f"route {entry.route.metadata.key} has no backend that is there")
        backend = random.choices(choices, [one.weight for one in choices])[0]
        targets = table.addresses(entry.route, backend, self._world.services, self._pods)
        if not targets:
            return _refusal(503, f"no pod of Service {verdicts.backend_key(entry.route, backend)} is ready")
        return await self._passed_on(request, entry, random.choice(targets), path)

    async def _passed_on(
        self, request: web.Request, entry: Entry, target: tuple[str, int], path: str
    ) -> web.StreamResponse:
        query = request.raw_path.partition("?")[2]
        address = yarl.URL(
            f"http://{target[0]}:{target[1]}{table.rewritten(entry, path)}{'?' if query else ''}{query}", encoded=True
        )
        passing = _Passing(request)
        try:
            async with asyncio.timeout(table.limit(entry.rule)):
                return await passing.through(self._ready_session, address, table.hostname(entry))
        except TimeoutError:
            return passing.given_up(504, "the time of the route is over")
        except aiohttp.ClientError as error:
            log.info("backend failed", target=f"{target[0]}:{target[1]}", error=str(error))
            return passing.given_up(503, f"the backend does not answer: {error}")

    @property
    def _ready_session(self) -> aiohttp.ClientSession:
        assert self._session, "the server has started"
        return self._session

    async def _sessions(self, _: web.Application) -> AsyncGenerator[None]:
        timeout = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=CONNECT_SECONDS)
        # Without a jar, a cookie of one client would reach the next; undecoded, because bodies pass as they are.
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=timeout,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=(hdrs.USER_AGENT, hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.CONTENT_TYPE),
        ) as self._session:
            yield


class _Passing:
    """One request on its way, and how far its answer has come."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._response: web.StreamResponse | None = None

    async def through(self, session: aiohttp.ClientSession, address: yarl.URL, host: str | None) -> web.StreamResponse:
        """Send it, and pass the answer on piece by piece."""
        request = self._request
        body = request.content if request.can_read_body else None
        asking = session.request(request.method, address, headers=self._headers(host), data=body, allow_redirects=False)
        async with asking as answer:
            self._response = response = web.StreamResponse(
                status=answer.status, reason=answer.reason, headers=_without_hops(answer.headers)
            )
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response

    def given_up(self, status: int, words: str) -> web.StreamResponse:
        """An answer of the gateway, or, if one has begun already, the end of the connection."""
        if self._response is None or not self._response.prepared:
            return _refusal(status, words)
        if self._request.transport:
            self._request.transport.abort()
        return self._response

    def _headers(self, host: str | None) -> CIMultiDict[str]:
        headers = _without_hops(self._request.headers)
        before = headers.get("X-Forwarded-For")
        client = self._request.remote or ""
        headers[hdrs.HOST] = host or self._request.host
        headers["X-Forwarded-For"] = f"{before}, {client}" if before else client
        headers.setdefault("X-Forwarded-Proto", self._request.scheme)
        headers.setdefault("X-Forwarded-Host", self._request.host)
        return headers


def _without_hops(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """What concerns the two ends: neither what is about one connection, nor what Connection names as such."""
    named = {name.strip().lower() for value in headers.getall(hdrs.CONNECTION, []) for name in value.split(",")}
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in HOP_BY_HOP | named)


def _refusal(status: int, words: str) -> web.Response:
    return web.Response(status=status, text=f"{words}\n", headers={"Server": "aim-local-gateway"})
