"""Real registries for the tests of this folder, each started once per worker when a test first wants it."""

import asyncio
import concurrent.futures
import contextlib
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.registry import servers
from tests.registry.peer import Peer, serving
from tests.registry.pushing import Pusher
from tests.registry.servers import Authority

from aim_engine.local import binaries
from aim_engine.registry.limits import Limits

LIMITS = Limits(request=60.0, connect=60.0, retry_pauses=(0.01, 0.02), failure_lifetime=0.0)


@pytest.fixture(scope="session")
def program(request: pytest.FixtureRequest) -> Path:
    """The registry's executable, built by the first run."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with (
        capture.global_and_fixture_disabled() if capture else contextlib.nullcontext(),
        concurrent.futures.ThreadPoolExecutor(1) as executor,
    ):
        return executor.submit(asyncio.run, binaries.find("registry")).result()


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("registries")


@pytest.fixture(scope="session")
def authority(directory: Path) -> Authority:
    return Authority(directory / "authority")


@pytest.fixture(scope="session")
def plain(program: Path, directory: Path) -> Iterator[str]:
    """A registry without TLS that lets everyone in; host:port."""
    with servers.registry(program, directory / "plain") as host:
        yield host


@pytest.fixture(scope="session")
def encrypted(program: Path, directory: Path, authority: Authority) -> Iterator[str]:
    """A registry with a certificate of `authority`."""
    tls = {"certificate": str(authority.certificate_file), "key": str(authority.key_file)}
    with servers.registry(program, directory / "encrypted", http={"tls": tls}) as host:
        yield host


@pytest.fixture(scope="session")
def locked(program: Path, directory: Path) -> Iterator[str]:
    """A registry that wants the user name and password of `servers`."""
    passwords = directory / "htpasswd"
    passwords.write_text(servers.HTPASSWD)
    auth = {"htpasswd": {"realm": "test", "path": str(passwords)}}
    with servers.registry(program, directory / "locked", auth=auth) as host:
        yield host


class TokenServer:
    """Hands out tokens: `public/` repositories to everyone, the rest and the catalog to the user of `servers`."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self.seconds: int | None = 300

    async def respond(self, request: web.Request) -> web.StreamResponse:
        form = {name: str(value) for name, value in (await request.post()).items()}
        known = self._is_user(request, form)
        if known is None:
            return web.json_response({"details": "wrong password"}, status=401)
        scope = request.query.get("scope", form.get("scope", ""))
        access = [grant for text in scope.split() if (grant := _grant(text, known))]
        answer: dict[str, Any] = {"access_token" if form else "token": self._authority.token(access)}
        return web.json_response(answer | ({"expires_in": self.seconds} if self.seconds else {}))

    def _is_user(self, request: web.Request, form: dict[str, str]) -> bool | None:
        """None for one who says he is and is not."""
        if "refresh_token" in form:
            return True if form["refresh_token"] == servers.IDENTITY_TOKEN else None
        header = request.headers.get("Authorization")
        if header is None:
            return False
        return True if header == servers.BASIC else None


def _grant(scope: str, known: bool) -> dict[str, Any] | None:
    kind, name, actions = scope.split(":")
    if not (known or name.startswith("public/")):
        return None
    return {"type": kind, "name": name, "actions": actions.split(",")}


@pytest.fixture
def token_server(authority: Authority) -> TokenServer:
    return TokenServer(authority)


@pytest.fixture
async def tokens(token_server: TokenServer) -> AsyncIterator[Peer]:
    async with serving(token_server.respond) as peer:
        yield peer


@pytest.fixture
def tokened(program: Path, tmp_path: Path, authority: Authority, tokens: Peer) -> Iterator[str]:
    """A registry that wants tokens of the token server."""
    token = {
        "realm": f"http://{tokens.host}/token",
        "service": servers.SERVICE,
        "issuer": servers.ISSUER,
        "rootcertbundle": str(authority.ca_file),
    }
    with servers.registry(program, tmp_path / "tokened", auth={"token": token}) as host:
        yield host


@pytest.fixture
async def push(plain: str) -> AsyncIterator[Pusher]:
    """Pushes to the plain registry."""
    async with Pusher(f"http://{plain}") as pusher:
        yield pusher


@pytest.fixture
def trust(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority.ca_file)


@pytest.fixture
def repository(request: pytest.FixtureRequest) -> str:
    """A repository of the test's own."""
    return f"test/{abs(hash(request.node.nodeid)):x}"
