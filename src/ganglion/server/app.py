"""The REST application over one service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema
from starlette.types import ASGIApp

from ganglion import __version__
from ganglion.engine.report import capacity
from ganglion.files.bookings import BookingFile
from ganglion.files.queue_schema import QueueFile
from ganglion.files.schema import WorkloadFile
from ganglion.server import (
    problems,
    routes_bookings,
    routes_cluster,
    routes_drains,
    routes_history,
    routes_policy,
    routes_schedules,
    routes_services,
    routes_workloads,
    routes_workspaces,
)
from ganglion.server.cluster_views import waiting_by_reason
from ganglion.server.context import Context
from ganglion.server.guard import METRICS, PREFIX, Guard
from ganglion.server.metrics import Gauges
from ganglion.server.schemas import ErrorBody


def make_app(context: Context) -> FastAPI:
    """Build the application; `guarded` keeps strangers out.

    Args:
        context: what it serves.
    """

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        context.feed.attach()
        yield

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
    app.include_router(routes_workspaces.router, prefix=PREFIX)
    app.include_router(routes_services.router, prefix=PREFIX)
    app.include_router(routes_workloads.router, prefix=PREFIX)
    app.include_router(routes_cluster.router, prefix=PREFIX)
    app.include_router(routes_policy.router, prefix=PREFIX)
    app.include_router(routes_bookings.router, prefix=PREFIX)
    app.include_router(routes_schedules.router, prefix=PREFIX)
    app.include_router(routes_drains.router, prefix=PREFIX)
    app.include_router(routes_history.router, prefix=PREFIX)
    app.include_router(routes_cluster.public, prefix=PREFIX)
    app.include_router(routes_cluster.public, include_in_schema=False)
    app.include_router(routes_cluster.probes, include_in_schema=False)
    app.add_api_route(METRICS, routes_cluster.metrics, include_in_schema=False)
    context.metrics.registry.register(_gauges(context))
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]  # how FastAPI is told
    return app


def guarded(app: ASGIApp, token: str, *, loopback: bool) -> Guard:
    """The application behind the token.

    Args:
        app: as `make_app` built it.
        token: what clients must send.
        loopback: whether only this machine can connect, so that metrics may be open.
    """
    return Guard(app, token, open_metrics=loopback)


def _gauges(context: Context) -> Gauges:
    def waiting() -> dict[str, int]:
        with context.service.read() as mind:
            return waiting_by_reason(mind.state)

    def fleet() -> list[Any]:
        with context.service.read() as mind:
            return capacity(mind.state)

    return Gauges(waiting, fleet)


def _described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI page, with the documents that routes check by themselves."""
    if app.openapi_schema:
        return app.openapi_schema
    page = FastAPI.openapi(app)
    known = page["components"]["schemas"]
    inputs = tuple((each, "validation") for each in (WorkloadFile, QueueFile, BookingFile))
    _, found = models_json_schema(inputs, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]  # a literal per pair
    known.update(found["$defs"])
    known["ErrorBody"] = ErrorBody.model_json_schema()
    page["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    page["security"] = [{"token": []}]
    return page
