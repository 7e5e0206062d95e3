"""Routes for queues, nodes, the order, events, and the server itself."""

import asyncio
from collections.abc import Collection
from functools import partial
from typing import Annotated, Any

import anyio
from fastapi import Header, Query, Response
from pydantic import Field

from ganglion import __version__
from ganglion.api.nodes import CapacityPage, NodePage
from ganglion.api.reasons import StartPage
from ganglion.api.server import Done, Health, Version
from ganglion.api.workloads import OrderPage
from ganglion.engine.gangs.record import HOLDING
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.clusters import place_of
from ganglion.model.queue import CLUSTER_SIGN
from ganglion.server.access import checks
from ganglion.server.access.narrowed_events import narrowed
from ganglion.server.access.visible import queues_of
from ganglion.server.commands import live
from ganglion.server.delivered.living import living_start, waiting_item, waiting_rank
from ganglion.server.requests import health
from ganglion.server.requests.context import Here, ServerContext
from ganglion.server.rest import etags
from ganglion.server.rest.filters import OrderQuery, StateQuery, TextQuery, wanted
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.listening.guard import METRICS
from ganglion.server.rest.problems import ERRORS, STALE
from ganglion.server.rest.sending import Routes, sent
from ganglion.server.state.feed import Patient
from ganglion.server.state.refs import living
from ganglion.server.state.transaction import Transaction
from ganglion.server.views import cluster, lists

router = Routes(tags=["cluster"], responses=ERRORS)
public = Routes(tags=["server"])
probes = Routes(tags=["server"])
_TROUBLE: dict[int | str, dict[str, Any]] = {503: {"model": Health, "description": "a check fails"}}

MOST = (1 << 63) - 1
"""Largest number that databases hold."""
SERVER_SENT = {
    "type": "object",
    "description": "the fields of one server-sent event",
    "properties": {
        "id": {"type": "string", "description": "number of the event"},
        "event": {"type": "string", "description": "`end` where the server ends the stream"},
        "data": {
            "type": "string",
            "description": "the event as JSON; `cause` is a sentence, `why` the same for programs",
        },
    },
}
MOST_STARTS = 100
"""Most gangs whose starts one request asks for."""
DRAIN_S = 0.1
"""How often a shutdown looks whether all jobs have stopped."""


class Cordon(Input):
    """Why nothing new may start."""

    reason: str = Field(min_length=1, max_length=500)


class Shutdown(Input):
    """What becomes of jobs."""

    cancel: bool = Field(False, description="stop all jobs first; otherwise they run on")


@router.get("/nodes")
def list_nodes(here: Here, query: Annotated[StateQuery, Query()]) -> NodePage:
    """List nodes and what is free on them."""
    with here.service.read() as mind:
        return cluster.node_page(mind.state, mind.book.alarms, query)


@router.post("/nodes/{name}/cordon", response_model=Done, responses=etags.CHANGED)
def cordon_node(
    here: Here, name: str, why: Cordon, if_none_match: etags.IfNoneMatch = ""
) -> Response:
    """Start nothing new on a node; what runs there runs on. The tag is that of why it is closed."""

    def command(draft: Transaction) -> str:
        etags.check(_cordon_tag(draft.state, name), "", if_none_match, f"the cordon of {name}")
        live.cordon(draft, name, why.reason)
        return _cordon_tag(draft.state, name)

    return etags.answer(Done(), "", here.service.ask(command))


@router.post("/nodes/{name}/uncordon", responses=STALE)
def uncordon_node(here: Here, name: str, if_match: etags.IfMatch = "") -> Done:
    """Let a node take work again."""

    def command(draft: Transaction) -> None:
        etags.check(_cordon_tag(draft.state, name), if_match, "", f"the cordon of {name}")
        live.cordon(draft, name, "")

    here.service.ask(command)
    return Done()


def _cordon_tag(state: ClusterState, node: str) -> str:
    """Of why a node is closed; empty = it is open, or there is none."""
    found = state.fleet.nodes.get(node)
    return etags.tag_of((found.cordoned, found.cordon)) if found and found.cordoned else ""


@router.get("/gpus")
def list_gpus(here: Here, query: Annotated[TextQuery, Query()]) -> CapacityPage:
    """Say by flavor how many GPUs there are, are used and are free."""
    with here.service.read() as mind:
        return cluster.capacity_page(mind.state, query)


