"""Routes for the audit trail, legal holds, and the erasure of names."""

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Annotated, Any

import anyio
from fastapi import Path, Response
from pydantic import Field

from ganglion.api.access import ErasureView, HoldPage, HoldView
from ganglion.api.server import Done
from ganglion.audit.export import exported
from ganglion.audit.folder import AuditFolder
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.people.erasure import check_erasable, named_in_clear
from ganglion.model.events import HoldPlaced
from ganglion.server.commands import holds
from ganglion.server.requests.context import Here
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.state.feed import Patient

router = Routes(tags=["audit"], responses=ERRORS)

Hold = Annotated[str, Path(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]

AT_ONCE = 500
"""Lines of an export that are sent at once."""
JSONL: dict[int | str, dict[str, Any]] = {200: {"content": {"application/jsonl": {}}}}

LATEST_MS = (1 << 53) - 1
"""Every number of JSON up to this one is exact."""


class HoldWish(Input):
    """A legal hold that is to be placed."""

    since: int = Field(0, ge=0, le=LATEST_MS, description="from when on events stay, in ms")
    reason: str = Field(min_length=1, max_length=1000, description="why, as the name of a case")


@router.get("/holds")
def list_holds(here: Here) -> HoldPage:
    """List legal holds that were not released, the oldest first."""
    with here.service.read() as mind:
        every = sorted(mind.book.rights.holds.values(), key=lambda each: (each.at, each.name))
    return HoldPage(items=tuple(map(_shown, every)))


@router.put("/holds/{hold}")
def place_hold(here: Here, hold: Hold, wish: HoldWish) -> HoldView:
    """Place a legal hold: until its release no event of its time leaves the ledger."""
    made = here.service.ask(
        lambda draft: holds.place(draft, hold, wish.since, wish.reason, here.user)
    )
    return _shown(made)


@router.delete("/holds/{hold}")
def release_hold(here: Here, hold: Hold) -> Done:
    """Release a legal hold; what it kept leaves the ledger as the rule of retention says."""
    here.service.ask(lambda draft: holds.release(draft, hold, here.user))
    return Done()


@router.get("/audit/export", response_class=Response, responses=JSONL)
def export_audit(here: Here) -> Response:
    """Return the audit trail as JSON lines: every event, and the signed checkpoints.

    `ganglion audit verify` checks it. What is new is signed before, at most every 10 seconds.
    """
    here.sign()
    folder = AuditFolder(here.home.root, here.effects)
    newest = folder.newest()
    lines = _lines(here.service.ledger, folder, newest.seq if newest else 0)
    first = next(lines)  # what refuses does so before the answer begins
    return Patient(_sent(first, lines), media_type="application/jsonl")


def _lines(ledger: Ledger, folder: AuditFolder, until: int) -> Iterator[bytes]:
    """The lines of an export as of one moment, many at a time."""
    with ledger.still() as reader:
        lines = exported(reader, folder, until)
        while page := b"".join(islice(lines, AT_ONCE)):
            yield page


async def _sent(first: bytes, rest: Iterator[bytes]) -> AsyncIterator[bytes]:
    page = first
    while page:
        yield page
        page = await anyio.to_thread.run_sync(next, rest, b"")


class ErasureWish(Input):
    """A user whose name is to be erased."""

    user: str = Field(min_length=1, max_length=200, description="name of the user")
    reason: str = Field(min_length=1, max_length=1000, description="why, as the user's request")


@router.post("/users:erase")
def erase_user(here: Here, wish: ErasureWish) -> ErasureView:
    """Erase the name of a user from the ledger; what was signed of it verifies as before.

    Grants, tokens and sessions of the user end. It is refused while a legal hold lasts, and while
    the user has work, schedules or secrets here. Copies that were made before are not changed.
    """
    beside = here.questions.erase if here.questions else _nowhere
    with here.service.ledger.still() as reader:
        check_erasable(reader, wish.user)
        clear = named_in_clear(reader, wish.user)
    token = here.service.ask(
        lambda draft: holds.erase(draft, wish.user, wish.reason, here.user, here.owner, beside)
    )
    here.notices.set(wish.user, ())
    beside(wish.user, token)  # a question that was asked meanwhile may have read the name
    return ErasureView(token, clear)


def _nowhere(_user: str, _pseudonym: str) -> None:
    """No file beside the ledger has names."""


def _shown(event: HoldPlaced) -> HoldView:
    return HoldView(event.name, event.since_ms, event.reason, event.by, event.at)
