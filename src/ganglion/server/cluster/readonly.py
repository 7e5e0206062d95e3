"""The server's views over a state that another part keeps: what a cluster's scheduler serves.

The same answers as the server's own, under `/v1`; nothing can be changed through it. Who may reach
it is up to the network, or to the API server's service proxy; `callers` beside it asks for tokens.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from itertools import islice
from typing import Annotated, Any, Protocol

from fastapi import Depends, FastAPI, Query, Request, Response
from msgspec.structs import replace
from prometheus_client import CollectorRegistry, generate_latest
from pydantic import Field

from ganglion import __version__
from ganglion.api import nodes, queues, reasons, server, workloads
from ganglion.engine.explain.capacity import capacity
from ganglion.engine.gangs.record import WAITING
from ganglion.model.errors import Conflict, EnvironmentFault, NotFound, RateLimited
from ganglion.model.plan import plan_hash
from ganglion.seams.clock import SYSTEM_CLOCK
from ganglion.server.access.tries.limits import RateLimit, Tries
from ganglion.server.rest import problems
from ganglion.server.rest.filters import OrderQuery, StateQuery, TextQuery, WorkloadQuery, wanted
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.openapi import described
from ganglion.server.rest.pages import printed
from ganglion.server.rest.paths import Paths
from ganglion.server.rest.sending import Routes, sent
from ganglion.server.state.transaction import Mind
from ganglion.server.telemetry.metrics import Gauges
from ganglion.server.views import cluster, lists
from ganglion.server.views.ahead.dry_runs import verdict_view
from ganglion.server.views.workloads import detail, view
from ganglion.worlds.kubernetes.rehearsal.rehearse import RehearsedObjects

PREFIX = "/v1"
MOST_EXPLAINED = 20
"""Most gangs of a workload that one request explains."""
MOST_NAMED = 5
REHEARSALS = 60
"""Dry runs that a namespace may have in a minute: decisions wait meanwhile."""


class StandbyProcess(EnvironmentFault):
    """The state is kept by another process."""

    code = "environment.standby"


class ViewSource(Protocol):
    """The part that keeps the state.

    A workload of a cluster has the namespace as its user, `namespace/name` as its name, and an id
    that begins with the namespace. Workloads that are over are not kept.
    """

    @property
    def registry(self) -> CollectorRegistry:
        """What Prometheus asks for; gauges of the state are added to it."""

    def read(self) -> AbstractContextManager[Mind]:
        """Hold the state still; several threads may ask."""

    def rehearse(
        self, objects: Sequence[Mapping[str, Any]], namespace: str
    ) -> tuple[RehearsedObjects, int]:
        """What would happen to objects that the cluster does not have; nothing changes.

        Returns:
            that, and the time in ms of the turn by whose state it is said.

        Raises:
            GanglionError: they would never be taken, or it cannot be known.
        """

    def now(self) -> int:
        """Time in ms since 1970."""

    def endpoints(self) -> Mapping[str, str]:
        """Gang id -> `address:port` where it listens."""

    def trouble(self) -> str:
        """Why it does not work and should be started anew; empty = it works."""

    def unready(self) -> str:
        """Why its answers are of no use yet; empty = they are."""

    def lacking(self) -> str:
        """What its answers leave out, and why; empty = nothing."""


class Rehearsal(Input):
    """Objects that the cluster does not have."""

    objects: list[dict[str, Any]] = Field(
        min_length=1,
        max_length=500,
        description="Jobs, StatefulSets or Deployments, as they would be created, main one first",
    )


def _source(request: Request) -> ViewSource:
    found: ViewSource = request.app.state.source
    return found


def _keeps(request: Request) -> None:
    """Raises Standby where the state is kept elsewhere."""
    elsewhere: str = request.app.state.elsewhere()
    if elsewhere:
        raise StandbyProcess(elsewhere, "try again: another replica may answer")


def _nowhere() -> str:
    return ""


Here = Annotated[ViewSource, Depends(_source)]
router = Routes(prefix=PREFIX, responses=problems.ERRORS, dependencies=[Depends(_keeps)])
probes = Routes()
_TROUBLE: dict[int | str, dict[str, Any]] = {503: {"model": server.Health}}


def make_readonly_app(source: ViewSource, elsewhere: Callable[[], str] = _nowhere) -> FastAPI:
    """Build the application.

    Args:
        source: the part that keeps the state.
        elsewhere: what keeps it while `source` does not, as `a leads`; empty = `source` does. Until
            then views answer 503 and probes as ever: it stands by.
    """
    app = FastAPI(
        title="Ganglion",
        version=__version__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.source, app.state.elsewhere = source, elsewhere
    app.state.rehearsals = Tries(RateLimit(REHEARSALS, 60.0))
    problems.install(app)
    _paths().install(app)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]  # FastAPI's own way
    source.registry.register(_gauges(source))
    return app


@cache
def _paths() -> Paths:
    paths = Paths()
    paths.include(router)
    paths.include(probes)
    return paths


def _gauges(source: ViewSource) -> Gauges:
    def waiting() -> dict[str, int]:
        with source.read() as mind:
            return cluster.waiting_by_reason(mind.state)

    def fleet() -> list[Any]:
        with source.read() as mind:
            return capacity(mind.state)

    return Gauges(waiting, fleet)


@router.get("/workloads")
def list_workloads(here: Here, query: Annotated[WorkloadQuery, Query()]) -> workloads.WorkloadPage:
    """List live workloads, newest first."""
    want, before = wanted(query, here.now()), lists.below(query)
    with here.read() as mind:
        chosen = list(islice(lists.live(mind, want, before), query.limit + 1))
        places = cluster.positions(mind.state) if chosen else {}
        items = tuple(view(mind, entry.id, places) for entry in chosen[: query.limit])
    last = chosen[query.limit - 1].number if len(chosen) > query.limit else 0
    return workloads.WorkloadPage(
        items=items, next=printed(lists.WORKLOADS, (last,)) if last else None
    )


@router.get("/workloads/{ref:path}/why")
def explain_workload(here: Here, ref: str) -> reasons.Why:
    """Say why a workload waits: gang by gang, what waits first, at most 20 of them."""
    with here.read() as mind:
        workload, gang = find(mind, ref)
        gangs = [gang] if gang else mind.book.gangs[workload]
        chosen = sorted(gangs, key=lambda each: mind.state.gangs.records[each].phase not in WAITING)
        now = here.now()
        found = tuple(cluster.explanations(mind.state, chosen[:MOST_EXPLAINED], now))
        count = len(mind.book.gangs[workload])
    return reasons.Why(workload=workload, gangs=count, explanations=found)


@router.get("/workloads/{ref:path}")
def show_workload(here: Here, ref: str) -> workloads.WorkloadDetail:
    """Show everything about a workload."""
    with here.read() as mind:
        workload, _ = find(mind, ref)
        places = cluster.positions(mind.state)
        return detail(mind, workload, places, here.endpoints())


def find(mind: Mind, ref: str) -> tuple[str, str]:
    """Workload and gang that a reference means; the gang is empty where it names none.

    An id of either, a name with or without its namespace, `name/3`, or the only beginning of an id.

    Raises:
        NotFound: there is none.
        Conflict: it fits several workloads.
    """
    if ref in mind.book.entries:
        return ref, ""
    record = mind.state.gangs.records.get(ref)
    if record is not None:
        return record.gang.workload, ref
    head, slash, tail = ref.rpartition("/")
    if slash and tail.isascii() and tail.isdigit():
        workload = _only(mind, head)
        if workload:
            return workload, _gang(mind, workload, int(tail))
    workload = _only(mind, ref)
    if not workload:
        raise NotFound(f"there is no workload {ref!r}", "see `ganglion ps`")
    return workload, ""


def _only(mind: Mind, ref: str) -> str:
    """The workload that a name or the beginning of an id means; empty = there is none."""
    known = mind.book.entries
    if ref in known:
        return ref
    named = [each.id for each in known.values() if _is_called(each.workload.name, ref)]
    found = named or [key for key in known if ref and key.startswith(ref)]
    if len(found) > 1:
        shown = ", ".join(sorted(found)[:MOST_NAMED])
        raise Conflict(f"{ref!r} fits several workloads", f"write more of the id: {shown}")
    return found[0] if found else ""


def _is_called(name: str, ref: str) -> bool:
    return ref in (name, name.rpartition("/")[2])


def _gang(mind: Mind, workload: str, index: int) -> str:
    gangs = mind.book.gangs[workload]
    found = (each for each in gangs if mind.state.gangs.records[each].gang.index == index)
    gang = next(found, None)
    if gang is None:
        raise NotFound(f"{workload} has no number {index}", f"it has {len(gangs)}")
    return gang


@router.post("/rehearsals")
def rehearse_objects(
    here: Here,
    request: Request,
    wish: Rehearsal,
    user: Annotated[str, Query(min_length=1, max_length=63)],
) -> reasons.Verdict:
    """Say where the first gang of objects would start, or why it would wait; nothing changes.

    `user` is the namespace of all objects, which the caller has to be allowed to submit to.
    """
    tries: Tries = request.app.state.rehearsals
    wait_s = tries.wait_s(user, SYSTEM_CLOCK.monotonic())
    if wait_s:
        raise RateLimited.after(wait_s, f"namespace {user} asks for dry runs")
    with here.read() as mind:
        found, turn = here.rehearse(wish.objects, user)
        told = verdict_view(mind.state, found.prospect, lambda _: True)
    plan = plan_hash((user, wish.objects), found.prospect.verdict)
    return replace(told, snapshot=turn, plan=plan, gangs=found.gangs)


@router.get("/queues")
def list_queues(here: Here, query: Annotated[TextQuery, Query()]) -> queues.QueuePage:
    """List queues with their usage."""
    with here.read() as mind:
        return cluster.queue_page(mind.state, query)


@router.get("/nodes")
def list_nodes(here: Here, query: Annotated[StateQuery, Query()]) -> nodes.NodePage:
    """List nodes and what is free on them."""
    with here.read() as mind:
        return cluster.node_page(mind.state, query=query)


@router.get("/gpus")
def list_gpus(here: Here, query: Annotated[TextQuery, Query()]) -> nodes.CapacityPage:
    """Say by flavor how many GPUs there are, are used and are free."""
    with here.read() as mind:
        return cluster.capacity_page(mind.state, query)


@router.get("/order")
def list_order(here: Here, query: Annotated[OrderQuery, Query()]) -> workloads.OrderPage:
    """List everything that waits, in order."""
    with here.read() as mind:
        return lists.order_page(mind.state, query, here.now())


@probes.get("/healthz", response_model=server.Health, responses=_TROUBLE)
def show_health(here: Here) -> Response:
    """Say whether it works; 503 = it should be started anew."""
    return _health(here.trouble())


@probes.get("/readyz", response_model=server.Health, responses=_TROUBLE)
def show_readiness(here: Here) -> Response:
    """Say whether its answers are of use, and what they leave out; 503 = not yet."""
    return _health(here.trouble() or here.unready(), here.lacking())


def _health(trouble: str, lacking: str = "") -> Response:
    checks = (
        server.Check(name="clusters", status="fail" if trouble else "ok", message=trouble),
        server.Check(name="views", status="warn" if lacking else "ok", message=lacking),
    )
    body = server.Health(
        status="trouble" if trouble else "ok", trouble=trouble or lacking, checks=checks
    )
    return sent(body, 503 if trouble else 200)


@probes.get("/version")
def show_version() -> server.Version:
    """Say which version it has."""
    return server.Version(version=__version__)


@probes.get("/metrics", include_in_schema=False)
def show_metrics(here: Here) -> Response:
    """Everything Prometheus may ask."""
    text = generate_latest(here.registry)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
