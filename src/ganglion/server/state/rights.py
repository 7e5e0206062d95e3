"""Grants, tokens, accounts, sessions and legal holds as the events so far have made them."""

from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.model.events import (
    AccountJoined,
    BootstrapMade,
    BootstrapUsed,
    Event,
    GlassBroken,
    GlassMended,
    HoldPlaced,
    HoldReleased,
    PasswordChanged,
    QueueRemoved,
    RoleGranted,
    RoleRevoked,
    SignedIn,
    SignedOut,
    TokenCreated,
    TokenRevoked,
    UserAdded,
    UserDisabled,
    UserEnabled,
    UserErased,
    UserGrouped,
    UserRemoved,
)

Key = tuple[str, str, str]
"""Subject, role and queue of a grant."""
GlassKey = tuple[str, str, str, str]
"""User, and subject, role and queue of the grant."""
NEVER = 1 << 62
"""Later than any event, in ms."""
MOST_SESSIONS = 20
"""Sessions of one user: the oldest ends when another one begins."""

EXPIRED_MS = 30 * 86_400_000
"""How long tokens are listed that have expired; jobs of CI get one each."""


class LocalUser(Struct, frozen=True):
    """A user who signs in with a name and a password.

    Attributes:
        user: name.
        digest: Argon2id of the password, as a PHC string.
        by: user who added it.
        added_ms: when.
        changed_ms: when the password was last changed.
        disabled: whether neither password nor tokens count.
        groups: that it is in.
    """

    user: str
    digest: str
    by: str
    added_ms: int
    changed_ms: int
    disabled: bool = False
    groups: tuple[str, ...] = ()


class AccessRights(Struct):
    """Who may do what, and what has to stay.

    A change makes new tables, so that readers keep the ones they have.

    Attributes:
        grants: by subject, role and queue.
        tokens: those that were not revoked, by their ids; without those that had long expired when
            one was made.
        accounts: users of the identity provider, by their names here.
        sessions: of browsers, by their ids; without those that had ended when one began.
        holds: legal holds that were not released, by their names.
        glasses: broken ones that were not mended; without those that had ended when one was broken.
        users: local ones, by their names.
        bootstrap: the newest link whose visitor becomes admin; None = none, or it was used.
    """

    grants: dict[Key, RoleGranted] = field(default_factory=dict)
    tokens: dict[str, TokenCreated] = field(default_factory=dict)
    accounts: dict[str, AccountJoined] = field(default_factory=dict)
    sessions: dict[str, SignedIn] = field(default_factory=dict)
    holds: dict[str, HoldPlaced] = field(default_factory=dict)
    glasses: dict[GlassKey, GlassBroken] = field(default_factory=dict)
    users: dict[str, LocalUser] = field(default_factory=dict)
    bootstrap: BootstrapMade | None = None

    @property
    def held_since(self) -> int:
        """From when on nothing may leave the ledger, in ms; `NEVER` without a legal hold."""
        return min((each.since_ms for each in self.holds.values()), default=NEVER)

    def note(self, event: Event) -> None:
        """Take an event in; a queue that is removed takes the grants on it along."""
        match event:
            case RoleGranted(subject=subject, role=role, queue=queue):
                self.grants = {**self.grants, (subject, role, queue): event}
                self._mend((subject, role, queue))
            case RoleRevoked(subject=subject, role=role, queue=queue):
                gone = (subject, role, queue)
                self.grants = {key: each for key, each in self.grants.items() if key != gone}
                self._mend(gone)
            case GlassBroken() | GlassMended():
                self._note_glass(event)
            case TokenCreated(token=token, at=now):
                kept = {k: e for k, e in self.tokens.items() if now < e.until_ms + EXPIRED_MS}
                self.tokens = {**kept, token: event}
            case TokenRevoked(token=token):
                self.tokens = {key: each for key, each in self.tokens.items() if key != token}
            case AccountJoined(user=user) | UserErased(user=user):
                others = {key: each for key, each in self.accounts.items() if key != user}
                new = {user: event} if isinstance(event, AccountJoined) else {}
                self.accounts = {**others, **new}
            case SignedIn() | SignedOut():
                self._note_session(event)
            case (
                UserAdded()
                | UserRemoved()
                | UserGrouped()
                | PasswordChanged()
                | UserDisabled()
                | UserEnabled()
            ):
                self._note_user(event)
            case BootstrapMade() | BootstrapUsed():
                self.bootstrap = event if isinstance(event, BootstrapMade) else None
            case HoldPlaced() | HoldReleased():
                left = {key: each for key, each in self.holds.items() if key != event.name}
                placed = {event.name: event} if isinstance(event, HoldPlaced) else {}
                self.holds = {**left, **placed}
            case QueueRemoved(name=name):
                if any(queue == name for _, _, queue in self.grants):
                    self.grants = {k: each for k, each in self.grants.items() if k[2] != name}
                    self.glasses = {k: each for k, each in self.glasses.items() if k[3] != name}

    def _note_glass(self, event: GlassBroken | GlassMended) -> None:
        key = (event.user, event.subject, event.role, event.queue)
        others = {k: each for k, each in self.glasses.items() if k != key}
        if isinstance(event, GlassBroken):
            others = {k: each for k, each in others.items() if event.at < each.until_ms}
            others[key] = event
        self.glasses = others

    def _note_user(
        self,
        event: UserAdded | UserRemoved | UserGrouped | PasswordChanged | UserDisabled | UserEnabled,
    ) -> None:
        known, name = dict(self.users), event.user
        if isinstance(event, UserAdded):
            known[name] = LocalUser(
                name, event.digest, event.by, event.at, event.at, groups=event.groups
            )
        elif isinstance(event, UserRemoved):
            known.pop(name, None)
        elif isinstance(event, UserGrouped):
            known[name] = replace(known[name], groups=event.groups)
        elif isinstance(event, PasswordChanged):
            at = known[name].changed_ms if event.rehashed else event.at
            known[name] = replace(known[name], digest=event.digest, changed_ms=at)
        else:
            known[name] = replace(known[name], disabled=isinstance(event, UserDisabled))
        self.users = known

    def _mend(self, grant: Key) -> None:
        """Forget that the glass of a grant was broken: it was taken back, or is another one."""
        if any(key[1:] == grant for key in self.glasses):
            self.glasses = {k: each for k, each in self.glasses.items() if k[1:] != grant}

    def _note_session(self, event: SignedIn | SignedOut) -> None:
        if isinstance(event, SignedOut):
            gone = event.session
            self.sessions = {k: each for k, each in self.sessions.items() if k != gone}
            return
        lasting = {key: each for key, each in self.sessions.items() if event.at < each.until_ms}
        own = [key for key, each in lasting.items() if each.user == event.user]
        for key in own[: max(0, len(own) + 1 - MOST_SESSIONS)]:
            del lasting[key]
        self.sessions = {**lasting, event.session: event}
