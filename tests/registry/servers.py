"""Real registries of the distribution project on 127.0.0.1: plain, with TLS, with passwords, with tokens."""

import base64
import contextlib
import datetime
import ipaddress
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID
from tests.companion import die_with_parent

USER, PASSWORD = "reader", "open: sesame"
HTPASSWD = f"{USER}:$2b$04$A891iW1016OEEKdhFioVsO2L2gtMN0goaF.ehfKgF3iX8aJl/6j0W\n"
"""The bcrypt of PASSWORD, at the lowest cost."""
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
IDENTITY_TOKEN = "an identity token"
SERVICE, ISSUER = "registry.test", "tokens.test"
START_SECONDS = 300.0


@contextlib.contextmanager
def registry(program: Path, directory: Path, **sections: dict[str, Any]) -> Iterator[str]:
    """A running registry that keeps everything in memory; yields its host:port."""
    directory.mkdir(parents=True)
    http = {"addr": "127.0.0.1:0", "secret": "test", **sections.pop("http", {})}
    configuration = {
        "version": "0.1",
        "log": {"level": "info", "formatter": "text", "accesslog": {"disabled": True}},
        "storage": {"inmemory": {}, "delete": {"enabled": True}},
        "http": http,
        **sections,
    }
    (directory / "config.yml").write_text(json.dumps(configuration))
    log = directory / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, "serve", directory / "config.yml"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            preexec_fn=die_with_parent,
            env={"OTEL_TRACES_EXPORTER": "none"},
        )
    try:
        yield _address(process, log)
    finally:
        process.kill()
        process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address that the registry says it listens on."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        found = re.search(r"listening on (127\.0\.0\.1:\d+)", log.read_text())
        if found:
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise AssertionError(f"the registry did not start: {log.read_text()}")


class Authority:
    """A certificate authority and what it signs: server certificates and tokens."""

    def __init__(self, directory: Path, *hosts: str) -> None:
        """The server certificate is for 127.0.0.1 and these hosts."""
        directory.mkdir(parents=True)
        self._hosts = hosts
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.certificate = self._sign("test authority", self.key.public_key(), authority=True)
        self.ca_file = directory / "ca.pem"
        self.ca_file.write_bytes(_pem(self.certificate))
        server = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.certificate_file, self.key_file = directory / "server.pem", directory / "server.key"
        self.certificate_file.write_bytes(_pem(self._sign("127.0.0.1", server.public_key())))
        self.key_file.write_bytes(
            server.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )

    def token(self, access: list[dict[str, Any]], subject: str = "", seconds: int = 300) -> str:
        """A JSON Web Token that a registry trusting this authority takes."""
        now = int(time.time())
        chain = [base64.b64encode(self.certificate.public_bytes(serialization.Encoding.DER)).decode()]
        header = {"typ": "JWT", "alg": "RS256", "x5c": chain}
        claims = {
            "iss": ISSUER,
            "sub": subject,
            "aud": SERVICE,
            "exp": now + seconds,
            "nbf": now - 10,
            "iat": now,
            "jti": str(time.monotonic_ns()),
            "access": access,
        }
        signed = b".".join(_base64url(json.dumps(part).encode()) for part in (header, claims))
        signature = self.key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
        return (signed + b"." + _base64url(signature)).decode()

    def _sign(self, name: str, public: rsa.RSAPublicKey, *, authority: bool = False) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(_name("test authority"))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if not authority:
            address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
            names = [address, *(x509.DNSName(host) for host in self._hosts)]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self.key, hashes.SHA256())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _base64url(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")
