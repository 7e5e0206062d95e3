"""Requests as bytes, with credentials; answers, or their exceptions."""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Protocol
from urllib.parse import urlencode

from ganglion import __version__
from ganglion.model.errors import InputError
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.worlds.kubernetes.http.connect import address_of
from ganglion.worlds.kubernetes.http.errors import ApiError, ApiUnavailable, error_of
from ganglion.worlds.kubernetes.http.http1 import Garbled, HttpResponse, ResponseHead, Wire
from ganglion.worlds.kubernetes.http.pool import RequestPool
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.sign_in.credentials import Proof, credentials_of
from ganglion.worlds.kubernetes.sign_in.kubeconfig import Person
from ganglion.worlds.kubernetes.sign_in.tls import context_of, with_pair

Params = Mapping[str, str | int | bool]
JSON = "application/json"

_PATH = re.compile(r"/[A-Za-z0-9/._~:@!$&'()*+,;=%-]*")
_LOST = (OSError, asyncio.IncompleteReadError, Garbled, TimeoutError)
_UNAUTHORIZED = 401


_TURNS = 4
"""Turns of the loop that it takes to close a connection with TLS."""


class Exchange(Protocol):
    """All that is ever asked of an API server: requests with an answer, and watches."""

    async def call(
        self, method: str, path: str, body: bytes, content: str, params: Params | None
    ) -> bytes:
        """Return the body of a good answer.

        Args:
            method: as `POST`.
            path: of the API, as `/api/v1/pods`.
            body: of the request; may be empty.
            content: its type.
            params: query.

        Raises:
            ApiError: any other answer, or none.
            EnvironmentFault: no credentials can be had.
            InputError: this is no path.
        """

    def pieces(
        self, path: str, params: Params | None, silence_s: float
    ) -> AsyncGenerator[bytes, None]:
        """Yield an answer as it arrives; an empty piece comes first.

        Raises:
            ApiError: as `call`, and `ApiUnavailable` after a silence.
        """

    async def close(self) -> None:
        """Close all connections."""


