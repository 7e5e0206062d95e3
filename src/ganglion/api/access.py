"""Who may do what: grants, personal tokens, and what a caller is; legal holds."""

from msgspec import Struct


class GlassView(Struct):
    """Broken glass: a dormant grant counts for one user for a while.

    Attributes:
        user: who broke it.
        since: when, in ms; of several times the first.
        until: when it ends, in ms.
        reason: why; of several times the last.
    """

    user: str
    since: int
    until: int
    reason: str


class GrantView(Struct):
    """A role on a subtree of queues.

    Attributes:
        subject: `user:NAME` or `group:NAME`.
        role: what it gives.
        queue: root of the subtree; empty = the whole fleet.
        until: when it ends, in ms; None = when it is revoked.
        by: user who granted it; empty = it is the owner's of the server, and cannot be revoked.
        at: when it was granted, in ms.
        break_glass: whether it gives nothing until a holder breaks the glass.
        broken: by whom it is broken at present; others have nothing of it.
    """

    subject: str
    role: str
    queue: str = ""
    until: int | None = None
    by: str = ""
    at: int = 0
    break_glass: bool = False
    broken: tuple[GlassView, ...] = ()


class RolePage(Struct):
    """Grants, by subject and queue."""

    items: tuple[GrantView, ...] = ()


class HolderView(Struct):
    """A grant that allows something.

    Attributes:
        subject: `user:NAME` or `group:NAME`.
        role: that allows it.
        queue: of the grant; empty = the whole fleet.
        until: when the grant ends, in ms; None = when it is revoked.
        own: whether it reaches only what belongs to the subject.
        dormant: whether it gives that only to a holder who breaks the glass.
        broken_by: the user who broke it, for whom alone it counts; empty = no glass was broken.
    """

    subject: str
    role: str
    queue: str = ""
    until: int | None = None
    own: bool = False
    dormant: bool = False
    broken_by: str = ""


class WhoCan(Struct):
    """Who may do something.

    Attributes:
        verb: what is done.
        resource: what it is done to.
        queue: that the resource belongs to; empty = to none.
        items: the grants that allow it.
    """

    verb: str
    resource: str
    queue: str = ""
    items: tuple[HolderView, ...] = ()


class SpendCap(Struct):
    """What workloads may cost that are submitted with a token, in millionths.

    Attributes:
        micro: the cap.
        spent_micro: what they have cost so far.
        reserved_micro: the most that those which run will still cost.
        left_micro: what is left of the cap.
        currency: of the prices.
    """

    micro: int
    spent_micro: int = 0
    reserved_micro: int = 0
    left_micro: int = 0
    currency: str = ""


class TokenView(Struct):
    """A personal token, without the token itself.

    Attributes:
        id: its public name.
        user: whose requests it makes.
        groups: of that user.
        role: what it is limited to.
        queue: where; empty = the whole fleet.
        until: when it expires, in ms.
        label: what it is for.
        by: user who made it.
        at: when it was made, in ms.
        spend_cap: what may be spent with it; None = it has no spending cap.
    """

    id: str
    user: str
    groups: tuple[str, ...] = ()
    role: str = ""
    queue: str = ""
    until: int = 0
    label: str = ""
    by: str = ""
    at: int = 0
    spend_cap: SpendCap | None = None


class TokenPage(Struct):
    """Personal tokens, the newest first."""

    items: tuple[TokenView, ...] = ()


class BrowserSession(Struct):
    """A session of a browser, without its cookie.

    Attributes:
        id: public part; names the session.
        user: who signed in.
        groups: of that user, as the provider named them.
        at: when it began, in ms.
        used: when it was last used, in ms; not before the start of the server.
        until: when it ends at the latest, in ms.
        own: whether the request that asks is one of it.
    """

    id: str
    user: str
    groups: tuple[str, ...] = ()
    at: int = 0
    used: int = 0
    until: int = 0
    own: bool = False


