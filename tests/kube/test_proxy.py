"""What of the environment reaches the way to the API server: its proxy, and no one's passwords."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.kube.peer import peer, says

from aim_engine.kube.client import Client
from aim_engine.kube.connection import Connection
from aim_engine.kube.errors import Unreachable
from aim_engine.kube.resource import PODS
from aim_engine.objects import Key

KEY = Key("team", "web")
Environment: TypeAlias = Callable[[str, str], None]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Environment:
    """Sets a variable; there are none of proxies but these."""
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch.setenv


def from_outside(server: Connection) -> str:
    """The address of a peer as that of another machine: what is sent to 0.0.0.0 arrives at this one."""
    return server.server.replace("127.0.0.1", "0.0.0.0")


@pytest.mark.parametrize("token", ["secret", None], ids=["with a token of ours", "with none"])
async def test_a_netrc_of_the_home_directory_is_not_for_us(environment: Environment, tmp_path: Path, token: str | None):
    netrc = tmp_path / ".netrc"
    netrc.write_text("default login bob password hunter2\n")
    netrc.chmod(0o600)
    environment("HOME", str(tmp_path))
    environment("NETRC", str(netrc))
    async with (
        peer(says({})) as server,
        Client(Connection(server=from_outside(server.connection), token=token)) as client,
    ):
        await client.get(PODS, KEY)
    assert server.seen[0].headers.get("Authorization") == (f"Bearer {token}" if token else None)


@pytest.mark.parametrize(
    ("no_proxy", "direct"),
    [
        pytest.param("", False, id="no exceptions"),
        pytest.param("0.0.0.0", True, id="the address"),
        pytest.param("10.0.0.0/8, 0.0.0.0/8", True, id="a network, as Go's clients take it"),
        pytest.param("10.0.0.0/8,other.example,nonsense/x", False, id="others"),
        pytest.param("*", True, id="everything"),
    ],
)
async def test_the_proxy_of_the_environment_is_taken_but_for_its_exceptions(
    environment: Environment, no_proxy: str, direct: bool
):
    async with peer(says({})) as server, peer(says({})) as proxy:
        environment("HTTP_PROXY", proxy.connection.server.removeprefix("http://"))
        environment("NO_PROXY", no_proxy)
        async with Client(Connection(server=from_outside(server.connection))) as client:
            await client.get(PODS, KEY)
    assert (len(server.seen), len(proxy.seen)) == ((1, 0) if direct else (0, 1))


async def test_an_exception_may_have_a_port(environment: Environment):
    async with peer(says({})) as server, peer(says({})) as proxy:
        environment("HTTP_PROXY", proxy.connection.server)
        environment("NO_PROXY", from_outside(server.connection).removeprefix("http://"))
        async with Client(Connection(server=from_outside(server.connection))) as client:
            await client.get(PODS, KEY)
    assert (len(server.seen), len(proxy.seen)) == (1, 0)


async def test_a_host_name_is_left_to_the_proxy(environment: Environment):
    async with peer(says({})) as proxy:
        environment("HTTP_PROXY", proxy.connection.server)
        async with Client(Connection(server="http://api.example:6443")) as client:
            await client.get(PODS, KEY)
    assert proxy.seen[0].headers["Host"] == "api.example:6443"


async def test_no_proxy_of_the_environment_is_taken_to_this_machine(environment: Environment):
    async with peer(says({})) as server, peer(says({})) as proxy:
        environment("HTTP_PROXY", proxy.connection.server)
        async with Client(server.connection) as client:
            await client.get(PODS, KEY)
    assert (len(server.seen), len(proxy.seen)) == (1, 0)


async def test_the_proxy_of_a_kubeconfig_comes_before_that_of_the_environment(environment: Environment):
    async with peer(says({})) as named, peer(says({})) as proxy:
        environment("HTTP_PROXY", proxy.connection.server)
        connection = Connection(server="http://api.example:6443", proxy=named.connection.server)
        async with Client(connection) as client:
            await client.get(PODS, KEY)
    assert (len(named.seen), len(proxy.seen)) == (1, 0)


async def test_a_proxy_that_cannot_be_spoken_to_is_left_out(environment: Environment):
    async with peer(says({})) as server:
        environment("HTTP_PROXY", "socks5://127.0.0.1:1")
        async with Client(Connection(server=from_outside(server.connection))) as client:
            await client.get(PODS, KEY)
    assert len(server.seen) == 1


async def test_the_password_of_a_proxy_is_sent_to_it_and_never_told(environment: Environment):
    heard: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.extend((await reader.readuntil(b"\r\n\r\n")).decode().splitlines())
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        environment("HTTPS_PROXY", f"http://bob:hunter2@127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        async with Client(Connection(server="https://api.example:6443")) as client:
            with pytest.raises(Unreachable, match="407") as failure:
                await client.get(PODS, KEY)
    assert heard[0] == "CONNECT api.example:6443 HTTP/1.1"
    assert "Proxy-Authorization: Basic Ym9iOmh1bnRlcjI=" in heard
    assert "hunter2" not in str(failure.value)
