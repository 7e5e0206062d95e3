"""What changes accounts, local users and sessions; each command runs within one turn."""

import hmac
from collections.abc import Sequence

from msgspec import Struct

from ganglion.identity.grants import USER
from ganglion.identity.roles import Role
from ganglion.identity.tokens import digest, token_id
from ganglion.model.errors import Conflict, FieldError, Forbidden, NotFound
from ganglion.model.events import (
    AccountJoined,
    BootstrapMade,
    BootstrapUsed,
    PasswordChanged,
    RoleGranted,
    RoleRevoked,
    SignedIn,
    SignedOut,
    TokenRevoked,
    UserAdded,
    UserDisabled,
    UserEnabled,
    UserGrouped,
    UserRemoved,
)
from ganglion.server.commands.access import check_name
from ganglion.server.state.rights import AccessRights, LocalUser
from ganglion.server.state.transaction import Transaction

LEAST = Role.VIEWER
"""The role of a newcomer."""
PROVIDER = "the identity provider"
"""Who grants it."""
LOCAL = "local"
"""What sessions of local users have in the place of a provider's URL."""
BY_LINK = "portal link"
"""What sessions of the server's owner have there."""
LONGEST_NAME = 100
"""Characters of a local user's name."""
BOOTSTRAP = "/login/bootstrap"
"""Path that the link of the first admin leads to."""
BOOTSTRAP_MS = 3_600_000
"""How long that link counts."""
LINK = "the bootstrap link"
"""Who grants the role then."""
WRONG = "the name or the password is wrong"


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
    if account.user in draft.book.rights.users:
        raise Forbidden(
            f"{account.user} is the name of a local user", "ganglion user remove takes it away"
        )
    if known is None:
        _join(draft, account, newcomer_queue)
    elif (known.issuer, known.subject) != (account.issuer, account.subject):
        raise Forbidden(
            f"the name {account.user} belongs to another account",
            "the provider gave the name of one user to another one; choose a claim that is unique:"
            " `user_claim` in login.yaml",
        )
    return _begin(draft, account.user, account.groups, account.issuer, cookie, lasting_ms)


def sign_in_locally(
    draft: Transaction, user: str, checked: str, kept: str, cookie: str, lasting_ms: int
) -> SignedIn:
    """Begin a session of a local user whose password was right.

    Args:
        draft: the open turn.
        user: name.
        checked: PHC string by which the password was checked.
        kept: PHC string of that password to keep from now on.
        cookie: the secret of the session, of which a digest is kept.
        lasting_ms: when the session ends at the latest, from now.

    Raises:
        Forbidden: the password was changed meanwhile, or the user is disabled.
    """
    known = draft.book.rights.users.get(user)
    if known is None or known.digest != checked:
        raise Forbidden(WRONG)
    if known.disabled:
        raise Forbidden(
            f"the user {user} is disabled", "an admin can enable it: ganglion user enable"
        )
    if kept != checked:
        draft.record(PasswordChanged(draft.now, user, kept, user, rehashed=True))
    return _begin(draft, user, (), LOCAL, cookie, lasting_ms)


def sign_in_owner(draft: Transaction, owner: str, cookie: str, lasting_ms: int) -> SignedIn:
    """Begin a session of the server's owner, who has opened the portal by a link.

    Args:
        draft: the open turn.
        owner: user of the server.
        cookie: the secret of the session, of which a digest is kept.
        lasting_ms: when the session ends at the latest, from now.
    """
    return _begin(draft, owner, (), BY_LINK, cookie, lasting_ms)


