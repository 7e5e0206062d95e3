"""An HTTP request to a replica and its answer back, both passed on as they come."""

from collections.abc import AsyncIterator
from http import HTTPStatus

import aiohttp
from aiohttp import web
from yarl import URL

from ganglion.router.balancing.balancer import ReplicaState
from ganglion.router.balancing.counters import RequestOutcome
from ganglion.router.balancing.table import Limits, RoutedService
from ganglion.router.proxy.answers import ReplicaResponse, RouterResponse
from ganglion.router.proxy.headers import back, onward
from ganglion.router.proxy.request import Visit
from ganglion.router.proxy.request_body import BodyTooLarge, Upload

IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"})
"""Methods that may be sent twice (RFC 9110, 9.2.2)."""
NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
"""Errors after which no replica has received any part of the request."""


class Errand:
    """One request on its way.

    Args:
        session: connections to replicas.
        service: which service it is for.
        request: as it came.
        path: path and query for replicas, percent-encoded.
        prefix: prefix that was removed from the path.
        visit: its record, from arrival to end.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        service: RoutedService,
        request: web.BaseRequest,
        path: str,
        prefix: str,
        visit: Visit,
    ) -> None:
        self._session, self._service, self._request = session, service, request
        self._path, self._visit = path, visit
        self._headers = onward(request, prefix, service.access.key)
        self._upload = self._body(service.limits)
        self._timeout = patience(service.limits)

    def _body(self, limits: Limits) -> Upload | None:
        request = self._request
        most = limits.body_bytes
        if most and (request.content_length or 0) > most:
            self._visit.end(RequestOutcome.WRONG)
            raise too_large(most)
        if not request.can_read_body:
            return None
        return Upload(request, most, keep=request.method in IDEMPOTENT)

    async def run(self) -> web.StreamResponse:
        """Serve it by one replica, or by the next one where that is safe.

        Raises:
            Refusal: no replica could.
        """
        return await self._visit.served(self._tried)

    async def _tried(self, replica: ReplicaState) -> web.StreamResponse | None:
        """The answer of one replica; None = another one may be asked.

        Raises:
            Refusal: none may.
        """
        try:
            found = await self._asked(replica)
        except NEVER_SENT:
            # It waits for another replica until its time is over; failed ones are not counted.
            self._visit.failed(replica)
            return None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            await self._lost(replica, error)
            return None
        if self._upload:
            self._upload.beside(found.close)
        try:
            return await self._passed_on(replica, found)
        finally:
            found.release()
            if self._upload:
                await self._upload.halt()

    async def _asked(self, replica: ReplicaState) -> aiohttp.ClientResponse:
        return await self._session.request(
            self._request.method,
            URL(f"http://{replica.endpoint.address}{self._path}", encoded=True),
            headers=self._headers,
            data=self._upload,
            allow_redirects=False,
            timeout=self._timeout,
        )

    async def _lost(self, replica: ReplicaState, error: Exception) -> None:
        """No answer came back: try another replica where a second try is safe.

        Raises:
            Refusal: a second try would not be safe, or there were enough.
        """
        upload = self._upload
        if upload:
            await upload.halt()
            if upload.wrong:
                raise self._wrong(upload.wrong) from error
        self._visit.failed(replica)
        if isinstance(error, TimeoutError):
            raise self._silent(replica) from error
        repeatable = self._request.method in IDEMPOTENT and (not upload or upload.repeatable)
        if not repeatable or self._visit.tries >= self._service.limits.tries:
            raise self._broken(replica) from error

    async def _passed_on(
        self, replica: ReplicaState, found: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        answer = _answer(found, replica)
        try:
            await answer.prepare(self._request)
            if isinstance(answer, ReplicaResponse):
                async for chunk in self._chunks(replica, found, answer):
                    await answer.write(chunk)
            else:
                self._visit.began()
            await answer.write_eof()
        except ConnectionResetError:
            self._visit.end(self._end_of(answer))
        else:
            self._visit.answered(replica)
        return answer

    def _end_of(self, answer: ReplicaResponse | web.Response) -> RequestOutcome:
        """Result of a request whose response did not reach its end."""
        if self._upload and self._upload.wrong:
            return RequestOutcome.WRONG
        broken = isinstance(answer, ReplicaResponse) and answer.broken
        return RequestOutcome.BROKEN if broken else RequestOutcome.LEFT

    async def _chunks(
        self, replica: ReplicaState, found: aiohttp.ClientResponse, answer: ReplicaResponse
    ) -> AsyncIterator[bytes]:
        """Pass the body on as it arrives; cut the response if the replica dies before its end."""
        try:
            async for chunk in found.content.iter_any():
                self._visit.began()
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError):
            if not (self._upload and self._upload.wrong):
                self._visit.failed(replica)
            answer.cut(self._request)

    def _wrong(self, error: Exception) -> RouterResponse:
        self._visit.end(RequestOutcome.WRONG)
        if isinstance(error, BodyTooLarge):
            return too_large(self._service.limits.body_bytes)
        if isinstance(error, TimeoutError):
            message = "the rest of the body did not come in time"
            return RouterResponse(HTTPStatus.REQUEST_TIMEOUT, "router.body", message)
        return RouterResponse(
            HTTPStatus.BAD_REQUEST, "router.body", f"the body cannot be read: {error}"
        )

    def _silent(self, replica: ReplicaState) -> RouterResponse:
        self._visit.end(RequestOutcome.UNSERVED)
        seconds = self._service.limits.silent_ms / 1000
        return RouterResponse(
            HTTPStatus.GATEWAY_TIMEOUT,
            "router.silent",
            f"{replica.name} said nothing for {seconds:g} s",
        )

    def _broken(self, replica: ReplicaState) -> RouterResponse:
        self._visit.end(RequestOutcome.BROKEN)
        return RouterResponse(
            HTTPStatus.BAD_GATEWAY,
            "router.broken",
            f"{replica.name} ended the connection without an answer",
            "the request may have taken effect: the caller decides whether to repeat it",
        )


def _answer(found: aiohttp.ClientResponse, replica: ReplicaState) -> ReplicaResponse | web.Response:
    """The head of the answer; with its body if all of that is there already.

    Many answers are short: one packet does where two would do the same.
    """
    headers, content = back(found.headers, replica.name), found.content
    body = content.read_nowait() if content.is_eof() and not content.exception() else b""
    if body:
        return web.Response(status=found.status, reason=found.reason, headers=headers, body=body)
    return ReplicaResponse(status=found.status, reason=found.reason, headers=headers)


def too_large(most: int) -> RouterResponse:
    """The answer to a body of more than `most` bytes."""
    message = f"the body has more than {most:,} bytes"
    return RouterResponse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "router.size", message)


def patience(limits: Limits) -> aiohttp.ClientTimeout:
    """How long a replica is waited for."""
    return aiohttp.ClientTimeout(
        total=None,
        sock_connect=limits.connect_ms / 1000,
        sock_read=limits.silent_ms / 1000 or None,
    )
