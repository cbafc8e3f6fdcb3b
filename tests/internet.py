"""Docker Hub and GitHub as the operator of a test run meets them: `python -m tests.internet DIRECTORY`.

    operator ── HTTPS_PROXY ──► proxy ── CONNECT hub.docker.com:443 ──► a server with a certificate for all HOSTS
                                                                          │ listings, with faults: made here
                                                                          └ images and tags: a real registry

Every organisation is of one test, which tells with `Internet` what real registry has its images, and what goes wrong
with its listing. Pages are short everywhere. Nothing else of the internet is there, so that no test depends on it.

The images are also at a mirror, without a proxy, as those of the registry MIRRORED and behind a prefix.
"""

import asyncio
import contextlib
import json
import ssl
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from tests.registry.peer import HOP_BY_HOP, breaks_off, hangs_up, says, sends, stays_silent
from tests.registry.servers import Authority
from yarl import URL

HUB, HUB_REGISTRY, GITHUB, GHCR = "hub.docker.com", "registry-1.docker.io", "api.github.com", "ghcr.io"
HOSTS = (HUB, HUB_REGISTRY, GITHUB, GHCR)
TOKEN = "a token that may read packages"
GITHUB_PAGE = 100
SHORT_PAGE = 4
"""Of tags and of the mirror's catalogue; whoever asks for more gets no more."""
MIRRORED, PREFIX = "models.example", "copies"

FAULTS = {
    "429": says({"message": "slow down"}, 429, Retry_After="1"),
    "500": says({"message": "oops"}, 500),
    "reset": hangs_up,
    "cut": breaks_off,
    "silence": stays_silent,
    "no JSON": sends(b"<html>we are busy</html>"),
    "another JSON": says({"message": "hello"}),
}
"""What may go wrong with the second page of a listing."""


@dataclass(frozen=True)
class Internet:
    """What tests say to a running stand-in."""

    proxy: str
    control: str
    ca_file: str
    mirror: str
    """As AIM_REGISTRY_MIRRORS names it."""

    @classmethod
    def at(cls, directory: Path) -> "Internet":
        return cls(**json.loads((directory / "internet.json").read_text()))

    def publish(
        self, organisation: str, registry: str, *, fault: str = "", unreadable: str = "", limited: str = ""
    ) -> None:
        """Have the images that a registry has of an organisation found.

        Its listing may have a fault, one repository may be refused, and one be asked for too often.
        """
        told = {"organisation": organisation, "registry": registry, "fault": fault}
        told |= {"unreadable": unreadable, "limited": limited}
        request = urllib.request.Request(self.control, json.dumps(told).encode(), method="PUT")
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200


