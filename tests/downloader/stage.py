"""What the tests of the downloader stand on: the program as a process, a hub, an S3 server, a scripted API server."""

import contextlib
import http.server
import ipaddress
import itertools
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.companion import die_with_parent

from aim_engine.api.foreign import ContainerState, ContainerStatus, Pod, PodStatus, Terminated
from aim_engine.core import pod_failure
from aim_engine.objects import ObjectMeta

DEADLINE = 300.0
TOKEN = "hf_a_token_that_must_stay_secret"


def until(holds: Callable[[], object], seconds: float = DEADLINE) -> None:
    """Wait for a condition; fail when the deadline passes."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "the condition did not come true in time"
        time.sleep(0.02)


@dataclass
class Outcome:
    """How a run of the program ended."""

    code: int
    out: str
    err: str

    @property
    def log(self) -> str:
        return self.out + self.err

    @property
    def reason(self) -> str:
        """What the operator makes of it: the reason of a failed pod with this exit code and this log."""
        ended = ContainerState(terminated=Terminated(exit_code=self.code, reason="Error"))
        status = PodStatus(phase="Failed", container_statuses=(ContainerStatus(name="model-download", state=ended),))
        pod = Pod(metadata=ObjectMeta(name="download"), status=status)
        return pod_failure.problem(pod, self.out + self.err).reason


@dataclass
class Volume:
    """A target directory and the environment of a download container that has it."""

    path: Path
    environment: dict[str, str]

    def start(self, *words: str, **variables: str) -> "subprocess.Popen[str]":
        """Start the program and leave it running."""
        return subprocess.Popen(
            [sys.executable, "-m", "aim_engine.downloader", *words],
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, **variables: str) -> Outcome:
        """Run the program to its end."""
        return ended(self.start(*words, **variables))

    def files(self) -> dict[str, bytes]:
        """Everything on the volume but what huggingface_hub keeps there."""
        return {
            path.relative_to(self.path).as_posix(): path.read_bytes()
            for path in sorted(self.path.rglob("*"))
            if path.is_file() and ".cache/huggingface" not in path.as_posix()
        }

    def leftovers(self) -> list[str]:
        """What must not stay on a volume after success: unfinished files, locks, empty directories."""
        return [
            path.relative_to(self.path).as_posix()
            for path in sorted(self.path.rglob("*"))
            if path.name.endswith((".incomplete", ".lock"))
            or ".aim-download" in path.name
            or (path.is_dir() and not any(path.iterdir()))
        ]

    def arrived(self) -> int:
        """How many bytes of unfinished files the journals tell of."""
        journals = self.path.rglob("*.parts.incomplete")
        with contextlib.suppress(FileNotFoundError):
            return sum(int(line.split()[2]) for journal in journals for line in journal.read_text().splitlines())
        return 0


def ended(process: "subprocess.Popen[str]") -> Outcome:
    """Wait for a started program."""
    with process:
        out, err = process.communicate(timeout=DEADLINE)
    return Outcome(process.returncode, out, err)


def program(*words: str, environment: Mapping[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", *words],
        env=dict(environment),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    )


@dataclass
class Hub:
    """The hub stand-in as a process, with repositories that a test writes."""

    root: Path
    url: str

    def add(self, repository: str, files: Mapping[str, bytes]) -> str:
        """Write a repository; return its URI."""
        for path, content in files.items():
            location = self.root / repository / path
            location.parent.mkdir(parents=True, exist_ok=True)
            location.write_bytes(content)
        return f"hf://{repository}"

    def rules(self, **access: Any) -> None:
        (self.root / "hub.json").write_text(json.dumps(access))

    def faults(self, *faults: Mapping[str, Any]) -> None:
        body = json.dumps(faults).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/-/faults", data=body, method="PUT")):
            pass

    def requests(self, method: str = "GET") -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self.url}/-/requests") as answer:
            return [request for request in json.load(answer) if request["method"] == method]


@contextlib.contextmanager
def hub(root: Path) -> Iterator[Hub]:
    """Run the hub stand-in."""
    root.mkdir(parents=True, exist_ok=True)
    environment = {"PATH": os.environ["PATH"]}
    process = program("aim_engine.local.stand_ins.hub", str(root), environment=environment)
    with process:
        assert process.stdout
        try:
            yield Hub(root, json.loads(process.stdout.readline())["hub"])
        finally:
            process.terminate()


@contextlib.contextmanager
def s3_server(binary: Path, root: Path, *options: str) -> Iterator[str]:
    """Run a real S3 server over a directory; its address."""
    for name in ("buckets", "metadata"):
        (root / name).mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"ROOT_ACCESS_KEY": S3_KEY, "ROOT_SECRET_KEY": S3_SECRET, "PATH": os.environ["PATH"]}
    words = [
        *options,
        "--quiet",
        "--port",
        f"127.0.0.1:{port}",
        "posix",
        "--sidecar",
        str(root / "metadata"),
        str(root / "buckets"),
    ]
    with subprocess.Popen(
        [binary, *words], env=environment, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent
    ) as process:
        try:
            until(lambda: answers(port))
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


S3_KEY, S3_SECRET = "the-access-key", "the-secret-access-key-of-tests"


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def connected(address: str) -> socket.socket:
    host, port = address.split(":")
    return socket.create_connection((host, int(port)))


def carry_both_ways(client: socket.socket, server: socket.socket) -> None:
    """Carry bytes between two connections until one of them ends."""
    client.setblocking(True)
    back = threading.Thread(target=carry, args=(server, client), daemon=True)
    back.start()
    carry(client, server)
    back.join()


def carry(source: socket.socket, sink: socket.socket, carried: Callable[[int], None] = lambda _: None) -> None:
    """Carry bytes one way until the source ends."""
    with contextlib.suppress(OSError):
        while block := source.recv(16 * 1024):
            carried(len(block))
            sink.sendall(block)
        sink.shutdown(socket.SHUT_WR)


@dataclass
class Way:
    """A way to a server that carries only so many bytes a second, rests before each answer, and counts the bytes."""

    address: str
    rate: int
    rest: float
    carried: int = 0

    def count(self, length: int) -> None:
        self.carried += length
        time.sleep(self.rest + length / self.rate)


@contextlib.contextmanager
def slow_way(address: str, rate: int, rest: float = 0.0) -> Iterator[Way]:
    """Put a slow way in front of a server."""
    listener = socket.create_server(("127.0.0.1", 0))
    way = Way(f"http://127.0.0.1:{listener.getsockname()[1]}", rate, rest)
    open_ends: list[socket.socket] = [listener]

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, server = listener.accept()[0], connected(address.removeprefix("http://"))
                open_ends.extend((client, server))
                threading.Thread(target=carry, args=(client, server), daemon=True).start()
                threading.Thread(target=carry, args=(server, client, way.count), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield way
    finally:
        for end in open_ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@dataclass
class ApiServer:
    """A peer that answers PATCH requests as it is told and remembers them."""

    port: int = 0
    status: int = 200
    patches: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    headers: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])

    def statuses(self, part: str) -> list[dict[str, Any]]:
        """The patches of `progress` or `download`, in order; one sent again as our answer came late counts once."""
        told = [body["status"][part] for _, body in self.patches if part in body["status"]]
        return [one for one, _ in itertools.groupby(told)]


@contextlib.contextmanager
def api_server(folder: Path) -> Iterator[ApiServer]:
    """Run the peer over TLS; the folder becomes a service account that trusts it."""
    peer = ApiServer()

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PATCH(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            peer.patches.append((self.path, body))
            peer.headers.append(dict(self.headers))
            text = b'{"message": "aimartifacts.aim.eai.amd.com is forbidden or not found"}'
            self.send_response(peer.status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None: ...

    folder.mkdir()
    certificate(folder)
    (folder / "token").write_text("the-pods-own-token")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.crt", folder / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    peer.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield peer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def certificate(folder: Path) -> None:
    """Write a certificate for 127.0.0.1 that is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.crt").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    pem, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(pem, kind, serialization.NoEncryption()))
