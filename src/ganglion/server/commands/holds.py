"""Legal holds: while one lasts, no event of its time leaves the ledger, and no name is erased."""

from collections.abc import Callable

from ganglion.identity.grants import USER
from ganglion.model.errors import Conflict, NotFound
from ganglion.model.events import (
    HoldPlaced,
    HoldReleased,
    RoleRevoked,
    SignedOut,
    TokenRevoked,
    UserErased,
    UserRemoved,
)
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


def erase(
    draft: Transaction,
    user: str,
    reason: str,
    by: str,
    owner: str,
    beside: Callable[[str, str], None],
) -> str:
    """Erase the name of a user: events show its pseudonym from then on.

    Grants, tokens and sessions of the user end before.

    Args:
        draft: the open turn.
        user: the name.
        reason: why.
        by: who erases it.
        owner: user of the server.
        beside: called with name and pseudonym before anything is recorded: writes the pseudonym
            into files beside the ledger that have the name.

    Returns:
        the pseudonym.

    Raises:
        NotFound: the ledger names no such user.
        Conflict: a legal hold lasts, the user has work, schedules or secrets, or owns the server.
        EnvironmentFault: a file beside the ledger cannot be written; nothing is recorded.
    """
    rights, token = draft.book.rights, draft.ledger.names.token(user)
    if not token:
        raise NotFound(f"no event names a user {user!r}", "see: ganglion audit show --since all")
    if rights.holds:
        names = ", ".join(sorted(rights.holds))
        raise Conflict(f"legal holds keep all names: {names}", "see: ganglion audit hold list")
    _check_gone(draft, user, owner)
    beside(user, token)
    for subject, role, queue in [key for key in rights.grants if key[0] == USER + user]:
        draft.record(RoleRevoked(draft.now, subject, role, queue, by))
    for each in [each.token for each in rights.tokens.values() if each.user == user]:
        draft.record(TokenRevoked(draft.now, each, user, by))
    for each in [each.session for each in rights.sessions.values() if each.user == user]:
        draft.record(SignedOut(draft.now, each, user, by))
    if user in rights.users:
        draft.record(UserRemoved(draft.now, user, by))
    account = rights.accounts.get(user)
    also = (account.subject,) if account and draft.ledger.names.token(account.subject) else ()
    draft.record(UserErased(draft.now, user, by, reason, *also))
    draft.batch.erased = (user, *also)
    draft.renewed = True  # the state names the user
    draft.wipe()
    return token


def _check_gone(draft: Transaction, user: str, owner: str) -> None:
    """Raises Conflict: the user is needed here."""
    if user == owner:
        raise Conflict(f"{user} is the user of this server", "another user can be erased")
    book = draft.book
    live = [each.id for each in book.entries.values() if each.workload.user == user]
    if live:
        what = f"{live[0]}" + (f" and {len(live) - 1} more" if live[1:] else "")
        raise Conflict(f"{user} has workloads: {what}", f"ganglion cancel --user {user}")
    names = [each.name for each in book.schedules.live.values() if each.user == user]
    if names:
        raise Conflict(f"{user} has a schedule: {names[0]}", f"ganglion cancel {names[0]}")
    secrets = draft.secrets.stored(user)
    if secrets:
        raise Conflict(f"{user} keeps a secret here: {secrets[0].name}", "ganglion secret remove")
