"""The REST application over one service."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from ganglion import __version__
from ganglion.engine.explain.capacity import capacity
from ganglion.server.access.denials import Denials
from ganglion.server.access.gate import AccessGate, as_decided
from ganglion.server.access.permissions import Permissions, SessionRules
from ganglion.server.access.routed_callers import RoutedCallers
from ganglion.server.access.tries.token_limit import TokenLimit
from ganglion.server.commands.sign_in import BY_LINK
from ganglion.server.delivered.contacts import SchedulerContacts
from ganglion.server.delivered.desk import QuestionDesk
from ganglion.server.direct import Direct
from ganglion.server.login.browser import BrowserLogin
from ganglion.server.login.owner import IDLE_MS, OwnerLogin
from ganglion.server.login.settings import LoginSettings
from ganglion.server.notify.waits import waiting_now
from ganglion.server.portal.files import PortalFiles
from ganglion.server.portal.pages import PortalPages
from ganglion.server.requests.context import ServerContext
from ganglion.server.requests.health import standing
from ganglion.server.requests.pod_sessions import all_ended
from ganglion.server.rest import problems
from ganglion.server.rest.listening.guard import PREFIX, LoginPages, TokenGuard
from ganglion.server.rest.openapi import described
from ganglion.server.rest.paths import Paths
from ganglion.server.rest.request_id import Identified
from ganglion.server.routes import (
    audit,
    cluster,
    history,
    policy,
    queues,
    schedules,
    secrets,
    services,
    terminals,
    whatif,
    workloads,
    workspaces,
)
from ganglion.server.routes.bulk import verbs as bulk
from ganglion.server.routes.fleet import bookings, clusters, drains, questions, usage, use
from ganglion.server.routes.identity import access, notices, sessions, trail, users
from ganglion.server.routes.models import references
from ganglion.server.routes.money import budget_requests, budgets, prices
from ganglion.server.telemetry.curves import AttemptUse
from ganglion.server.telemetry.metrics import Gauges, ServerFigures
from ganglion.server.views.cluster import waiting_by_reason
from ganglion.server.views.use import CURVES, activity_looks, measured, snapshot
from ganglion.transport.hosts import Hosts

_ROUTES = (
    bulk,
    workspaces,
    services,
    references,
    workloads,
    cluster,
    queues,
    policy,
    bookings,
    schedules,
    secrets,
    drains,
    history,
    use,
    usage,
    prices,
    budget_requests,
    budgets,
    terminals,
    access,
    sessions,
    notices,
    users,
    audit,
    clusters,
    questions,
    whatif,
    trail,
)


RECORDED_S = 3.0
"""How long a server that ends may take to record the ends of sessions in pods."""


def make_app(context: ServerContext) -> FastAPI:
    """Build the application; `guarded` keeps strangers out.

    Args:
        context: what it serves.
    """

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        context.feed.attach()
        context.feed.leaving = context.desk.close
        yield
        await all_ended(context, RECORDED_S)

    app = FastAPI(
        title="Ganglion",
        version=__version__,
        lifespan=lifespan,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.context = context
    problems.install(app)
    _paths().install(app)
    context.metrics.registry.register(_gauges(context))
    context.metrics.registry.register(ServerFigures(lambda: standing(context)))
    app.openapi = lambda: described(app)  # type: ignore[method-assign]  # FastAPI's own way
    return app


@cache
def _paths() -> Paths:
    paths = Paths(as_decided)
    for routes in _ROUTES:
        paths.include(routes.router, PREFIX)
    paths.include(cluster.public, PREFIX)
    paths.include(cluster.public, shown=False)
    paths.include(cluster.probes)
    return paths


def guarded(
    app: FastAPI,
    token: str,
    hosts: Hosts | None = None,
    *,
    loopback: bool,
    login: LoginSettings | None = None,
    shown: PortalFiles | None = None,
) -> ASGIApp:
    """The application behind the token; every request has an id.

    Args:
        app: as `make_app` built it.
        token: what clients must send.
        hosts: names that the server answers to; None = those of loopback.
        loopback: whether only this machine can connect, so that metrics may be open.
        login: how browsers and programs of CI sign in; None = they cannot.
        shown: the files of the portal; None = there is none.
    """
    context: ServerContext = app.state.context
    paths: Paths = app.state.paths

    def answered(path: str, method: str, status: int, seconds: float) -> None:
        context.metrics.answered(paths.template(path, method), method, status, seconds)

    has_pages = login is not None and login.has_pages
    rules = (
        SessionRules(login.session_issuer, login.idle_ms, login.every_origin)
        if login and has_pages
        else SessionRules(BY_LINK, IDLE_MS)
    )
    context.pages_at = login.public_url.rstrip("/") if login and login.has_pages else ""
    known = Permissions(context.service, context.owner, rules, context.host)
    context.sessions = known.lasting
    routed = RoutedCallers(context.service, known, context.check_account)
    context.decide_by(routed.answers)
    context.contacts = SchedulerContacts(context.service.now())
    context.desk = QuestionDesk(context.effects)
    context.attend(partial(waiting_now, context.service.read, known.sees))
    context.curves.measure_by(lambda: _uses(context))
    pages: LoginPages | None = (
        BrowserLogin(
            login, context.service, known, context.effects, context.owner, context.passwords
        )
        if login
        else None
    )
    if not has_pages and shown:
        pages = OwnerLogin(
            *(context.service, known, context.portal_links, context.owner, context.effects),
            home=str(context.home.root),
            secure=context.certificate is not None,
            others=pages,
        )
    portal_pages = PortalPages(shown, "pages" if has_pages else "link") if shown else None
    direct = Direct(app, context)
    gate = AccessGate(direct, paths, context.service, known, context.check_account)
    guard = TokenGuard(
        *(gate, token, hosts or Hosts(), known.key),
        open_metrics=loopback,
        login=pages,
        portal=portal_pages,
    )
    limit = TokenLimit(guard, Denials(context.service), context.effects.clock)
    return Identified(limit, answered, paths.template, context.effects)


def _uses(context: ServerContext) -> Iterator[AttemptUse]:
    """What attempts use now, as far as the machine says."""
    at = context.service.now()  # before it is asked who holds what: it is held then
    with context.service.read() as mind:
        metered = mind.book.meter.attempts.values()
        found, fleet = snapshot(mind.state, metered), capacity(mind.state)
    context.curves.activity.look(at, activity_looks(found, context.counters))
    context.curves.activity.flush(context.service.ask)
    if not found.holders:
        context.metrics.utilised(fleet, ())
        return
    page = measured(found, context.home.root, context.uses, context.service.now())
    queues = {each.gang: each.queue for each in page.gangs}
    busy = (
        (queues[each.gangs[0]], each.busy_milli)
        for each in page.devices
        if each.gangs and each.busy_milli is not None
    )
    context.metrics.utilised(fleet, busy)
    for holder, used in zip(found.holders, page.gangs, strict=True):
        known = {name: getattr(used, name) for name in CURVES}
        values = {name: value for name, value in known.items() if value is not None}
        yield AttemptUse(holder.gang, holder.attempt, values)


def _gauges(context: ServerContext) -> Gauges:
    def waiting() -> dict[str, int]:
        with context.service.read() as mind:
            return waiting_by_reason(mind.state)

    def fleet() -> list[Any]:
        with context.service.read() as mind:
            return capacity(mind.state)

    return Gauges(waiting, fleet)
