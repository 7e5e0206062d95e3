"""HTTP connections that find out who answers before they send anything."""

import http.client
import json
import logging
import os
import re
import socket
import ssl
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any, TypeVar

import httpcore2
import httpx2

from ganglion.model.errors import EnvironmentFault, FileError
from ganglion.transport import unix
from ganglion.transport.proof import PATH, key_of, matches, nonce

Fault = TypeVar("Fault", bound=BaseException)

LARGEST_ANSWER = 4_096
"""Bytes of the answer to a challenge."""
KEPT, KEPT_S = 20, 5.0
"""Idle connections that are kept, and for how long; the defaults of httpx2."""
LONGEST_HEAD = 16_384
"""Bytes of a request's head that waits for its body."""
_BODY_FOLLOWS = re.compile(
    rb"(?:POST|PUT|PATCH|DELETE) [^\r]+\r\n(?s:.*)\r\ncontent-length: *[1-9](?s:.*)\r\n\r\n\Z", re.I
)
REFUSED = (401, 429)
"""Statuses of a token that counts for nothing; the second where too many of them came."""
MISDIRECTED = 421
_requests = logging.getLogger("ganglion.requests")
"""Log of what a client sends; see `ganglion.client.trail`."""


class Unproven(EnvironmentFault):
    """Another program than the server listens there; it was sent no token."""

    code = "environment.unproven"


CA_FILE = "GANGLION_CA_FILE"
"""Variable with the file of the certificates by which clients recognise a server."""


def tls_context() -> ssl.SSLContext:
    """What a client speaks TLS by: only a server whose certificate is known is sent anything.

    Raises:
        FileError: the file that the variable names has no certificates.
    """
    path = os.environ.get(CA_FILE)
    if not path:
        return httpx2.create_ssl_context()
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as error:
        hint = f"{CA_FILE} names a file of certificates as PEM"
        raise FileError(f"{path}: {error.strerror or error}", hint) from error


def cause_of(error: BaseException | None, kind: type[Fault]) -> Fault | None:
    """What an error came of, of one kind; None = it came of nothing of that kind."""
    while error:
        if isinstance(error, kind):
            return error
        error = error.__cause__ or error.__context__
    return None


