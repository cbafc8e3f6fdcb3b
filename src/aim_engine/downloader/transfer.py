"""HTTP for large answers: connections that stay open, redirects, byte ranges, and reading into one reused buffer.

The standard library's client needs a fifth of the processor time per byte of the libraries built on it, because an
answer is read straight into the caller's buffer.
"""

import base64
import email.utils
import http.client
import os
import re
import ssl
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from aim_engine.downloader.failures import NetworkFailure

BLOCK = 256 * 1024
MOST_REDIRECTS = 10
REDIRECTS = (301, 302, 303, 307, 308)
CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE")
BROKEN = (OSError, http.client.HTTPException)
"""What a connection that breaks raises; TLS and time-outs are among the operating system's errors."""


class Origin(NamedTuple):
    """Where a connection goes."""

    scheme: str
    host: str
    port: int


class Refused(Exception):
    """An answer with a status that is no success; whoever asked knows what it means there."""

    def __init__(self, status: int, headers: http.client.HTTPMessage, body: bytes, url: str) -> None:
        super().__init__(f"HTTP {status} from {urllib.parse.urlsplit(url).netloc}")
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def retry_after(self) -> float | None:
        """How many seconds the server asks to wait: as a number, as a date, or as the rest of a window of requests."""
        value = self.headers.get("Retry-After", "").strip()
        if value.isdecimal():
            return float(value)
        if date := email.utils.parsedate_tz(value):
            return max(email.utils.mktime_tz(date) - time.time(), 0.0)
        window = re.search(r";\s*t=(\d+)", self.headers.get("RateLimit", ""))
        return float(window[1]) if window else None


@dataclass
class Transfer:
    """Answers to GET requests; every thread has its own connections."""

    timeout: float
    _local: threading.local = field(default_factory=threading.local)
    _context: ssl.SSLContext = field(default_factory=lambda: ssl.create_default_context(cafile=certificates()))

    def blocks(
        self, url: str, headers: Mapping[str, str], first: int, end: int, etag: str = ""
    ) -> Iterator[memoryview]:
        """Yield the bytes `first` to `end` of what is at an address; each block is valid until the next one."""
        asked = {**headers, "Range": f"bytes={first}-{end - 1}"} if end > first else dict(headers)
        response = self._get(url, asked, etag)
        complete = False
        try:
            buffer, left = self._buffer(), end - first
            if response.status == 200 and first:
                _skip(response, first, buffer)
            while left and (count := response.readinto(buffer[: min(left, BLOCK)])):
                left -= count
                yield buffer[:count]
            complete = response.isclosed()
        finally:
            if not complete:
                self.close()

    def _buffer(self) -> memoryview:
        if not hasattr(self._local, "buffer"):
            self._local.buffer = memoryview(bytearray(BLOCK))
        return self._local.buffer

    def _connections(self) -> dict[Origin, http.client.HTTPConnection]:
        known: dict[Origin, http.client.HTTPConnection] | None = getattr(self._local, "connections", None)
        if known is None:
            known = self._local.connections = {}
        return known

    def close(self) -> None:
        """Close this thread's connections."""
        for connection in self._connections().values():
            connection.close()
        self._connections().clear()

    def _get(self, url: str, headers: dict[str, str], etag: str) -> http.client.HTTPResponse:
        """Follow redirects to the answer that has the content; the authorization stays with the origin it is for."""
        headers = {"accept-encoding": "identity", **{name.lower(): value for name, value in headers.items()}}
        for _ in range(MOST_REDIRECTS):
            response = self._ask(url, headers)
            if response.status in (200, 206):
                _refuse_other_content(response, etag)
                return response
            body = response.read()
            if response.status not in REDIRECTS:
                raise Refused(response.status, response.headers, body, url)
            following = urllib.parse.urljoin(url, response.headers.get("Location", ""))
            if _origin(following) != _origin(url):
                headers.pop("authorization", None)
            url = following
        raise NetworkFailure(f"Network failure: more than {MOST_REDIRECTS} redirects, the last one to {url}")

    def _ask(self, url: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        """Send one request; a kept connection that the server has closed meanwhile is opened anew."""
        split = urllib.parse.urlsplit(url)
        origin, connections = _origin(url), self._connections()
        target = urllib.parse.urlunsplit(("", "", split.path or "/", split.query, ""))
        kept = connections.get(origin)
        connection = kept or _connect(origin, self.timeout, self._context)
        connections[origin] = connection
        if isinstance(connection, _PlainProxyConnection):
            target, headers = url, {**headers, **connection.permit}
        try:
            connection.request("GET", target, headers=dict(headers))
            return connection.getresponse()
        except BROKEN as error:
            connection.close()
            del connections[origin]
            if kept is None or isinstance(error, TimeoutError):
                raise
        return self._ask(url, headers)


class _PlainProxyConnection(http.client.HTTPConnection):
    """A connection to a proxy that gets whole addresses, as is done without TLS."""

    permit: Mapping[str, str]


def _connect(origin: Origin, timeout: float, context: ssl.SSLContext) -> http.client.HTTPConnection:
    proxy = urllib.request.getproxies().get(origin.scheme)
    if proxy is None or urllib.request.proxy_bypass(f"{origin.host}:{origin.port}"):
        if origin.scheme == "https":
            return http.client.HTTPSConnection(origin.host, origin.port, timeout=timeout, context=context)
        return http.client.HTTPConnection(origin.host, origin.port, timeout=timeout)
    split = urllib.parse.urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    host, port = split.hostname or "", split.port or 3128
    user = urllib.parse.unquote(f"{split.username}:{split.password or ''}") if split.username else ""
    permit = {"Proxy-Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"} if user else {}
    if origin.scheme == "http":
        plain = _PlainProxyConnection(host, port, timeout=timeout)
        plain.permit = permit
        return plain
    connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
    connection.set_tunnel(origin.host, origin.port, headers=permit)
    return connection


def _origin(url: str) -> Origin:
    split = urllib.parse.urlsplit(url)
    if split.scheme not in ("http", "https") or not split.hostname:
        raise NetworkFailure(f"Network failure: {url} is no address of a web server")
    return Origin(split.scheme, split.hostname, split.port or (443 if split.scheme == "https" else 80))


def certificates() -> str | None:
    """Return the file with the authorities to trust, if the environment names one."""
    return next((value for name in CERTIFICATE_VARIABLES if (value := os.environ.get(name))), None)


def _refuse_other_content(response: http.client.HTTPResponse, etag: str) -> None:
    """Fail if the content is another one than the listing told of."""
    found = response.headers.get("ETag", "").removeprefix("W/").strip('"')
    if etag and found and found != etag:
        response.close()
        raise NetworkFailure("Network failure: the source changed while it was downloaded")


def _skip(response: http.client.HTTPResponse, count: int, buffer: memoryview) -> None:
    """Read past the beginning, for a server that does not know ranges."""
    while count and (read := response.readinto(buffer[: min(count, len(buffer))])):
        count -= read
