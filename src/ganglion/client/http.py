"""Requests to one server: token, time-outs, repeats that are safe, errors as exceptions."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx2
import msgspec

from ganglion.client import trail
from ganglion.client.errors import error_of, fault_of
from ganglion.client.trail import AGENT, REQUEST, TrailClient
from ganglion.model.credentials import redacted_text
from ganglion.model.errors import EnvironmentFault, GanglionError, InputError
from ganglion.tracing import spans
from ganglion.transport.hosts import is_own
from ganglion.transport.http import Bearer, proven_transport, tls_context, unix_transport
from ganglion.transport.line import SocketLine

if TYPE_CHECKING:
    from httpx2.websockets import WebSocketSession

T = TypeVar("T")
Value = str | int | bool | Sequence[str]
Params = Mapping[str, Value | None]

PREFIX = "/api/v1"
TIMEOUT_S = 30.0
CONNECT_S = 5.0
UNIX_URL = "http://localhost"
"""What requests through a Unix socket say in `Host`."""
MOST_MESSAGE = 1 << 20
"""Longest message of a WebSocket."""
SWITCHING = 101
"""Status of a WebSocket that was opened."""
TRIES = 3
"""How often a request that may be repeated is sent before a lost connection is an error."""


class Http:
    """One connection pool to one server.

    Through a Unix socket no token is sent: the kernel identifies the caller. Over plain TCP
    the server shows that it knows the token before it is sent. Over TLS its certificate says who
    it is, by the authorities of the system or those in the file that `$GANGLION_CA_FILE` names.

    Args:
        url: where the server is, as `http://127.0.0.1:7077`.
        token: the token, or what reads it; an empty one is not sent.
        timeout_s: longest silence of the server, in seconds.
        unix: socket of the server on this machine; None = it is reached by its URL.
        transport: replaces the network, for tests.
        shared: whether the socket is one for other accounts than that of the server.

    Attributes:
        agent: name of the program that acts for the user; empty = the user does.
    """

    def __init__(
        self,
        url: str,
        token: str | Callable[[], str],
        timeout_s: float = TIMEOUT_S,
        unix: Path | None = None,
        transport: httpx2.BaseTransport | None = None,
        *,
        shared: bool = False,
    ) -> None:
        self.url, self._via = checked_url(url), redacted_text(str(unix or url))
        self.agent = ""
        connect_s = min(CONNECT_S, timeout_s)
        self._line = (
            SocketLine(unix, timeout_s, connect_s, shared=shared)
            if unix and transport is None
            else None
        )
        bearer = None if unix else Bearer(token if callable(token) else lambda: token)
        if unix and transport is None:
            transport = unix_transport(unix, shared=shared)
        elif bearer and transport is None and self.url.startswith("http:"):
            transport = proven_transport(bearer)
        self._client = TrailClient(
            str(unix) if unix else self.url,
            base_url=UNIX_URL if unix else self.url,
            auth=bearer if bearer and bearer.token else None,
            timeout=httpx2.Timeout(timeout_s, connect=connect_s),
            limits=httpx2.Limits(max_connections=None),  # every followed log holds one
            transport=transport,
            **https_settings(self.url) if transport is None else {},
        )

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
        if self._line:
            self._line.close()

    def call(
        self,
        method: str,
        path: str,
        returns: type[T],
        *,
        params: Params | None = None,
        body: object = None,
        key: str = "",
        etag: str | None = None,
        but: int = 0,
    ) -> T:
        """Send one request and decode the answer.

        Args:
            method: HTTP method.
            path: path below `/api/v1`, or from the root when it starts with `//`.
            returns: type of the answer.
            params: query; keys with None are left out.
            body: sent as JSON; None = no body.
            key: sent as `Idempotency-Key`; makes a POST safe to repeat.
            but: status that is no error though it is one by its number.
            etag: what is changed has to have it; empty = has not to exist; None = no matter.

        Raises:
            GanglionError: what the server answered, or that it could not be reached.
        """
        headers = self._identified() | ({"Idempotency-Key": key} if key else {})
        if etag is not None:
            headers |= {"If-Match": etag} if etag else {"If-None-Match": "*"}
        query = _given(params)
        with _naming(headers[REQUEST]), _traced(method, path, headers) as said:
            if self._line:
                send = partial(self._over_line, self._line, method, path, query, body, headers)
            else:
                request = self._client.build_request(
                    method, _route(path), params=query, json=body, headers=headers
                )
                send = partial(self._client.send, request)
            response = self._send(send, TRIES if key or method == "GET" else 1)
            said["http.response.status_code"] = response.status_code
            if response.is_error and response.status_code != but:
                raise error_of(response)
            return self._decoded(response, path, returns)

    def _identified(self) -> dict[str, str]:
        return {REQUEST: uuid4().hex} | ({AGENT: self.agent} if self.agent else {})

    def _over_line(
        self,
        line: SocketLine,
        method: str,
        path: str,
        query: dict[str, Any],
        body: object,
        headers: Mapping[str, str],
    ) -> httpx2.Response:
        """Send a request through the Unix socket; it is logged as `TrailClient` does."""
        target, content, began = _route(path), None, time.perf_counter()
        if query:
            target = httpx2.URL(UNIX_URL + target, params=query).raw_path.decode()
        if body is not None:
            content = json.dumps(
                body, ensure_ascii=False, separators=(",", ":"), allow_nan=False
            ).encode()
            headers = {**headers, "Content-Type": "application/json"}
        tell = partial(trail.say, method, target, began=began, via=self._via)
        try:
            response = line.send(method, target, headers, content)
        except Exception as error:
            tell(f"failed ({trail.reason(error)})", request=headers[REQUEST])
            raise
        tell(str(response.status_code), request=response.headers.get(REQUEST, headers[REQUEST]))
        if response.is_error:
            response.request = httpx2.Request(method, UNIX_URL + target)
        return response

    @contextmanager
    def stream(self, path: str, params: Params | None = None) -> Iterator[httpx2.Response]:
        """Open an answer that arrives bit by bit; silence of any length is no error."""
        timeout, headers = httpx2.Timeout(None, connect=CONNECT_S), self._identified()
        request = self._client.build_request(
            "GET", _route(path), params=_given(params), headers=headers, timeout=timeout
        )
        route = _about("GET", path)
        with (
            _naming(headers[REQUEST]),
            spans.alone("GET", spans.SpanKind.CLIENT, None, route) as (place, said),
        ):
            if place:
                request.headers[spans.HEADER] = place.header()
            response = self._send(partial(self._client.send, request, stream=True), TRIES)
            said["http.response.status_code"] = response.status_code
            try:
                if response.is_error:
                    response.read()
                    raise error_of(response)
                yield response
            except httpx2.TransportError as error:
                raise fault_of(error, self.url) from error
            finally:
                response.close()

    @contextmanager
    def socket(self, path: str, params: Params | None = None) -> "Iterator[WebSocketSession]":
        """Open a WebSocket; silence of any length is no error.

        Raises:
            GanglionError: what the server answered, or that it could not be reached.
        """
        headers = httpx2.Headers(self._identified())
        with (
            _naming(headers[REQUEST]),
            _traced("GET", path, headers) as said,
            self._opened(path, params, headers) as session,
        ):
            said["http.response.status_code"] = SWITCHING
            yield session

    @contextmanager
    def _opened(
        self, path: str, params: Params | None, headers: httpx2.Headers
    ) -> "Iterator[WebSocketSession]":
        from httpx2.websockets import WebSocketUpgradeError  # noqa: PLC0415 - start-up budget

        try:
            with self._client.websocket(
                _route(path),
                params=_given(params),
                headers=headers,
                timeout=httpx2.Timeout(None, connect=CONNECT_S),
                max_message_size_bytes=MOST_MESSAGE,
            ) as session:
                yield session
        except WebSocketUpgradeError as error:
            raise error_of(error.response) from error
        except httpx2.TransportError as error:
            raise fault_of(error, self.url) from error

    def _send(self, send: Callable[[], httpx2.Response], tries: int) -> httpx2.Response:
        """Send, and send again when the connection broke and repeating does no harm."""
        try:
            return send()
        except httpx2.TransportError as error:
            broken = not isinstance(error, httpx2.ConnectError | httpx2.TimeoutException)
            if broken and tries > 1:
                trail.again(trail.reason(error))
                return self._send(send, tries - 1)
            raise fault_of(error, self.url) from error

    def _decoded(self, response: httpx2.Response, path: str, returns: type[T]) -> T:
        try:
            return msgspec.json.decode(response.content or b"null", type=returns)
        except msgspec.DecodeError as error:
            message = f"{_route(path)}: unexpected answer: {error}"
            hint = "do client and server have the same version? ganglion version"
            raise EnvironmentFault(message, hint) from error


@contextmanager
def _traced(
    method: str, path: str, headers: MutableMapping[str, str]
) -> "Iterator[dict[str, spans.Value]]":
    """Measure a request, and name its span to the server in the headers."""
    with spans.span(method, spans.SpanKind.CLIENT, None, _about(method, path)) as said:
        place = spans.current()
        if place:
            headers[spans.HEADER] = place.header()
        yield said


def _about(method: str, path: str) -> "dict[str, spans.Value]":
    return {"http.request.method": method, "url.path": _route(path)}


@contextmanager
def _naming(request: str) -> Iterator[None]:
    """Errors name the request that they are about."""
    try:
        yield
    except GanglionError as error:
        error.request = error.request or request
        raise


def path_of(*parts: str) -> str:
    """Join path segments; a reference `job/3` keeps its slash."""
    head, *rest = parts
    return "/".join([head, *(quote(part, safe="/") for part in rest)])


def _route(path: str) -> str:
    return path[1:] if path.startswith("//") else PREFIX + path


def _given(params: Params | None) -> dict[str, Any]:
    return {name: value for name, value in (params or {}).items() if value is not None}


def https_settings(url: str) -> dict[str, Any]:
    """How a client reaches a server by TLS: past proxies where it is on this machine."""
    host = httpx2.URL(url).host
    return {"verify": tls_context(), "trust_env": not is_own(host, "127.0.0.1")}


def checked_url(url: str) -> str:
    """The URL of a server, without a slash at its end.

    Raises:
        InputError: it is none.
    """
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        parsed = httpx2.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InputError(f"not the URL of a server: {url!r}", "as http://127.0.0.1:7077")
    return url.rstrip("/")
