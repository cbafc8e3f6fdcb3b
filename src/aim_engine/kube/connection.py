"""Where the API server is, and how we prove who we are, kept fresh while files and plugins rotate under us."""

import ssl
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from aim_engine.kube.errors import Misconfigured
from aim_engine.kube.plugin import Plugin

Pem: TypeAlias = Path | bytes
"""A certificate or key: in a file that may be rotated, or as given."""

T = TypeVar("T")


class FromFiles(Generic[T]):
    """A value made from files, made again when one of them changes."""

    def __init__(self, paths: Sequence[Path], make: Callable[[], T]) -> None:
        self._paths = paths
        self._make = make
        self._stamp: tuple[tuple[int, int, int], ...] | None = None
        self._value: list[T] = []

    def get(self) -> T:
        """The current value; the last good one while a rotation is half done."""
        try:
            stats = [path.stat() for path in self._paths]
            stamp = tuple((stat.st_mtime_ns, stat.st_ino, stat.st_size) for stat in stats)
            if stamp != self._stamp:
                self._value = [self._make()]
                self._stamp = stamp
        except (OSError, ssl.SSLError, ValueError) as error:
            if not self._value:
                names = ", ".join(map(str, self._paths))
                raise Misconfigured(f"can't use {names} for the connection to the API server: {error}") from error
        return self._value[0]


@dataclass(frozen=True)
class Access:
    """What one call needs to be let in."""

    headers: Sequence[tuple[str, str]]
    tls: ssl.SSLContext | bool
    """`True` for the system's default, which a plain http address never looks at."""


@dataclass(frozen=True)
class Certificate:
    """A client certificate and its key."""

    chain: Pem
    key: Pem = field(repr=False)


@dataclass(kw_only=True)
class Connection:
    """The way to one API server."""

    server: str
    """Base address, such as `https://10.0.0.1:6443`."""
    namespace: str = "default"
    """The namespace meant when none is named."""
    authority: Pem | None = None
    insecure: bool = False
    server_name: str | None = None
    """The name the server's certificate must carry, if not the host of the address."""
    proxy: str | None = None
    certificate: Certificate | None = None
    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    basic: str | None = field(default=None, repr=False)
    """`Basic` credentials, encoded."""
    plugin: Plugin | None = None
    headers: Sequence[tuple[str, str]] = ()
    """Sent with every call, such as `Impersonate-Group`, which may come several times."""

    def __post_init__(self) -> None:
        token_file = self.token_file
        self._token = FromFiles([token_file], lambda: token_file.read_text().strip()) if token_file else None
        self._tls = self._rotating_tls(self.certificate)
        self._plugin_tls: tuple[object, FromFiles[ssl.SSLContext]] | None = None

    async def access(self) -> Access:
        """Headers and TLS context for the next call."""
        headers = list(self.headers)
        tls = self._tls
        bearer = self._token.get() if self._token else self.token
        if self.plugin:
            credential = await self.plugin.credential()
            bearer = credential.token or bearer
            if credential.client_certificate_data and credential.client_key_data:
                tls = self._tls_of_plugin(
                    credential, credential.client_certificate_data.encode(), credential.client_key_data.encode()
                )
        if bearer:
            headers.append(("Authorization", f"Bearer {bearer}"))
        elif self.basic:
            headers.append(("Authorization", f"Basic {self.basic}"))
        return Access(headers, tls.get() if self.server.startswith("https") else True)

    def refused(self) -> bool:
        """The server did not accept our credentials; true if a second try may have better ones."""
        return self.plugin is not None and self.plugin.forget()

    def _tls_of_plugin(self, credential: object, chain: bytes, key: bytes) -> FromFiles[ssl.SSLContext]:
        if self._plugin_tls is None or self._plugin_tls[0] is not credential:
            self._plugin_tls = (credential, self._rotating_tls(Certificate(chain, key)))
        return self._plugin_tls[1]

    def _rotating_tls(self, certificate: Certificate | None) -> FromFiles[ssl.SSLContext]:
        pems = (self.authority, *((certificate.chain, certificate.key) if certificate else ()))
        return FromFiles([pem for pem in pems if isinstance(pem, Path)], lambda: self._make_tls(certificate))

    def _make_tls(self, certificate: Certificate | None) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cadata=_text(self.authority))
        # Python 3.13 demands key identifiers that the CAs of many clusters don't have.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.set_alpn_protocols(["http/1.1"])
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate:
            _load(context, certificate)
        return context


def _text(pem: Pem | None) -> str | None:
    return None if pem is None else (pem.read_bytes() if isinstance(pem, Path) else pem).decode()


def _load(context: ssl.SSLContext, certificate: Certificate) -> None:
    # OpenSSL takes certificates from files only; those given as data pass through a directory only we can read.
    with tempfile.TemporaryDirectory(prefix="kube-") as directory:
        paths: list[Path] = []
        for name, pem in (("tls.crt", certificate.chain), ("tls.key", certificate.key)):
            path = pem if isinstance(pem, Path) else Path(directory, name)
            if isinstance(pem, bytes):
                path.write_bytes(pem)
            paths.append(path)
        # An empty password turns the question on the terminal into an error.
        context.load_cert_chain(paths[0], paths[1], password="")
