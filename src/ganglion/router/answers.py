"""What the router itself answers, and answers that break off."""

from http import HTTPStatus

from aiohttp import hdrs, web
from aiohttp.http import HttpVersion10

from ganglion.model.errors import GanglionError
from ganglion.model.problem import MEDIA_TYPE, encode, problem_of


class Refusal(Exception):
    """The router answers in a replica's place.

    Args:
        status: HTTP status.
        code: stable, for programs.
        message: what is wrong, for a person.
        hint: what to do about it.
        retry_after_s: when to come again; 0 = not given.
    """

    def __init__(
        self, status: HTTPStatus, code: str, message: str, hint: str = "", retry_after_s: int = 0
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint = status, code, message, hint
        self.retry_after_s = retry_after_s

    def answer(self) -> web.Response:
        """It as an answer, in the form of the server's."""
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


class Answer(web.StreamResponse):
    """A replica's answer, which may have to break off."""

    broken = False

    def cut(self, request: web.BaseRequest) -> None:
        """Have the caller see that the rest is missing, not a proper end."""
        self.broken = True
        transport = request.transport
        if transport and request.version <= HttpVersion10:
            transport.abort()  # only a reset tells it from the end there

    async def write_eof(self, data: bytes = b"") -> None:
        """End it, unless it broke off: then the connection is closed in its middle."""
        if self.broken:
            raise ConnectionResetError
        await super().write_eof(data)
