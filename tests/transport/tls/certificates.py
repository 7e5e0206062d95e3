"""Certificates and keys, made for a test."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from ganglion.transport.tls.files import TlsFiles

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
SINCE, LOOPBACK = timedelta(days=30), IPv4Address("127.0.0.1")


def write_pair(
    folder: Path,
    *,
    name: str = "localhost",
    days: float = 90,
    now: datetime | None = None,
    key: Key | None = None,
) -> TlsFiles:
    """Write a certificate that is its own authority, with its key.

    Args:
        folder: where to.
        name: DNS name of the server; 127.0.0.1 counts too.
        days: until its end.
        now: the time; that of the machine where it is left out.
        key: what is certified; a new one of P-256 where it is left out.
    """
    made = key or ec.generate_private_key(ec.SECP256R1())
    began = now or datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(made.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(began - SINCE)
        .not_valid_after(began + timedelta(days=days))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(LOOPBACK)]), False
        )
        .sign(made, hashes.SHA256())
    )
    pair = TlsFiles(str(folder / "cert.pem"), str(folder / "key.pem"))
    Path(pair.cert).write_bytes(signed.public_bytes(Encoding.PEM))
    write_key(Path(pair.key), made)
    return pair


def write_key(path: Path, key: Key, password: bytes = b"") -> None:
    """Write a private key for its owner only; encrypted where there is a password."""
    how = BestAvailableEncryption(password) if password else NoEncryption()
    path.touch(0o600)
    path.chmod(0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how))


def trusting(pair: TlsFiles) -> ssl.SSLContext:
    """What a client connects with that knows a certificate."""
    return ssl.create_default_context(cafile=pair.cert)


def der(pair: TlsFiles) -> bytes:
    """The certificate, as a connection shows it."""
    return ssl.PEM_cert_to_DER_cert(Path(pair.cert).read_text())
