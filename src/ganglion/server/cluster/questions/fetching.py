"""Fetches questions while the scheduler leads, and has each answered in a thread of its own."""

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec
import structlog
from msgspec.structs import replace

from ganglion.api.asked.answers import AnswerTrouble, QuestionAnswer
from ganglion.api.asked.questions import AskedQuestion, ClusterQuestion, QuestionPage, QuestionPoll
from ganglion.model.errors import GanglionError
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.server.cluster.outbox.post import DeliveryRefused, ServerLine

POLL_S = 25.0
"""How long a poll waits at the server."""
MOST = 4
"""Questions that are answered at a time."""
IDLE_S = 1.0
"""Least time between two polls without a question."""
LONGEST_PAUSE_S = 30.0
"""Longest time between two polls while the server cannot be reached."""
REFUSED_S = 60.0
"""Time between two polls while the server refuses: it is of an earlier version, as a rule."""

SPARE_S = 10.0
"""How much longer than it was to wait a server may take to answer a poll."""
_PAGE = msgspec.json.Decoder(QuestionPage)

log = structlog.get_logger(__name__)

Answerer = Callable[[ClusterQuestion, float], QuestionAnswer]
"""Answers a question within some seconds, without the names of scheduler and question."""


class Questions(Protocol):
    """Where questions come from, and answers go to: `QuestionLine`."""

    def poll(self, poll: QuestionPoll) -> tuple[AskedQuestion, ...]:
        """Wait for questions. Raises GanglionError where there are none to be had."""

    def answer(self, answer: QuestionAnswer) -> None:
        """Send an answer. Raises GanglionError where it is not taken."""

    def close(self) -> None:
        """Close the connections."""


class QuestionLine(ServerLine):
    """One server, for questions about one cluster; the arguments are those of `ServerLine`."""

    def poll(self, poll: QuestionPoll) -> tuple[AskedQuestion, ...]:
        """Wait for questions; none = there were none within the time.

        Raises:
            EnvironmentFault: the server cannot be reached, or is not ready.
            DeliveryRefused: it has no questions for this scheduler.
        """
        content = self.send("questions", poll, poll.wait_ms / 1000 + SPARE_S)
        try:
            return _PAGE.decode(content).items
        except msgspec.MsgspecError as error:
            raise DeliveryRefused(f"{self._url}: unexpected questions: {error}") from error

    def answer(self, answer: QuestionAnswer) -> None:
        """Send an answer.

        Raises:
            EnvironmentFault: the server cannot be reached, or is not ready.
            DeliveryRefused: nothing waits for it, or no longer.
        """
        self.send("answers", answer)


class QuestionFetcher:
    """Polls a server, and answers what it asks. No turn of the scheduler waits for it.

    Args:
        scheduler: id of the scheduler, as of its records.
        line: to the server.
        answerers: kind of question -> what answers it.
        may: whether the scheduler leads and has decided: one that stands by knows nothing.
        clock: the time.
    """

    def __init__(
        self,
        scheduler: str,
        line: Questions,
        answerers: Mapping[str, Answerer],
        may: Callable[[], bool],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._scheduler, self._line, self._answerers = scheduler, line, answerers
        self._may, self._clock = may, clock
        self._open: dict[str, AskedQuestion] = {}
        self._lock = threading.Lock()
        self._freed, self._ending = threading.Event(), threading.Event()
        self._pause, self._said = IDLE_S, ""
        self._thread = threading.Thread(target=self._run, name="questions", daemon=True)

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def stop(self) -> None:
        """Poll no more; answers on their way are dropped."""
        self._ending.set()
        self._freed.set()
        self._line.close()

    def _run(self) -> None:
        while not self._ending.is_set():
            self._ending.wait(self.step())

    def step(self) -> float:
        """Poll once, and begin to answer; returns after how many seconds to poll again."""
        if not self._may():
            return IDLE_S
        self._freed.clear()
        with self._lock:
            taken = tuple(self._open)
        if len(taken) >= MOST:
            self._freed.wait(IDLE_S)
            return 0.0
        began = self._clock.monotonic()
        try:
            found = self._line.poll(self._poll(taken))
        except DeliveryRefused as error:
            return self._failed(error, REFUSED_S)
        except Exception as error:
            # Whatever it is, the scheduler goes on, and the server is asked again.
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
            return self._failed(error, self._pause)
        self._pause, self._said = IDLE_S, ""
        for each in found[: MOST - len(taken)]:
            self._begin(each)
        # A server that ends, or that another poll came to, answers at once.
        early = not found and self._clock.monotonic() - began < IDLE_S
        return IDLE_S if early else 0.0

    def _poll(self, taken: tuple[str, ...]) -> QuestionPoll:
        return QuestionPoll(
            self._scheduler,
            tuple(self._answerers),
            MOST - len(taken),
            taken,
            int(POLL_S * 1000),
        )

    def _failed(self, error: Exception, pause: float) -> float:
        message = error.message if isinstance(error, GanglionError) else str(error)
        if self._ending.is_set():
            return 0.0
        if not isinstance(error, GanglionError):
            log.exception("questions cannot be fetched")
        if message != self._said:
            self._said = message
            log.info("no questions can be fetched", error=message)
        return pause

    def _begin(self, asked: AskedQuestion) -> None:
        with self._lock:
            if asked.id in self._open:
                return
            self._open[asked.id] = asked
        threading.Thread(target=self._answer, args=(asked,), name="question", daemon=True).start()

    def _answer(self, asked: AskedQuestion) -> None:
        until = self._clock.monotonic() + asked.within_ms / 1000
        try:
            found = self._answered(asked)
            if self._clock.monotonic() < until and self._may():
                self._line.answer(found)
        except GanglionError as error:
            log.info("an answer was dropped", error=error.message)
        except Exception:
            # A thread that dies of a defect must not keep its place among the open questions.
            log.exception("an answer was not sent")
        finally:
            with self._lock:
                self._open.pop(asked.id, None)
            self._freed.set()

    def _answered(self, asked: AskedQuestion) -> QuestionAnswer:
        kind = str(asked.question.__struct_config__.tag)
        try:
            found = self._answerers[kind](asked.question, asked.within_ms / 1000)
        except GanglionError as error:
            trouble = AnswerTrouble(error.code, error.message, error.hint)
            return QuestionAnswer(self._scheduler, asked.id, trouble=trouble)
        except Exception:
            log.exception("a question was not answered", kind=kind)
            hint = "its log says which"
            trouble = AnswerTrouble(GanglionError.code, "answering failed: a defect", hint)
            return QuestionAnswer(self._scheduler, asked.id, trouble=trouble)
        return replace(found, scheduler=self._scheduler, id=asked.id)
