"""Refused requests as `application/problem+json` (RFC 9457), of the server and of the router."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from msgspec import Struct

from ganglion.model.errors import FieldError, GanglionError

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:ganglion:problem:"
"""What `type` begins with; the code follows. It is a name, not an address."""
REQUEST = "urn:ganglion:request:"
"""What `instance` begins with; the id of the request follows."""

_TITLES: Mapping[str, str] = {
    "access": "Not allowed",
    "auth": "Not authenticated",
    "environment": "The machine refuses",
    "environment.standby": "Another replica leads",
    "environment.busy": "Too many connections",
    "http.late": "Request not complete in time",
    "http.malformed": "No HTTP request",
    "input": "Wrong input",
    "input.field": "Wrong key or value",
    "input.never": "Can never start",
    "input.size": "Body too large",
    "input.syntax": "Not JSON",
    "plugin": "Plugin failed",
    "state.conflict": "Conflict with the present state",
    "state.not_found": "Not found",
    "state.plan": "Another plan by now",
    "state.rate_limited": "Asked too often",
    "state.stale": "Changed meanwhile",
}


class Wrong(Struct, frozen=True, omit_defaults=True):
    """One wrong key or value.

    Attributes:
        detail: what is wrong with it.
        key: dotted path, as `resources.gpus`; empty = the whole body.
        hint: what to write instead.
        file: the file that the client named; empty = none.
        line: 1-based line of that file; 0 = unknown.
        column: 1-based column of that line; 0 = unknown.
    """

    detail: str
    key: str = ""
    hint: str = ""
    file: str = ""
    line: int = 0
    column: int = 0


class Problem(Struct, frozen=True):
    """The body of every refused request.

    Attributes:
        type: names the kind of problem: `urn:ganglion:problem:` and the code.
        title: the kind of problem in a few words; the same for every problem of a type.
        status: HTTP status.
        detail: one sentence that names what is wrong.
        instance: names this refusal: `urn:ganglion:request:` and the id of the request.
        code: stable and dotted, for programs.
        hint: what to do about it; may be empty.
        errors: every wrong key or value; empty where the problem is none of the input.
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    hint: str = ""
    errors: tuple[Wrong, ...] = ()


def problem_of(error: GanglionError, status: int, request: str = "") -> Problem:
    """The problem that an error is.

    Args:
        error: what was raised.
        status: HTTP status of the answer.
        request: id of the request; empty = it has none.
    """
    return Problem(
        type=TYPE + error.code,
        title=_title(error.code, status),
        status=status,
        detail=error.message or str(error),
        instance=REQUEST + request if request else "",
        code=error.code,
        hint=error.hint,
        errors=tuple(
            Wrong(each.problem, each.key, each.hint, each.file, each.line, each.column)
            for each in error.errors
        ),
    )


def error_of(problem: Problem, cls: type[GanglionError]) -> GanglionError:
    """Return the exception of a problem.

    Args:
        problem: what a server answered.
        cls: the class of its code.
    """
    wrong = [
        FieldError(
            each.detail,
            key=each.key,
            file=each.file,
            line=each.line,
            column=each.column,
            hint=each.hint,
        )
        for each in problem.errors
    ]
    if issubclass(cls, FieldError) and wrong:
        found: GanglionError = wrong[0].among(wrong[1:])
        found.message, found.hint = problem.detail, problem.hint
    else:
        found = cls(problem.detail, hint=problem.hint)
    found.code = problem.code
    found.request = problem.instance.removeprefix(REQUEST)
    return found


def encode(problem: Problem) -> bytes:
    """The body of an answer."""
    return msgspec.json.encode(problem)


def _title(code: str, status: int) -> str:
    return _TITLES.get(code) or HTTPStatus(status).phrase
