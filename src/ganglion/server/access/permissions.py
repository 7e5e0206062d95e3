"""The rules of one server as they are written, and who a token belongs to."""

import hmac
from functools import partial
from typing import TYPE_CHECKING

from ganglion.identity.grants import Grant, Grants, Subject, TokenScope
from ganglion.identity.roles import Role
from ganglion.identity.tokens import digest, token_id, trouble_of
from ganglion.model.errors import GanglionError
from ganglion.model.events import RoleGranted, TokenCreated
from ganglion.server.access.caller import Caller, Rulebook, owners

if TYPE_CHECKING:
    from ganglion.server.loop.service import Service

_ROLES = frozenset(map(str, Role))


class BadToken(GanglionError):
    """A personal token that counts for nothing here."""

    code = "auth"


class Permissions:
    """Follows the ledger: what is read here was written.

    Args:
        service: owns the state.
        owner: user of the server, who has every right.
    """

    def __init__(self, service: "Service", owner: str) -> None:
        self._service, self._owner = service, owner
        self._grants: object = None
        self._rules = Rulebook(-1, Grants([owners(owner)]), {}, {})

    def owner(self) -> Caller:
        """The user whose server it is; asks no other thread, so that its rules may be old."""
        now = self._service.now()
        return Caller(Subject(self._owner), self._rules, now, renew=self._renewed_owner)

    def _renewed_owner(self) -> Caller:
        return Caller(Subject(self._owner), self.rules(), self._service.now())

    def rules(self) -> Rulebook:
        """The rules as they are now; may wait for a turn to end."""
        if self._rules.head != self._service.ledger.head:
            with self._service.read() as mind:
                rights, known = mind.book.rights, self._rules
                if rights.grants is not self._grants:
                    found = filter(None, map(_grant, rights.grants.values()))
                    known = Rulebook(-1, Grants([owners(self._owner), *found]), {}, {})
                    self._grants = rights.grants
                tree = {name: queue.parent for name, queue in mind.state.queues.by_name.items()}
                head = self._service.ledger.head
                self._rules = Rulebook(head, known.grants, rights.tokens, tree)
        return self._rules

    def key(self, token: str) -> str:
        """What the server proves with that it knows a personal token, by its id; empty = none."""
        known = self.rules().tokens.get(token)
        return known.digest if known else ""

    def bearer(self, text: str) -> Caller:
        """The user of a personal token; may wait for a turn to end.

        Raises:
            BadToken: it is malformed, unknown, revoked or expired.
        """
        trouble = trouble_of(text)
        if trouble:
            raise BadToken(trouble, "copy all of it; it was shown once, when it was made")
        rules, now = self.rules(), self._service.now()
        known = rules.tokens.get(token_id(text))
        given = digest(text)
        # Compared also where there is none, so that both answers take equally long.
        same = hmac.compare_digest(known.digest if known else given[::-1], given)
        if known is None or not same:
            raise BadToken(
                "this server knows no such personal token",
                "it was revoked, or is one of another server",
            )
        if now >= known.until_ms:
            raise BadToken(f"the personal token {known.token} has expired", "ask for a new one")
        again = partial(self.bearer, text)
        return Caller(_subject(known), rules, now, known.token, known.until_ms, again)


def _grant(event: RoleGranted) -> Grant | None:
    """The grant of an event; None = its role is one of a later version."""
    if event.role not in _ROLES:
        return None
    return Grant(event.subject, Role(event.role), event.queue, event.until_ms)


def _subject(token: TokenCreated) -> Subject:
    # A role of a later version limits the token to the least there is.
    role = Role(token.role) if token.role in _ROLES else Role.VIEWER
    return Subject(token.user, token.groups, TokenScope(role, token.queue))
