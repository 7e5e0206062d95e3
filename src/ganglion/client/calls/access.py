"""Who may do what: roles, personal tokens, who the caller is; legal holds.

Times are ms since 1970.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ganglion.api.access import (
    BootstrapLink,
    BrowserSession,
    BrowserSessions,
    ErasureView,
    GrantView,
    HoldPage,
    HoldView,
    NewToken,
    NoticeChoice,
    NoticesView,
    PortalLink,
    RolePage,
    TokenPage,
    TokenView,
    UserPage,
    UserView,
    WhoAmI,
    WhoCan,
)
from ganglion.api.past.trail import AnchorPage

if TYPE_CHECKING:
    from ganglion.client.http import Http


class AccessClient:
    """Part of `Client`; every method raises what its methods raise.

    Args:
        http: the connection.
    """

    def __init__(self, http: "Http") -> None:
        self._http = http

    def act_for(self, agent: str) -> None:
        """Name the program that acts for the user from now on, which the audit trail names too."""
        self._http.agent = agent

    def whoami(self) -> WhoAmI:
        """Say who the caller is, and what it was granted."""
        return self._http.call("GET", "/whoami", WhoAmI)

    def whocan(self, verb: str, resource: str, queue: str = "") -> WhoCan:
        """List the grants that allow something; an empty queue is the whole fleet."""
        params = {"verb": verb, "resource": resource, "queue": queue}
        return self._http.call("GET", "/whocan", WhoCan, params=params)

    def roles(self) -> tuple[GrantView, ...]:
        """List grants, by subject and queue."""
        return self._http.call("GET", "/roles", RolePage).items

    def grant(
        self,
        subject: str,
        role: str,
        queue: str = "",
        until: int | None = None,
        *,
        break_glass: bool = False,
    ) -> GrantView:
        """Grant a role to `user:NAME` or `group:NAME`, or change when a grant ends.

        With `break_glass` it is dormant: it gives nothing until a holder breaks the glass.
        """
        body: dict[str, Any] = {"subject": subject, "role": role, "queue": queue, "until": until}
        if break_glass:  # older servers know no such key
            body["break_glass"] = True
        return self._http.call("POST", "/roles:grant", GrantView, body=body)

    def break_glass(
        self, reason: str, lasting: int | None = None, queue: str | None = None
    ) -> tuple[GrantView, ...]:
        """Make the caller's dormant grants on a queue count for a while.

        Args:
            reason: why, in 10 to 500 printable characters.
            lasting: for how long, in ms; None = an hour.
            queue: of the grants; empty = the whole fleet, None = the only one that there is.
        """
        body: dict[str, Any] = {"reason": reason, "queue": queue}
        if lasting is not None:
            body["lasting"] = lasting
        return self._http.call("POST", "/roles:break-glass", RolePage, body=body).items

    def mend_glass(self, user: str = "", queue: str | None = None) -> None:
        """End what broken glass gives a user; empty = the caller."""
        body = {"user": user, "queue": queue}
        self._http.call("POST", "/roles:mend-glass", Any, body=body)

    def revoke(self, subject: str, role: str, queue: str = "") -> None:
        """Take a grant back."""
        body = {"subject": subject, "role": role, "queue": queue}
        self._http.call("POST", "/roles:revoke", Any, body=body)

    def tokens(self) -> tuple[TokenView, ...]:
        """List personal tokens without the tokens themselves: the caller's own, or all."""
        return self._http.call("GET", "/tokens", TokenPage).items

    def create_token(
        self,
        user: str,
        role: str,
        queue: str = "",
        *,
        groups: Sequence[str] = (),
        label: str = "",
        days: int = 90,
        spend_cap_micro: int = 0,
    ) -> NewToken:
        """Make a personal token; the answer is the only place that has it.

        Args:
            user: whose requests it makes.
            role: what it is limited to.
            queue: with all queues under it; empty = the whole fleet.
            groups: of the user.
            label: what it is for.
            days: until it expires.
            spend_cap_micro: what is submitted with it may cost at most, in millionths of the
                currency of the prices; 0 = it has no cap.
        """
        body: dict[str, Any] = {"user": user, "role": role, "queue": queue, "label": label}
        body |= {"days": days, "groups": [*groups]}
        if spend_cap_micro:  # older servers know no such key
            body["spend_cap_micro"] = spend_cap_micro
        return self._http.call("POST", "/tokens", NewToken, body=body)

    def revoke_token(self, token: str) -> None:
        """Make a personal token count no more, by its id."""
        self._http.call("DELETE", f"/tokens/{quote(token, safe='')}", Any)

    def sessions(self) -> tuple[BrowserSession, ...]:
        """List sessions of browsers that count, the newest first: the caller's own, or all."""
        return self._http.call("GET", "/sessions", BrowserSessions).items

    def end_session(self, session: str) -> None:
        """End a session of a browser, by its id; its next request is refused."""
        self._http.call("DELETE", f"/sessions/{quote(session, safe='')}", Any)

    def users(self) -> tuple[UserView, ...]:
        """List users who sign in with a name and a password."""
        return self._http.call("GET", "/users", UserPage).items

    def notices(self) -> tuple[NoticeChoice, ...]:
        """What the caller chose to be notified of; empty = what the server says is sent."""
        return self._http.call("GET", "/notices", NoticesView).items

    def set_notices(self, items: Sequence[Mapping[str, object]]) -> tuple[NoticeChoice, ...]:
        """Choose what the caller is notified of, in place of what it chose before.

        Args:
            items: each with `on`, and `mail` or `webhook`; empty = what the server says.
        """
        body = {"items": [dict(each) for each in items]}
        return self._http.call("PUT", "/notices", NoticesView, body=body).items

    def bootstrap(self, *, if_needed: bool = False) -> BootstrapLink:
        """Make the link whose visitor becomes the first admin; for the owner of the server.

        Args:
            if_needed: make none where users cannot sign in or there is an admin.
        """
        body = {"if_needed": if_needed}
        return self._http.call("POST", "/users:bootstrap", BootstrapLink, body=body)

    def portal_link(self) -> PortalLink:
        """Make a link that opens the portal; for the owner of the server."""
        return self._http.call("POST", "/portal:link", PortalLink)

    def add_user(self, user: str, password: str, groups: Sequence[str] = ()) -> UserView:
        """Add a user who signs in with a name and a password; it has no role by that."""
        body = {"user": user, "password": password, "groups": list(groups)}
        return self._http.call("POST", "/users", UserView, body=body)

    def set_password(self, user: str, password: str, current: str = "") -> None:
        """Change the password of a user, and end its sessions.

        Args:
            user: name.
            password: the new one.
            current: the one so far; needed for the caller's own.
        """
        body = {"password": password, "current": current}
        self._http.call("PUT", f"/users/{quote(user, safe='')}/password", Any, body=body)

    def set_user_groups(self, user: str, groups: Sequence[str]) -> UserView:
        """Have a user with a password be in these groups, and in no others."""
        path = f"/users/{quote(user, safe='')}/groups"
        return self._http.call("PUT", path, UserView, body={"groups": list(groups)})

    def disable_user(self, user: str) -> UserView:
        """End a user's sessions, and let neither password nor tokens count."""
        return self._http.call("POST", f"/users/{quote(user, safe='')}/disable", UserView)

    def enable_user(self, user: str) -> UserView:
        """Let password and tokens of a user count again."""
        return self._http.call("POST", f"/users/{quote(user, safe='')}/enable", UserView)

    def remove_user(self, user: str) -> None:
        """Remove a user with its grants, tokens and sessions."""
        self._http.call("DELETE", f"/users/{quote(user, safe='')}", Any)

    def holds(self) -> tuple[HoldView, ...]:
        """List legal holds that were not released, the oldest first."""
        return self._http.call("GET", "/holds", HoldPage).items

    def place_hold(self, name: str, reason: str, since: int = 0) -> HoldView:
        """Keep all events from a time on in the ledger, until the hold is released."""
        body = {"reason": reason, "since": since}
        return self._http.call("PUT", f"/holds/{quote(name, safe='')}", HoldView, body=body)

    def release_hold(self, name: str) -> None:
        """Release a legal hold."""
        self._http.call("DELETE", f"/holds/{quote(name, safe='')}", Any)

    def erase(self, user: str, reason: str) -> ErasureView:
        """Erase the name of a user from the ledger; what was signed of it verifies as before."""
        body = {"user": user, "reason": reason}
        return self._http.call("POST", "/users:erase", ErasureView, body=body)

    def audit_anchors(self) -> AnchorPage:
        """Say what is signed, how far each anchor is, and which one is late."""
        return self._http.call("GET", "/audit/anchors", AnchorPage)

    @contextmanager
    def audit_export(self) -> Iterator[Iterator[bytes]]:
        """Open an export of the audit trail: JSON lines, in parts of any length."""
        with self._http.stream("/audit/export") as response:
            yield response.iter_bytes()
