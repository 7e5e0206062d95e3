"""Turns a server's error answers back into the exceptions they came from."""

from http.client import RemoteDisconnected

import httpx2
import msgspec

from ganglion.client.home import START_HINT, Unreachable
from ganglion.model.errors import (
    Conflict,
    EnvironmentFault,
    GanglionError,
    InputError,
    NotFound,
    RateLimited,
    Stale,
)
from ganglion.transport.http import cause_of, tls_trouble
from ganglion.transport.problem import Problem
from ganglion.transport.problem import error_of as raised

TOKEN_HINT = (
    "is $GANGLION_TOKEN set to another token, or the server another user's?"
    " after ganglion login: sign in again"
)


class FormerBody(msgspec.Struct):
    """The body of an error answer of servers before problems of RFC 9457; read until 0.3."""

    code: str
    message: str
    hint: str = ""


_BY_STATUS: dict[int, type[GanglionError]] = {
    400: InputError,
    401: EnvironmentFault,
    403: EnvironmentFault,
    404: NotFound,
    409: Conflict,
    412: Stale,
    413: InputError,
    422: InputError,
    429: RateLimited,
    503: EnvironmentFault,
}


def error_of(response: httpx2.Response) -> GanglionError:
    """Return the exception of an error answer.

    It has the code, message and hint, the wrong keys, and the id of the request of the answer.
    """
    status = response.status_code
    error = _problem(response.content, status) or _former(response.content, status)
    if error is None:
        return _foreign(response)
    if status == 401:
        error.hint = TOKEN_HINT
    if isinstance(error, Stale):
        error.etag = response.headers.get("etag", "")
    if isinstance(error, RateLimited):
        said = response.headers.get("retry-after", "")
        error.wait_s = int(said) if said.isascii() and said.isdigit() else 0
    return error


def _problem(content: bytes, status: int) -> GanglionError | None:
    """Return the exception of a problem of RFC 9457; None = it is none."""
    try:
        found = msgspec.json.decode(content, type=Problem)
    except msgspec.DecodeError:
        return None
    return raised(found, _class_of(found.code, status))


def _former(content: bytes, status: int) -> GanglionError | None:
    try:
        body = msgspec.json.decode(content, type=FormerBody)
    except msgspec.DecodeError:
        return None
    error = _class_of(body.code, status)(body.message, hint=body.hint)
    error.code = body.code
    return error


def _class_of(code: str, status: int) -> type[GanglionError]:
    """Match the code exactly, then by its parents, then by the status of the answer."""
    known = {cls.code: cls for cls in reversed(_tree(GanglionError))}
    while code:
        if code in known:
            return known[code]
        code = code.rpartition(".")[0]
    return _BY_STATUS.get(status, GanglionError)


def _tree(root: type[GanglionError]) -> list[type[GanglionError]]:
    return [root, *(cls for child in root.__subclasses__() for cls in _tree(child))]


def _foreign(response: httpx2.Response) -> GanglionError:
    """Something else than a Ganglion server answered, or the server broke."""
    request = response.request
    message = f"{request.method} {request.url.path}: the server answered {response.status_code}"
    cls = _BY_STATUS.get(response.status_code, EnvironmentFault)
    return cls(message, hint=f"is {request.url.host}:{request.url.port} a Ganglion server?")


def fault_of(error: httpx2.TransportError, url: str) -> EnvironmentFault:
    """Return the exception for a server that could not be reached or fell silent."""
    untrusted = tls_trouble(error, url)
    if untrusted:
        return untrusted
    if url.startswith("http:") and cause_of(error, RemoteDisconnected):
        message = f"what listens at {url} ends the connection at once"
        return Unreachable(message, f"does it speak TLS? https:{url.removeprefix('http:')}")
    if isinstance(error, httpx2.ConnectError):
        return Unreachable(f"no server is running at {url}", START_HINT)
    if isinstance(error, httpx2.TimeoutException):
        return EnvironmentFault(f"the server at {url} does not answer", "see its log, or try again")
    return EnvironmentFault(
        f"lost the server at {url}: {error}", "is it still running? ganglion up"
    )


def ended(data: str) -> EnvironmentFault:
    """Return the exception for a stream that the server ended, with the reason it gave."""
    body = msgspec.json.decode(data, type=FormerBody)
    return EnvironmentFault(f"the stream of events ended: {body.message}", body.hint)
