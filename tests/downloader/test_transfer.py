"""The HTTP client: ranges, redirects, proxies, private authorities, servers that misbehave."""

import http.client
import http.server
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.downloader import stage

from aim_engine.downloader.failures import NetworkFailure
from aim_engine.downloader.transfer import Refused, Transfer

CONTENT = bytes(range(256)) * 100
Answer = Callable[["Peer"], None]


class Peer(http.server.BaseHTTPRequestHandler):
    """Answers as a test scripts it."""

    protocol_version = "HTTP/1.1"
    answer: Answer
    seen: list[tuple[str, dict[str, str]]]

    def do_GET(self) -> None:
        self.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        type(self).answer(self)

    def do_CONNECT(self) -> None:
        self.seen.append((f"CONNECT {self.path}", {name.lower(): value for name, value in self.headers.items()}))
        with stage.connected(self.path) as server:
            self.send_response(200)
            self.end_headers()
            stage.carry_both_ways(self.connection, server)
        self.close_connection = True

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_range(self) -> None:
        words = self.headers["Range"].removeprefix("bytes=").split("-")
        self.send(206, CONTENT[int(words[0]) : int(words[1]) + 1])

    def log_message(self, *_: object) -> None: ...


@contextmanager
def peer(
    answer: Answer, context: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Run a scripted server; its address and what it saw."""
    script = type("Script", (Peer,), {"answer": answer, "seen": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), script)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # a client that does not trust us leaves in the middle of the handshake
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{server.server_address[1]}", script.seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def transfer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Transfer]:
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    client = Transfer(timeout=10)
    yield client
    client.close()


def whole(transfer: Transfer, url: str, first: int, end: int, headers: dict[str, str] | None = None) -> bytes:
    return b"".join(bytes(block) for block in transfer.blocks(url, headers or {}, first, end))


def test_a_range_is_asked_for_and_one_connection_serves_several(transfer: Transfer) -> None:
    ports: set[int] = set()

    def answer(self: Peer) -> None:
        ports.add(self.client_address[1])
        self.send_range()

    with peer(answer) as (url, seen):
        assert whole(transfer, f"{url}/a", 10, 20) == CONTENT[10:20]
        assert whole(transfer, f"{url}/b?x=1", 0, len(CONTENT)) == CONTENT
    assert [path for path, _ in seen] == ["/a", "/b?x=1"]
    assert seen[0][1]["range"] == "bytes=10-19"
    assert len(ports) == 1


def test_a_server_that_does_not_know_ranges_still_gives_the_right_bytes(transfer: Transfer) -> None:
    with peer(lambda self: self.send(200, CONTENT)) as (url, _):
        assert whole(transfer, url, 1000, 2000) == CONTENT[1000:2000]


def test_the_authorization_stays_with_its_origin(transfer: Transfer) -> None:
    with peer(Peer.send_range) as (other, at_other):

        def answer(self: Peer) -> None:
            self.send(307, b"", Location="/here" if self.path == "/start" else f"{other}/there")

        with peer(answer) as (url, at_first):
            assert whole(transfer, f"{url}/start", 0, 5, {"Authorization": "Bearer x"}) == CONTENT[:5]
    assert [headers["authorization"] for _, headers in at_first] == ["Bearer x", "Bearer x"]
    assert [path for path, _ in at_other] == ["/there"]
    assert "authorization" not in at_other[0][1]


def test_redirects_come_to_an_end(transfer: Transfer) -> None:
    with peer(lambda self: self.send(302, b"", Location="/again")) as (url, _), pytest.raises(NetworkFailure):
        whole(transfer, url, 0, 5)


def test_a_connection_that_the_server_closed_meanwhile_is_opened_anew(transfer: Transfer) -> None:
    def answer(self: Peer) -> None:
        self.send_range()
        self.close_connection = True

    with peer(answer) as (url, seen):
        for _ in range(3):
            assert whole(transfer, url, 0, 9) == CONTENT[:9]
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "17"}, 17),
        ({"RateLimit": '"resolvers";r=0;t=42'}, 42),
        ({"Retry_After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"Retry_After": "soon"}, None),
        ({}, None),
    ],
    ids=["a number", "a window", "a date that has passed", "nonsense", "nothing"],
)
def test_a_refusal_tells_how_long_to_wait(transfer: Transfer, headers: dict[str, str], seconds: float | None) -> None:
    with peer(lambda self: self.send(429, b"slow down", **headers)) as (url, _):
        with pytest.raises(Refused) as refused:
            whole(transfer, url, 0, 5)
        assert (refused.value.status, refused.value.retry_after, refused.value.body) == (429, seconds, b"slow down")


def test_content_that_changed_is_refused(transfer: Transfer) -> None:
    with (
        peer(lambda self: self.send(200, CONTENT, ETag='"new"')) as (url, _),
        pytest.raises(NetworkFailure, match="changed while it was downloaded"),
    ):
        list(transfer.blocks(url, {}, 0, 5, etag="old"))


def test_a_proxy_gets_whole_addresses_and_its_own_password(transfer: Transfer, monkeypatch: pytest.MonkeyPatch) -> None:
    with peer(Peer.send_range) as (proxy, seen):
        monkeypatch.setenv("http_proxy", proxy.replace("http://", "http://me:p%40ss@"))
        assert whole(transfer, "http://hub.example:8080/a/b", 0, 5, {"Authorization": "Bearer x"}) == CONTENT[:5]
    path, headers = seen[0]
    assert path == "http://hub.example:8080/a/b"
    assert headers["proxy-authorization"] == "Basic bWU6cEBzcw=="
    assert headers["authorization"] == "Bearer x"


def test_no_proxy_is_kept(transfer: Transfer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with peer(Peer.send_range) as (url, _):
        assert whole(transfer, url, 0, 5) == CONTENT[:5]


@pytest.mark.parametrize("tunnelled", [False, True], ids=["directly", "through a proxy's tunnel"])
def test_a_private_authority_is_trusted_when_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transfer: Transfer, tunnelled: bool
) -> None:
    stage.certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "ca.crt", tmp_path / "key.pem")
    with peer(Peer.send_range, context) as (url, _), peer(Peer.send_range) as (proxy, at_proxy):
        with pytest.raises(ssl.SSLCertVerificationError):
            whole(transfer, url, 0, 5)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))
        if tunnelled:
            monkeypatch.setenv("https_proxy", proxy)
        trusting = Transfer(timeout=10)
        assert whole(trusting, f"{url}/x", 0, 5) == CONTENT[:5]
        trusting.close()
    assert [path.split()[0] for path, _ in at_proxy] == (["CONNECT"] if tunnelled else [])


def test_an_address_that_is_none_is_a_network_failure(transfer: Transfer) -> None:
    with peer(lambda self: self.send(302, b"", Location="ftp://x/y")) as (url, _), pytest.raises(NetworkFailure):
        whole(transfer, url, 0, 5)


def test_a_body_that_ends_early_gives_what_came(transfer: Transfer) -> None:
    def answer(self: Peer) -> None:
        self.send_response(206)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(CONTENT[:40])
        self.close_connection = True

    with peer(answer) as (url, _):
        assert whole(transfer, url, 0, 100) == CONTENT[:40]


def test_no_server_at_all_is_an_error_of_the_system(transfer: Transfer) -> None:
    with pytest.raises((OSError, http.client.HTTPException)):
        whole(transfer, "http://127.0.0.1:9/", 0, 5)
