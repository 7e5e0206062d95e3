"""Commands that other threads ask the service for, with the request that each comes from."""

import asyncio
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import structlog
from msgspec import Struct, field

from ganglion.model.errors import EnvironmentFault, GanglionError
from ganglion.seams.clock import Clock
from ganglion.server.rest.request_id import (
    request_actor,
    request_agent,
    request_glass,
    request_grants,
    request_id,
    request_token,
)
from ganglion.server.state.transaction import Transaction
from ganglion.tracing.spans import SpanPlace, Value, current, emit

log = structlog.get_logger(__name__)


class AskedCommand(Struct):
    """One command.

    Attributes:
        command: checks, raises what is wrong, then changes the draft. May run twice.
        answer: set once its effect is written, or it is refused.
        request: id of the request that it comes from; empty = of none.
        actor: user who made that request; empty = none.
        grants: standing ones that allow it; the command itself may add to them.
        glass: grants by broken glass that it needs; the command itself may add to them.
        token: id of the personal token that was sent with the request; empty = none.
        agent: the program that made it for its user; empty = unknown.
        place: span of that request; None = it is not traced.
    """

    command: Callable[[Transaction], Any]
    answer: Future[Any] = field(default_factory=Future)
    request: str = field(default_factory=request_id)
    actor: str = field(default_factory=request_actor)
    grants: Sequence[str] = field(default_factory=request_grants)
    glass: Sequence[str] = field(default_factory=request_glass)
    token: str = field(default_factory=request_token)
    agent: str = field(default_factory=request_agent)
    place: SpanPlace | None = field(default_factory=current)

    def refuse(self, error: GanglionError) -> None:
        """Answer with an error, unless there is an answer."""
        if not self.answer.done():
            self.answer.set_exception(error)


async def awaited(answer: Future[Any], timeout_s: float) -> Any:  # noqa: ANN401 - whatever the command returns
    """The answer of another thread.

    One hop into the event loop: `asyncio.wrap_future` takes three rounds of it.

    Raises:
        TimeoutError: there was none in time.
    """
    loop = asyncio.get_running_loop()
    told = loop.create_future()

    def tell() -> None:
        if told.done():
            return
        error = answer.exception()
        if error:
            told.set_exception(error)
        else:
            told.set_result(answer.result())

    answer.add_done_callback(lambda _: loop.call_soon_threadsafe(tell))
    async with asyncio.timeout(timeout_s):
        return await told


@contextmanager
def in_time(timeout_s: float) -> Iterator[None]:
    """Name what it means that an answer did not come in time."""
    try:
        yield
    except TimeoutError:
        raise EnvironmentFault(
            f"the server is busy and did not answer within {timeout_s:.0f} s",
            "the request may still take effect: check before you repeat it",
        ) from None


class Inbox:
    """Commands that wait for their turn. Safe from any thread."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[AskedCommand | None] = queue.SimpleQueue()

    def put(self, asked: AskedCommand | None) -> None:
        """Add a command; None only ends the wait."""
        self._asked.put(asked)

    def gather(self, patience_s: float) -> list[AskedCommand]:
        """Wait for a command, at most the given time; return all there are."""
        gathered = list[AskedCommand | None]()
        try:
            gathered.append(self._asked.get(timeout=patience_s))
            while True:
                gathered.append(self._asked.get_nowait())
        except queue.Empty:
            return [asked for asked in gathered if asked]


def run(draft: Transaction, asked: Sequence[AskedCommand]) -> list[tuple[AskedCommand, Any]] | None:
    """Run commands in their order; what they log and record names their request.

    Returns:
        answers in order; None when a command failed after it had changed the state.
    """
    answers = []
    for each in asked:
        before, events = draft.size, len(draft.batch.incoming)
        try:
            if not each.answer.done():
                with structlog.contextvars.bound_contextvars(request=each.request):
                    answers.append((each, each.command(draft)))
                glass = next(iter(each.glass), "")
                draft.mark(
                    *(events, each.request, each.actor, "; ".join(each.grants), glass),
                    by_token=each.token,
                    agent=each.agent,
                )
        except Exception as error:
            if not isinstance(error, GanglionError):
                log.exception("request failed", request=each.request)
            each.answer.set_exception(error)
            if draft.size > before:
                return None
    return answers


def traced(
    answers: Sequence[tuple[AskedCommand, Any]],
    begin: int,
    cycle: tuple[int, int],
    number: int,
    clock: Clock,
) -> None:
    """Answer the requests of a turn with what it did for them.

    Args:
        answers: of the turn.
        begin: when it began, in ns.
        cycle: when the engine began and ended to decide, in ns; zeros = it did not.
        number: of the cycle in the ledger.
        clock: says when it ends.
    """
    for asked, _ in answers:
        if asked.place:
            about: dict[str, Value] = {"ganglion.cycle": number, "ganglion.request": asked.request}
            place = emit("commit", asked.place, begin, clock.now_ns(), about)
            if all(cycle):
                emit("cycle", place, *cycle)
