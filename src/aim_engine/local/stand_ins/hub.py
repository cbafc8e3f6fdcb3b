"""A stand-in for the Hugging Face hub: its HTTP interface over a directory of repositories, for the real client.

    python -m aim_engine.local.stand_ins.hub DIRECTORY --port 8088
    HF_ENDPOINT=http://127.0.0.1:8088 hf download demo/tiny

`DIRECTORY/<organisation>/<name>/` is a repository. `DIRECTORY/hub.json`, if it is there, holds the access rules:

    {"tokens": {"hf_reader": ["demo/gated"]}, "gated": ["demo/gated"], "private": ["demo/secret"]}

Under `/-/` tests ask what was requested (`GET /-/requests`) and tell it to fail (`PUT /-/faults`, a list of
`hub_faults.Fault`), unless it is started with `--faultless`. It listens on two ports, because the hub sends clients to
another origin for large files and that origin refuses requests that still carry the hub's token, which is a mistake
worth finding.
"""

import argparse
import asyncio
import json
import secrets
import signal
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from aim_engine.local.stand_ins.hub_content import ContentStore
from aim_engine.local.stand_ins.hub_faults import Fault, Faults, Seen, refusal, send_file
from aim_engine.local.stand_ins.hub_files import HubFile, Repositories, Revision

PAGE = 1000
"""Entries of one page of a file listing; the hub pages too."""


class Access(msgspec.Struct):
    """Who may read what."""

    tokens: dict[str, list[str]] = {}
    gated: list[str] = []
    private: list[str] = []


@dataclass
class Hub:
    """Every question that huggingface_hub asks about models, answered from a directory."""

    root: Path
    faults: Faults = field(default_factory=Faults)
    other_origin: str = ""
    faultless: bool = False
    """Takes no faults and tells no requests: where every pod reaches it, none is to play with the others' hub."""

    def __post_init__(self) -> None:
        self.repositories = Repositories(self.root)
        self.content = ContentStore(self.repositories, self.faults, secrets.token_hex(16))

    def application(self) -> web.Application:
        app = web.Application()
        app.add_routes(
            [
                web.get("/api/whoami-v2", self.whoami),
                *(route for base in REPOSITORY for route in self._repository_routes(base)),
                *([] if self.faultless else self._routes_of_tests()),
            ]
        )
        return app

    def _routes_of_tests(self) -> list[web.RouteDef]:
        return [web.put("/-/faults", self.set_faults), web.get("/-/requests", self.requests)]

    def _repository_routes(self, base: str) -> list[web.RouteDef]:
        return [
            web.get(f"/api/models/{base}", self.info),
            web.get(f"/api/models/{base}/revision/{{revision}}", self.info),
            web.get(f"/api/models/{base}/tree/{{revision}}", self.tree),
            web.get(f"/api/models/{base}/xet-read-token/{{revision}}", self.xet_token),
            web.get(f"/{base}/resolve/{{revision}}/{{path:.+}}", self.resolve),
            web.get(f"/api/resolve-cache/models/{base}/{{revision}}/{{path:.+}}", self.small_file),
        ]

    def other_application(self) -> web.Application:
        """The second origin: large files and the content store."""
        app = web.Application()
        app.add_routes([web.get("/large/{key:.+}", self.large_file), *self.content.routes()])
        return app

    async def whoami(self, request: web.Request) -> web.Response:
        if token_of(request) not in self._access().tokens:
            return invalid_token()
        return web.json_response({"type": "user", "name": "reader"})

    async def info(self, request: web.Request) -> web.Response:
        revision = await self._open(request)
        if isinstance(revision, web.Response):
            return revision
        sizes = "blobs" in request.query
        return web.json_response(
            {
                "id": revision.repository,
                "modelId": revision.repository,
                "sha": revision.commit,
                "private": revision.repository in self._access().private,
                "gated": "auto" if revision.repository in self._access().gated else False,
                "disabled": False,
                "tags": [],
                "siblings": [sibling(file, sizes) for file in revision.files.values()],
            }
        )

    async def tree(self, request: web.Request) -> web.Response:
        revision = await self._open(request)
        if isinstance(revision, web.Response):
            return revision
        start = int(request.query.get("cursor", "0"))
        entries = [entry(file) for file in revision.files.values()]
        response = web.json_response(entries[start : start + PAGE])
        if start + PAGE < len(entries):
            following = request.url.update_query(cursor=str(start + PAGE))
            response.headers["Link"] = f'<{following}>; rel="next"'
        return response

    async def xet_token(self, request: web.Request) -> web.Response:
        revision = await self._open(request, content=True)
        return revision if isinstance(revision, web.Response) else self.content.grant(self.other_origin)

    async def resolve(self, request: web.Request) -> web.StreamResponse:
        """Answer with where the content is: on this origin for a small file, on the other one for a large file."""
        revision = await self._open(request, content=True)
        if isinstance(revision, web.Response):
            return revision
        file = revision.files.get(request.match_info["path"])
        if file is None:
            return error(404, "EntryNotFound", "Entry not found")
        headers = {"X-Repo-Commit": revision.commit, "ETag": f'"{file.etag}"', "X-Linked-Size": str(file.size)}
        if file.sha256 is None:
            location = f"/api/resolve-cache/models/{revision.repository}/{revision.commit}/{file.path}"
            return web.Response(status=307, headers={**headers, "Location": location})
        refresh = f"http://{request.host}/api/models/{revision.repository}/xet-read-token/{revision.commit}"
        headers |= {
            "Location": f"{self.other_origin}/large/{revision.repository}/{revision.commit}/{file.path}",
            "X-Linked-Etag": f'"{file.etag}"',
            "X-Xet-Hash": file.xet_hash or "",
            "Link": f'<{refresh}>; rel="xet-auth"',
        }
        return web.Response(status=302, headers=headers)

    async def small_file(self, request: web.Request) -> web.StreamResponse:
        revision = await self._open(request, content=True)
        if isinstance(revision, web.Response):
            return revision
        return await self._send(request, revision, revision.files[request.match_info["path"]])

    async def large_file(self, request: web.Request) -> web.StreamResponse:
        if "Authorization" in request.headers:
            return web.Response(status=400, text="Only one auth mechanism allowed")
        parts = request.match_info["key"].split("/")
        for length in (2, 1):
            revision = self.repositories.revisions.get(("/".join(parts[:length]), parts[length]))
            if revision is not None:
                return await self._send(request, revision, revision.files["/".join(parts[length + 1 :])])
        return web.Response(status=404)

    async def _send(self, request: web.Request, revision: Revision, file: HubFile) -> web.StreamResponse:
        path = f"{revision.repository}/{file.path}"
        seen = Seen(request.method, path, "http", authorized="Authorization" in request.headers)
        self.faults.seen.append(seen)
        fault = self.faults.strike(path, "http", place=request.http_range.start or 0)
        if refused := refusal(fault):
            seen.status = refused.status
            return refused
        headers = {"ETag": f'"{file.etag}"', "X-Repo-Commit": revision.commit}
        return await send_file(request, file.location, seen, fault, headers)

    async def _open(self, request: web.Request, content: bool = False) -> Revision | web.Response:
        """Return the revision a request is about, or the hub's refusal."""
        repository = "/".join(filter(None, (request.match_info.get("organisation"), request.match_info["name"])))
        access, token = self._access(), token_of(request)
        if refused := refusal(self.faults.strike(f"{repository}/api", "api")):
            return refused
        if token is not None and token not in access.tokens:
            return invalid_token()
        granted = repository in access.tokens.get(token or "", [])
        name = request.match_info.get("revision", "main")
        known = self.repositories.revisions.get((repository, name))
        revision = known or await asyncio.to_thread(self.repositories.find, repository, name)
        if revision is None or (repository in access.private and not granted):
            missing = name != "main" and revision is None and (self.root / repository).is_dir()
            code = "RevisionNotFound" if missing else "RepoNotFound"
            return error(404 if token or missing else 401, code, "Repository not found")
        if content and repository in access.gated and not granted:
            text = f"Access to model {repository} is restricted. You must be authenticated to access it."
            return error(403 if token else 401, "GatedRepo", text)
        return revision

    def _access(self) -> Access:
        rules = self.root / "hub.json"
        return msgspec.json.decode(rules.read_bytes(), type=Access) if rules.is_file() else Access()

    async def set_faults(self, request: web.Request) -> web.Response:
        self.faults.active = msgspec.json.decode(await request.read(), type=list[Fault])
        return web.Response(status=204)

    async def requests(self, request: web.Request) -> web.Response:  # noqa: ARG002
        return web.json_response([asdict(seen) for seen in self.faults.seen])


