"""Why work waits: what this server knows, and what the scheduler of a cluster answers."""

from typing import NamedTuple

import anyio
from msgspec.structs import replace

from ganglion.api.asked.answers import QuestionAnswer
from ganglion.api.asked.questions import WhyQuestion
from ganglion.api.reasons import AskedScheduler, Explained, Why
from ganglion.engine.gangs.record import WAITING
from ganglion.lifecycle.cluster_gangs import DeliveredGang
from ganglion.lifecycle.clusters import place_of
from ganglion.model.errors import RateLimited
from ganglion.server.delivered.desk import Unanswered
from ganglion.server.delivered.fresh import fresh_explained
from ganglion.server.delivered.living import living_why
from ganglion.server.requests.context import ServerContext
from ganglion.server.state.refs import living, resolve
from ganglion.server.state.transaction import Mind
from ganglion.server.views.cluster import explanations
from ganglion.server.views.past.explained import about_itself, ended_gangs
from ganglion.server.views.workloads import waited_for

ANSWER_S = 5.0
"""How long the answer of a scheduler is waited for."""
KEEP_S = 2.0
"""How long an answer is one for others who ask the same: a page asks again with every event."""
MOST_EXPLAINED = 20
"""Most gangs of a workload that one request explains."""


class AwayWhy(NamedTuple):
    """Why work in a cluster waits, as its scheduler delivered.

    Attributes:
        why: that.
        cluster: its cluster.
        gang: its id there.
    """

    why: Why
    cluster: str
    gang: str


async def explained(here: ServerContext, ref: str) -> Why:
    """Why a workload waits, as the caller may read it.

    Raises:
        NotFound: there is no such workload.
        Conflict: the reference fits several.
    """
    told = await anyio.to_thread.run_sync(_told, here, ref)
    return await _asked(here, *told) if isinstance(told, AwayWhy) else told


def _told(here: ServerContext, ref: str) -> Why | AwayWhy:
    """Why a workload waits, as far as this server knows."""
    with here.service.read() as mind:
        away = living(mind, ref)
        if away:
            return _away(here, mind, *away)
        found = resolve(mind, here.service.ledger, ref)
        if found.filed:
            ended = ended_gangs(found.filed)
            count = len(ended)
            told = tuple(each for index, each in ended if found.gang in (None, index))
        else:
            count = len(mind.book.gangs[found.workload])
            chosen = mind.book.gangs[found.workload]
            if found.gang is not None:
                chosen = [mind.book.gang(found.workload, found.gang)]
            # One that waits represents its equals: a sweep of thousands is not listed one by one.
            chosen = sorted(
                chosen, key=lambda gang: mind.state.gangs.records[gang].phase not in WAITING
            )
            now = here.service.now()
            told = tuple(
                replace(each, **_cost(mind, each.gang), waited=waited_for(mind, each.gang, now))
                for each in explanations(mind.state, chosen[:MOST_EXPLAINED], now)
            )
    if not here.caller.sees_all:
        told = tuple(map(about_itself, told))
    return Why(workload=found.workload, gangs=count, explanations=told)


def _cost(mind: Mind, gang: str) -> dict[str, int]:
    """What yielding to others has cost a gang so far."""
    trail = mind.book.trails[gang]
    return {"preemptions": trail.preemptions, "lost_gpu_ms": trail.lost_gpu_ms}


def _away(here: ServerContext, mind: Mind, cluster: str, found: DeliveredGang) -> AwayWhy:
    """Why a gang that lives in a cluster waits, as its scheduler delivered."""
    word = here.words(mind)[cluster]
    why = living_why(cluster, found, word, here.service.now())
    return AwayWhy(
        replace(why, asked=AskedScheduler(cluster, word.said, answered=False)),
        cluster,
        found.gang.id,
    )


async def _asked(here: ServerContext, why: Why, cluster: str, gang: str) -> Why:
    """Ask the scheduler of a cluster why a gang waits.

    Args:
        here: the server, for the request.
        why: as was delivered, which is the answer where the scheduler has none.
        cluster: its name.
        gang: id of the gang there.
    """
    try:
        answer = await here.desk.ask(cluster, WhyQuestion(gang), here.user, ANSWER_S, KEEP_S)
        told = _explained(cluster, answer)
    except (Unanswered, RateLimited) as error:
        assert why.asked
        asked = replace(why.asked, trouble=error.message, hint=error.hint)
        return replace(why, asked=asked)
    fresh = await anyio.to_thread.run_sync(_fresh, here, cluster, gang, told)
    waited = why.explanations[0].waited
    asked = AskedScheduler(cluster, answer.at, answered=True, pods=answer.pods)
    return replace(why, explanations=(replace(fresh, waited=waited),), asked=asked)


def _explained(cluster: str, answer: QuestionAnswer) -> Explained:
    """Raises Unanswered where the scheduler could not say why a gang waits."""
    if answer.trouble:
        said = f"the scheduler of cluster {cluster} says: {answer.trouble.said}"
        raise Unanswered(said, answer.trouble.hint)
    if answer.why is None:
        raise Unanswered(f"the scheduler of cluster {cluster} answered something else")
    return answer.why


def _fresh(here: ServerContext, cluster: str, gang: str, told: Explained) -> Explained:
    """An answer as the caller may read it."""
    with here.service.read() as mind:
        found = fresh_explained(cluster, mind.book.clusters.of[cluster], gang, told)
    return found if here.caller.sees(place_of(cluster)) else about_itself(found)
