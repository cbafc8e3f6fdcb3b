"""A proxy between one operator and the API server: sees every write, and may act at that moment.

It runs on a thread of its own, speaks plain HTTP to the operator and TLS as administrator to the server, and
passes writes on one after the other.
"""

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

from aim_engine.local.control_plane import Cluster

HOP_BY_HOP = ("host", "connection", "transfer-encoding", "content-length", "keep-alive")
READS = ("GET", "HEAD", "OPTIONS")


class Write(NamedTuple):
    """A write that the API server answered."""

    moment: float
    method: str
    path: str
    status: int

    @property
    def of_object(self) -> bool:
        """Neither an Event nor a Lease, which are written beside the passes."""
        return "/events" not in self.path and "/leases" not in self.path


@dataclass
class Proxy:
    """Use it as a context manager."""

    cluster: Cluster
    after_write: Callable[[Write], bool] = lambda _: True
    """Called when the server has carried out a write and the operator does not know it yet; false ends all writing."""
    open: bool = True
    """Whether writes are passed on."""
    server: str = ""
    """Another API server of the cluster, if not the first."""
    reads: list[str] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    address: str = ""

    def writes_in(self, namespace: str) -> list[Write]:
        """The writes in a namespace, Events included."""
        return [one for one in self.writes if f"/namespaces/{namespace}/" in one.path]

    def quiet(self, namespace: str) -> float:
        """For how many seconds nothing was written in a namespace; nothing at all counts as busy."""
        written = self.writes_in(namespace)
        return time.monotonic() - written[-1].moment if written else 0.0

    def kubeconfig(self, directory: Path) -> Path:
        """A kubeconfig that leads to the proxy."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "proxy", "cluster": {"server": self.address}}],
            "users": [{"name": "nobody", "user": {}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "nobody"}}],
            "current-context": "proxy",
        }
        path = directory / f"proxy-{self.address.rpartition(':')[2]}"
        path.write_text(yaml.safe_dump(content))
        return path

    def __enter__(self) -> Self:
        listening = threading.Event()
        self._ended = asyncio.Event()
        self._one_write = asyncio.Lock()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(listening)))
        self._thread.start()
        assert listening.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    async def _serve(self, listening: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        async with self._connected() as self._session:
            application = web.Application(client_max_size=2**24)
            application.router.add_route("*", "/{path:.*}", self._pass_on)
            runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            self.address = f"http://{host}:{port}"
            listening.set()
            await self._ended.wait()
            await runner.cleanup()

    def _connected(self) -> aiohttp.ClientSession:
        tls = ssl.create_default_context(cafile=self.cluster.ca_certificate)
        tls.load_cert_chain(self.cluster.keys / "admin.crt", self.cluster.keys / "admin.key")
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls, limit=0), auto_decompress=False)

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        content = await request.read()
        if request.method in READS:
            self.reads.append(request.path_qs)
            async with self._asked(request, content) as answer:
                response = web.StreamResponse(status=answer.status, headers=told(answer))
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                return response
        async with self._one_write:
            if not self.open:
                return web.Response(status=503)
            async with self._asked(request, content) as answer:
                body = await answer.read()
            write = Write(time.monotonic(), request.method, request.path, answer.status)
            self.writes.append(write)
            self.open = self.after_write(write)
        return web.Response(status=answer.status, body=body, headers=told(answer))

    def _asked(self, request: web.Request, content: bytes) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self._session.request(
            request.method,
            URL(f"{self.server or self.cluster.server}{request.raw_path}", encoded=True),
            data=content or None,
            headers=passed_on(request.headers),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=5),
        )


def told(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return passed_on(answer.headers)


def passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP}
