"""What requests for pages of signing in carry: fields of the query and of forms."""

import hmac
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs

from starlette.requests import Request

from ganglion.model.errors import Forbidden
from ganglion.server.access.caller import Caller

MOST_FORM = 4 << 10
"""Bytes of a form that are looked at."""

Form = Mapping[str, Sequence[str]]
"""Field -> every value that was sent for it."""


async def form_of(request: Request) -> Form:
    """The form that a request sends."""
    body = (await request.body())[:MOST_FORM]
    return parse_qs(body.decode("ascii", "replace"), keep_blank_values=True)


def field_of(form: Form, name: str) -> str:
    """A field; empty = it is missing, or was sent several times."""
    found = form.get(name, ())
    return found[0] if len(found) == 1 else ""


def parameter(request: Request, name: str) -> str:
    """A parameter of the query; empty = it is missing, or was sent several times."""
    return field_of({name: request.query_params.getlist(name)}, name)


def require_own_page(form: Form, caller: Caller) -> None:
    """Check that a form was on a page that this server gave to that session.

    Raises:
        Forbidden: it was not.
    """
    given = field_of(form, "csrf").encode("utf-8", "replace")
    if not hmac.compare_digest(given, caller.csrf.encode()):
        raise Forbidden("the request does not come from a page of this server")
