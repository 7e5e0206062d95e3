"""Every refused request as a problem of RFC 9457."""

from collections.abc import Mapping
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from ganglion.model.errors import (
    Conflict,
    EnvironmentFault,
    FieldError,
    Forbidden,
    GanglionError,
    InputError,
    InvariantBroken,
    NotFound,
    RateLimited,
    Stale,
    StateError,
)
from ganglion.server.rest.paths import Paths
from ganglion.server.rest.request_id import request_id
from ganglion.transport.problem import MEDIA_TYPE, encode, problem_of

log = structlog.get_logger(__name__)

_STATUS: tuple[tuple[type[GanglionError], int], ...] = (
    (InputError, 422),
    (Forbidden, 403),
    (NotFound, 404),
    (RateLimited, 429),
    (Stale, 412),
    (Conflict, 409),
    (InvariantBroken, 500),
    (StateError, 409),
    (EnvironmentFault, 503),
)
_HTTP = {
    400: ("input.syntax", "the body must be JSON"),
    401: ("auth", "send `Authorization: Bearer` with the token of $GANGLION_HOME/token"),
    404: ("http.not_found", "see docs/api.md for what there is"),
    405: ("http.method", "the header Allow names the methods that the path takes"),
    413: ("input.size", "a request may have at most 1 MiB"),
}
SCHEMA = {"$ref": "#/components/schemas/Problem"}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": what, "content": {MEDIA_TYPE: {"schema": SCHEMA}}}
    for status, what in (
        (400, "the request is not readable"),
        (401, "the token is missing or wrong"),
        (403, "no role of the user allows it"),
        (404, "the named thing does not exist"),
        (409, "the present state does not allow it"),
        (413, "the body is too large"),
        (422, "a key or value is wrong"),
        (429, "too many wrong tokens, or dry runs: Retry-After says when to try again"),
        (503, "the machine refuses: disk, database, shutting down"),
    )
}
"""Problems that any route may answer with, for its OpenAPI page."""
STALE: dict[int | str, dict[str, Any]] = {
    412: {
        "description": "it was changed since: the header ETag is the present one",
        "headers": {"ETag": {"schema": {"type": "string"}}},
        "content": {MEDIA_TYPE: {"schema": SCHEMA}},
    }
}
"""Problem of routes that take If-Match."""


def status_of(error: GanglionError) -> int:
    """HTTP status of an error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def answer(
    error: GanglionError, status: int = 0, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer for an error.

    Args:
        error: what was raised.
        status: HTTP status; 0 = the one of its class.
        headers: more headers of the answer.
    """
    body = problem_of(error, status or status_of(error), request_id())
    wait_s = getattr(error, "wait_s", 0)  # of those that know when to try again
    later = {"Retry-After": str(wait_s)} if wait_s else {}
    return Response(
        encode(body), body.status, headers=later | dict(headers or {}), media_type=MEDIA_TYPE
    )


def problem(
    status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """The answer for a failure without an exception of the tree."""
    error = GanglionError(message, hint)
    error.code = code
    return answer(error, status, headers)


def install(app: FastAPI) -> None:
    """Let every failure of an app be answered so."""
    app.add_exception_handler(GanglionError, _ganglion)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


def answer_to(request: Request, error: GanglionError | HTTPException) -> Response:
    """The answer for what a request was refused with, as the application gives it."""
    return (_ganglion if isinstance(error, GanglionError) else _http)(request, error)


def _ganglion(_request: Request, error: Exception) -> Response:
    assert isinstance(error, GanglionError)
    tag = getattr(error, "etag", "")
    return answer(error, headers={"ETag": tag} if tag else {})


def _validation(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if found[0]["type"] == "json_invalid":
        return problem(422, "input.syntax", "the body is no JSON", "send one JSON object")
    first, *others = map(_wrong, found)
    return answer(first.among(others))


def _wrong(found: Any) -> FieldError:  # noqa: ANN401 - pydantic's ErrorDetails
    """One finding of pydantic."""
    where, *path = found["loc"]
    # The alternatives of a union are distinguished by their type in the path: no keys of the body.
    key = ".".join(str(step) for step in path) or str(where)
    said = str(found["msg"]).removeprefix("Value error, ")
    if found["type"] == "extra_forbidden":
        return FieldError("unknown key", key=key)
    if found["type"] == "missing":
        return FieldError("is missing", key=key)
    if said.startswith("Input should be "):
        return FieldError(f"should be {said.removeprefix('Input should be ')}", key=key)
    return FieldError(said, key=key)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, hint = _HTTP.get(error.status_code, ("http", ""))
    message, headers = str(error.detail), dict(error.headers or {})
    if error.status_code in (404, 405):
        message = f"{request.method} {request.url.path}: {message.lower()}"
    if error.status_code == 405:
        paths: Paths = request.app.state.paths
        headers["Allow"] = ", ".join(paths.methods(request.url.path))
    return problem(error.status_code, code, message, hint, headers)


def _bug(request: Request, error: Exception) -> Response:
    log.error("request failed", method=request.method, path=request.url.path, exc_info=error)
    return problem(
        500, "ganglion", "the server failed; nothing was changed", "see server.log in its home"
    )
