"""The route by which the owner gets a link to the portal."""

from ganglion.api.access import PortalLink
from ganglion.server.requests.context import Here
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes

router = Routes(tags=["access"], responses=ERRORS)

OWNER_ALONE = "only the owner of the server opens the portal by a link"


@router.post("/portal:link")
def make_portal_link(here: Here) -> PortalLink:
    """Make a link that opens the portal, once and within an hour; for the owner alone.

    Where users sign in with a browser, the link is the address of the portal.
    """
    if here.caller.token:
        raise here.caller.refused(OWNER_ALONE)
    if here.portal_trouble:
        return PortalLink(trouble=here.portal_trouble)
    if here.pages_at:
        return PortalLink(f"{here.pages_at}/")
    code, until = here.portal_links.make(here.service.now())
    return PortalLink(f"/#code={code}", until)
