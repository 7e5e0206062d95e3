"""Entity tags: so that two editors do not overwrite one another, and that nothing is sent twice.

RFC 9110, sections 8.8.3 and 13.1.
"""

import re
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from fastapi import Header
from fastapi.responses import Response

from ganglion.model.errors import Stale
from ganglion.server.rest.problems import STALE
from ganglion.server.rest.sending import sent

_TAG = re.compile(r'(W/)?("[^"]*")')
_TAGS = r'^(|\*|(W/)?"[!#-~]{0,100}"(, ?(W/)?"[!#-~]{0,100}"){0,20})$'
ANY = "*"

_HEADER: dict[str, Any] = {
    "ETag": {"description": "names the answered version", "schema": {"type": "string"}}
}
TAGGED: dict[int | str, dict[str, Any]] = {
    200: {"headers": _HEADER},
    304: {"description": "it equals If-None-Match", "headers": _HEADER},
}
"""Answers of routes that answer with `answer`."""

CHANGED: dict[int | str, dict[str, Any]] = {200: {"headers": _HEADER}, **STALE}
"""Answers of routes that change something and name what it is now."""

IfMatch = Annotated[
    str,
    Header(
        alias="If-Match", pattern=_TAGS, max_length=2000, description="only if this ETag is current"
    ),
]
IfNoneMatch = Annotated[
    str,
    Header(
        alias="If-None-Match",
        pattern=_TAGS,
        max_length=2000,
        description="only if this ETag is not current",
    ),
]


def tag_of(content: object) -> str:
    """The tag of something that JSON can say."""
    return f'"{sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:20]}"'


def answer(body: msgspec.Struct, if_none_match: str, tag: str = "") -> Response:
    """An answer with its tag; 304 where the client has it already.

    Args:
        body: what to answer.
        if_none_match: tags of what the client has; empty = nothing.
        tag: of it; empty = made from all of it.
    """
    headers = {"ETag": tag or tag_of(body)}
    if if_none_match and _fits(headers["ETag"], if_none_match, weakly=True):
        return Response(status_code=304, headers=headers)
    answer = sent(body)
    answer.headers.update(headers)
    return answer


def check(present: str, if_match: str, if_none_match: str, what: str) -> None:
    """Refuse a change of what is not as the client knows it.

    Args:
        present: the present tag; empty = it does not exist.
        if_match: tags that it must have; empty = any, and it need not exist.
        if_none_match: tags that it must not have; `*` = it must not exist.
        what: as errors name it.

    Raises:
        Stale: it was changed since the client read it.
    """
    changed = bool(if_match) and not _fits(present, if_match)
    exists = bool(if_none_match) and _fits(present, if_none_match, weakly=True)
    if not (changed or exists):
        return
    state = "was changed" if present else "was removed"
    error = Stale(
        f"{what} exists already" if exists else f"{what} {state} since it was read",
        "read it again and repeat the change",
    )
    error.etag = present
    raise error


def _fits(tag: str, given: str, *, weakly: bool = False) -> bool:
    """Whether a header names a tag; a tag marked as weak fits only where that is asked for."""
    if given.strip() == ANY:
        return bool(tag)
    return any(found[2] == tag and (weakly or not found[1]) for found in _TAG.finditer(given))
