"""Logs of work in clusters: read by the scheduler of the cluster, which is asked for each part."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from fastapi import Response

from ganglion.api.asked.answers import LogLines, QuestionAnswer
from ganglion.api.asked.questions import LogQuestion
from ganglion.lifecycle.clusters import cluster_of
from ganglion.model.errors import Conflict, EnvironmentFault, GanglionError, NotFound, RateLimited
from ganglion.server.delivered.desk import Unanswered
from ganglion.server.delivered.reading import LogReading
from ganglion.server.requests.context import ServerContext
from ganglion.server.state.feed import Patient
from ganglion.server.state.refs import living, resolve
from ganglion.server.views.logs import WantedLog

ANSWER_S = 8.0
"""How long a part is waited for."""
PART = 512 << 10
"""Most bytes of a part, with the times of its lines."""
MOST_PARTS = 128
"""Parts of a log that one request reads without following it: 64 MiB."""
PAUSE_S, LONGEST_PAUSE_S = 1.0, 4.0
"""Between two looks for new lines: the first, and the longest while there are none."""
STUCK = 3
"""Parts in a row with nothing new, though there is more, after which a log is given up."""
PATIENCE = 30
"""Looks in a row without an answer after which a log is followed no more."""

Ask = Callable[[LogQuestion], Awaitable[LogLines]]


class AwayLog(NamedTuple):
    """A log that a cluster has.

    Attributes:
        cluster: its name.
        question: for the first part.
    """

    cluster: str
    question: LogQuestion


class _Origin(msgspec.Struct):
    namespace: str = ""
    gang: str = ""


def away_log(
    here: ServerContext, wanted: WantedLog, tail: int | None, after: int
) -> AwayLog | None:
    """The log that a request means, where a cluster has it; None = this server has.

    Args:
        here: the server, for the request.
        wanted: the log.
        tail: number of last lines; None = all.
        after: lines since a time in ms; 0 = all.

    Raises:
        NotFound, Conflict: the reference means nothing, or several.
    """
    with here.service.read() as mind:
        away = living(mind, wanted.ref)
        if away:
            cluster, origin = away[0], _Origin(away[1].namespace, away[1].gang.id)
        else:
            filed = resolve(mind, here.service.ledger, wanted.ref).filed
            cluster = cluster_of(filed.workload.queue) if filed else ""
            if filed is None or not cluster:
                return None
            origin = msgspec.json.decode(filed.document, type=_Origin)
    if wanted.gang:
        raise NotFound(f"{wanted.ref} has no gang {wanted.gang}", "it has 1, from 0")
    since = f"{datetime.fromtimestamp(after // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}" if after else ""
    question = LogQuestion(
        *(origin.gang, origin.namespace, wanted.rank, PART, wanted.previous, tail, since)
    )
    return AwayLog(cluster, question)


async def read_away(here: ServerContext, log: AwayLog, *, follow: bool) -> Response:
    """The log, as far as the cluster has it, or as it grows.

    Raises:
        NotFound: there is no such pod any more.
        Conflict: nothing was written yet, and it is not to be waited for.
        Unanswered: the scheduler does not say.
        RateLimited: the user reads too many logs of clusters at once.
    """

    async def ask(question: LogQuestion) -> LogLines:
        return _part(log.cluster, await here.desk.ask(log.cluster, question, here.user, ANSWER_S))

    first = None
    try:
        first = await ask(log.question)
    except Conflict:
        if not follow or log.question.previous:
            raise
    stream = _stream(here, ask, LogReading(log.question), first, follow=follow)
    return Patient(stream, media_type="text/plain; charset=utf-8")


def _part(cluster: str, answer: QuestionAnswer) -> LogLines:
    """The part of an answer; raises what the scheduler says is wrong."""
    trouble = answer.trouble
    if trouble:
        kinds = {each.code: each for each in (NotFound, Conflict)}
        kind = kinds.get(trouble.code, Unanswered)
        raise kind(f"the scheduler of cluster {cluster} says: {trouble.message}", trouble.hint)
    if answer.log is None:
        raise Unanswered(f"the scheduler of cluster {cluster} answered something else")
    return answer.log


async def _stream(
    here: ServerContext, ask: Ask, reading: LogReading, part: LogLines | None, *, follow: bool
) -> AsyncIterator[bytes]:
    """Lines part by part; a follower is in time by a second or a few."""
    parts, misses, pause = 0, 0, PAUSE_S
    while not here.feed.closing:
        if part:
            if reading.uid and part.uid != reading.uid:
                return  # another attempt
            new = reading.taken(part)
            parts += 1
            if new:
                pause = PAUSE_S
                yield new
            misses = misses + 1 if part.more and not new else 0
            if misses >= STUCK:
                yield b"[ganglion] the cluster shows no more of this log\n"
                return
            if part.over or not (part.more or follow):
                return
            if parts >= MOST_PARTS and not follow:
                yield b"[ganglion] the log is longer: read on in the cluster, or with since\n"
                return
        if part is None or not (part.more and new):
            await here.effects.clock.pause(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
        try:
            part = await ask(reading.following)
        except Conflict:
            part = None  # it has not begun
        except NotFound as error:
            if not reading.uid:
                yield _last(error)
            return  # the pod is gone, and its log with it
        except (EnvironmentFault, RateLimited) as error:
            part, misses = None, misses + 1
            if misses >= PATIENCE or not follow:
                yield _last(error)
                return


def _last(error: GanglionError) -> bytes:
    """Why nothing more comes, as the last line."""
    return f"[ganglion] {error.message}\n".encode()
