"""The cluster's own certificate authority, and what it signs."""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from aim_engine.local.private_files import write_private

AUTHORITY_DAYS = 3650
CERTIFICATE_DAYS = 365
_HOUR = datetime.timedelta(hours=1)


class Authority:
    """A certificate authority whose certificate and key lie in a directory as ca.crt and ca.key."""

    def __init__(self, directory: Path) -> None:
        """Load the authority of `directory`, or make one there."""
        self.directory = directory
        self.certificate_file, key_file = directory / "ca.crt", directory / "ca.key"
        if not self.certificate_file.exists():
            self._make(key_file)
        self._key = _load_key(key_file)
        self._certificate = x509.load_pem_x509_certificate(self.certificate_file.read_bytes())

    def client(self, name: str, user: str, groups: Sequence[str] = ()) -> None:
        """Write <name>.crt and <name>.key with which a client is `user`, a member of `groups`."""
        subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
        self._issue(name, x509.Name(subject), ExtendedKeyUsageOID.CLIENT_AUTH, ())

    def server(self, name: str, hosts: Sequence[str]) -> None:
        """Write <name>.crt and <name>.key with which a server answers for `hosts`: names and addresses."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._issue(name, subject, ExtendedKeyUsageOID.SERVER_AUTH, hosts)

    def _issue(self, name: str, subject: x509.Name, usage: x509.ObjectIdentifier, hosts: Sequence[str]) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject, self._certificate.subject, key.public_key(), CERTIFICATE_DAYS)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False
            )
        certificate = builder.sign(self._key, hashes.SHA256())
        write_private(self.directory / f"{name}.key", _pem(key))
        write_private(self.directory / f"{name}.crt", certificate.public_bytes(serialization.Encoding.PEM))

    def _make(self, key_file: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "aim-engine local cluster")])
        certificate = (
            _builder(subject, subject, key.public_key(), AUTHORITY_DAYS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(digital_signature=True, key_cert_sign=True, crl_sign=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        write_private(key_file, _pem(key))
        write_private(self.certificate_file, certificate.public_bytes(serialization.Encoding.PEM))


def signing_key(directory: Path, name: str) -> None:
    """Write <name>.key and <name>.pub, a pair that signs and proves service account tokens, unless they are there."""
    if (directory / f"{name}.pub").exists():
        return
    key = ec.generate_private_key(ec.SECP256R1())
    write_private(directory / f"{name}.key", _pem(key))
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    write_private(directory / f"{name}.pub", public)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _HOUR)
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _load_key(file: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(file.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{file} holds no elliptic curve key")
    return key
