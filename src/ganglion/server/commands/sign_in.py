"""What signing in and out changes; each command runs within one turn."""

from collections.abc import Sequence

from msgspec import Struct

from ganglion.identity.grants import USER
from ganglion.identity.roles import Role
from ganglion.identity.tokens import digest, token_id
from ganglion.model.errors import Forbidden, NotFound
from ganglion.model.events import AccountJoined, RoleGranted, SignedIn, SignedOut
from ganglion.server.state.transaction import Transaction

LEAST = Role.VIEWER
"""The role of a newcomer."""
PROVIDER = "the identity provider"
"""Who grants it."""


class ProvidedAccount(Struct, frozen=True):
    """A user as an identity provider describes it.

    Attributes:
        user: name here.
        groups: names of its groups.
        issuer: URL of the provider.
        subject: the provider's own name of the user, which never changes.
    """

    user: str
    groups: Sequence[str]
    issuer: str
    subject: str


def sign_in(
    draft: Transaction,
    account: ProvidedAccount,
    cookie: str,
    lasting_ms: int,
    newcomer_queue: str | None,
) -> SignedIn:
    """Begin a session of a browser.

    Args:
        draft: the open turn.
        account: who signs in.
        cookie: the secret of the session, of which a digest is kept.
        lasting_ms: when the session ends at the latest, from now.
        newcomer_queue: where a newcomer gets the least role; empty = on the whole fleet, None =
            nowhere. A queue that does not exist gives none.

    Raises:
        Forbidden: the name belongs to another account.
    """
    known = draft.book.rights.accounts.get(account.user)
    if known is None:
        _join(draft, account, newcomer_queue)
    elif (known.issuer, known.subject) != (account.issuer, account.subject):
        raise Forbidden(
            f"the name {account.user} belongs to another account",
            "the provider gave the name of one user to another one; choose a claim that is unique:"
            " `user_claim` in login.yaml",
        )
    event = SignedIn(
        draft.now,
        token_id(cookie),
        digest(cookie),
        account.user,
        tuple(account.groups),
        account.issuer,
        draft.now + lasting_ms,
    )
    draft.record(event)
    return event


def _join(draft: Transaction, account: ProvidedAccount, queue: str | None) -> None:
    draft.record(AccountJoined(draft.now, account.user, account.issuer, account.subject))
    if queue is not None and (not queue or queue in draft.state.queues.by_name):
        subject = USER + account.user
        if (subject, str(LEAST), queue) not in draft.book.rights.grants:
            draft.record(RoleGranted(draft.now, subject, str(LEAST), queue, None, PROVIDER))


def sign_out(draft: Transaction, session: str, by: str, *, own: bool) -> None:
    """End a session.

    Args:
        draft: the open turn.
        session: its id.
        by: who ends it.
        own: whether there are only the sessions of that user.

    Raises:
        NotFound: there is no such session.
    """
    known = draft.book.rights.sessions.get(session)
    if known is None or (own and known.user != by):
        raise NotFound(f"there is no session {session!r}")
    draft.record(SignedOut(draft.now, session, known.user, by))
