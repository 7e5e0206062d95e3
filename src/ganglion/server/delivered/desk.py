"""Questions to the schedulers of clusters: asked here, fetched by their polls, answered later.

Nothing of it is kept: after a restart of the server a scheduler polls again, and who asked has
to ask again. All of it belongs to one event loop.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct, field

from ganglion.api.asked.answers import QuestionAnswer
from ganglion.api.asked.questions import AskedQuestion, ClusterQuestion, QuestionPoll
from ganglion.model.errors import Conflict, EnvironmentFault, NotFound, RateLimited
from ganglion.seams.clock import Clock
from ganglion.seams.effects import SYSTEM, Effects

LONGEST_POLL_S = 25.0
"""Longest time that a poll is held: proxies end requests of a minute."""
PRESENT_S = 40.0
"""After this time without a poll a scheduler does not ask."""
MOST_OF_CLUSTER = 32
"""Questions to one cluster that are open at a time."""
MOST_OF_CALLER = 8
"""Questions of one user that are open at a time."""
MOST_KEPT = 256
"""Answers that are kept for those who ask the same at once."""
MOST_ROOM = 16
"""Questions that one poll takes."""


class Unanswered(EnvironmentFault):
    """The scheduler of a cluster did not answer a question; the message says why."""

    code = "environment.unanswered"


class _Open(Struct, eq=False):
    """A question without an answer yet.

    Attributes:
        asked: the question.
        until: time of the steady clock at which nothing waits for it any more.
        answer: is set once it came.
        fetched_by: id of the scheduler that has it; empty = none has.
    """

    asked: AskedQuestion
    until: float
    answer: asyncio.Future[QuestionAnswer]
    fetched_by: str = ""


class _Cluster(Struct, eq=False):
    """One cluster, as its scheduler polls.

    Attributes:
        scheduler: id of the newest one that polled.
        kinds: of questions that it knows.
        polled: when it polled last, by the steady clock.
        held: polls that wait now: one, and those that it has replaced.
        number: of the newest poll.
        open: questions by id, the oldest first.
        bell: rung for the poll that waits.
    """

    scheduler: str
    kinds: frozenset[str] = frozenset()
    polled: float = 0.0
    held: int = 0
    number: int = 0
    open: dict[str, _Open] = field(default_factory=dict)
    bell: asyncio.Event = field(default_factory=asyncio.Event)

    def ring(self) -> None:
        """Wake the poll that waits; the next one has a bell of its own."""
        self.bell.set()
        self.bell = asyncio.Event()

    def waiting(self) -> Iterator[_Open]:
        """Questions that no scheduler has."""
        return (each for each in self.open.values() if not each.fetched_by)


class QuestionDesk:
    """Takes questions to schedulers, and their answers.

    Args:
        effects: the clock, and the chance that ids of questions are made of.
    """

    def __init__(self, effects: Effects = SYSTEM) -> None:
        self._clock: Clock = effects.clock
        self._randomness = effects.randomness
        self._clusters: dict[str, _Cluster] = {}
        self._of_callers: Counter[str] = Counter()
        self._recent: dict[tuple[str, ClusterQuestion], tuple[float, QuestionAnswer]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = False

    @property
    def open(self) -> int:
        """How many questions wait for their answers."""
        return sum(len(each.open) for each in self._clusters.values())

    @property
    def held(self) -> int:
        """How many polls wait."""
        return sum(each.held for each in self._clusters.values())

    def close(self) -> None:
        """End all polls. Safe from any thread and from signal handlers."""
        self._closing = True
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        for each in self._clusters.values():
            each.ring()

    # --- those who ask --------------------------------------------------------------------------

    async def ask(
        self,
        cluster: str,
        question: ClusterQuestion,
        user: str,
        within_s: float,
        keep_s: float = 0.0,
    ) -> QuestionAnswer:
        """Ask the scheduler of a cluster.

        Args:
            cluster: its name.
            question: what is asked; whether the user may know is decided before.
            user: who asks.
            within_s: how long the answer is waited for.
            keep_s: an answer to the same question that came within this time does too.

        Raises:
            Unanswered: no scheduler polls, it does not know such questions, or there was no
                answer in time.
            RateLimited: the user, or all users together, have too many questions open.
        """
        found = self._polling(cluster, str(question.__struct_config__.tag))
        known = self._recent.get((cluster, question))
        if known and self._clock.monotonic() - known[0] <= keep_s:
            return known[1]
        with self._counted(cluster, found, user):
            asked = AskedQuestion(self._randomness.token_hex(16), question, int(within_s * 1000))
            until = self._clock.monotonic() + within_s
            each = _Open(asked, until, asyncio.get_running_loop().create_future())
            found.open[asked.id] = each
            found.ring()
            try:
                answer = await asyncio.wait_for(each.answer, within_s)
            except TimeoutError:
                raise self._late(cluster, each, within_s) from None
            finally:
                found.open.pop(asked.id, None)
        if keep_s:
            self._keep((cluster, question), answer, keep_s)
        return answer

    def _keep(
        self, key: tuple[str, ClusterQuestion], answer: QuestionAnswer, keep_s: float
    ) -> None:
        now = self._clock.monotonic()
        if len(self._recent) >= MOST_KEPT:
            self._recent = {k: each for k, each in self._recent.items() if now - each[0] <= keep_s}
        if len(self._recent) < MOST_KEPT:
            self._recent[key] = now, answer

    def _polling(self, cluster: str, kind: str) -> _Cluster:
        """Raises Unanswered unless a scheduler asks for questions of a kind."""
        found = self._clusters.get(cluster)
        if found is None or not self._is_present(found):
            raise Unanswered(
                f"no scheduler of cluster {cluster} asks for questions",
                "it is down, of an earlier version, or does not reach this server:"
                " see ganglion clusters",
            )
        if kind not in found.kinds:
            raise Unanswered(
                f"the scheduler of cluster {cluster} does not answer such questions ({kind})",
                "it is of an earlier version, or that is switched off there",
            )
        return found

    def _is_present(self, found: _Cluster) -> bool:
        return found.held > 0 or self._clock.monotonic() - found.polled <= PRESENT_S

    @contextmanager
    def _counted(self, cluster: str, found: _Cluster, user: str) -> Iterator[None]:
        """Count a question; raises RateLimited where there are too many."""
        if self._of_callers[user] >= MOST_OF_CALLER:
            raise RateLimited.after(1, f"{user} has {MOST_OF_CALLER} questions to clusters open")
        if len(found.open) >= MOST_OF_CLUSTER:
            raise RateLimited.after(1, f"cluster {cluster} has {MOST_OF_CLUSTER} questions open")
        self._of_callers[user] += 1
        try:
            yield
        finally:
            self._of_callers[user] -= 1
            self._of_callers += Counter[str]()  # those without a question are forgotten

    def _late(self, cluster: str, each: _Open, within_s: float) -> Unanswered:
        what = "did not answer" if each.fetched_by else "did not ask for the question"
        return Unanswered(
            f"the scheduler of cluster {cluster} {what} within {within_s:g} s", "try again"
        )

    # --- schedulers -----------------------------------------------------------------------------

    async def poll(
        self, cluster: str, poll: QuestionPoll, newest: str = ""
    ) -> tuple[AskedQuestion, ...]:
        """Wait for questions to a cluster; none = there were none within the time.

        Args:
            cluster: of the scheduler that polls.
            poll: what it says of itself.
            newest: id of the newest scheduler whose records have come.

        Raises:
            Conflict: a newer scheduler decides for the cluster.
        """
        self._loop = asyncio.get_running_loop()
        found = self._clusters.setdefault(cluster, _Cluster(poll.scheduler))
        latest = max(newest, found.scheduler)
        if poll.scheduler < latest:
            raise Conflict(
                f"scheduler {poll.scheduler} is not the one that decides: {latest} is", "end it"
            )
        found.scheduler, found.kinds = poll.scheduler, frozenset(poll.kinds)
        found.number += 1
        found.ring()  # the poll that this one replaces ends
        for each in found.open.values():
            if each.fetched_by != poll.scheduler or each.asked.id not in poll.open:
                each.fetched_by = ""  # it was lost on the way
        return await self._fetched(found, poll, found.number)

    async def _fetched(
        self, found: _Cluster, poll: QuestionPoll, number: int
    ) -> tuple[AskedQuestion, ...]:
        wait_s = max(0.0, min(poll.wait_ms / 1000, LONGEST_POLL_S))
        found.held += 1
        try:
            if not any(found.waiting()) and not self._closing:
                await asyncio.wait_for(found.bell.wait(), wait_s)
        except TimeoutError:
            pass
        finally:
            found.held -= 1
            found.polled = self._clock.monotonic()
        return self._taken(found, poll) if found.number == number else ()

    def _taken(self, found: _Cluster, poll: QuestionPoll) -> tuple[AskedQuestion, ...]:
        taken, now = list[AskedQuestion](), self._clock.monotonic()
        for each in found.waiting():
            if len(taken) >= min(max(poll.room, 1), MOST_ROOM):
                break
            left_ms = int((each.until - now) * 1000)
            if left_ms > 0:
                each.fetched_by = poll.scheduler
                taken.append(AskedQuestion(each.asked.id, each.asked.question, left_ms))
        return tuple(taken)

    def answered(self, cluster: str, answer: QuestionAnswer) -> None:
        """Pass an answer on to who asked.

        Raises:
            NotFound: there is no such question to that cluster, or no longer.
            Conflict: another scheduler was asked.
        """
        found = self._clusters.get(cluster)
        each = found.open.get(answer.id) if found else None
        if each is None or each.answer.done():
            raise NotFound(
                f"cluster {cluster} has no open question {answer.id!r}", "it came too late"
            )
        if answer.scheduler != each.fetched_by:
            raise Conflict(f"question {answer.id} is not one to scheduler {answer.scheduler}")
        each.answer.set_result(answer)
