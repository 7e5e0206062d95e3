"""Admission to a service: its owner, users of this machine, holders of its key, roles.

Refuse web pages of another origin: on this machine a browser acts as its user for every page.
"""

import grp
import os
import pwd
from collections.abc import Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from aiohttp import hdrs, web
from multidict import CIMultiDict

from ganglion.identity.tokens import PREFIX as PERSONAL
from ganglion.identity.tokens import trouble_of
from ganglion.router.balancing.route import Route
from ganglion.router.balancing.table import CallerAccess, RoutedService
from ganglion.router.decisions import (
    CredentialKind,
    RoleAnswerKind,
    RoleDecisions,
    RoleQuestion,
    question_of,
)
from ganglion.router.proxy.answers import RouterResponse
from ganglion.router.proxy.tickets import TICKET, mac, same, until
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.seams.randomness import SYSTEM_RANDOMNESS
from ganglion.transport.hosts import is_foreign

HEADER = "X-Ganglion-Token"
"""Header with a service's token; `Authorization: Bearer` with it does the same."""
COOKIE = "ganglion-"
"""Prefix of cookie names; the name of the service follows."""
OF_SERVER = "ganglion"
"""What names of cookies of the router and of the server have in them."""
OURS = (COOKIE, f"{OF_SERVER}=", f"__Host-{OF_SERVER}")
"""How cookies begin that replicas do not get."""
SAFE = (hdrs.METH_GET, hdrs.METH_HEAD, hdrs.METH_OPTIONS)
UNDECIDED_S = 1
"""When to ask again where no server has decided."""
NOT_KNOWN = "-"


class Admission:
    """Decides about each request; remembers which tickets were used.

    Args:
        decisions: what servers say about callers with a credential of theirs.
        clock: by which tickets expire.
    """

    def __init__(self, decisions: RoleDecisions, clock: Clock = SYSTEM_CLOCK) -> None:
        self._decisions, self._clock = decisions, clock
        self._used: dict[str, int] = {}
        # What does not exist is for its owner alone: who may not know that gets the same refusals.
        key = SYSTEM_RANDOMNESS.token_urlsafe(32)
        self._nothing = RoutedService("", access=CallerAccess(key, (os.geteuid(),)))

    async def admit(
        self,
        service: RoutedService | None,
        route: Route | None,
        request: web.BaseRequest,
        uid: int | None,
        session_cookie: str = "",
    ) -> web.Response | RoleQuestion | None:
        """Admit a request.

        Args:
            service: the service that the request addresses; None = there is none.
            route: its route; None = there is none.
            request: as it came.
            uid: the user of this machine who sent it; None = not known.
            session_cookie: name of the cookie of browsers that are signed in at the server.

        Returns:
            an answer that redirects the caller, with a cookie, to the same address; or the
            question by whose answer it is let in, and has to be as long as it goes on; or None.

        Raises:
            RouterResponse: the caller has no access.
        """
        service = service or self._nothing
        access, headers = service.access, request.headers
        if not access.key:
            return None
        given = _token(headers)
        if given.startswith(PERSONAL):
            return await self._by_token(access, given, request)
        if access.by_key and same(given, access.key):
            return None
        if TICKET in request.query:
            return self._redeemed(service, route, request, uid)
        if is_foreign(headers, request.host):
            raise _foreign()
        if is_named(access, uid) or (access.by_key and _has_cookie(service, headers, uid)):
            return None
        session = _cookie_of(headers, session_cookie) if session_cookie else ""
        if session:
            if _may_be_forged(request):
                raise _foreign()
            question = question_of(access.workload, CredentialKind.SESSION, session)
            return await self._by_role(question, request)
        raise RouterResponse(
            HTTPStatus.FORBIDDEN,
            "router.access",
            f"what is at {_shown(request)} is not for this caller",
            "`ganglion open NAME` prints an address that lets a browser in, and a token"
            f" for {HEADER}; users of the server send a personal token",
        )

    async def _by_token(
        self, access: CallerAccess, given: str, request: web.BaseRequest
    ) -> RoleQuestion:
        trouble = trouble_of(given)
        if trouble:
            raise _unknown(trouble)
        question = question_of(access.workload, CredentialKind.TOKEN, given)
        return await self._by_role(question, request)

    async def _by_role(self, question: RoleQuestion, request: web.BaseRequest) -> RoleQuestion:
        """Admit a caller as a server decides. Raises RouterResponse."""
        found = await self._decisions.answer(question)
        match found.kind:
            case RoleAnswerKind.ALLOWED:
                return question
            case RoleAnswerKind.UNKNOWN:
                raise _unknown(found.message)
            case RoleAnswerKind.HIDDEN:
                raise nothing(request)
            case RoleAnswerKind.REFUSED:
                hint = "see: ganglion whoami"
                raise RouterResponse(HTTPStatus.FORBIDDEN, "access", found.message, hint)
        raise RouterResponse(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "router.undecided",
            "the server does not say whether the caller may do that",
            "retry; see `ganglion doctor`",
            UNDECIDED_S,
        )

    def _redeemed(
        self, service: RoutedService, route: Route | None, request: web.BaseRequest, uid: int | None
    ) -> web.Response:
        """Exchange a ticket for a cookie of the same user, at the same address without it."""
        given, now = request.query[TICKET], self._clock.now_ns() / 1e9
        self._used = {each: end for each, end in self._used.items() if end >= now}
        ends = until(given, service.access.key, now) if service.access.by_key else 0
        if not ends or route is None or given in self._used:
            raise RouterResponse(
                HTTPStatus.FORBIDDEN,
                "router.ticket",
                "the ticket was used already, or is too old",
                "make another one: ganglion open NAME",
            )
        self._used[given] = ends
        path, _, query = request.raw_path.partition("?")
        left = urlencode([pair for pair in parse_qsl(query, True) if pair[0] != TICKET])
        # A path that begins with two slashes would lead to another host.
        where = "/" + path.lstrip("/") + (f"?{left}" if left else "")
        answer = web.Response(status=HTTPStatus.SEE_OTHER, headers={hdrs.LOCATION: where})
        answer.headers[hdrs.CACHE_CONTROL] = "no-store"
        answer.headers["Referrer-Policy"] = "no-referrer"
        answer.set_cookie(
            COOKIE + service.name,
            _cookie(service, uid),
            path=f"{route.prefix}/",
            httponly=True,
            samesite="Strict",
            secure="https" in (request.scheme, request.headers.get(hdrs.X_FORWARDED_PROTO)),
        )
        return answer


