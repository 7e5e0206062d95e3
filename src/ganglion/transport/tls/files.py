"""Which certificate and key a server is given; needs nothing that is installed for TLS."""

from msgspec import Struct

from ganglion.model.errors import InputError


class TlsFiles(Struct, frozen=True):
    """Where certificate and key are, as PEM.

    Attributes:
        cert: the server's certificate, with those that lead to a known authority behind it.
        key: its private key, not encrypted.
    """

    cert: str
    key: str


OWN = TlsFiles("", "")
"""The pair that the server makes itself, in its home."""


def tls_files(mode: str, cert: str, key: str) -> TlsFiles | None:
    """What the options of TLS ask for; None = no TLS.

    Args:
        mode: `self` = the server makes the certificate; empty = it does not.
        cert: file of the certificate; empty = none is given.
        key: file of the key; empty = none is given.

    Raises:
        InputError: the options contradict each other.
    """
    if mode and (cert or key):
        raise InputError("--tls self and --tls-cert, --tls-key exclude each other", "give one")
    if bool(cert) != bool(key):
        raise InputError("--tls-cert and --tls-key go together", "give both files")
    if mode:
        return OWN
    return TlsFiles(cert, key) if cert else None
