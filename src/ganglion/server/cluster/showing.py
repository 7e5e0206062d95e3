"""The views of a scheduler of clusters, served until it ends."""

import socket
import threading
from collections.abc import Callable

from starlette.types import ASGIApp

from ganglion.server.access.reviews import CallerReviews
from ganglion.server.cluster.callers import CallerGate
from ganglion.server.cluster.controllers.eyes import sight_of
from ganglion.server.cluster.controllers.keeper import Lives
from ganglion.server.cluster.readonly import make_readonly_app
from ganglion.server.cluster.source import ClusterSource
from ganglion.server.rest.listening.listen import HttpListener
from ganglion.server.state.audience import Show
from ganglion.worlds.kubernetes.http.client import Api

REVIEW_S = 5.0
"""Longest that the API server may take to say who calls, or what a caller may do."""


def show(what: Show, taken: socket.socket) -> None:
    """Serve views on a socket until a signal, or a request to end."""
    source = ClusterSource()
    source.unreported = what.unreported
    for each in what.collectors:
        source.registry.register(each)
    with what.scheduler.read():
        source.attach(what.scheduler, what.leader)
        what.audience.seat(source.took)
    for lives in _lives(what):
        lives.start()
    listener = HttpListener(_guarded(what, source), what.ready, lambda: None)
    threading.Thread(target=_halt, args=(what.told, listener.halt), daemon=True).start()
    listener.serve_until_told(taken)


def _guarded(what: Show, source: ClusterSource) -> ASGIApp:
    """The views, behind the question who calls if that is wanted."""
    app = make_readonly_app(source, source.elsewhere)
    if not what.tokens_for:
        return app
    endpoint = next(iter(what.endpoints.values()))

    def reviews() -> CallerReviews:
        return CallerReviews(Api(endpoint, timeout_s=REVIEW_S), what.tokens_for)

    return CallerGate(app, app.state.paths, source, reviews)


def _lives(what: Show) -> list[Lives]:
    """The keepers of services; they end with the process, as what they know is written."""
    scheduler = what.scheduler
    return [
        Lives(
            endpoint,
            what.identity,
            sight_of(scheduler, name),
            may=scheduler.leads,
            instance=scheduler.instance,
        )
        for name, endpoint in what.endpoints.items()
    ]


def _halt(told: threading.Event, halt: Callable[[], None]) -> None:
    told.wait()
    halt()