REPOSITORY = ("{organisation}/{name}", "{name}")
"""A repository's name has two parts, and old ones such as `gpt2` have one."""


def token_of(request: web.Request) -> str | None:
    return request.headers.get("Authorization", "").removeprefix("Bearer ") or None


def error(status: int, code: str, text: str) -> web.Response:
    headers = {"X-Error-Code": code, "X-Error-Message": text}
    return web.json_response({"error": text}, status=status, headers=headers)


def invalid_token() -> web.Response:
    text = "Invalid credentials in Authorization header"
    return web.json_response({"error": text}, status=401, headers={"X-Error-Message": text})


def sibling(file: HubFile, sizes: bool) -> dict[str, Any]:
    if not sizes:
        return {"rfilename": file.path}
    large = {"lfs": {"sha256": file.sha256, "size": file.size, "pointerSize": 134}} if file.sha256 else {}
    return {"rfilename": file.path, "size": file.size, "blobId": file.blob_id, **large}


def entry(file: HubFile) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "file", "oid": file.blob_id, "size": file.size, "path": file.path}
    if file.sha256:
        found |= {"lfs": {"oid": file.sha256, "size": file.size, "pointerSize": 134}, "xetHash": file.xet_hash}
    return found


async def serve(hub: Hub, host: str, port: int) -> None:
    """Serve both origins until SIGTERM or SIGINT; the first line on standard output tells the address."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    runners = [
        web.AppRunner(app, access_log=None, handler_cancellation=True)
        for app in (hub.other_application(), hub.application())
    ]
    try:
        for runner, wanted in zip(runners, (0, port), strict=True):
            await runner.setup()
            await web.TCPSite(runner, host, wanted, shutdown_timeout=0.5).start()
        other, own = (f"http://{host}:{runner.addresses[0][1]}" for runner in runners)
        hub.other_origin = other
        print(json.dumps({"hub": own}), flush=True)
        await stop.wait()
    finally:
        for runner in runners:
            await runner.cleanup()


def main() -> None:
    """Run the stand-in from the command line."""
    parser = argparse.ArgumentParser(description="A stand-in for the Hugging Face hub over a directory.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--faultless", action="store_true", help="take no faults and tell no requests under /-/")
    arguments = parser.parse_args()
    hub = Hub(arguments.directory.resolve(), faultless=arguments.faultless)
    asyncio.run(serve(hub, arguments.host, arguments.port))


if __name__ == "__main__":
    main()