@router.get("/order")
def list_order(here: Here, query: Annotated[OrderQuery, Query()]) -> OrderPage:
    """List what waits, in order; what waits in clusters comes last, cluster by cluster."""
    now, caller = here.service.now(), here.caller
    want = checks.narrowed(caller, wanted(query, now))
    with here.service.read() as mind:
        words = here.words(mind)
        found = [(name, each, words[name]) for name, each in lists.waiting_away(mind, want)]
        away = [(waiting_rank(*each), partial(waiting_item, *each)) for each in found]
        return lists.order_page(mind.state, query, now, want, away, placed=caller.sees_all)


@router.get("/order/starts")
def list_starts(
    here: Here,
    gang: Annotated[
        list[str], Query(min_length=1, max_length=MOST_STARTS, description="ids of gangs")
    ],
) -> StartPage:
    """Say when some of what waits is expected to start; what was computed holds for 10 seconds."""
    now, sees = here.service.now(), here.caller.sees
    with here.service.read() as mind:
        state = mind.state
        records = [state.gangs.records[each] for each in gang if each in state.gangs.records]
        shown = [each for each in records if sees(each.gang.queue)]
        found = {each.gang: each for each in here.starts.of(state, shown, now)}
        words = here.words(mind)
        for key in gang:
            if CLUSTER_SIGN in key and (away := living(mind, key)):
                cluster, its = away
                if not its.holds and sees(place_of(cluster, its.gang.queue)):
                    found[key] = living_start(cluster, its, words[cluster], now)
    return StartPage(tuple(found[each] for each in dict.fromkeys(gang) if each in found))


@router.get(
    "/events",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {"schema": SERVER_SENT}}}},
)
def stream_events(
    here: Here,
    after: Annotated[int, Query(ge=0, le=MOST, description="number of an event")] = 0,
    follow: Annotated[bool, Query(description="false = end with the newest event")] = True,
    now: Annotated[bool, Query(description="begin with what happens from now on")] = False,
    last_event_id: Annotated[str, Header(alias="Last-Event-ID", pattern=r"^[0-9]{0,18}$")] = "",
) -> Response:
    """Stream what happened after an event, then what happens; Last-Event-ID wins over `after`."""
    start = int(last_event_id) if last_event_id else here.feed.head if now else after
    here.feed.check(start)
    stream, caller = here.feed.stream(start, follow=follow), here.caller
    if not (caller.sees_all and caller.audits_all):
        stream = narrowed(stream, caller, partial(_queues, here))
    return Patient(
        stream,
        feed=here.feed,
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _queues(here: ServerContext, ids: Collection[str]) -> dict[str, str]:
    with here.service.read() as mind:
        return queues_of(mind, here.service.ledger, ids)


@router.post("/shutdown", status_code=202)
async def shut_down(here: Here, how: Shutdown | None = None) -> Done:
    """End the server; with `cancel`, once all jobs have stopped."""
    if how and how.cancel:
        await anyio.to_thread.run_sync(
            lambda: here.service.ask(lambda draft: live.cancel_all(draft, here.user))
        )
    task = asyncio.create_task(_end(here, drained=bool(how and how.cancel)))
    here.tasks.add(task)
    task.add_done_callback(here.tasks.discard)
    return Done()


async def _end(here: ServerContext, *, drained: bool) -> None:
    while drained and await anyio.to_thread.run_sync(_holds, here):
        await here.effects.clock.pause(DRAIN_S)
    here.halt()


def _holds(here: ServerContext) -> bool:
    with here.service.read() as mind:
        return any(record.phase in HOLDING for record in mind.state.gangs.records.values())


@public.get("/healthz", response_model=Health, responses=_TROUBLE)
def show_health(here: Here) -> Response:
    """Say whether the server works; 503 = it does not, and which check fails."""
    return _answer(health.alive(here))


@probes.get("/readyz", response_model=Health, responses=_TROUBLE)
def show_readiness(here: Here) -> Response:
    """Say whether requests are accepted, and what needs a person; 503 = they are not."""
    return _answer(health.ready(here))


def _answer(found: Health) -> Response:
    return sent(found, 503 if found.status == "trouble" else 200)


@public.get("/version")
def show_version() -> Version:
    """Say which version the server has."""
    return Version(version=__version__)


@probes.get(
    METRICS,
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def show_metrics(here: Here) -> Response:
    """Measure the server, in the text format of Prometheus."""
    return Response(here.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