def _begin(
    draft: Transaction,
    user: str,
    groups: Sequence[str],
    issuer: str,
    cookie: str,
    lasting_ms: int,
) -> SignedIn:
    event = SignedIn(
        draft.now,
        token_id(cookie),
        digest(cookie),
        user,
        tuple(groups),
        issuer,
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
        raise NotFound(f"there is no session {session!r}", "see: ganglion session list")
    draft.record(SignedOut(draft.now, session, known.user, by))


def add_user(
    draft: Transaction, user: str, kept: str, by: str, owner: str, groups: Sequence[str] = ()
) -> LocalUser:
    """Add a local user, who has no role by that but those of its groups.

    Args:
        draft: the open turn.
        user: name.
        kept: PHC string of the password.
        by: who adds it.
        owner: user of the server, whose name no local user may have.
        groups: that it is in.

    Raises:
        FieldError: the name is none, or that of a group.
        Conflict: there is such a user, account, or owner.
    """
    rights = draft.book.rights
    if not 0 < len(user) <= LONGEST_NAME or not all(_fits(each) for each in user):
        raise FieldError(
            f"{user[:LONGEST_NAME]!r} is no name of a local user",
            key="user",
            hint=f"at most {LONGEST_NAME} of a to z, A to Z, 0 to 9, and . _ @ + -",
        )
    if user == owner:
        raise Conflict(f"{user} is the owner of this server, who does not sign in")
    if user in rights.users:
        raise Conflict(f"there is a user {user}", "see: ganglion user list")
    if user in rights.accounts:
        raise Conflict(f"{user} is an account of the identity provider")
    draft.record(UserAdded(draft.now, user, kept, by, _groups(groups)))
    return draft.book.rights.users[user]


def group_user(draft: Transaction, user: str, groups: Sequence[str], by: str) -> LocalUser:
    """Have a local user be in these groups, and in no others; counts at once, for sessions too.

    Raises:
        NotFound: there is no such user.
        FieldError: the name of a group is none.
    """
    made = _groups(groups)
    if _user(draft, user).groups != made:
        draft.record(UserGrouped(draft.now, user, made, by))
    return _user(draft, user)


def _groups(names: Sequence[str]) -> tuple[str, ...]:
    """Each group once, sorted. Raises FieldError if one has no name."""
    for each in names:
        check_name(each, "groups")
    return tuple(sorted(set(names)))


def change_password(draft: Transaction, user: str, kept: str, by: str, session: str = "") -> None:
    """Change the password of a local user, and end all of its sessions.

    Args:
        draft: the open turn.
        user: name.
        kept: PHC string of the new password.
        by: who changes it.
        session: the one that goes on; empty = none does.

    Raises:
        NotFound: there is no such user.
    """
    _user(draft, user)
    draft.record(PasswordChanged(draft.now, user, kept, by))
    _end_sessions(draft, user, by, session)


def disable_user(draft: Transaction, user: str, by: str) -> LocalUser:
    """End the sessions of a local user, and let neither password nor tokens count.

    Raises:
        NotFound: there is no such user.
    """
    if not _user(draft, user).disabled:
        draft.record(UserDisabled(draft.now, user, by))
    _end_sessions(draft, user, by)
    return _user(draft, user)


def enable_user(draft: Transaction, user: str, by: str) -> LocalUser:
    """Let password and tokens of a local user count again.

    Raises:
        NotFound: there is no such user.
    """
    if _user(draft, user).disabled:
        draft.record(UserEnabled(draft.now, user, by))
    return _user(draft, user)


def remove_user(draft: Transaction, user: str, by: str) -> None:
    """Remove a local user with its grants, tokens and sessions: another one may get the name.

    Raises:
        NotFound: there is no such user.
    """
    _user(draft, user)
    rights = draft.book.rights
    for subject, role, queue in rights.grants:
        if subject == USER + user:
            draft.record(RoleRevoked(draft.now, subject, role, queue, by))
    for token in rights.tokens.values():
        if token.user == user:
            draft.record(TokenRevoked(draft.now, token.token, user, by))
    _end_sessions(draft, user, by)
    draft.record(UserRemoved(draft.now, user, by))


def needs_admin(rights: AccessRights, now_ms: int) -> bool:
    """Whether no user or group but the server's owner is admin of the whole fleet."""
    return not any(
        each.role == Role.ADMIN
        and not each.queue
        and not each.break_glass
        and (each.until_ms is None or now_ms < each.until_ms)
        for each in rights.grants.values()
    )


def make_bootstrap(draft: Transaction, code: str, by: str) -> BootstrapMade:
    """Make the link whose visitor becomes admin; the one before counts no more.

    Args:
        draft: the open turn.
        code: its secret, of which a digest is kept.
        by: who makes it.
    """
    made = BootstrapMade(draft.now, digest(code), draft.now + BOOTSTRAP_MS, by)
    draft.record(made)
    return made


def check_bootstrap(rights: AccessRights, code: str, now_ms: int) -> None:
    """Check that a code counts, which it does until it is used.

    Raises:
        Forbidden: it does not.
    """
    known, given = rights.bootstrap, digest(code)
    same = hmac.compare_digest(known.digest if known else given[::-1], given)
    if known is None or not same or now_ms >= known.until_ms:
        raise Forbidden(
            "this link does not count: it was used, is too old, or is not the newest",
            "the owner makes another one: ganglion user bootstrap",
        )


def make_admin(draft: Transaction, code: str, user: str) -> None:
    """Use the link: a user becomes admin of the whole fleet.

    Raises:
        Forbidden: the code does not count, as where another one was quicker.
    """
    check_bootstrap(draft.book.rights, code, draft.now)
    draft.record(BootstrapUsed(draft.now, user))
    draft.record(RoleGranted(draft.now, USER + user, str(Role.ADMIN), "", None, LINK))


def add_first_admin(
    draft: Transaction,
    code: str,
    user: str,
    kept: str,
    owner: str,
    cookie: str,
    lasting_ms: int,
) -> SignedIn:
    """Use the link: add a local user who is admin of the whole fleet, and begin its session.

    Args:
        draft: the open turn.
        code: of the link.
        user: name.
        kept: PHC string of the password.
        owner: user of the server, whose name no local user may have.
        cookie: the secret of the session, of which a digest is kept.
        lasting_ms: when the session ends at the latest, from now.

    Raises:
        Forbidden: the code does not count, as where another one was quicker.
        FieldError, Conflict: the name cannot be had.
    """
    check_bootstrap(draft.book.rights, code, draft.now)
    add_user(draft, user, kept, LINK, owner)
    make_admin(draft, code, user)
    return sign_in_locally(draft, user, kept, kept, cookie, lasting_ms)


def _user(draft: Transaction, user: str) -> LocalUser:
    known = draft.book.rights.users.get(user)
    if known is None:
        raise NotFound(f"there is no local user {user!r}", "see: ganglion user list")
    return known


def _end_sessions(draft: Transaction, user: str, by: str, but: str = "") -> None:
    for each in draft.book.rights.sessions.values():
        if each.user == user and each.session != but:
            draft.record(SignedOut(draft.now, each.session, user, by))


def _fits(letter: str) -> bool:
    """Whether a letter may be in a name: ASCII alone, so that no two names look alike."""
    return letter.isascii() and (letter.isalnum() or letter in "._@+-")
