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
        raise kind(f"the scheduler of cluster {cluster} says: {trouble.said}", trouble.hint)
    if answer.log is None:
        raise Unanswered(f"the scheduler of cluster {cluster} answered something else")
    return answer.log


class _Pace:
    """When a log is read on, and when no more.

    Args:
        follow: whether it is read on for as long as it may grow.

    Attributes:
        pause_s: until the next look; 0 = there is more.
    """

    def __init__(self, *, follow: bool) -> None:
        self._follow = follow
        self._parts = self._misses = 0
        self.pause_s = PAUSE_S

    def after(self, part: LogLines, new: bytes) -> bytes | None:
        """The last line after a part, empty where none is needed; None = it is read on."""
        self._parts += 1
        self._misses = self._misses + 1 if part.more and not new else 0
        if self._misses >= STUCK:
            return b"[ganglion] the cluster shows no more of this log\n"
        if part.over or not (part.more or self._follow):
            return b""
        if self._parts >= MOST_PARTS and not self._follow:
            return b"[ganglion] the log is longer: read on in the cluster, or with since\n"
        self.pause_s = 0.0 if part.more and new else PAUSE_S if new else self._longer()
        return None

    def missed(self) -> bool:
        """There was no answer; returns whether to try again."""
        self._misses += 1
        self.pause_s = self._longer()
        return self._follow and self._misses < PATIENCE

    def waits(self) -> None:
        """It has not begun."""
        self.pause_s = self._longer()

    def _longer(self) -> float:
        return min(max(2 * self.pause_s, PAUSE_S), LONGEST_PAUSE_S)


async def _stream(
    here: ServerContext, ask: Ask, reading: LogReading, part: LogLines | None, *, follow: bool
) -> AsyncIterator[bytes]:
    """Lines part by part; a follower is in time by a second or a few."""
    pace = _Pace(follow=follow)
    while not here.feed.closing:
        if part:
            if reading.uid and part.uid != reading.uid:
                return  # another attempt
            yield (new := reading.taken(part))
            last = pace.after(part, new)
            if last is not None:
                yield last
                return
        await here.effects.clock.pause(pace.pause_s)
        part = None
        try:
            part = await ask(reading.following)
        except Conflict:
            pace.waits()
        except NotFound as error:
            yield b"" if reading.uid else _last(error)
            return  # the pod is gone, and its log with it
        except (EnvironmentFault, RateLimited) as error:
            if not pace.missed():
                yield _last(error)
                return


def _last(error: GanglionError) -> bytes:
    """Why nothing more comes, as the last line."""
    return f"[ganglion] {error.message}\n".encode()
