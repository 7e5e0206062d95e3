"""What an API server can answer, as exceptions, and which requests are worth repeating, and when.

ApiError                 everything below; exit code 1
├── Forbidden   401 403  wrong credentials, or not allowed to
├── Absent      404      no such object, or no such kind of object
├── Conflict    409      exists already, or was changed in between
├── Gone        410      the version asked for is too old
├── Refused     4xx      the object or the request is wrong
├── TooMany     429      too many requests, or a disruption budget says no
└── Broken      5xx      the server failed, cannot be reached, or fell silent
"""

import contextlib
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ganglion.model.errors import EnvironmentFault
from ganglion.seams.randomness import SYSTEM_RANDOMNESS, Randomness

FIRST_S = 0.1
LONGEST_S = 5.0
"""First and longest pause before a request is repeated."""


class StatusCause(Struct, frozen=True):
    """One of several reasons within an answer, as a `DisruptionBudget` that forbids."""

    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(Struct, frozen=True, rename="camel"):
    retry_after_seconds: int = 0
    causes: tuple[StatusCause, ...] | None = None


class ErrorStatus(Struct, frozen=True):
    """The body of every error, and of an `ERROR` event of a watch."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


class _Passed(Struct, frozen=True):
    """The body of an error of another server that the API server passed on: of ours, a problem."""

    code: str
    detail: str = ""
    message: str = ""


class ApiError(EnvironmentFault):
    """The API server did not do what it was asked.

    Args:
        message: names the request and what is wrong.
        hint: what to do about it.
        status: HTTP status; 0 when there was no answer.
        said: what the server says is wrong; empty when there was no answer.
        reason: the server's word for it, as `AlreadyExists`; empty when it gave none. Of a problem
            that was passed on, its code.
        retry_after_s: how long the server asks to wait, in seconds; 0 when it does not say.
        causes: details the server gave.
    """

    code = "environment.kubernetes"

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        status: int = 0,
        said: str = "",
        reason: str = "",
        retry_after_s: int = 0,
        causes: tuple[StatusCause, ...] = (),
    ) -> None:
        super().__init__(message, hint)
        self.status, self.said, self.reason = status, said, reason
        self.retry_after_s, self.causes = retry_after_s, causes

    def caused_by(self, reason: str) -> bool:
        """Whether one of the causes has this reason."""
        return any(cause.reason == reason for cause in self.causes)


class ForbiddenRequest(ApiError):
    """The credentials are not accepted (401), or do not allow this (403)."""

    code = "environment.kubernetes.forbidden"


class Absent(ApiError):
    """No such object, or no such kind of object in this cluster."""

    code = "environment.kubernetes.absent"


class ObjectConflict(ApiError):
    """An object of that name exists, or it was changed in between; `reason` says which."""

    code = "environment.kubernetes.conflict"


class Gone(ApiError):
    """The version asked for is older than what the server remembers."""

    code = "environment.kubernetes.gone"


class InvalidRequest(ApiError):
    """The server finds the request or the object wrong; sending it again will not help."""

    code = "environment.kubernetes.refused"


class TooMany(ApiError):
    """Not now: too many requests, or a disruption budget says no."""

    code = "environment.kubernetes.too_many"


class ApiUnavailable(ApiError):
    """The server failed, cannot be reached or fell silent; what was asked may have been done."""

    code = "environment.kubernetes.broken"


_BY_STATUS: Mapping[int, type[ApiError]] = {
    401: ForbiddenRequest,
    403: ForbiddenRequest,
    404: Absent,
    409: ObjectConflict,
    410: Gone,
    429: TooMany,
}

_HINTS: Mapping[int, str] = {
    401: "the credentials are missing, wrong or have expired; compare: kubectl auth whoami",
    403: "a cluster role has to allow it; compare: kubectl auth can-i",
}

_status = msgspec.json.Decoder(ErrorStatus)
_passed = msgspec.json.Decoder(_Passed)
_SHOWN = 300
"""Characters of an answer that is no Status, as a proxy's, which are shown."""


def error_of(request: str, status: int, body: bytes, retry_after: str = "") -> ApiError:
    """Return the exception for an answer.

    Args:
        request: method and path, as `POST /api/v1/pods`.
        status: HTTP status.
        body: what came with it: a Status, a problem, or any text.
        retry_after: value of the header of that name, in seconds.
    """
    said = _said(body)
    return _error(request, status, said, int(retry_after) if retry_after.isdecimal() else 0)


def _said(body: bytes) -> ErrorStatus:
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        return _status.decode(body)
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        passed = _passed.decode(body)
        return ErrorStatus(message=passed.detail or passed.message, reason=passed.code)
    return ErrorStatus(message=body[:_SHOWN].decode("utf-8", "replace").strip())


def error_of_event(request: str, body: bytes | msgspec.Raw) -> ApiError:
    """Return the exception for the object of an `ERROR` event of a watch."""
    said = _status.decode(body)
    return _error(request, said.code, said, 0)


def _error(request: str, status: int, said: ErrorStatus, retry_after_s: int) -> ApiError:
    details = said.details or _Details()
    message = said.message or f"the server answered {status}"
    return class_of(status)(
        f"{request}: {message}",
        _HINTS.get(status, ""),
        status=status,
        said=message,
        reason=said.reason,
        retry_after_s=max(retry_after_s, details.retry_after_seconds),
        causes=details.causes or (),
    )


def class_of(status: int) -> type[ApiError]:
    """Return the exception of an HTTP status."""
    return _BY_STATUS.get(status) or (InvalidRequest if 400 <= status < 500 else ApiUnavailable)


def worth_repeating(error: ApiError) -> bool:
    """Whether the same request may succeed a little later."""
    return isinstance(error, ApiUnavailable | TooMany)


def pause_s(
    attempt: int,
    error: ApiError | None = None,
    longest_s: float = LONGEST_S,
    randomness: Randomness = SYSTEM_RANDOMNESS,
) -> float:
    """Return how long to wait after attempt number `attempt`, counted from 0, in seconds.

    The pauses double, and differ from one client to the next, so that those whom one outage
    struck do not come back all at once. The server's own wish is the least.
    """
    longest = min(longest_s, FIRST_S * (1 << min(attempt, 16)))
    wish = error.retry_after_s if error else 0
    return wish + longest * randomness.uniform(0.5, 1.0)