class StandIn:
    """The servers of all hosts in one."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._published: dict[str, Any] = {}

    async def control(self, request: web.Request) -> web.StreamResponse:
        told = await request.json()
        self._published[told["organisation"]] = told
        return web.Response()

    async def mirror(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        if parts == ["v2", "_catalog"]:
            return await self._page_of_catalogue(request)
        return await self._from_registry(request, [part for part in parts if part != PREFIX])

    async def _page_of_catalogue(self, request: web.Request) -> web.StreamResponse:
        last = request.query.get("last", "")
        names = [f"{PREFIX}/{one}/{name}" for one in sorted(self._published) for name in await self._repositories(one)]
        left = [name for name in names if name > last]
        shown = left[:SHORT_PAGE]
        more = {"Link": f'</v2/_catalog?last={shown[-1]}&n={SHORT_PAGE}>; rel="next"'} if len(left) > SHORT_PAGE else {}
        return web.json_response({"repositories": ["elsewhere/other", *shown]}, headers=more)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        if request.host == HUB and parts[:2] == ["v2", "namespaces"]:
            return await self._page_of_hub(request, parts[2])
        if request.host == GITHUB and parts[0] == "orgs":
            return await self._page_of_github(request, parts[1])
        return await self._from_registry(request, parts)

    async def _page_of_hub(self, request: web.Request, namespace: str) -> web.StreamResponse:
        """Every page has one repository."""
        names, page = await self._repositories(namespace), int(request.query.get("page", "1"))
        if page == 2 and (fault := self._published[namespace]["fault"]):
            return await FAULTS[fault](request)
        following = f"https://{HUB}{request.path}?page={page + 1}" if page < len(names) else None
        return web.json_response({"results": [{"name": name} for name in names[page - 1 : page]], "next": following})

    async def _page_of_github(self, request: web.Request, organisation: str) -> web.StreamResponse:
        """The first page is full, mostly of packages that are no models; the second one has the rest."""
        if request.headers.get("Authorization") != f"Bearer {TOKEN}-{organisation}":
            return web.json_response({"message": "Bad credentials"}, status=401)
        names, page = await self._repositories(organisation), int(request.query["page"])
        if page == 2 and (fault := self._published[organisation]["fault"]):
            return await FAULTS[fault](request)
        others = [f"website-{number}" for number in range(GITHUB_PAGE - 1)]
        shown = [*names[:1], *others] if page == 1 else names[1:]
        return web.json_response([{"name": name} for name in shown])

    async def _repositories(self, organisation: str) -> list[str]:
        if organisation not in self._published:
            return []
        registry = self._published[organisation]["registry"]
        async with self._session.get(f"http://{registry}/v2/_catalog?n=1000") as response:
            found = (await response.json())["repositories"]
        return sorted(name.partition("/")[2] for name in found if name.startswith(f"{organisation}/"))

    async def _from_registry(self, request: web.Request, parts: list[str]) -> web.StreamResponse:
        if parts == ["v2"]:
            return web.json_response({})
        told = self._published.get(parts[1])
        if told is None or told["unreadable"] == parts[2]:
            return web.json_response({"errors": [{"code": "DENIED"}]}, status=403 if told else 404)
        if told["limited"] == parts[2]:
            return await FAULTS["429"](request)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
        query = dict(request.query) | ({"n": str(SHORT_PAGE)} if parts[-1] == "list" else {})
        address = URL(f"http://{told['registry']}/{'/'.join(parts)}").with_query(query)
        async with self._session.get(address, headers=headers) as response:
            kept = [(name, text) for name, text in response.headers.items() if name.lower() not in HOP_BY_HOP]
            front = f"/{request.path.strip('/').removesuffix('/'.join(parts[1:]))}"
            there = [(name, text.replace("</v2/", f"<{front}") if name == "Link" else text) for name, text in kept]
            return web.Response(status=response.status, headers=there, body=await response.read())


async def serve(directory: Path) -> None:
    """Serve until cancelled; `internet.json` tells where."""
    authority = Authority(directory / "internet", *HOSTS)
    trust = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trust.load_cert_chain(authority.certificate_file, authority.key_file)
    async with aiohttp.ClientSession() as session:
        stand_in = StandIn(session)
        front = await _listening(stand_in.answer, trust)
        control, mirror = await _listening(stand_in.control), await _listening(stand_in.mirror)
        proxy = await asyncio.start_server(lambda reader, writer: _connect(reader, writer, front), "127.0.0.1", 0)
        where = Internet(
            f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}",
            f"http://127.0.0.1:{control}/",
            str(authority.ca_file),
            f"{MIRRORED}=http://127.0.0.1:{mirror}/{PREFIX}",
        )
        (directory / "internet.json.new").write_text(json.dumps(where.__dict__))
        (directory / "internet.json.new").rename(directory / "internet.json")
        async with proxy:
            await proxy.serve_forever()


async def _listening(answer: Any, trust: ssl.SSLContext | None = None) -> int:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=trust).start()
    return runner.addresses[0][1]


async def _connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, front: int) -> None:
    """Lead one connection to the front, if it is for a host that is there."""
    with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
        head = await reader.readuntil(b"\r\n\r\n")
        host = head.split(b" ")[1].decode().partition(":")[0]
        if host not in HOSTS:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        there, back = await asyncio.open_connection("127.0.0.1", front)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.closing(back):
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, back))
                group.create_task(_copy(there, writer))


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while content := await source.read(65536):
            target.write(content)
            await target.drain()
    target.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
