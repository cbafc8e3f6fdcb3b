"""Faults of the hub stand-in, and the one place that sends the bytes of a file: whole, in ranges, or faulty."""

import asyncio
import contextlib
import fnmatch
import io
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec
from aiohttp import web

BLOCK = 256 * 1024
REMEMBERED = 10_000
"""Requests; a hub may run for weeks."""


class Fault(msgspec.Struct):
    """Something that goes wrong with the requests it matches."""

    kind: str
    """`status`, `stall`, `cut`, `truncate`, `corrupt` or `slow`."""
    path: str = "*"
    """A pattern over `<organisation>/<name>/<file>`; API requests are matched as `<organisation>/<name>/api`."""
    over: str = "*"
    """`http` for plain downloads, `xet` for the content store, `api` for questions about a repository, `*` for all."""
    after: int = 0
    """How many bytes of the answer arrive first; for `slow` the bytes per second."""
    beyond: int = 0
    """Only answers that begin at this byte of the file or behind it."""
    status: int = 429
    headers: dict[str, str] = {}
    times: int | None = None
    """How often it strikes; None is for ever."""


@dataclass
class Seen:
    """One request that was answered, as tests read it at `/-/requests`."""

    method: str
    path: str
    over: str
    first: int = 0
    last: int = -1
    sent: int = 0
    status: int = 200
    authorized: bool = False


@dataclass
class Faults:
    """The faults in force and the last requests seen."""

    active: list[Fault] = field(default_factory=list[Fault])
    seen: deque[Seen] = field(default_factory=lambda: deque[Seen](maxlen=REMEMBERED))

    def strike(self, path: str, over: str, place: int = 0) -> Fault | None:
        """Return the fault that hits this request for the bytes from `place` on, and count it."""
        for fault in self.active:
            meant = fault.over in (over, "*") and fnmatch.fnmatch(path, fault.path) and place >= fault.beyond
            if meant and fault.times != 0:
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None


def refusal(fault: Fault | None) -> web.Response | None:
    """Return the answer of a `status` fault."""
    if fault is None or fault.kind != "status":
        return None
    return web.json_response({"error": "this request meets a fault"}, status=fault.status, headers=fault.headers)


def asked_range(request: web.Request, size: int) -> tuple[int, int] | None:
    """Return first and last byte of the request's Range, or None if it asks for no part; 416 if it can't be had."""
    part = request.http_range
    if part.start is None and part.stop is None:
        return None
    start = part.start if part.start is not None else 0
    first = max(size + start, 0) if start < 0 else start
    last = min(part.stop, size) - 1 if part.stop is not None else size - 1
    if first > last:
        raise web.HTTPRequestRangeNotSatisfiable(headers={"Content-Range": f"bytes */{size}"})
    return first, last


async def send_file(
    request: web.Request, location: Path, seen: Seen, fault: Fault | None, headers: dict[str, str]
) -> web.StreamResponse:
    """Answer with a file, or the range of it that was asked for, in the way the fault wants."""
    size = location.stat().st_size
    part = asked_range(request, size)
    seen.first, seen.last = part or (0, size - 1)
    seen.status = 206 if part else 200
    response = web.StreamResponse(status=seen.status, headers={**headers, "Accept-Ranges": "bytes"})
    response.content_type = "application/octet-stream"
    if part:
        response.headers["Content-Range"] = f"bytes {seen.first}-{seen.last}/{size}"
    with location.open("rb", buffering=0) as stream:
        stream.seek(seen.first)
        return await send(request, response, stream, seen, fault)


async def send(
    request: web.Request, response: web.StreamResponse, stream: BinaryIO, seen: Seen, fault: Fault | None
) -> web.StreamResponse:
    """Send as many bytes of the stream as were asked for; a fault may have it otherwise."""
    length = seen.last - seen.first + 1
    response.content_length = min(length, fault.after) if fault and fault.kind == "truncate" else length
    await response.prepare(request)
    if request.method == "HEAD" or length == 0 or request.transport is None:
        return response
    with contextlib.suppress(ConnectionError):
        if fault is None and isinstance(stream, io.FileIO):
            await _from_kernel(request.transport, stream, length, seen)
        else:
            await _in_blocks(response, stream, length, seen, fault)
            await _end(request.transport, fault, complete=seen.sent == length)
    return response


async def _from_kernel(transport: asyncio.WriteTransport, stream: io.FileIO, length: int, seen: Seen) -> None:
    """Hand the bytes to the kernel; the file position tells how many went out even when the client leaves."""
    try:
        await asyncio.get_running_loop().sendfile(transport, stream, seen.first, length)
    finally:
        seen.sent = stream.tell() - seen.first


async def _in_blocks(
    response: web.StreamResponse, stream: BinaryIO, length: int, seen: Seen, fault: Fault | None
) -> None:
    limit = length if fault is None or fault.kind in ("slow", "corrupt") else min(fault.after, length)
    rate = max(fault.after, 1) if fault is not None and fault.kind == "slow" else None
    block = min(BLOCK, max(rate // 10, 1)) if rate else BLOCK
    while seen.sent < limit:
        content = stream.read(min(block, limit - seen.sent))
        if fault is not None and fault.kind == "corrupt":
            content = content[:-1] + bytes([content[-1] ^ 0xFF])
        await response.write(content)
        seen.sent += len(content)
        if rate:
            await asyncio.sleep(len(content) / rate)


async def _end(transport: asyncio.WriteTransport, fault: Fault | None, *, complete: bool) -> None:
    """Do with the connection what the fault wants after the last byte."""
    if fault is None or complete:
        return
    if fault.kind == "stall":
        await asyncio.Event().wait()  # the handler is cancelled when the client leaves
    if fault.kind == "cut":
        transport.abort()
