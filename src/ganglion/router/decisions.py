"""Decisions by role: the router asks about a caller, a server answers, an answer counts a second.

Questions wait in the router until a server takes them over the control side. What was asked once is
asked again only after `LASTS_S`, however many requests come meanwhile.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from msgspec import Struct

from ganglion.identity.tokens import digest, token_id
from ganglion.seams.clock import SYSTEM_CLOCK, Clock

LASTS_S = 1.0
"""How long an answer counts while a server is there, and between two looks at long requests."""
WAIT_S = 3.0
"""Longest that a request waits for an answer."""
PRESENT_S = 2.5
"""A server is there if it asked for questions within this time; it does so every second."""
GRACE_S = 60.0
"""How long a request that was allowed goes on counting as allowed while no server is there."""
MOST_OPEN, MOST_KNOWN = 1_000, 10_000
"""Most questions without an answer, and most answers that are kept."""


class CredentialKind(StrEnum):
    """What a caller shows; the values are part of the control side."""

    TOKEN = "token"
    SESSION = "session"


class RoleQuestion(Struct, frozen=True):
    """May the holder of a credential reach a workload?

    Attributes:
        workload: its id; empty = there is none of the name that was asked for.
        kind: what the caller shows.
        id: public name of that, see `identity.tokens.token_id`.
        digest: what a server compares it with.
    """

    workload: str
    kind: CredentialKind
    id: str
    digest: str


def question_of(workload: str, kind: CredentialKind, secret: str) -> RoleQuestion:
    """The question about a caller; the secret itself is not kept."""
    return RoleQuestion(workload, kind, token_id(secret), digest(secret))


class AskedRole(Struct, frozen=True):
    """A question on its way to a server.

    Attributes:
        question: what is asked.
        used: whether a request caused it; False = a look at a request that goes on.
    """

    question: RoleQuestion
    used: bool = True


class RoleAnswerKind(StrEnum):
    """What a server says; the values are part of the control side."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    HIDDEN = "hidden"
    """The caller may not see the workload, or there is none."""
    UNKNOWN = "unknown"
    """The credential counts for nothing."""
    UNDECIDED = "undecided"
    """No server has answered."""


class RoleAnswer(Struct, frozen=True):
    """The answer to a question.

    Attributes:
        question: what was asked.
        kind: the decision.
        message: the rule, or what is wrong with the credential.
    """

    question: RoleQuestion
    kind: RoleAnswerKind
    message: str = ""


class _Open(Struct):
    """A question without an answer."""

    asked: AskedRole
    found: "asyncio.Future[RoleAnswer]"
    since_s: float
    taken_s: float | None = None


class RoleDecisions:
    """The questions and answers of one router. Belongs to one event loop.

    Args:
        clock: the steady one says how old an answer is.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._known: dict[RoleQuestion, tuple[RoleAnswer, float]] = {}
        self._open: dict[RoleQuestion, _Open] = {}
        self._running: dict[RoleQuestion, set[asyncio.Task[object]]] = {}
        self._news = asyncio.Event()
        self._present = float("-inf")

    # --- for requests -----------------------------------------------------------------------

    async def answer(self, question: RoleQuestion, *, used: bool = True) -> RoleAnswer:
        """Return the decision of a server, at most `LASTS_S` old where one is there.

        Args:
            question: who wants to reach what.
            used: see `AskedRole`.
        """
        now = self._clock.monotonic()
        known, at = self._known.get(question, (None, now))
        if known and now - at < LASTS_S:
            return known
        counts_on = known and known.kind is RoleAnswerKind.ALLOWED and now - at < GRACE_S
        absent = now - self._present > PRESENT_S
        wait_s = 0.0 if counts_on and absent else WAIT_S
        found = await self._asked(AskedRole(question, used), wait_s)
        if found is None and known and counts_on:
            return known
        return found or RoleAnswer(question, RoleAnswerKind.UNDECIDED)

    async def _asked(self, asked: AskedRole, wait_s: float) -> RoleAnswer | None:
        """Ask a server; None = none answers in time, or too many questions are open."""
        waits = self._open.get(asked.question)
        if waits is None:
            if len(self._open) >= MOST_OPEN:
                return None
            found = asyncio.get_running_loop().create_future()
            waits = _Open(asked, found, self._clock.monotonic())
            self._open[asked.question] = waits
            self._news.set()
        elif asked.used:
            waits.asked = asked
        done, _ = await asyncio.wait([waits.found], timeout=wait_s)
        return waits.found.result() if done else None

    @contextmanager
    def watched(self, question: RoleQuestion) -> Iterator[None]:
        """End the present task, a request, once its caller may no longer reach the workload."""
        task = asyncio.current_task()
        assert task is not None
        running = self._running.setdefault(question, set())
        running.add(task)
        try:
            yield
        finally:
            running.discard(task)
            if not running and self._running.get(question) is running:
                del self._running[question]

    async def watch(self) -> None:
        """Look again and again whether requests that go on are still allowed."""
        while True:
            await self._clock.pause(LASTS_S)
            await asyncio.gather(*map(self._looked, list(self._running)))
            self._tidy()

    async def _looked(self, question: RoleQuestion) -> None:
        found = await self.answer(question, used=False)
        if found.kind is not RoleAnswerKind.ALLOWED:
            for task in self._running.get(question, set()).copy():
                task.cancel()

    def _tidy(self) -> None:
        """Forget what counts no more, and the oldest answers where there are too many."""
        now = self._clock.monotonic()
        self._open = {key: each for key, each in self._open.items() if now - each.since_s < GRACE_S}
        kept = [each for each in self._known.items() if now - each[1][1] < GRACE_S]
        self._known = dict(sorted(kept, key=lambda each: each[1][1])[-MOST_KNOWN:])

    # --- for the control side ---------------------------------------------------------------

    async def questions(self, wait_ms: int) -> tuple[AskedRole, ...]:
        """Return the questions that no server has taken, as soon as there are some."""
        self._present = self._clock.monotonic()
        new = self._taken()
        if new or not wait_ms:
            return new
        self._news.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_ms / 1000):
                await self._news.wait()
        return self._taken()

    def _taken(self) -> tuple[AskedRole, ...]:
        """Questions that no server has taken, or that one has taken and not answered in time."""
        now = self._clock.monotonic()
        new = [
            each
            for each in self._open.values()
            if each.taken_s is None or now - each.taken_s > WAIT_S
        ]
        for each in new:
            each.taken_s = now
        return tuple(each.asked for each in new)

    def decided(self, answers: Sequence[RoleAnswer]) -> None:
        """Take what a server has decided."""
        now = self._clock.monotonic()
        for each in answers:
            if each.question not in self._known and len(self._known) >= 2 * MOST_KNOWN:
                self._tidy()
            self._known[each.question] = (each, now)
            waits = self._open.pop(each.question, None)
            if waits and not waits.found.done():
                waits.found.set_result(each)
