"""Answers to what is no request: a problem of RFC 9457 as bytes, then the end."""

from http import HTTPStatus

from ganglion.model.errors import GanglionError
from ganglion.transport.problem import MEDIA_TYPE, encode, problem_of


def body(status: HTTPStatus, code: str, message: str, hint: str) -> bytes:
    """The problem of a failure without an exception of the tree, as JSON."""
    error = GanglionError(message, hint)
    error.code = code
    return encode(problem_of(error, status))


def refusal(status: HTTPStatus, code: str, message: str, hint: str, *headers: str) -> bytes:
    """The head and the body of an answer after which the connection is closed.

    Args:
        status: HTTP status.
        code: stable and dotted, for programs.
        message: one sentence that names what is wrong.
        hint: what to do about it.
        headers: more lines of the head, as `Retry-After: 5`.
    """
    said = body(status, code, message, hint)
    lines = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        *headers,
        "Connection: close",
        f"Content-Type: {MEDIA_TYPE}",
        f"Content-Length: {len(said)}",
    )
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + said


MALFORMED = (
    HTTPStatus.BAD_REQUEST,
    "http.malformed",
    "the bytes received are not a valid HTTP request",
    "the address begins with http://; a proxy between may have changed the request",
)
"""Status, code, message and hint of a request that cannot be read."""
UNREADABLE = refusal(*MALFORMED)
LATE = refusal(
    HTTPStatus.REQUEST_TIMEOUT,
    "http.late",
    "the rest of the request did not come in time",
    "send headers and body without long pauses",
)
BUSY = refusal(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "environment.busy",
    "there are as many connections as are allowed",
    "retry later, as Retry-After says",
    "Retry-After: 5",
)
BROKEN = (
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "ganglion",
    "the server failed; nothing was changed",
    "see server.log in its home",
)
"""The same of a defect of the server."""
FAILED = refusal(*BROKEN)
