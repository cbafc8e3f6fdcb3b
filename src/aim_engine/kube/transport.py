"""One HTTP call to the API server: credentials, deadline, patience with a busy server, errors as one tree."""

import asyncio
import random
import re
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol
from urllib.parse import urlencode

import aiohttp
import msgspec
import structlog
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import BytesPayload
from multidict import CIMultiDict
from yarl import URL

from aim_engine.kube import proxy
from aim_engine.kube.connection import Connection
from aim_engine.kube.errors import (
    Fenced,
    Forbidden,
    KubeError,
    ServerError,
    Status,
    Timeout,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    from_status,
)
from aim_engine.kube.timings import Timings

JSON = "application/json"
DENIAL = re.compile(r'User "[^"]*" cannot |attempting to grant RBAC permissions')
"""In the API server's words when a role lacks a right; a quota or an ending namespace is refused with the same code."""
LOGIN = re.compile(r"//[^/\s]*@")
"""User name and password of an address."""

log = structlog.get_logger("transport")


class Fence(Protocol):
    """Decides whether this process may still write."""

    def check(self) -> None:
        """Raise `Fenced` if it may not."""
        ...


class Observer:
    """Is told of every call, for metrics; this one does nothing with it."""

    def called(self, call: "Call", code: int, seconds: float) -> None:
        """One attempt ended; `code` is 0 if there was no answer."""

    def watch_ended(self, resource: str) -> None:
        """A watch ended, for whatever reason, and will be taken up again."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call as data."""

    method: str
    path: str
    verb: str
    """What it does: get, list, watch, create, apply, patch, update, delete."""
    resource: str
    subject: str = ""
    """The object it is about, for people."""
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON

    @property
    def doing(self) -> str:
        return " ".join(part for part in (self.verb, self.resource, self.subject) if part)


class FencedBody(BytesPayload):
    """A request body that asks the fence at the last moment: a connection was found, no byte has left.

    Headers and body leave in one piece, so a process that was frozen and woken before this point sends nothing.
    """

    def __init__(self, content: bytes, fence: Fence) -> None:
        super().__init__(content)
        self._fence = fence

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        self._fence.check()
        await super().write_with_length(writer, content_length)


class Transport:
    """A pool of connections to one API server. No limit on calls: the number of workers is the limit."""

    def __init__(
        self,
        connection: Connection,
        timings: Timings,
        *,
        fence: Fence | None = None,
        observer: Observer,
        agent: str,
    ) -> None:
        self.connection = connection
        self.timings = timings
        self._fence = fence
        self._observer = observer
        self._agent = agent
        # Not by aiohttp's `trust_env`: that asks anew for every call, and brings the passwords of a netrc along.
        self._proxy = connection.proxy or proxy.on_the_way_to(connection.server)
        self._session: aiohttp.ClientSession | None = None
        self._denied: set[tuple[str, str]] = set()

    async def __aenter__(self) -> "Transport":
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self._agent},
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session:
            await self._session.close()
            await asyncio.sleep(0)  # the sockets of dropped connections are closed in the next round of the loop

    async def answer(self, call: Call) -> bytes:
        """The body of the answer; asks again when the server says when to come back, and once after a 401."""
        until = time.monotonic() + self.timings.patience
        fresh = False
        while True:
            try:
                return await self._attempt(call)
            except Unauthorized:
                if fresh or not self.connection.refused():
                    raise
                fresh = True
            except (TooManyRequests, ServerError) as busy:
                # These two come before anything was done, so a write is not made twice.
                if busy.code not in (429, 503) or busy.retry_after is None:
                    raise
                if time.monotonic() + busy.retry_after > until:
                    raise
                await asyncio.sleep(busy.retry_after * random.uniform(1.0, 1.1))

    async def _attempt(self, call: Call) -> bytes:
        deadline = aiohttp.ClientTimeout(total=self.timings.call, sock_connect=self.timings.connect)
        async with self._exchange(call, deadline) as response:
            return await response.read()

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncGenerator[aiohttp.StreamReader]:
        """The body as it comes; ends with `Timeout` after a silence."""
        deadline = aiohttp.ClientTimeout(total=None, sock_connect=self.timings.connect, sock_read=self.timings.silence)
        async with self._exchange(call, deadline) as response:
            yield response.content

    @asynccontextmanager
    async def _exchange(self, call: Call, deadline: aiohttp.ClientTimeout) -> AsyncGenerator[aiohttp.ClientResponse]:
        if self._session is None:
            raise RuntimeError("use the client inside `async with`")
        access = await self.connection.access()
        started, code = time.perf_counter(), 0
        try:
            async with self._session.request(
                call.method,
                URL(f"{self.connection.server}{call.path}?{urlencode(call.query)}", encoded=True),
                data=self._payload(call),
                headers=CIMultiDict((("Accept", call.accept), ("Content-Type", call.content_type), *access.headers)),
                ssl=access.tls,
                server_hostname=self.connection.server_name,
                proxy=self._proxy,
                timeout=deadline,
                allow_redirects=False,
            ) as response:
                code = response.status
                with _hung_up_on_failure(response):
                    if not 200 <= code < 300:
                        refusal = await _refusal(call, response)
                        self._tell_denial(call, refusal)
                        raise refusal
                    yield response
        except TimeoutError as error:
            raise Timeout(f"can't {call.doing}: {self.connection.server} gave no answer in time") from error
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error.__cause__, Fenced):
                raise error.__cause__ from None
            raise Unreachable(
                f"can't {call.doing}: no answer from {self.connection.server}: {_cause(error)}"
            ) from error
        finally:
            self._observer.called(call, code, time.perf_counter() - started)

    def _tell_denial(self, call: Call, refusal: KubeError) -> None:
        """Log once per verb and resource that a role lacks a right, for not every caller makes a fuss about it."""
        what = call.verb, call.resource
        if isinstance(refusal, Forbidden) and what not in self._denied and DENIAL.search(str(refusal)):
            self._denied.add(what)
            log.error("a role lacks a right", verb=call.verb, resource=call.resource, error=str(refusal))

    def _payload(self, call: Call) -> bytes | FencedBody | None:
        if call.body is None or self._fence is None:
            return call.body
        self._fence.check()
        return FencedBody(call.body, self._fence)


def _cause(error: Exception) -> str:
    """What went wrong, without aiohttp's words that name objects in memory, and without the password of a proxy."""
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(
        error, aiohttp.ClientConnectorCertificateError
    ):
        return str(error.os_error)
    return LOGIN.sub("//", str(error))


@contextmanager
def _hung_up_on_failure(response: aiohttp.ClientResponse) -> Generator[None]:
    """A connection left in the middle of an answer is dropped: the polite end of TLS would outlive us."""
    connection = response.connection
    try:
        yield
    except BaseException:
        if connection and connection.transport and not response.content.at_eof():
            connection.transport.abort()
        raise


async def _refusal(call: Call, response: aiohttp.ClientResponse) -> KubeError:
    content = await response.read()
    try:
        status = msgspec.json.decode(content, type=Status)
    except msgspec.DecodeError:
        status = Status(message=content[:300].decode(errors="replace").strip())
    said = response.headers.get("Retry-After", "")
    retry_after = float(said) if said.isdecimal() else None
    return from_status(msgspec.structs.replace(status, code=response.status), call.doing, retry_after=retry_after)
