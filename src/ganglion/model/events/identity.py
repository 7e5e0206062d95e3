"""Grants, tokens, denials, legal holds and erasures: what an audit asks for.

The engine takes no notice of them.
"""

from ganglion.model.events.base import EventBase


class RoleGranted(EventBase, frozen=True, tag="role_granted"):
    """A role was granted on a subtree of queues, or its end was changed.

    Attributes:
        subject: `user:NAME` or `group:NAME`.
        role: name of the role.
        queue: root of the subtree; empty = the whole fleet.
        until_ms: when it ends; None = when it is revoked.
        by: user who granted it.
        break_glass: whether it gives nothing until a holder breaks the glass.
    """

    subject: str
    role: str
    queue: str
    until_ms: int | None
    by: str
    break_glass: bool = False


class RoleRevoked(EventBase, frozen=True, tag="role_revoked"):
    """A grant was taken back; `by` names the user who did it."""

    subject: str
    role: str
    queue: str
    by: str


class GlassBroken(EventBase, frozen=True, tag="glass_broken"):
    """A user broke the glass: a dormant grant counts for that user until then.

    Attributes:
        user: who broke it.
        subject, role, queue: name the grant.
        reason: why, in the user's words.
        since_ms: when it was broken first; a further break while it is open leaves that.
        until_ms: when it ends, unless it is mended before, or the grant is revoked or changed.
    """

    user: str
    subject: str
    role: str
    queue: str
    reason: str
    since_ms: int
    until_ms: int


class GlassMended(EventBase, frozen=True, tag="glass_mended"):
    """Broken glass was mended before its end; `by` names the user who did it."""

    user: str
    subject: str
    role: str
    queue: str
    by: str


class TokenCreated(EventBase, frozen=True, tag="token_created"):
    """A personal token was made; the token itself is kept nowhere.

    Attributes:
        token: its public id.
        digest: SHA-256 of the token, in hexadecimal; streams of events leave it out.
        user: whose requests it makes.
        groups: of that user.
        role, queue: what it is limited to.
        until_ms: when it expires.
        label: what it is for.
        by: user who made it.
        cap_micro: what workloads may cost at most that are submitted with it, in millionths; 0 = it
            has no spending cap.
    """

    token: str
    digest: str
    user: str
    groups: tuple[str, ...]
    role: str
    queue: str
    until_ms: int
    label: str
    by: str
    cap_micro: int = 0


class TokenRevoked(EventBase, frozen=True, tag="token_revoked"):
    """A personal token counts no more; `by` names the user who revoked it."""

    token: str
    user: str
    by: str


class AccessDenied(EventBase, frozen=True, tag="access_denied"):
    """A user was refused something; equal refusals within a minute are recorded once.

    Attributes:
        user: who asked.
        token: id of the token that was sent.
        operation: what was asked for, as the OpenAPI page names it.
        queue: of what was asked about; empty = of none.
        rule: what is missing.
    """

    user: str
    token: str
    operation: str
    queue: str
    rule: str


class AccountJoined(EventBase, frozen=True, tag="account_joined"):
    """A user of the identity provider signed in for the first time; the name is theirs from now on.

    Attributes:
        user: name here.
        issuer: URL of the provider.
        subject: the provider's own name of the user, which never changes.
    """

    user: str
    issuer: str
    subject: str


class SignedIn(EventBase, frozen=True, tag="signed_in"):
    """A browser's session began; its cookie is kept nowhere.

    Attributes:
        session: its public id.
        digest: SHA-256 of the cookie, in hexadecimal; streams of events leave it out.
        user: who signed in.
        groups: of that user, as the provider named them.
        issuer: URL of the provider.
        until_ms: when it ends at the latest.
    """

    session: str
    digest: str
    user: str
    groups: tuple[str, ...]
    issuer: str
    until_ms: int


class SignedOut(EventBase, frozen=True, tag="signed_out"):
    """A browser's session counts no more; `by` names the user who ended it."""

    session: str
    user: str
    by: str


class HoldPlaced(EventBase, frozen=True, tag="hold_placed"):
    """A legal hold was placed: until it is released, no event of its time leaves the ledger.

    Attributes:
        name: of the hold.
        since_ms: from when on events stay.
        reason: why, as a case or a request of an authority.
        by: user who placed it.
    """

    name: str
    since_ms: int
    reason: str
    by: str


class HoldReleased(EventBase, frozen=True, tag="hold_released"):
    """A legal hold ended; `by` names the user who released it."""

    name: str
    by: str


class UserAdded(EventBase, frozen=True, tag="user_added"):
    """A user who signs in with a name and a password was added.

    Attributes:
        user: name.
        digest: Argon2id of the password, as a PHC string; streams of events leave it out.
        by: user who added it.
        groups: names of the groups that it is in.
    """

    user: str
    digest: str
    by: str
    groups: tuple[str, ...] = ()


class UserGrouped(EventBase, frozen=True, tag="user_grouped"):
    """A local user is in these groups from now on, and in no others.

    Attributes:
        user: name.
        groups: their names.
        by: user who said so.
    """

    user: str
    groups: tuple[str, ...]
    by: str


class PasswordChanged(EventBase, frozen=True, tag="password_changed"):
    """A local user has another password, or the same one is kept in another form.

    Attributes:
        user: name.
        digest: Argon2id of the password, as a PHC string; streams of events leave it out.
        by: user who changed it.
        rehashed: whether the password is the one before, kept with the parameters of today.
    """

    user: str
    digest: str
    by: str
    rehashed: bool = False


class UserDisabled(EventBase, frozen=True, tag="user_disabled"):
    """A local user cannot sign in, and its tokens count for nothing; `by` names who did it."""

    user: str
    by: str


class UserEnabled(EventBase, frozen=True, tag="user_enabled"):
    """A local user who was disabled can sign in again; `by` names who did it."""

    user: str
    by: str


class UserRemoved(EventBase, frozen=True, tag="user_removed"):
    """A local user is gone; `by` names who removed it."""

    user: str
    by: str


class BootstrapMade(EventBase, frozen=True, tag="bootstrap_made"):
    """A link was made whose visitor becomes admin, once; the one before counts no more.

    Attributes:
        digest: SHA-256 of its code, in hexadecimal; streams of events leave it out.
        until_ms: when it ends.
        by: user who made it.
    """

    digest: str
    until_ms: int
    by: str


class BootstrapUsed(EventBase, frozen=True, tag="bootstrap_used"):
    """The link was used; its visitor is admin now."""

    user: str


class UserErased(EventBase, frozen=True, tag="user_erased"):
    """A user's name was erased: events show its pseudonym from then on.

    Attributes:
        user: whose name it was.
        by: user who erased it.
        reason: why, as a request of that user.
        account: the provider's own name of the user; empty = there was no account.
    """

    user: str
    by: str
    reason: str
    account: str = ""
