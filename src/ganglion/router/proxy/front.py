"""The application that callers connect to: finds the service and forwards the request."""

from http import HTTPStatus

import aiohttp
import structlog
from aiohttp import hdrs, web

from ganglion.router.balancing.balancer import Balancer
from ganglion.router.balancing.counters import RequestOutcome
from ganglion.router.balancing.least_loaded import RequestPreferences
from ganglion.router.balancing.registry import ServiceRegistry
from ganglion.router.balancing.route import Route, locate
from ganglion.router.decisions import RoleDecisions
from ganglion.router.metrics import CONTENT_TYPE, exposition
from ganglion.router.proxy.access import Admission, nothing
from ganglion.router.proxy.answers import RouterResponse
from ganglion.router.proxy.connections import CallerConnection
from ganglion.router.proxy.forward import Errand
from ganglion.router.proxy.headers import MODEL, opens_page
from ganglion.router.proxy.probe import Prober
from ganglion.router.proxy.request import Visit
from ganglion.router.proxy.websockets import Tunnel, wanted
from ganglion.seams.clock import SYSTEM_CLOCK, Clock

HEALTH, METRICS = "/-/healthz", "/-/metrics"
"""Paths that the router answers itself; no service can have the name `-`."""

FED_MS = 10_000
"""How long requests wait for the first table."""

log = structlog.get_logger(__name__)


class Front:
    """Answers every request that comes in.

    Args:
        switch: the services.
        session: connections to replicas.
        prober: finds out when replicas answer again.
        decisions: what servers are asked about callers.
        metrics: whether any client that can connect may read metrics.
        clock: by which tickets of browsers expire.
    """

    def __init__(
        self,
        services: ServiceRegistry,
        session: aiohttp.ClientSession,
        prober: Prober,
        decisions: RoleDecisions | None = None,
        *,
        metrics: bool = True,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._services, self._session, self._prober = services, session, prober
        self._metrics = metrics
        self._decisions = decisions or RoleDecisions(clock)
        self._admission = Admission(self._decisions, clock)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        # A router that has just started gets its first table within `FED_MS`.
        await self._services.fed(FED_MS)
        try:
            route = self._routed(request)
            own = None if route else self._own(request)
            if own:
                return own
            balancer = self._services.balancers[route.service] if route else None
            user = request.protocol.user if isinstance(request.protocol, CallerConnection) else None
            # Who may not know whether there is a service gets the same answer where there is none.
            found = await self._admission.admit(
                balancer.service if balancer else None,
                route,
                request,
                user,
                self._services.session_cookie,
            )
            if isinstance(found, web.Response):
                return found
            if balancer is None or route is None:
                raise nothing(request)
            if found is None:
                return await self._served(balancer, route, request)
            with self._decisions.watched(found):
                return await self._served(balancer, route, request)
        except RouterResponse as refusal:
            return refusal.answer()

    def _routed(self, request: web.BaseRequest) -> Route | None:
        """Where a request leads; None = to the router itself, or to no service.

        Raises:
            Refusal: it is for a host that is none of the router's.
        """
        authority, address = request.headers.get(hdrs.HOST, ""), request.get_extra_info("sockname")
        _, _, below = authority.partition(".")
        hosts = self._services.hosts
        if not any(hosts.answers_to(each, address[:2]) for each in (authority, below)):
            raise RouterResponse(
                HTTPStatus.MISDIRECTED_REQUEST,
                "router.host",
                f"the router does not answer to {authority[:200]!r}",
                "give it that name: ganglion up --host-name NAME",
            )
        return locate(self._services.balancers, request.host, request.raw_path)

    async def _served(
        self, balancer: Balancer, route: Route, request: web.BaseRequest
    ) -> web.StreamResponse:
        service = balancer.service
        visit = Visit(balancer, _wish(service.affinity, request), self._prober)
        path = route.path(keep_prefix=service.keep_prefix)
        taken = "" if service.keep_prefix else route.prefix
        carrier = Tunnel if wanted(request) else Errand
        try:
            return await carrier(self._session, service, request, path, taken, visit).run()
        except Exception as error:
            if not isinstance(error, RouterResponse):
                visit.end(RequestOutcome.BROKEN)
                log.exception("a request failed", service=service.name, path=path)
            raise

    def _own(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """What the router itself has at a path; None = nothing."""
        path = request.raw_path.partition("?")[0]
        if path == HEALTH:
            return web.Response(text="ok\n")
        if path == METRICS and self._metrics:
            return web.Response(
                body=exposition(self._services), headers={"Content-Type": CONTENT_TYPE}
            )
        return None


def _wish(affinity: str, request: web.BaseRequest) -> RequestPreferences:
    headers = request.headers
    key = headers.get(affinity, "") if affinity else ""
    return RequestPreferences(key, headers.get(MODEL, ""), opens_page(request.method, headers))
