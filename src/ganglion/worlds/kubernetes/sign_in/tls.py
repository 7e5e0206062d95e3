"""How the API server proves itself to us, and we to it, when the connection is made."""

import binascii
import os
import ssl
from base64 import b64decode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ganglion.model.errors import FieldError
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import Files
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.sign_in.kubeconfig import Person, Server

_CA = "certificate-authority"
_CERT, _KEY = "client-certificate", "client-key"


def context_of(endpoint: ApiEndpoint, effects: Effects = SYSTEM) -> ssl.SSLContext | None:
    """Return what TLS needs to know; None for plain HTTP.

    Raises:
        FieldError: a certificate or key is missing or unreadable; names file and key.
    """
    if not endpoint.url.startswith("https:"):
        return None
    _consistent(endpoint)
    with _blaming(endpoint, _CA, endpoint.server.certificate_auth):
        context = _trusting(endpoint.server, effects.files)
    with_pair(context, endpoint, endpoint.person, effects)
    return context


def with_pair(
    context: ssl.SSLContext, endpoint: ApiEndpoint, person: Person, effects: Effects = SYSTEM
) -> None:
    """Let the context show the client certificate of a person, if it has one.

    Raises:
        FieldError: it cannot be used; names file and key.
    """
    with ExitStack() as left:
        with _blaming(endpoint, _CERT, person.client_cert):
            cert = _file(person.client_cert, person.client_cert_data, effects.files, left)
        with _blaming(endpoint, _KEY, person.client_key):
            key = _file(person.client_key, person.client_key_data, effects.files, left)
        both = " or ".join(filter(None, (person.client_cert, person.client_key)))
        with _blaming(endpoint, _CERT, both):
            if cert:
                context.load_cert_chain(cert, key)


def _trusting(server: Server, files: Files) -> ssl.SSLContext:
    if server.certificate_auth_data:
        given = b64decode(server.certificate_auth_data).decode()
        context = ssl.create_default_context(cadata=given)
    else:
        if server.certificate_auth:
            files.read(server.certificate_auth)
        context = ssl.create_default_context(cafile=server.certificate_auth)
    # Clusters of years ago carry authorities without the extensions that newer Pythons demand.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if server.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _file(path: str | None, data: str | None, files: Files, left: ExitStack) -> str | None:
    """Return a file with these contents, as Python reads certificates and keys from files only.

    Raises:
        OSError: it cannot be read or made.
    """
    if not data:
        if path:
            files.read(path)  # OpenSSL does not say which of two files it cannot read
        return path
    made = files.scratch()
    left.callback(files.remove_tree, made)
    file = f"{made}/pem"  # no other user may read the folder
    descriptor = files.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        files.write(descriptor, b64decode(data))
    except OSError as error:
        raise OSError(error.errno, f"{file} cannot be written: {error.strerror}") from error
    finally:
        files.close(descriptor)
    return file


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
        said = (isinstance(error, OSError) and error.strerror) or str(error)
        what = f"{file}: {said}" if file else said
        raise FieldError(f"cannot be used: {what}", key=key, file=endpoint.file) from error