class ApiLine:
    """Talks to one API server over connections of its own.

    Args:
        endpoint: which, with which credentials.
        in_flight: requests at a time.
        timeout_s: longest time for one.
        effects: what credentials and certificates are read with.
    """

    def __init__(
        self, endpoint: ApiEndpoint, in_flight: int, timeout_s: float, effects: Effects = SYSTEM
    ) -> None:
        self._endpoint, self._in_flight, self._timeout_s = endpoint, in_flight, timeout_s
        self._address, self._effects = address_of(endpoint), effects
        self._credentials = credentials_of(endpoint, effects)
        self._proof = Proof()
        self._heads: dict[str, bytes] = {}
        """Headers that every request has, by content type, for the present proof."""
        self._pool = RequestPool(self._address, context_of(endpoint, effects), in_flight)

    async def call(
        self, method: str, path: str, body: bytes, content: str, params: Params | None
    ) -> bytes:
        """Return the body of a good answer.

        Raises:
            ApiError: any other answer, or none.
            EnvironmentFault: no credentials can be had.
            InputError: this is no path.
        """
        target = self._target(path, params)
        answer = await self._ask(method, target, body, content)
        if answer.head.status == _UNAUTHORIZED and self._credentials.refused():
            # Nothing was done; the token may have been replaced since it was read.
            answer = await self._ask(method, target, body, content)
        if answer.head.status >= 300:
            raise _error(f"{method} {path}", answer)
        return answer.body

    async def pieces(
        self, path: str, params: Params | None, silence_s: float
    ) -> AsyncGenerator[bytes, None]:
        """Yield an answer as it arrives, on a connection of its own; an empty piece comes first.

        Raises:
            ApiError: as `call`, and `ApiUnavailable` after a silence.
        """
        request = await self._request("GET", self._target(path, params), b"", JSON)
        try:
            async with self._pool.own(self._timeout_s) as wire:
                head = await self._begin(wire, request, path)
                yield b""
                pieces = wire.pieces(head)
                while (piece := await _within(silence_s, pieces)) is not None:
                    yield piece
        except _LOST as error:
            raise self._lost(f"GET {path}", error) from error

    async def close(self) -> None:
        """Close all connections."""
        self._pool.forget()
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    async def _ask(self, method: str, target: str, body: bytes, content: str) -> HttpResponse:
        request = await self._request(method, target, body, content)
        try:
            return await self._pool.ask(request, self._timeout_s)
        except _LOST as error:
            path = target.partition("?")[0]
            raise self._lost(f"{method} {path}", error) from error

    async def _begin(self, wire: Wire, request: bytes, path: str) -> ResponseHead:
        async with asyncio.timeout(self._timeout_s):
            head = await wire.send(request)
            if head.status >= 300:
                if head.status == _UNAUTHORIZED:
                    self._credentials.refused()
                raise _error(f"GET {path}", HttpResponse(head, await wire.rest(head)))
            return head

    async def _request(self, method: str, target: str, body: bytes, content: str) -> bytes:
        proof = await self._credentials.proof()
        if proof is not self._proof:
            self._adopt(proof)
        common = self._heads.get(content)
        if common is None:
            common = self._heads[content] = self._common(content)
        return b"%b %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (
            method.encode(),
            target.encode(),
            common,
            len(body),
            body,
        )

    def _adopt(self, proof: Proof) -> None:
        """Another token changes the headers; another certificate the connections as well."""
        if proof.person is not None:
            self._pool = self._fresh_pool(proof.person)
        self._proof = proof
        self._heads.clear()

    def _fresh_pool(self, person: Person | None) -> RequestPool:
        """Read all certificates anew, as they may have been replaced."""
        self._pool.forget()
        context = context_of(self._endpoint, self._effects)
        if context is not None and person is not None:
            with_pair(context, self._endpoint, person, self._effects)
        return RequestPool(self._address, context, self._in_flight)

    def _lost(self, request: str, error: BaseException) -> ApiUnavailable:
        if isinstance(error, ssl.SSLCertVerificationError):
            self._pool = self._fresh_pool(self._proof.person)
        return _broken(request, error, self._timeout_s)

    def _common(self, content: str) -> bytes:
        person = self._endpoint.person
        lines = [
            f"Host: {self._address.authority}",
            f"User-Agent: ganglion/{__version__}",
            "Accept: application/json, */*",
            f"Content-Type: {content}",
        ]
        if self._proof.header:
            lines.append(f"Authorization: {self._proof.header}")
        if person.acts_as:
            lines.append(f"Impersonate-User: {person.acts_as}")
        lines += [f"Impersonate-Group: {group}" for group in person.acts_as_groups]
        return "\r\n".join([*lines, ""]).encode()

    def _target(self, path: str, params: Params | None) -> str:
        if not _PATH.fullmatch(path):
            raise InputError(f"not a path of the API: {path!r}")
        query = f"?{urlencode({k: _plain(v) for k, v in params.items()})}" if params else ""
        return f"{self._address.prefix}{path}{query}"


def _plain(value: str | int | bool) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _error(request: str, answer: HttpResponse) -> ApiError:
    return error_of(request, answer.head.status, answer.body, answer.head.retry_after)


async def _within(silence_s: float, pieces: AsyncIterator[bytes]) -> bytes | None:
    """Return the next piece; None at the end."""
    try:
        async with asyncio.timeout(silence_s):
            return await anext(pieces, None)
    except TimeoutError:
        raise Garbled(f"silent for {silence_s:g} s") from None


def _broken(request: str, error: BaseException, timeout_s: float) -> ApiUnavailable:
    if isinstance(error, TimeoutError):
        return ApiUnavailable(f"{request}: no answer within {timeout_s:g} s")
    return ApiUnavailable(f"{request}: the connection failed: {error}")
