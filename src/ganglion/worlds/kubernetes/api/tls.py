"""How the API server proves itself to us, and we to it, when the connection is made."""

import binascii
import ssl
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lightkube.config.client_adapter import user_cert, verify_cluster
from lightkube.config.models import User

from ganglion.model.errors import FieldError
from ganglion.worlds.kubernetes.api.config import Endpoint
from ganglion.worlds.kubernetes.api.kubeconfig import Person

_CA = "certificate-authority"
_CERT, _KEY = "client-certificate", "client-key"


def context_of(endpoint: Endpoint) -> ssl.SSLContext | None:
    """Return what TLS needs to know; None for plain HTTP.

    Raises:
        FieldError: a certificate or key is missing or unreadable; names file and key.
    """
    if not endpoint.url.startswith("https:"):
        return None
    _consistent(endpoint)
    with _blaming(endpoint, _CA):
        context = verify_cluster(endpoint.server, User(), Path)
    # Clusters of years ago carry authorities without the extensions that newer Pythons demand.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    with_pair(context, endpoint, endpoint.person)
    return context


def with_pair(context: ssl.SSLContext, endpoint: Endpoint, person: Person) -> None:
    """Let the context show the client certificate of a person, if it has one."""
    with _blaming(endpoint, _CERT):
        if pair := user_cert(person, Path):
            context.load_cert_chain(*pair)


def _consistent(endpoint: Endpoint) -> None:
    server, person = endpoint.server, endpoint.person
    cert, key = person.client_cert_data, person.client_key_data
    _base64(endpoint, f"{_CA}-data", server.certificate_auth_data)
    _base64(endpoint, f"{_CERT}-data", cert)
    _base64(endpoint, f"{_KEY}-data", key)
    if bool(cert or person.client_cert) != bool(key or person.client_key):
        missing = _KEY if cert or person.client_cert else _CERT
        raise FieldError("is missing beside the other", key=missing, file=endpoint.file)
    if server.insecure and (server.certificate_auth or server.certificate_auth_data):
        message = f"contradicts {_CA}"
        raise FieldError(message, key="insecure-skip-tls-verify", file=endpoint.file)


def _base64(endpoint: Endpoint, key: str, data: str | None) -> None:
    try:
        b64decode(data or "", validate=True)
    except binascii.Error as error:
        raise FieldError(f"is no base64: {error}", key=key, file=endpoint.file) from None


@contextmanager
def _blaming(endpoint: Endpoint, key: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # SSLError is an OSError
        name = getattr(error, "filename", None)
        message = f"cannot be used: {error}" + (f" ({name})" if name else "")
        raise FieldError(message, key=key, file=endpoint.file) from error
