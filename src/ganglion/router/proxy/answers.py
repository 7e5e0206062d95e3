"""Responses of the router itself, and responses that break off."""

from http import HTTPStatus

from aiohttp import hdrs, web
from aiohttp.http import HttpVersion10

from ganglion.model.errors import GanglionError
from ganglion.transport.problem import MEDIA_TYPE, encode, problem_of


class RouterResponse(Exception):
    """The router responds in place of a replica.

    Args:
        status: HTTP status.
        code: stable, for programs.
        message: what is wrong, for a person.
        hint: what to do about it.
        retry_after_s: when to retry; 0 = not given.
    """

    def __init__(
        self, status: HTTPStatus, code: str, message: str, hint: str = "", retry_after_s: int = 0
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint
        self.retry_after_s = retry_after_s

    def answer(self) -> web.Response:
        """Return it as a response in the server's error format."""
        error = GanglionError(self.message, self.hint)
        error.code = self.code
        headers = {hdrs.SERVER: "ganglion"}
        if self.retry_after_s:
            headers[hdrs.RETRY_AFTER] = str(self.retry_after_s)
        found = web.Response(
            status=self.status,
            body=encode(problem_of(error, self.status)),
            content_type=MEDIA_TYPE,
            headers=headers,
        )
        if self.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            found.force_close()  # the rest of the body is not wanted
        return found


class ReplicaResponse(web.StreamResponse):
    """A replica's response, which may break off."""

    broken = False

    def cut(self, request: web.BaseRequest) -> None:
        """Show the caller that the rest is missing: no regular end of the body."""
        self.broken = True
        transport = request.transport
        if transport and request.version <= HttpVersion10:
            transport.abort()  # only a reset differs from a regular end here

    async def write_eof(self, data: bytes = b"") -> None:
        """End the body; close the connection instead if the response broke off."""
        if self.broken:
            raise ConnectionResetError
        await super().write_eof(data)
