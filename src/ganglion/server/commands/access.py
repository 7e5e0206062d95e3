"""What users may do about grants and tokens; each command runs within one turn."""

import re
from collections.abc import Sequence

from msgspec import Struct

from ganglion.identity.grants import GROUP, USER
from ganglion.identity.tokens import ALPHABET, CHANCE, assembled, digest, token_id
from ganglion.lifecycle.clusters import CLUSTER_NAME
from ganglion.model.errors import FieldError, Forbidden, NotFound
from ganglion.model.events import (
    GlassBroken,
    GlassMended,
    RoleGranted,
    RoleRevoked,
    TokenCreated,
    TokenRevoked,
)
from ganglion.seams.randomness import Randomness
from ganglion.server.state.rights import Key
from ganglion.server.state.transaction import Transaction

DAY_MS = 86_400_000
MOST_DAYS = 366
"""Longest life of a personal token."""
GLASS_MS, MOST_GLASS_MS = 3_600_000, 4 * 3_600_000
"""How long broken glass lasts by default, and at most from its first moment."""
SHORTEST_REASON, LONGEST_REASON = 10, 500
"""Characters of the reason for which glass is broken."""
_CLUSTER = re.compile(CLUSTER_NAME + ":")
"""A cluster as a whole; it may deliver nothing yet."""
BYTES = 32
"""Bytes of chance, of which a token holds two thirds."""


class WantedToken(Struct, frozen=True):
    """A personal token that is to be made.

    Attributes:
        user: whose requests it makes.
        role: what it is limited to.
        queue: where; empty = the whole fleet.
        groups: of the user.
        label: what it is for.
        days: until it expires.
        latest_ms: when it expires at the latest; 0 = no matter when.
        cap_micro: what is submitted with it may cost at most, in millionths; 0 = it has no cap.
    """

    user: str
    role: str
    queue: str
    groups: Sequence[str]
    label: str
    days: int
    latest_ms: int = 0
    cap_micro: int = 0


def grant(
    draft: Transaction,
    subject: str,
    role: str,
    queue: str,
    until_ms: int | None,
    by: str,
    *,
    break_glass: bool = False,
) -> RoleGranted:
    """Grant a role, or change when a grant ends, or whether it is dormant.

    Args:
        draft: the open turn.
        subject: `user:NAME` or `group:NAME`.
        role: what it gets.
        queue: root of the subtree; empty = the whole fleet.
        until_ms: when it ends; None = when it is revoked.
        by: who grants it.
        break_glass: whether it is dormant until a holder breaks the glass.

    Raises:
        FieldError: the subject is none, there is no such queue, or the end has passed.
    """
    _check_subject(subject)
    _check_queue(draft, queue)
    if until_ms is not None and until_ms <= draft.now:
        raise FieldError("it has passed", key="until")
    event = RoleGranted(draft.now, subject, role, queue, until_ms, by, break_glass)
    draft.record(event)
    return event


def revoke(draft: Transaction, subject: str, role: str, queue: str, by: str) -> None:
    """Take a grant back.

    Raises:
        NotFound: there is no such grant.
    """
    if (subject, role, queue) not in draft.book.rights.grants:
        raise NotFound(
            f"{subject} has no role {role} on {queue or 'the whole fleet'}",
            "see: ganglion role list",
        )
    draft.record(RoleRevoked(draft.now, subject, role, queue, by))


def break_glass(
    draft: Transaction, grants: Sequence[Key], user: str, reason: str, lasting_ms: int
) -> list[GlassBroken]:
    """Make dormant grants count for a user for a while.

    A further break while the glass is open moves its end, never back, and never beyond
    `MOST_GLASS_MS` from the first moment.

    Args:
        draft: the open turn.
        grants: subject, role and queue of each.
        user: who breaks it.
        reason: why.
        lasting_ms: for how long.

    Raises:
        FieldError: the reason is too short or not printable.
        NotFound: one of the grants is gone.
    """
    if not reason.isprintable() or len(reason.strip()) < SHORTEST_REASON:
        raise FieldError(
            f"it has to have at least {SHORTEST_REASON} printable characters, on one line",
            key="reason",
            hint="say what happened, as 'node fire in hall 2'",
        )
    rights, made = draft.book.rights, list[GlassBroken]()
    for key in grants:
        known = rights.grants.get(key)
        if known is None or not known.break_glass:
            raise NotFound("the dormant grant was revoked meanwhile", "see: ganglion whoami")
        since, until = draft.now, draft.now + lasting_ms
        former = rights.glasses.get((user, *key))
        if former and draft.now < former.until_ms:
            since = former.since_ms
            until = min(max(until, former.until_ms), since + MOST_GLASS_MS)
        if known.until_ms is not None:
            until = min(until, known.until_ms)
        made.append(GlassBroken(draft.now, user, *key, reason, since, until))
    for event in made:
        draft.record(event)
    return made


