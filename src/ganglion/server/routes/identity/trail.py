"""Routes for the records of the audit trail, and for their verification."""

from collections.abc import Collection
from typing import Annotated

from fastapi import Query
from pydantic import Field

from ganglion.api.past.trail import AnchorPage, TrailPage, TrailVerdict
from ganglion.audit.records import WantedRecords
from ganglion.model.errors import Conflict
from ganglion.server.access.visible import queues_of
from ganglion.server.requests.context import Here
from ganglion.server.rest.filters import MOST_VALUES, Text, Value, When, leaves, past_period
from ganglion.server.rest.pages import Paging, not_a_cursor, parsed, printed
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.views.past.trail import (
    anchors_standing,
    holding,
    newest_before,
    newest_records,
    verdict,
)

router = Routes(tags=["audit"], responses=ERRORS)

OF = "audit"
"""Name of the list in its cursors."""


class TrailQuery(Paging):
    """Which records."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    actor: list[Value] = Field(
        [], max_length=MOST_VALUES, description="user, or `scheduler` for decisions"
    )
    kind: list[Text] = Field([], max_length=MOST_VALUES, description="type, as `policy_set`")
    queue: Value = Field("", description="by name or path; those below it count too")
    workload: Value = Field("", description="id or name, or the id of a gang")
    node: Value = Field("", description="by name; attempts that have or had it count too")
    glass: bool = Field(False, description="only what broken glass allowed")
    since: When = Field("all", description="at or after: `24h` ago, or a time; `all` = ever")
    until: When = Field("", description="written before; as `since`; empty = now")


@router.get("/audit/records")
def list_audit_records(here: Here, query: Annotated[TrailQuery, Query()]) -> TrailPage:
    """List who did what and what was decided, the newest first; nothing is verified.

    One request looks at 10,000 events at most, so that a page may be empty although `next` says
    that more follow.
    """
    service, now = here.service, here.service.now()
    since, until = past_period("" if query.since == "all" else query.since, query.until, now)
    (queue,) = leaves([query.queue]) if query.queue else ("",)
    wanted = WantedRecords(
        *(since, 0, frozenset(query.actor), frozenset(query.kind), queue),
        *(query.workload, query.glass, query.node),
    )
    with service.read() as mind:
        parents = {name: each.parent for name, each in mind.state.queues.by_name.items()}
    with service.ledger.still() as reader:
        head = service.ledger.head
        before = head + 1
        if query.cursor:
            before = min(before, _seq(query.cursor))
        elif query.until:
            before = newest_before(reader, until, head)

        def owners(ids: Collection[str]) -> dict[str, str]:
            with service.read() as mind:
                return queues_of(mind, service.ledger, ids)

        def holders(gangs: Collection[str]) -> set[tuple[str, int]]:
            with service.read() as mind:
                return holding(mind, query.node, gangs)

        found = newest_records(reader, before, query.limit, wanted, parents, owners, holders)
    following = printed(OF, (found.looked_back,)) if found.more else None
    return TrailPage(items=found.records, head=head, looked_back=found.looked_back, next=following)


def _seq(cursor: str) -> int:
    (seq,) = parsed(OF, cursor) if len(parsed(OF, cursor)) == 1 else ("",)
    if not isinstance(seq, int):
        raise not_a_cursor(OF)
    return seq


@router.get("/audit/anchors")
def list_audit_anchors(here: Here) -> AnchorPage:
    """Say what is signed, how far each anchor of `audit.yaml` is, and which one is late.

    Nothing is read from anchors, and nothing verified.
    """
    service = here.service
    found = anchors_standing(
        *(service.ledger, here.home.root, here.effects, service.now()), here.reached
    )
    found.problem = here.unsigned()
    return found


@router.get("/audit/verification")
def verify_audit(here: Here) -> TrailVerdict:
    """Check the whole ledger as `ganglion audit verify` does, with the anchors of `audit.yaml`.

    What is new is signed before. Every event is read: of a large ledger it takes a while, and one
    caller at a time may ask for it.
    """
    if not here.verifying.acquire(blocking=False):
        raise Conflict("the audit trail is being verified already", "ask again in a minute")
    try:
        here.sign()
        with here.service.ledger.still() as reader:
            return verdict(
                reader, here.home.root, here.effects, here.service.now(), here.unsigned()
            )
    finally:
        here.verifying.release()
