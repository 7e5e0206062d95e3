"""Admission to a service: its owner, named users of this machine, and callers with its token.

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

from ganglion.router.balancing.route import Route
from ganglion.router.balancing.table import CallerAccess, RoutedService
from ganglion.router.proxy.answers import RouterResponse
from ganglion.router.proxy.tickets import TICKET, mac, same, until
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.transport.hosts import is_foreign

HEADER = "X-Ganglion-Token"
"""Header with a service's token; `Authorization: Bearer` with it does the same."""
COOKIE = "ganglion-"
"""Prefix of cookie names; the name of the service follows."""
NOT_KNOWN = "-"


class Admission:
    """Decides about each request; remembers which tickets were used."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._used: dict[str, int] = {}

    def admit(
        self, service: RoutedService, route: Route, request: web.BaseRequest, uid: int | None
    ) -> web.Response | None:
        """Admit a request; an answer = redirect the caller, with a cookie, to the same address.

        Args:
            service: the service that the request addresses.
            route: its route.
            request: as it came.
            uid: the user of this machine who sent it; None = not known.

        Raises:
            Refusal: the caller has no access.
        """
        access = service.access
        if not access.key or same(_token(request.headers), access.key):
            return None
        if TICKET in request.query:
            return self._redeemed(service, route, request, uid)
        if is_foreign(request.headers, request.host):
            raise RouterResponse(
                HTTPStatus.FORBIDDEN,
                "router.origin",
                f"a page of another origin may not use {service.name}",
                "open the address of the service itself",
            )
        if is_named(access, uid) or _has_cookie(service, request.headers, uid):
            return None
        raise RouterResponse(
            HTTPStatus.FORBIDDEN,
            "router.access",
            f"{service.name} is for its owner and those whom `access` names",
            f"`ganglion open {service.name}` prints an address that lets a browser in, and a token"
            f" for {HEADER}",
        )

    def _redeemed(
        self, service: RoutedService, route: Route, request: web.BaseRequest, uid: int | None
    ) -> web.Response:
        """Exchange a ticket for a cookie of the same user, at the same address without it."""
        given, now = request.query[TICKET], self._clock.now_ns() / 1e9
        self._used = {each: end for each, end in self._used.items() if end >= now}
        ends = until(given, service.access.key, now)
        if not ends or given in self._used:
            raise RouterResponse(
                HTTPStatus.FORBIDDEN,
                "router.ticket",
                "the ticket was used already, or is too old",
                f"make another one: ganglion open {service.name}",
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
    try:
        found = SimpleCookie(headers.get(hdrs.COOKIE, "")).get(COOKIE + service.name)
    except CookieError:
        return False
    return found is not None and same(found.value, _cookie(service, uid))


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
    if not given and key and same(_token(headers), key):
        headers.popall(hdrs.AUTHORIZATION, None)
    if COOKIE not in headers.get(hdrs.COOKIE, ""):
        return
    lines = headers.popall(hdrs.COOKIE, [])
    pairs = [pair.strip() for line in lines for pair in line.split(";")]
    left = "; ".join(pair for pair in pairs if not pair.startswith(COOKIE))
    if left:
        headers[hdrs.COOKIE] = left
