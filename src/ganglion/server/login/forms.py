"""What requests for signing in carry, fields of the query and of forms; errors of RFC 6749."""

import hmac
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ganglion.model.errors import Forbidden
from ganglion.server.access.caller import Caller

MOST_FORM = 4 << 10
"""Bytes of a form that are looked at."""

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}

Form = Mapping[str, Sequence[str]]
"""Field -> every value that was sent for it."""


async def form_of(request: Request, most: int = MOST_FORM) -> Form:
    """The form that a request sends, as far as its first bytes have it."""
    body = (await request.body())[:most]
    return parse_qs(body.decode("ascii", "replace"), keep_blank_values=True)


def field_of(form: Form, name: str) -> str:
    """A field; empty = it is missing, or was sent several times."""
    found = form.get(name, ())
    return found[0] if len(found) == 1 else ""


def parameter(request: Request, name: str) -> str:
    """A parameter of the query; empty = it is missing, or was sent several times."""
    return field_of({name: request.query_params.getlist(name)}, name)


def address_of(request: Request) -> str:
    """Where a request comes from; empty = it is not known."""
    return request.client.host if request.client else ""


def oauth_error(
    error: str, why: str, status: int = 400, wait_s: int = 0, code: str = "", hint: str = ""
) -> Response:
    """An error as RFC 6749 has it.

    Args:
        error: its name.
        why: one sentence.
        status: of HTTP.
        wait_s: when to ask again; 0 = not said.
        code: of the same error elsewhere; empty = it has none.
        hint: commands for whom it concerns; `why` may not have double quotes; empty = none.
    """
    more = {"Retry-After": str(wait_s)} if wait_s else {}
    body = {"error": error, "error_description": why, "code": code, "hint": hint}
    said = {name: each for name, each in body.items() if each}
    return JSONResponse(said, status, headers={**NO_STORE, **more})


def require_own_page(form: Form, caller: Caller) -> None:
    """Check that a form was on a page that this server gave to that session.

    Raises:
        Forbidden: it was not.
    """
    given = field_of(form, "csrf").encode("utf-8", "replace")
    if not hmac.compare_digest(given, caller.csrf.encode()):
        raise Forbidden("the request does not come from a page of this server")