def _cookie(service: RoutedService, uid: int | None) -> str:
    """Name of a user's cookie: browsers send cookies to other ports of the same host too."""
    return mac(service.access.key, "cookie", NOT_KNOWN if uid is None else str(uid))


def _has_cookie(service: RoutedService, headers: Mapping[str, str], uid: int | None) -> bool:
    return same(_cookie_of(headers, COOKIE + service.name), _cookie(service, uid))


def _cookie_of(headers: Mapping[str, str], name: str) -> str:
    """The value of a cookie; empty = there is none."""
    try:
        found = SimpleCookie(headers.get(hdrs.COOKIE, "")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def _may_be_forged(request: web.BaseRequest) -> bool:
    """Whether a request that may change something does not say which page it comes from."""
    headers = request.headers
    if request.method in SAFE and hdrs.UPGRADE not in headers:
        return False
    return hdrs.ORIGIN not in headers and headers.get("Sec-Fetch-Site") != "same-origin"


def _shown(request: web.BaseRequest) -> str:
    return f"{request.raw_path.partition('?')[0][:200]} of {request.host}"


def nothing(request: web.BaseRequest) -> RouterResponse:
    """The answer where there is no service, or one that the caller may not see."""
    return RouterResponse(
        HTTPStatus.NOT_FOUND,
        "router.unknown",
        f"no service is at {_shown(request)}",
        "services are at /NAME/ and at http://NAME.localhost:PORT/",
    )


def _unknown(message: str) -> RouterResponse:
    return RouterResponse(HTTPStatus.UNAUTHORIZED, "auth", message, "sign in, or ask for a token")


def _foreign() -> RouterResponse:
    return RouterResponse(
        HTTPStatus.FORBIDDEN,
        "router.origin",
        "a page of another origin may not use the services here",
        "open the address of the service itself",
    )


def _token(headers: Mapping[str, str]) -> str:
    given = headers.get(HEADER)
    if given is not None:
        return given
    kind, _, bearer = headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    return bearer.strip() if kind.lower() == "bearer" else ""


def is_named(access: CallerAccess, uid: int | None) -> bool:
    """Whether a user of this machine is the owner or one of those that `access` names."""
    if uid is None:
        return False
    if uid in access.users:
        return True
    return bool(access.groups) and not _groups(uid).isdisjoint(access.groups)


def _groups(uid: int) -> set[str]:
    """Names of a user's groups."""
    try:
        user = pwd.getpwuid(uid)
        return {grp.getgrgid(gid).gr_name for gid in os.getgrouplist(user.pw_name, user.pw_gid)}
    except KeyError:
        return set()


def without_secrets(headers: CIMultiDict[str], key: str) -> None:
    """Remove the credentials from a request's headers: replicas do not need them."""
    given = headers.popall(HEADER, [])
    bearer = _token(headers)
    if bearer.startswith(PERSONAL) or (not given and key and same(bearer, key)):
        headers.popall(hdrs.AUTHORIZATION, None)
    if OF_SERVER not in headers.get(hdrs.COOKIE, ""):
        return
    lines = headers.popall(hdrs.COOKIE, [])
    pairs = [pair.strip() for line in lines for pair in line.split(";")]
    left = "; ".join(pair for pair in pairs if not pair.startswith(OURS))
    if left:
        headers[hdrs.COOKIE] = left