class BrowserSessions(Struct):
    """Sessions of browsers that count, the newest first."""

    items: tuple[BrowserSession, ...] = ()


class NewToken(Struct):
    """A personal token that was just made.

    Attributes:
        token: the token itself; it is shown this once.
        about: what it gives.
    """

    token: str
    about: TokenView


class WhoAmI(Struct):
    """Who a caller is.

    Attributes:
        user: name of the user.
        groups: of that user.
        owner: whether the caller has the server's own token or socket, and so every right.
        token: id of the personal token; empty = the caller sent none.
        limit: what that token is limited to, in words.
        until: when it or the session expires, in ms; 0 = there is none.
        grants: those of the user and its groups.
        session: id of the browser's session; empty = the caller has none.
        csrf: what a page sends in the header `X-CSRF-Token` with requests that change something.
        every_queue: whether the caller may change every queue; else rules about the work of other
            queues stay as they are in the queues that it changes.
        spend_cap: what may be spent with its token; None = it has no spending cap.
    """

    user: str
    groups: tuple[str, ...] = ()
    owner: bool = False
    token: str = ""
    limit: str = ""
    until: int = 0
    grants: tuple[GrantView, ...] = ()
    session: str = ""
    csrf: str = ""
    every_queue: bool = False
    spend_cap: SpendCap | None = None


class UserView(Struct):
    """A user who signs in with a name and a password.

    Attributes:
        user: name.
        disabled: whether neither password nor tokens count.
        changed: when the password was last changed, in ms.
        by: user who added it.
        at: when it was added, in ms.
        groups: names of the groups that it is in.
    """

    user: str
    disabled: bool = False
    changed: int = 0
    by: str = ""
    at: int = 0
    groups: tuple[str, ...] = ()


class BootstrapLink(Struct):
    """The link whose visitor becomes the first admin.

    Attributes:
        url: of the page, with its one-time code; empty = none was made, since there is an admin.
        until: when it ends, in ms.
    """

    url: str = ""
    until: int = 0


class PortalLink(Struct):
    """The link that opens the portal.

    Attributes:
        url: of the portal, with a one-time code where there is one; where it begins with `/`, below
            the address of the server. Empty = there is no portal.
        until: when the code ends, in ms; 0 = there is none.
        trouble: why there is no portal.
    """

    url: str = ""
    until: int = 0
    trouble: str = ""


class UserPage(Struct):
    """Local users, by their names."""

    items: tuple[UserView, ...] = ()


class ErasureView(Struct):
    """What an erasure leaves.

    Attributes:
        token: the pseudonym that events show from then on.
        clear: events of versions before 0.1 that hold the name in clear, as the chain covers it.
    """

    token: str
    clear: int = 0


class HoldView(Struct):
    """A legal hold.

    Attributes:
        name: of the hold.
        since: from when on events stay in the ledger, in ms.
        reason: why.
        by: user who placed it.
        at: when it was placed, in ms.
    """

    name: str
    since: int
    reason: str
    by: str
    at: int


class HoldPage(Struct):
    """Legal holds that were not released, the oldest first."""

    items: tuple[HoldView, ...] = ()


class NoticeChoice(Struct):
    """Which events reach which recipients of one user.

    Attributes:
        on: `start`, `end`, `failure`, `preemption`, `budget`, `waiting`.
        mail: addresses.
        webhook: URLs that are sent JSON; `secret:NAME` names one that the user keeps as a secret.
        signing_key: `secret:NAME` of the key that signs what they are sent; empty = unsigned.
        waiting: how long a workload waits before that is notified, as `30m`; empty = it is not.
    """

    on: tuple[str, ...] = ()
    mail: tuple[str, ...] = ()
    webhook: tuple[str, ...] = ()
    signing_key: str = ""
    waiting: str = ""


class NoticesView(Struct):
    """What the caller is notified of, for workloads that do not say `notify`.

    Attributes:
        items: empty = nothing was chosen, and what `notify.yaml` of the server says is sent.
    """

    items: tuple[NoticeChoice, ...] = ()
