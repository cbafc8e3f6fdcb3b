"""Serving certificates: the files the user mounted, read again when they change, or one signed by itself."""

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

VALID_FOR = timedelta(days=365)


class Reloading:
    """A TLS context that takes up a rotated certificate at the next handshake."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self.certificate = certificate
        self.key = key
        self.stamp = (0, 0)
        self.context = self.load()
        self.context.sni_callback = self.refresh

    def load(self) -> ssl.SSLContext:
        """A context with what is in the files now."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate, self.key)
        self.stamp = self.changed_at()
        return context

    def changed_at(self) -> tuple[int, int]:
        """When the two files changed last."""
        return self.certificate.stat().st_mtime_ns, self.key.stat().st_mtime_ns

    def refresh(self, connection: ssl.SSLSocket | ssl.SSLObject, _: str | None, __: ssl.SSLContext) -> None:
        """Answer this handshake with the files' present content; a half-written pair leaves the old one in use."""
        try:
            if self.changed_at() != self.stamp:
                renewed = self.load()
                renewed.sni_callback = self.refresh
                self.context = renewed
        except (OSError, ssl.SSLError):
            pass
        connection.context = self.context


def mounted(directory: Path, certificate: str, key: str) -> ssl.SSLContext:
    """The TLS context of a mounted certificate; raises ValueError with a sentence if it cannot be used."""
    try:
        return Reloading(directory / certificate, directory / key).context
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"the serving certificate in {directory} cannot be used: {error}") from error


def self_signed(name: str) -> ssl.SSLContext:
    """The TLS context of a certificate made on the spot; callers cannot verify it, which is what its users accept."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + VALID_FOR)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name), x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate.public_bytes(serialization.Encoding.PEM))
        file.write(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        file.flush()
        context.load_cert_chain(file.name)
    return context
