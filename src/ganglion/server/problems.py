"""Every failure as `{"code", "message", "hint"}`."""

from collections.abc import Mapping
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from ganglion.model.errors import (
    Conflict,
    EnvironmentFault,
    GanglionError,
    InputError,
    InvariantBroken,
    NotFound,
    StateError,
)
from ganglion.server.schemas import ErrorBody

log = structlog.get_logger(__name__)

_STATUS: tuple[tuple[type[GanglionError], int], ...] = (
    (InputError, 422),
    (NotFound, 404),
    (Conflict, 409),
    (InvariantBroken, 500),
    (StateError, 409),
    (EnvironmentFault, 503),
)
_HTTP = {
    400: ("input.syntax", "the body must be JSON"),
    401: ("auth", "send `Authorization: Bearer` with the token of $GANGLION_HOME/token"),
    404: ("http.not_found", "see docs/api.md for what there is"),
    405: ("http.method", "see docs/api.md for what there is"),
    413: ("input.size", "a request may have at most 1 MiB"),
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": what}
    for status, what in (
        (400, "the body is no JSON"),
        (401, "the token is missing or wrong"),
        (404, "there is no such thing"),
        (409, "the present state does not allow it"),
        (413, "the body is too large"),
        (422, "a key or value is wrong"),
        (503, "the machine refuses: disk, database, shutting down"),
    )
}
"""Failures that any route may answer with, for its OpenAPI page."""


def status_of(error: GanglionError) -> int:
    """HTTP status of an error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem(
    status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The answer for a failure."""
    body = {"code": code, "message": message, "hint": hint}
    return JSONResponse(body, status, headers=dict(headers or {}))


def install(app: FastAPI) -> None:
    """Let every failure of an app be answered so."""
    app.add_exception_handler(GanglionError, _ganglion)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


def _ganglion(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, GanglionError)
    return problem(status_of(error), error.code, error.message or str(error), error.hint)


def _validation(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where, *path = first["loc"]
    key = ".".join(str(step) for step in path)
    if first["type"] == "json_invalid":
        return problem(422, "input.syntax", "the body is no JSON", "send one JSON object")
    said = str(first["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    message = f"{key or where}: should be {said}" if "Input" in first["msg"] else f"{key}: {said}"
    more = len(error.errors()) - 1
    return problem(422, "input.field", message, f"{more} more problems" if more else "")


def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code, hint = _HTTP.get(error.status_code, ("http", ""))
    message = str(error.detail)
    if error.status_code in (404, 405):
        message = f"{request.method} {request.url.path}: {message.lower()}"
    return problem(error.status_code, code, message, hint, error.headers)


def _bug(request: Request, error: Exception) -> JSONResponse:
    log.error("request failed", method=request.method, path=request.url.path, exc_info=error)
    return problem(
        500, "ganglion", "the server failed; nothing was changed", "see server.log in its home"
    )
