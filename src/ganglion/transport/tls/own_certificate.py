"""A key and a certificate that a server makes for itself, in its home."""

import ipaddress
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ganglion.model.errors import EnvironmentFault, FieldError, InputError
from ganglion.seams.effects import Effects
from ganglion.seams.files import make_folder, replace_whole
from ganglion.transport.hosts import LOCAL, split
from ganglion.transport.tls.certificate import SOON, ServedCertificate, checked
from ganglion.transport.tls.files import OWN, TlsFiles

FOLDER, CERT, KEY = "tls", "cert.pem", "key.pem"
"""Where the pair is in the home."""
LASTS = timedelta(days=365)
EARLIER = timedelta(hours=1)
"""A certificate counts from before it was made, for clients whose clocks are behind."""
ALWAYS = (LOCAL, "127.0.0.1", "::1")
"""Names that every such certificate has."""
AGAIN = "the next start makes another one: ganglion down, then ganglion up"


def served(
    wanted: TlsFiles | None, home: Path, names: Iterable[str], effects: Effects
) -> ServedCertificate | None:
    """The certificate of a server; None = it speaks plain HTTP.

    Args:
        wanted: its files; `OWN` = those in the home, made where they are missing, end soon, or
            lack a name.
        home: Ganglion's home directory.
        names: host names and addresses of the server, with or without a port.
        effects: clock, files and the pid.

    Raises:
        FieldError: all that is wrong with the pair.
        InputError: a host name that no certificate can have.
        EnvironmentFault: the home cannot be written.
    """
    if wanted != OWN:
        return ServedCertificate(wanted, effects) if wanted else None
    folder = home / FOLDER
    pair, needed = TlsFiles(str(folder / CERT), str(folder / KEY)), _names(names)
    if not _lasts(pair, needed, effects):
        try:
            make_folder(effects.files, folder)
            _make(pair, needed, effects)
        except OSError as error:
            hint = "check the folder and its disk"
            raise EnvironmentFault(f"cannot write {folder}: {error.strerror}", hint) from error
    return ServedCertificate(pair, effects, AGAIN)


def _names(given: Iterable[str]) -> tuple[x509.GeneralName, ...]:
    """Names of a certificate, each once."""
    hosts = [split(each)[0] if each.count(":") < 2 or "]" in each else each for each in given]
    return tuple(dict.fromkeys(map(_name, (*ALWAYS, *filter(_is_one, hosts)))))


def _is_one(host: str) -> bool:
    """Whether a host is a name or address that clients use, and not that of every interface."""
    return bool(host) and host not in ("0.0.0.0", "::")


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host.encode("idna").decode("ascii"))
    except ValueError as error:
        raise InputError(f"no host name: {host!r}: {error}", "as gpu-box or 10.0.0.7") from error


def _lasts(pair: TlsFiles, needed: tuple[x509.GeneralName, ...], effects: Effects) -> bool:
    """Whether the pair in the home is whole, goes on for long enough, and has all names."""
    now_ms = effects.clock.now_ms()
    try:
        found = checked(pair, effects.files, now_ms)
        known = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (FieldError, ValueError, x509.ExtensionNotFound):
        return False
    left = found.not_valid_after_utc - datetime.fromtimestamp(now_ms / 1000, UTC)
    return left > SOON and set(needed) <= set(known)


def _make(pair: TlsFiles, names: tuple[x509.GeneralName, ...], effects: Effects) -> None:
    """Write a new pair. Raises OSError.

    A server that dies between the two files leaves a pair that does not fit, which is made anew.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.fromtimestamp(effects.clock.now_ms() / 1000, UTC)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    made = _signed(key, names, now).public_bytes(Encoding.PEM)
    mark = effects.processes.own()
    replace_whole(effects.files, pair.key, secret, mark)
    replace_whole(effects.files, pair.cert, made, mark)


def _signed(
    key: ec.EllipticCurvePrivateKey, names: tuple[x509.GeneralName, ...], now: datetime
) -> x509.Certificate:
    """A certificate that is its own authority, and none of any other (RFC 5280)."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Ganglion server")])
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    use = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(now + LASTS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(use, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(own, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own), critical=False
        )
        .sign(key, hashes.SHA256())
    )