def tls_trouble(error: BaseException, url: str) -> Unproven | None:
    """The error of a connection that TLS did not come about on; None = it failed otherwise."""
    cause = cause_of(error, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Unproven(
            f"the certificate of {url} is not trusted: {cause.verify_message}",
            f"use a name that it has; if it is the server's own, name a copy of it by {CA_FILE}",
        )
    if cause:
        said = cause.reason or str(cause)
        return Unproven(f"no TLS with {url}: {said}", "does it speak plain HTTP, at http://…?")
    return None


class Bearer(httpx2.Auth):
    """The token, read anew when the server no longer takes it: every start makes another one.

    Args:
        read: where the token is.
    """

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self.token = read()

    def renew(self) -> bool:
        """Read it anew; returns whether it has changed."""
        before, self.token = self.token, self._read()
        return self.token != before

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Send the token, and once more if it has changed."""
        sent = self.token
        request.headers["Authorization"] = f"Bearer {sent}"
        response = yield request
        if response.status_code in REFUSED and (self.renew() or self.token != sent):
            _requests.info("again at once: the server has a new token")
            request.headers["Authorization"] = f"Bearer {self.token}"
            yield request


class JoinedRequest(httpcore2.NetworkStream):
    """Sends the head of a request together with its body, which wakes the server once for both.

    Args:
        stream: the connection.
    """

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream, self._head = stream, b""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes; a head that a body follows waits for it."""
        if not self._head and len(buffer) < LONGEST_HEAD and _BODY_FOLLOWS.match(buffer):
            self._head = buffer
            return
        head, self._head = self._head, b""
        self._stream.write(head + buffer, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Receive bytes, once everything is sent."""
        if self._head:
            self.write(b"", timeout)
        return self._stream.read(max_bytes, timeout)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as httpcore2 declares it
        """Return what the connection says of itself."""
        return self._stream.get_extra_info(info)


class _Unix(httpcore2.SyncBackend):
    """Connects to one Unix socket whose listener is checked."""

    def __init__(self, path: Path, *, shared: bool) -> None:
        self._path, self._shared = path, shared

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect; `path` may be longer than an address can be, so that of this object counts."""
        del path
        try:
            with unix.address(self._path) as short:
                stream = super().connect_unix_socket(short, timeout, socket_options)
        except OSError as error:  # the folder is gone
            raise httpcore2.ConnectError(str(error)) from error
        try:
            unix.check_server(stream.get_extra_info("socket"), self._path, shared=self._shared)
        except OSError as error:
            stream.close()
            raise Unproven(
                f"{error}; nothing was sent", "check who may write to that folder"
            ) from error
        return JoinedRequest(stream)


class _Proven(httpcore2.SyncBackend):
    """Connects over TCP and has the server prove itself on that very connection."""

    def __init__(self, bearer: Bearer) -> None:
        self._bearer = bearer

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect; raises Unproven unless the server knows the token."""
        stream = super().connect_tcp(host, port, timeout, local_address, socket_options)
        if not self._bearer.token:
            return JoinedRequest(stream)
        try:
            _challenge(stream.get_extra_info("socket"), _authority(host, port), self._bearer)
        except TimeoutError as error:
            stream.close()
            raise httpcore2.ConnectTimeout(str(error)) from error
        except (OSError, http.client.HTTPException) as error:
            stream.close()
            raise httpcore2.ConnectError(str(error)) from error
        except BaseException:
            stream.close()
            raise
        return JoinedRequest(stream)


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _challenge(connected: socket.socket, authority: str, bearer: Bearer) -> None:
    """Raises Unproven unless the other end knows the token, or the one that is read anew."""
    challenge, (name, key) = nonce(), key_of(bearer.token)
    target = f"{PATH}?nonce={challenge}" + (f"&token={name}" if name else "")
    connected.sendall(f"GET {target} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    answer = http.client.HTTPResponse(connected)
    answer.begin()
    body = answer.read(LARGEST_ANSWER)
    answer.close()
    given = _field(body, "proof")
    if matches(given, key, challenge, authority):
        return
    if given and bearer.renew() and matches(given, key_of(bearer.token)[1], challenge, authority):
        return
    if answer.status == MISDIRECTED:
        raise Unproven(_field(body, "detail"), _field(body, "hint"))
    raise Unproven(
        f"what listens at {authority} does not know the token; it was not sent",
        "is that the server you mean? check $GANGLION_URL and $GANGLION_TOKEN;"
        " after ganglion login: sign in again",
    )


def _field(body: bytes, key: str) -> str:
    """A text of a JSON answer; empty = there is none."""
    try:
        found = json.loads(body)
    except ValueError:
        return ""
    said = found.get(key) if isinstance(found, dict) else None
    return said if isinstance(said, str) else ""


def unix_transport(path: Path, *, shared: bool = False) -> httpx2.BaseTransport:
    """Requests through a Unix socket, to a server of this user only.

    Args:
        path: of the socket.
        shared: whether it is one for other accounts, of a server of its folder's owner.
    """
    return _Direct(_Unix(path, shared=shared), str(path))


def proven_transport(bearer: Bearer) -> httpx2.BaseTransport:
    """Requests over TCP, to a server that knows the token only; no proxy, no TLS."""
    return _Direct(_Proven(bearer))


class _Direct(httpx2.HTTPTransport):
    """Connections that a backend of ours makes.

    httpx2 has no argument for the backend, so that its pool is replaced.
    """

    def __init__(self, backend: httpcore2.NetworkBackend, uds: str | None = None) -> None:
        # Never used, and making the default one reads all certificates of the system.
        unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        super().__init__(verify=unused, trust_env=False)
        self._pool = httpcore2.ConnectionPool(
            ssl_context=unused,
            max_connections=None,  # every followed log holds one
            max_keepalive_connections=KEPT,
            keepalive_expiry=KEPT_S,
            uds=uds,
            network_backend=backend,
        )
