"""Routes for sessions of browsers: a user's own, or all for those who may end them."""

from typing import Annotated

from fastapi import Path

from ganglion.api.access import BrowserSession, BrowserSessions
from ganglion.api.server import Done
from ganglion.identity.roles import AccessVerb, ResourceKind
from ganglion.server.commands import sign_in
from ganglion.server.requests.context import Here
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes

router = Routes(tags=["access"], responses=ERRORS)


@router.get("/sessions")
def list_sessions(here: Here) -> BrowserSessions:
    """List sessions of browsers that count, the newest first: the caller's own, or all."""
    caller = here.caller
    own = caller.token if caller.csrf else ""
    seen = [
        BrowserSession(
            begun.session,
            begun.user,
            begun.groups,
            begun.at,
            used,
            begun.until_ms,
            own=begun.session == own,
        )
        for begun, used in here.sessions()
        if caller.audits_all or begun.user == caller.subject.user
    ]
    return BrowserSessions(items=tuple(sorted(seen, key=lambda each: (-each.at, each.id))))


@router.delete("/sessions/{session}")
def end_session(here: Here, session: Annotated[str, Path(max_length=200)]) -> Done:
    """End a session of a browser; its requests that are being answered end in a second."""
    own = not here.caller.may(AccessVerb.GRANT, ResourceKind.TOKEN).allowed
    here.service.ask(lambda draft: sign_in.sign_out(draft, session, here.user, own=own))
    return Done()
