"""The certificate of a server: its files are checked, and read again when they change."""

import ssl
import stat
import threading
from datetime import UTC, datetime, timedelta

import structlog
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from ganglion.model.errors import FieldError
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import Files
from ganglion.specs.wording import first_of, noted
from ganglion.transport.tls.files import TlsFiles

LOOK_S = 60.0
"""Time between two looks at the files."""
SOON = timedelta(days=14)
"""Time before the end of a certificate from which on the server warns."""
_OTHERS, _OTHERS_OF_ROOT = stat.S_IRWXG | stat.S_IRWXO, stat.S_IWGRP | stat.S_IXGRP | stat.S_IRWXO
"""Rights that others may not have on a key; on one that root owns, a group may read."""

log = structlog.get_logger(__name__)


def checked(pair: TlsFiles, files: Files, now_ms: int) -> x509.Certificate:
    """Read a pair; returns the server's certificate.

    Args:
        pair: where it is.
        files: the file system.
        now_ms: the time, for what has expired.

    Raises:
        FieldError: all that is wrong with it.
    """
    problems: list[FieldError] = []
    leaf = noted(lambda: _certificate(pair.cert, files), problems)
    noted(lambda: _closed(pair.key, files), problems)
    public = noted(lambda: _public_key(pair.key, files), problems)
    if leaf:
        noted(lambda: _in_time(leaf, pair.cert, now_ms), problems)
    if leaf and public and _spelt(leaf.public_key()) != _spelt(public):
        hint = "give the key that it was made with; in a chain the server's certificate is first"
        problems.append(FieldError(f"does not belong to {pair.cert}", file=pair.key, hint=hint))
    if problems or leaf is None:
        raise first_of(problems)
    return leaf


def _certificate(path: str, files: Files) -> x509.Certificate:
    hint = "as PEM: -----BEGIN CERTIFICATE-----"
    try:
        return x509.load_pem_x509_certificates(files.read(path))[0]
    except OSError as error:
        raise FieldError(f"cannot be read: {error.strerror}", file=path) from error
    except ValueError as error:
        raise FieldError(f"is no certificate: {error}", file=path, hint=hint) from error


def _closed(path: str, files: Files) -> None:
    """Raises FieldError if users who are not meant to may read or write a key."""
    try:
        found = files.stat(path)
    except OSError:
        return  # the look at its content says so
    if found.st_mode & (_OTHERS if found.st_uid else _OTHERS_OF_ROOT):
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        raise FieldError(
            f"other users may use the key: mode {mode}", file=path, hint=f"chmod 600 {path}"
        )


def _public_key(path: str, files: Files) -> PublicKeyTypes:
    hint = "as PEM: -----BEGIN PRIVATE KEY-----"
    try:
        return load_pem_private_key(files.read(path), password=None).public_key()
    except OSError as error:
        raise FieldError(f"cannot be read: {error.strerror}", file=path) from error
    except TypeError as error:
        said = "is encrypted, and a server that starts by itself has no password"
        made = f"openssl pkey -in {path} -out NEW, with umask 077"
        raise FieldError(said, file=path, hint=made) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        said = str(error).partition("(")[0].strip()
        raise FieldError(f"is no private key: {said}", file=path, hint=hint) from error


def _in_time(leaf: x509.Certificate, path: str, now_ms: int) -> None:
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    if now > leaf.not_valid_after_utc:
        said = f"has expired on {leaf.not_valid_after_utc:%Y-%m-%d}"
        raise FieldError(said, file=path, hint="renew it")
    if now < leaf.not_valid_before_utc:
        said = f"counts from {leaf.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on only"
        raise FieldError(said, file=path, hint="is the clock of this machine right? date -u")


def _spelt(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


class ServedCertificate:
    """A pair of files, as TLS needs it. Safe from any thread.

    The files are looked at once a minute at most, when a caller connects or health is asked for.
    A pair that is wrong leaves the one before in use.

    Args:
        pair: where certificate and key are.
        effects: clock and files.
        renewed: what to do about one that expires soon.

    Attributes:
        pair: where certificate and key are.

    Raises:
        FieldError: all that is wrong with the pair.
    """

    def __init__(
        self, pair: TlsFiles, effects: Effects = SYSTEM, renewed: str = "renew it"
    ) -> None:
        self.pair, self._effects, self._renewed = pair, effects, renewed
        self._lock = threading.Lock()
        self._looked_s, self._seen = effects.clock.monotonic(), self._stamp()
        self._context, self._leaf = self._loaded()
        self._wrong = ""

    def context(self) -> ssl.SSLContext:
        """What the next connection is accepted with."""
        with self._lock:
            self._look()
            return self._context

    def trouble(self) -> str:
        """What a person has to do something about; empty = nothing."""
        with self._lock:
            self._look()
            return "; ".join(filter(None, (self._wrong, self._ending())))

    def _look(self) -> None:
        """Read the files again, where they have changed since."""
        now_s = self._effects.clock.monotonic()
        if now_s - self._looked_s < LOOK_S:
            return
        self._looked_s, stamp = now_s, self._stamp()
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            self._context, self._leaf = self._loaded()
        except FieldError as error:
            found = "; ".join(map(str, error.errors))
            self._wrong = f"the certificate before is still used: {found}"
            log.warning("new certificate not taken", error=found)
        else:
            self._wrong = ""
            log.info("new certificate", until=f"{self._leaf.not_valid_after_utc:%Y-%m-%d}")

    def _stamp(self) -> tuple[object, ...]:
        """What changes with the files: content, links and rights."""
        return tuple(map(self._stamp_of, (self.pair.cert, self.pair.key)))

    def _stamp_of(self, path: str) -> object:
        try:
            found = self._effects.files.stat(path)
        except OSError as error:
            return error.errno
        return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def _loaded(self) -> tuple[ssl.SSLContext, x509.Certificate]:
        """Make what TLS needs of the files as they are. Raises FieldError."""
        pair, clock = self.pair, self._effects.clock
        leaf = checked(pair, self._effects.files, clock.now_ms())
        made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.set_alpn_protocols(["http/1.1"])
        try:
            # The password keeps OpenSSL from asking for one at the terminal.
            made.load_cert_chain(pair.cert, pair.key, password="")
        except OSError as error:
            raise FieldError(f"OpenSSL refuses it: {error}", file=pair.cert) from error
        return made, leaf

    def _ending(self) -> str:
        until = self._leaf.not_valid_after_utc
        left = until - datetime.fromtimestamp(self._effects.clock.now_ms() / 1000, UTC)
        if left > SOON:
            return ""
        ends = f"expires in {left.days} days" if left > timedelta() else "has expired"
        return f"the certificate {self.pair.cert} {ends} ({until:%Y-%m-%d}): {self._renewed}"
