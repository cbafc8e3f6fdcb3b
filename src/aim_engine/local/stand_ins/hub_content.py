"""The content store of the hub stand-in: what hf_xet asks for when it downloads a file over Xet.

A file is cut into chunks of one size and the chunks into xorbs. A xorb is never stored: it is a row of chunks, each
behind a header of eight bytes (version, compressed length, compression scheme 0, length), and is made while it is sent.
"""

import io
import time
from dataclasses import dataclass

from aiohttp import web

from aim_engine.local.stand_ins.hub_faults import Faults, Seen, asked_range, refusal, send
from aim_engine.local.stand_ins.hub_files import HubFile, Repositories

CHUNK = 64 * 1024
HEADER = 8
FEWEST_CHUNKS, MOST_CHUNKS = 16, 960
"""Of a xorb, which may not be larger than 64 MiB; a small file has several xorbs too, so that it arrives in pieces."""
TOKEN_SECONDS = 900


@dataclass(frozen=True)
class ContentStore:
    """Reconstruction answers and xorbs for every large file of the repositories."""

    repositories: Repositories
    faults: Faults
    token: str

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/v2/reconstructions/{hash}", self.reconstruction),
            web.get("/xorbs/{hash}/{index}", self.xorb),
            web.post("/v1/telemetry", self.telemetry),
        ]

    def grant(self, origin: str) -> web.Response:
        """Return the access token of the content store, in the headers where the client looks for it."""
        expires = str(int(time.time()) + TOKEN_SECONDS)
        body = {"casUrl": origin, "accessToken": self.token, "exp": int(expires)}
        headers = {
            "X-Xet-Cas-Url": origin,
            "X-Xet-Access-Token": self.token,
            "X-Xet-Token-Expiration": expires,
        }
        return web.json_response(body, headers=headers)

    async def reconstruction(self, request: web.Request) -> web.Response:
        """Tell which chunks of which xorbs hold the wanted range of a file."""
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401)
        file = self.repositories.by_xet_hash.get(request.match_info["hash"])
        if file is None:
            return web.Response(status=404)
        part = request.http_range
        first, last = part.start or 0, min(part.stop or file.size, file.size) - 1
        if first > last:
            return web.Response(status=416)
        return web.json_response(reconstruct(file, first, last, f"http://{request.host}"))

    async def xorb(self, request: web.Request) -> web.StreamResponse:
        """Send a byte range of a xorb."""
        file = self.repositories.by_xet_hash[request.match_info["hash"]]
        index = int(request.match_info["index"])
        size = xorb_size(file, index)
        first, last = asked_range(request, size) or (0, size - 1)
        path = file.location.relative_to(self.repositories.root).as_posix()
        seen = Seen(request.method, path, "xet", first, last, status=206)
        self.faults.seen.append(seen)
        fault = self.faults.strike(path, "xet", place=index * chunks_per_xorb(file) * CHUNK)
        if refused := refusal(fault):
            seen.status = refused.status
            return refused
        response = web.StreamResponse(status=206, headers={"Content-Range": f"bytes {first}-{last}/{size}"})
        return await send(request, response, io.BytesIO(xorb_bytes(file, index, first, last)), seen, fault)

    async def telemetry(self, request: web.Request) -> web.Response:
        """Take the client's report of how it went, and forget it."""
        await request.read()
        return web.Response(status=200)


def chunk_count(file: HubFile) -> int:
    return -(-file.size // CHUNK)


def chunks_per_xorb(file: HubFile) -> int:
    return min(max(chunk_count(file) // 4, FEWEST_CHUNKS), MOST_CHUNKS)


def xorb_size(file: HubFile, index: int) -> int:
    """Bytes of one xorb with its headers."""
    begin = index * chunks_per_xorb(file)
    chunks = min(chunks_per_xorb(file), chunk_count(file) - begin)
    return min(chunks * CHUNK, file.size - begin * CHUNK) + chunks * HEADER


def xorb_bytes(file: HubFile, index: int, first: int, last: int) -> bytes:
    """Make a byte range of a xorb, from the start of a chunk to the end of one."""
    begin, end = first // (HEADER + CHUNK), -(-(last + 1) // (HEADER + CHUNK))
    parts: list[bytes] = []
    with file.location.open("rb") as stream:
        stream.seek((index * chunks_per_xorb(file) + begin) * CHUNK)
        for _ in range(begin, end):
            content = stream.read(CHUNK)
            length = len(content).to_bytes(3, "little")
            parts += (b"\0", length, b"\0", length, content)
    return b"".join(parts)


def reconstruct(file: HubFile, first: int, last: int, origin: str) -> dict[str, object]:
    """Describe the chunks that hold bytes first to last of a file, xorb by xorb."""
    begin, end, size = first // CHUNK, last // CHUNK + 1, chunks_per_xorb(file)
    terms: list[object] = []
    xorbs: dict[str, object] = {}
    for index in range(begin // size, (end - 1) // size + 1):
        base = index * size
        start, stop = max(begin - base, 0), min(end - base, size)
        unpacked = min((base + stop) * CHUNK, file.size) - (base + start) * CHUNK
        chunks = {"start": start, "end": stop}
        offset = start * (CHUNK + HEADER)
        held = {"start": offset, "end": offset + unpacked + (stop - start) * HEADER - 1}
        name = f"{index:08x}{file.xet_hash}"[:64]
        terms.append({"hash": name, "unpacked_length": unpacked, "range": chunks})
        url = f"{origin}/xorbs/{file.xet_hash}/{index}"
        xorbs[name] = [{"url": url, "ranges": [{"chunks": chunks, "bytes": held}]}]
    return {"offset_into_first_range": first - begin * CHUNK, "terms": terms, "xorbs": xorbs}
