"""The rules of one server as they are written, and who a token belongs to."""

import hmac
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from ganglion.identity.grants import Grant, Grants, Subject, TokenScope
from ganglion.identity.roles import Role
from ganglion.identity.tokens import digest, token_id, trouble_of
from ganglion.model.errors import GanglionError
from ganglion.model.events import SignedIn
from ganglion.server.access.caller import Caller, Rulebook, owners
from ganglion.server.accounts.settings import SharedHost
from ganglion.server.commands.sign_in import BY_LINK
from ganglion.server.rest.paths import WEBSOCKET
from ganglion.server.state.rights import AccessRights

if TYPE_CHECKING:
    from ganglion.server.loop.service import Service

_ROLES = frozenset(map(str, Role))
SIGN_IN = "sign in: /login"
BY_ACCOUNT = "uid-"
"""Begins the id that a caller has in place of a token's, where the kernel names its account."""
SPARE = 100
"""Sessions that have ended and are remembered as used."""
CSRF = "X-CSRF-Token"
"""Header in which pages of ours repeat what `GET /whoami` has told them."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class BadToken(GanglionError):
    """A personal token that counts for nothing here."""

    code = "auth"


class BadSession(GanglionError):
    """A cookie of a browser that counts for nothing here."""

    code = "auth"


class BadPeer(GanglionError):
    """A Unix account that is no user's here."""

    code = "auth"


class SessionRules(Struct, frozen=True):
    """Which sessions of browsers count.

    Attributes:
        issuer: URL of the provider that they began at, or what others have in its place.
        idle_ms: how long one lasts without a request.
        origins: of the pages that may use them, as browsers name them; empty = that of the request.
    """

    issuer: str
    idle_ms: int
    origins: tuple[str, ...] = ()


class Permissions:
    """Follows the ledger: what is read here was written.

    Args:
        service: owns the state.
        owner: user of the server, who has every right.
        sessions: which of browsers count; None = none does.
        host: accounts of users; None = there are none.
    """

    def __init__(
        self,
        service: "Service",
        owner: str,
        sessions: SessionRules | None = None,
        host: SharedHost | None = None,
    ) -> None:
        self._service, self._owner, self.sessions = service, owner, sessions
        self._host = host
        self._used = dict[str, int]()
        self._begun = service.now()
        self._seen: tuple[object, object] = (None, None)
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
                if rights.grants is not self._seen[0] or rights.glasses is not self._seen[1]:
                    found = (owners(self._owner), *_grants(rights))
                    known = Rulebook(-1, Grants(found), {}, {})
                    self._seen = rights.grants, rights.glasses
                tree = mind.tree()
                head = self._service.ledger.head
                disabled = frozenset(k for k, each in rights.users.items() if each.disabled)
                groups = {k: each.groups for k, each in rights.users.items() if each.groups}
                self._rules = Rulebook(
                    *(head, known.grants, rights.tokens, tree, rights.sessions, disabled, groups)
                )
        return self._rules

    def key(self, token: str) -> str:
        """What the server proves with that it knows a personal token, by its id; empty = none."""
        known = self.rules().tokens.get(token)
        return known.digest if known else ""

    def bearer(self, text: str) -> Caller:
        """The user of a personal token; may wait for a turn to end.

        Raises:
            BadToken: it is malformed, unknown, revoked or expired, or its user is disabled.
        """
        trouble = trouble_of(text)
        if trouble:
            raise BadToken(trouble, "copy all of it; it was shown once, when it was made")
        return self.holder(token_id(text), digest(text))

    def holder(self, token: str, given: str) -> Caller:
        """The user of a personal token, of which only id and digest are known.

        Raises:
            BadToken: it is unknown, revoked or expired.
        """
        rules, now = self.rules(), self._service.now()
        known = rules.tokens.get(token)
        # Compared also where there is none, so that both answers take equally long.
        same = hmac.compare_digest(known.digest if known else given[::-1], given)
        if known is None or not same:
            raise BadToken(
                "this server knows no such personal token",
                "it was revoked, expired long ago, or is one of another server",
            )
        if now >= known.until_ms:
            raise BadToken(f"the personal token {known.token} has expired", "ask for a new one")
        if known.user in rules.disabled:
            raise BadToken(f"the user {known.user} is disabled", "ask an admin")
        again = partial(self.holder, token, given)
        # A role of a later version limits the token to the least there is.
        role = Role(known.role) if known.role in _ROLES else Role.VIEWER
        scope = TokenScope(role, known.queue, known.cap_micro > 0)
        subject = self._subject(known.user, rules, known.groups, scope)
        return Caller(subject, rules, now, known.token, known.until_ms, again)

    def peer(self, uid: int) -> Caller:
        """The user of a Unix account, as the kernel names it; may wait for a turn to end.

        Raises:
            BadPeer: it is no user's.
        """
        user = self._host.user_of(uid) if self._host else ""
        if not user:
            raise BadPeer(
                f"uid {uid} is the account of no user of this server",
                "the owner names it in accounts.yaml: see docs/access.md#a-shared-host",
            )
        rules, now, again = self.rules(), self._service.now(), partial(self.peer, uid)
        subject = self._subject(user, rules)
        return Caller(subject, rules, now, f"{BY_ACCOUNT}{uid}", renew=again)

    def session(self, cookie: str, *, used: bool = True) -> Caller:
        """The user of a browser's session; may wait for a turn to end.

        Args:
            cookie: the secret of the session.
            used: whether this is a request, after which the session lasts on.

        Raises:
            BadSession: there is none, or it has ended.
        """
        return self.signed_in(token_id(cookie), digest(cookie), csrf_of(cookie), used=used)

    def signed_in(self, session: str, given: str, csrf: str = "", *, used: bool = True) -> Caller:
        """The user of a session, of whose cookie only id and digest are known.

        Args:
            session: id of the session.
            given: digest of the cookie.
            csrf: see `Caller`.
            used: whether this is a request, after which the session lasts on.

        Raises:
            BadSession: there is none, or it has ended.
        """
        rules, now, wanted = self.rules(), self._service.now(), self.sessions
        known = rules.sessions.get(session)
        same = hmac.compare_digest(known.digest if known else given[::-1], given)
        if known is None or not same or wanted is None:
            raise BadSession("no user is signed in here", SIGN_IN)
        # A name that has become the owner's meanwhile must not get the owner's rights, and a
        # former owner has none.
        if (known.user == self._owner) != (known.issuer == BY_LINK):
            raise BadSession("no user is signed in here", SIGN_IN)
        if known.issuer != wanted.issuer:
            raise BadSession("the session is one of another identity provider", SIGN_IN)
        if not self._lasts(known, wanted, now):
            raise BadSession("the session has ended", SIGN_IN)
        if used:
            self._use(known.session, now, rules)
        subject, again = (
            self._subject(known.user, rules, known.groups),
            partial(self.signed_in, session, given, csrf, used=False),
        )
        return Caller(subject, rules, now, known.session, known.until_ms, again, csrf=csrf)

    def _subject(
        self,
        user: str,
        rules: Rulebook,
        groups: tuple[str, ...] = (),
        scope: TokenScope | None = None,
    ) -> Subject:
        """A user with its groups: those given, and those that it is in here by now."""
        here = rules.groups.get(user, ()), self._host.groups_of(user) if self._host else ()
        return Subject(user, tuple(dict.fromkeys((*groups, *here[0], *here[1]))), scope)

    def sees(self, user: str, queue: str) -> bool:
        """Whether a user may see the work of a queue; may wait for a turn to end.

        Of groups at a provider those count with which the user is signed in.
        """
        rules = self.rules()
        groups = (each.groups for each in rules.sessions.values() if each.user == user)
        subject = self._subject(user, rules, tuple(name for found in groups for name in found))
        return Caller(subject, rules, self._service.now()).sees(queue)

    def lasting(self) -> list[tuple[SignedIn, int]]:
        """The sessions that count, each with the time in ms of its last request.

        Requests before the start of the server are not known. May wait for a turn to end.
        """
        rules, now, wanted = self.rules(), self._service.now(), self.sessions
        if wanted is None:
            return []
        return [
            (each, self._last(each))
            for each in rules.sessions.values()
            if each.issuer == wanted.issuer
            and (each.user == self._owner) == (each.issuer == BY_LINK)
            and self._lasts(each, wanted, now)
        ]

    def _last(self, session: SignedIn) -> int:
        return self._used.get(session.session, max(session.at, self._begun))

    def _lasts(self, session: SignedIn, wanted: SessionRules, now: int) -> bool:
        """Whether a session has not ended, neither for good nor for want of requests."""
        return now < session.until_ms and now - self._last(session) < wanted.idle_ms

    def _use(self, session: str, now: int, rules: Rulebook) -> None:
        self._used[session] = now
        if len(self._used) > 2 * len(rules.sessions) + SPARE:
            lasting = rules.sessions
            self._used = {each: at for each, at in self._used.items() if each in lasting}


