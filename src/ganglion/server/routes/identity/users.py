"""Routes for local users, who sign in with a name and a password, and for links that let in."""

from typing import Annotated

from fastapi import Path, Request
from pydantic import Field

from ganglion.api.access import BootstrapLink, PortalLink, UserPage, UserView
from ganglion.api.server import Done
from ganglion.identity.roles import AccessVerb, ResourceKind
from ganglion.model.errors import Conflict, Forbidden
from ganglion.server.access.tries.passwords import check_password
from ganglion.server.commands import sign_in
from ganglion.server.requests.context import Here
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.state.rights import LocalUser
from ganglion.transport.limits import network_of

router = Routes(tags=["access"], responses=ERRORS)

OWNER_ALONE = "only the owner of the server makes the link of the first admin"
OPENS_ALONE = "only the owner of the server opens the portal by a link"
CODE_BYTES = 32
MOST = 1_000
"""Characters of a password that are looked at; far fewer may be one."""
MOST_GROUPS = 100
"""Groups of one user."""

User = Annotated[str, Path(max_length=sign_in.LONGEST_NAME, pattern=r"^[A-Za-z0-9._@+-]+$")]

Groups = Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=MOST_GROUPS)]


class UserWish(Input):
    """A local user who is to be added."""

    user: str = Field(min_length=1, max_length=sign_in.LONGEST_NAME, pattern=r"^[A-Za-z0-9._@+-]+$")
    password: str = Field(max_length=MOST, repr=False, description="15 to 200 characters")
    groups: Groups = Field([], description="names of the groups that it is in")


class GroupsWish(Input):
    """The groups that a local user is to be in."""

    groups: Groups = Field(description="all of them; those that are left out end")


class BootstrapWish(Input):
    """A link for the first admin that is to be made."""

    if_needed: bool = Field(
        False, description="whether none is made where users cannot sign in, or there is an admin"
    )


class PasswordWish(Input):
    """A password that is to be changed."""

    password: str = Field(max_length=MOST, repr=False, description="15 to 200 characters")
    current: str = Field(
        "", max_length=MOST, repr=False, description="the one so far, of a caller's own"
    )


@router.get("/users")
def list_users(here: Here) -> UserPage:
    """List local users, without what is kept of their passwords."""
    with here.service.read() as mind:
        every = mind.book.rights.users
    return UserPage(items=tuple(_shown(every[name]) for name in sorted(every)))


@router.post("/users:bootstrap")
def bootstrap(here: Here, wish: BootstrapWish) -> BootstrapLink:
    """Make the link whose visitor becomes admin, once and within an hour; for the owner alone."""
    if here.caller.token:
        raise here.caller.refused(OWNER_ALONE)
    if wish.if_needed:
        with here.service.read() as mind:
            needed = sign_in.needs_admin(mind.book.rights, here.service.now())
        if not (needed and here.pages_at):
            return BootstrapLink()
    if not here.pages_at:
        raise Conflict("users cannot sign in here", "login.yaml in the home: see docs/access.md")
    code = here.effects.randomness.token_urlsafe(CODE_BYTES)
    made = here.service.ask(lambda draft: sign_in.make_bootstrap(draft, code, here.user))
    return BootstrapLink(f"{here.pages_at}{sign_in.BOOTSTRAP}?code={code}", made.until_ms)


@router.post("/portal:link")
def make_portal_link(here: Here) -> PortalLink:
    """Make a link that opens the portal, once and within an hour; for the owner alone.

    Where users sign in with a browser, the link is the address of the portal.
    """
    if here.caller.token:
        raise here.caller.refused(OPENS_ALONE)
    if here.portal_trouble:
        return PortalLink(trouble=here.portal_trouble)
    if here.pages_at:
        return PortalLink(f"{here.pages_at}/")
    code, until = here.portal_links.make(here.service.now())
    return PortalLink(f"/#code={code}", until)


@router.post("/users", status_code=201)
def add_user(here: Here, wish: UserWish) -> UserView:
    """Add a local user; it has no role until one is granted to it or to a group that it is in."""
    check_password(wish.user, wish.password)
    kept = here.passwords.hashed(wish.password)
    made = here.service.ask(
        lambda draft: sign_in.add_user(draft, wish.user, kept, here.user, here.owner, wish.groups)
    )
    return _shown(made)


@router.put("/users/{user}/password")
def set_password(here: Here, user: User, wish: PasswordWish, request: Request) -> Done:
    """Change a password: the caller's own with the one so far, or that of another local user.

    All other sessions of that user end; its tokens stay.
    """
    caller = here.caller
    if user != here.user:
        caller.require(AccessVerb.GRANT, ResourceKind.TOKEN)
    check_password(user, wish.password)
    if user == here.user:
        with here.service.read() as mind:
            known = mind.book.rights.users.get(user)
        network = network_of(request.client.host) if request.client else ""
        kept = known.digest if known else ""
        if not here.passwords.is_right(user, network, kept, wish.current):
            raise Forbidden("the password so far is wrong", "send it as `current`")
    made = here.passwords.hashed(wish.password)
    own = caller.token if caller.csrf and user == here.user else ""
    here.service.ask(lambda draft: sign_in.change_password(draft, user, made, here.user, own))
    return Done()


@router.put("/users/{user}/groups")
def set_user_groups(here: Here, user: User, wish: GroupsWish) -> UserView:
    """Have a local user be in these groups, and in no others; counts at once."""
    return _shown(
        here.service.ask(lambda draft: sign_in.group_user(draft, user, wish.groups, here.user))
    )


@router.post("/users/{user}/disable")
def disable_user(here: Here, user: User) -> UserView:
    """End a local user's sessions, and let neither password nor tokens count."""
    return _shown(here.service.ask(lambda draft: sign_in.disable_user(draft, user, here.user)))


@router.post("/users/{user}/enable")
def enable_user(here: Here, user: User) -> UserView:
    """Let password and tokens of a local user count again."""
    return _shown(here.service.ask(lambda draft: sign_in.enable_user(draft, user, here.user)))


@router.delete("/users/{user}")
def remove_user(here: Here, user: User) -> Done:
    """Remove a local user with its grants, tokens and sessions."""
    here.service.ask(lambda draft: sign_in.remove_user(draft, user, here.user))
    here.notices.set(user, ())
    return Done()


def _shown(known: LocalUser) -> UserView:
    return UserView(
        known.user, known.disabled, known.changed_ms, known.by, known.added_ms, known.groups
    )