def mend_glass(draft: Transaction, user: str, queue: str | None, by: str) -> None:
    """End what broken glass gives a user.

    Args:
        draft: the open turn.
        user: who broke it.
        queue: of the grants; None = all of them.
        by: who mends it.

    Raises:
        NotFound: none is broken.
    """
    broken = [
        each
        for each in draft.book.rights.glasses.values()
        if each.user == user and queue in (None, each.queue) and draft.now < each.until_ms
    ]
    if not broken:
        raise NotFound(f"{user} has broken no glass", "see: ganglion role list")
    for each in broken:
        draft.record(GlassMended(draft.now, user, each.subject, each.role, each.queue, by))


def new_token(randomness: Randomness) -> str:
    """Draw a personal token, which counts once `make_token` has recorded it."""
    number, chance = int.from_bytes(randomness.token_bytes(BYTES)), list[int]()
    for _ in range(CHANCE):
        number, digit = divmod(number, len(ALPHABET))
        chance.append(digit)
    return assembled(chance)


def make_token(draft: Transaction, wish: WantedToken, token: str, by: str) -> TokenCreated:
    """Make a personal token.

    Args:
        draft: the open turn.
        wish: what it is to be.
        token: the token itself, of which a digest is kept.
        by: who makes it.

    Raises:
        FieldError: the user's name is none, there is no such queue, or a cap where there are no
            prices.
    """
    check_name(wish.user, "user")
    for each in wish.groups:
        check_name(each, "groups")
    _check_queue(draft, wish.queue)
    if wish.cap_micro and not draft.book.prices.records:
        raise FieldError(
            "there are no prices, so that nothing would count against it",
            key="spend_cap_micro",
            hint="set them first: ganglion price set",
        )
    until = draft.now + wish.days * DAY_MS
    event = TokenCreated(
        draft.now,
        token_id(token),
        digest(token),
        wish.user,
        tuple(wish.groups),
        wish.role,
        wish.queue,
        min(until, wish.latest_ms) if wish.latest_ms else until,
        wish.label,
        by,
        wish.cap_micro,
    )
    draft.record(event)
    return event


def exchange_token(draft: Transaction, wish: WantedToken, token: str) -> TokenCreated:
    """Make a personal token of a user who does not sign in, for a program.

    Args:
        draft: the open turn.
        wish: what it is to be.
        token: the token itself, of which a digest is kept.

    Raises:
        Forbidden: a user of that name signs in.
        FieldError: the user's name is none, or there is no such queue.
    """
    rights = draft.book.rights
    if wish.user in rights.accounts or wish.user in rights.users:
        of = (
            "an account of the identity provider"
            if wish.user in rights.accounts
            else "a local user"
        )
        raise Forbidden(
            f"{wish.user} is {of}",
            "the rule of exchange in login.yaml has to name another `user`",
        )
    return make_token(draft, wish, token, wish.user)


def revoke_token(draft: Transaction, token: str, by: str, *, own: bool) -> None:
    """Make a personal token count no more.

    Args:
        draft: the open turn.
        token: its id.
        by: who revokes it.
        own: whether there are only the tokens of that user.

    Raises:
        NotFound: there is no such token.
    """
    known = draft.book.rights.tokens.get(token)
    if known is None or (own and known.user != by):
        raise NotFound(f"there is no token {token!r}", "see: ganglion token list")
    draft.record(TokenRevoked(draft.now, token, known.user, by))


def _check_subject(subject: str) -> None:
    for kind in (USER, GROUP):
        if subject.startswith(kind):
            check_name(subject.removeprefix(kind), "subject")
            return
    raise FieldError(
        f"{subject!r} is neither a user nor a group",
        key="subject",
        hint="as user:eve, or group:research",
    )


def check_name(name: str, key: str) -> None:
    """Raises FieldError, with the key, unless a text may name a user or a group."""
    if not name or not all(each.isalnum() or each in "._@+-" for each in name):
        raise FieldError(
            f"{name!r} is no name", key=key, hint="letters, digits, and . _ @ + - without spaces"
        )


def _check_queue(draft: Transaction, queue: str) -> None:
    if _CLUSTER.fullmatch(queue) or queue in draft.book.clusters.tree():
        return
    if queue and queue not in draft.state.queues.by_name:
        raise FieldError(f"there is no queue {queue!r}", key="queue", hint="see: ganglion queues")