def csrf_of(cookie: str) -> str:
    """What pages repeat in a header: it follows from the cookie, which they cannot read."""
    return hmac.new(cookie.encode("utf-8", "replace"), b"ganglion csrf", "sha256").hexdigest()


def forged(headers: Mapping[str, str], method: str, csrf: str, origins: Sequence[str]) -> str:
    """Why a request may be one of a foreign page; empty = it is one of ours, or changes nothing.

    Args:
        headers: of the request; names in any case.
        method: of HTTP, or `WEBSOCKET`.
        csrf: what the header has to repeat.
        origins: of our pages.
    """
    said = headers.get("Origin")
    if said is not None and said.lower() not in origins:
        return f"origin {said[:200]} is not the one of this server"
    if method in _SAFE:
        return ""
    if said is None and headers.get("Sec-Fetch-Site") != "same-origin":
        return "the browser does not say which page the request comes from"
    if method == WEBSOCKET:
        return ""  # browsers send no headers of a page's choice with it
    given = headers.get(CSRF, "").encode("utf-8", "replace")
    if not hmac.compare_digest(given, csrf.encode()):
        return f"header {CSRF} is missing or wrong"
    return ""


def _grants(rights: AccessRights) -> Iterator[Grant]:
    """The grants there are, but for those whose role is one of a later version."""
    for event in rights.grants.values():
        if event.role in _ROLES:
            yield Grant(
                *(event.subject, Role(event.role), event.queue, event.until_ms),
                break_glass=event.break_glass,
            )
    for broken in rights.glasses.values():
        grant = rights.grants.get((broken.subject, broken.role, broken.queue))
        if grant and grant.break_glass and grant.role in _ROLES:
            ends = (each for each in (grant.until_ms, broken.until_ms) if each is not None)
            yield Grant(
                *(grant.subject, Role(grant.role), grant.queue, min(ends)),
                break_glass=True,
                broken_by=broken.user,
            )
