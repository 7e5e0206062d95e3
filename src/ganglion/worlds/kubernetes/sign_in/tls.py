"""How the API server proves itself to us, and we to it, when the connection is made."""

import binascii
import ssl
from base64 import b64decode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ganglion.model.errors import FieldError
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.sign_in.kubeconfig import Person, Server

_CA = "certificate-authority"
_CERT, _KEY = "client-certificate", "client-key"


def context_of(endpoint: ApiEndpoint) -> ssl.SSLContext | None:
    """Return what TLS needs to know; None for plain HTTP.

    Raises:
        FieldError: a certificate or key is missing or unreadable; names file and key.
    """
    if not endpoint.url.startswith("https:"):
        return None
    _consistent(endpoint)
    with _blaming(endpoint, _CA, endpoint.server.certificate_auth):
        context = _trusting(endpoint.server)
    with_pair(context, endpoint, endpoint.person)
    return context


def with_pair(context: ssl.SSLContext, endpoint: ApiEndpoint, person: Person) -> None:
    """Let the context show the client certificate of a person, if it has one."""
    files = " or ".join(filter(None, (person.client_cert, person.client_key)))
    with _blaming(endpoint, _CERT, files), ExitStack() as left:
        cert = _file(person.client_cert, person.client_cert_data, left)
        if cert:
            context.load_cert_chain(cert, _file(person.client_key, person.client_key_data, left))


def _trusting(server: Server) -> ssl.SSLContext:
    if server.certificate_auth_data:
        given = b64decode(server.certificate_auth_data).decode()
        context = ssl.create_default_context(cadata=given)
    else:
        context = ssl.create_default_context(cafile=server.certificate_auth)
    # Clusters of years ago carry authorities without the extensions that newer Pythons demand.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if server.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _file(path: str | None, data: str | None, left: ExitStack) -> str | None:
    """Return a file with these contents, as Python reads certificates and keys from files only."""
    if not data:
        return path
    made = left.enter_context(TemporaryDirectory())
    file = Path(made) / "pem"  # no other user may read the folder
    file.write_bytes(b64decode(data))
    return str(file)


def _consistent(endpoint: ApiEndpoint) -> None:
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


def _base64(endpoint: ApiEndpoint, key: str, data: str | None) -> None:
    try:
        b64decode("".join((data or "").split()), validate=True)  # lines may be folded
    except binascii.Error as error:
        raise FieldError(f"is no base64: {error}", key=key, file=endpoint.file) from None


@contextmanager
def _blaming(endpoint: ApiEndpoint, key: str, file: str | None) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # SSLError is an OSError
        what = f"{file}: {error}" if file else str(error)
        raise FieldError(f"cannot be used: {what}", key=key, file=endpoint.file) from error
