"""Which certificate and key a server is given; needs nothing that is installed for TLS."""

from argparse import ArgumentParser
from collections.abc import Iterable

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


class TlsOption(Struct, frozen=True):
    """An option of TLS, as every program that listens has it.

    Attributes:
        flag: its name.
        help: what it does.
        choices: its values; none = the name of a file.
    """

    flag: str
    help: str
    choices: tuple[str, ...] = ()


TLS_FILES = (
    TlsOption("--tls-cert", "Speak HTTPS on every port, with the certificate in a file."),
    TlsOption("--tls-key", "The private key of --tls-cert."),
)
"""Options for a certificate that is there."""

SELF_MADE = "self"
TLS = (
    TlsOption(
        "--tls",
        "Speak HTTPS on every port, with a certificate that the server makes itself.",
        (SELF_MADE,),
    ),
    *TLS_FILES,
)
"""Those, and the one for a certificate that the server makes; `tls_files` reads them."""


def add_options(parser: ArgumentParser, given: Iterable[TlsOption]) -> None:
    """Add options of TLS to a program that reads its arguments without the command line's help."""
    for each in given:
        choices = each.choices or None
        parser.add_argument(each.flag, default="", help=each.help, choices=choices)


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
