"""Legal holds: while one lasts, no event of its time leaves the ledger."""

from ganglion.model.errors import Conflict, NotFound
from ganglion.model.events import HoldPlaced, HoldReleased
from ganglion.server.state.transaction import Transaction


def place(draft: Transaction, name: str, since_ms: int, reason: str, by: str) -> HoldPlaced:
    """Place a hold.

    Args:
        draft: the open turn.
        name: of the hold.
        since_ms: from when on events stay; those that have left already are in archives.
        reason: why.
        by: who places it.

    Raises:
        Conflict: there is a hold of this name.
    """
    known = draft.book.rights.holds.get(name)
    if known:
        raise Conflict(
            f"there is a hold {name!r} already, placed by {known.by}",
            "use another name; a hold is not changed, so that its record stays true",
        )
    event = HoldPlaced(draft.now, name, since_ms, reason, by)
    draft.record(event)
    return event


def release(draft: Transaction, name: str, by: str) -> None:
    """End a hold; what it kept leaves the ledger as the rule of retention says.

    Raises:
        NotFound: there is no such hold.
    """
    if name not in draft.book.rights.holds:
        raise NotFound(f"there is no hold {name!r}", "see: ganglion audit hold list")
    draft.record(HoldReleased(draft.now, name, by))
