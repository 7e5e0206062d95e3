"""How writes are sent: side by side, again where that is safe, and judged by reading back."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from ganglion.model.errors import EnvironmentFault
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import (
    Absent,
    ApiError,
    ForbiddenRequest,
    InvalidRequest,
    TooMany,
)
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.writes.outcome import Identity, WriteOutcome, WriteVerdict, path_of

Judge = Callable[[Pod], WriteOutcome | None]
"""What a pod, read back after a write went wrong, says about it; None = it was not done yet."""


def always() -> bool:
    """Say that we may write."""
    return True


class RetryPace(Struct, frozen=True):
    """How hard to try.

    Attributes:
        tries: most attempts at one write.
        first_pause_s: after the first attempt that failed, in seconds; doubles from there.
        most_pause_s: longest pause, in seconds.
        at_once: most writes under way at any time.
        may: asked before every attempt; False = another scheduler has taken over.
        effects: the clock of pauses, and chance.
    """

    tries: int = 4
    first_pause_s: float = 0.05
    most_pause_s: float = 2.0
    at_once: int = 64
    may: Callable[[], bool] = always
    effects: Effects = SYSTEM

    def pauses(self) -> Iterator[float]:
        """Yield one pause per attempt, in seconds, with half of it left to chance."""
        for attempt in range(self.tries):
            pause = min(self.first_pause_s * 2**attempt, self.most_pause_s)
            yield pause * self.effects.randomness.uniform(0.5, 1)


PACE = RetryPace()


async def settle(
    write: Callable[[], Awaitable[object]],
    look: Callable[[], Awaitable[WriteOutcome | None]],
    pace: RetryPace = PACE,
    done: WriteVerdict = WriteVerdict.DONE,
) -> WriteOutcome:
    """Write until it is known what became of it, or the attempts are used up.

    Args:
        write: sends the write; raises ApiError.
        look: reads the object back; None = it is as it was before the write.
        pace: how hard to try.
        done: what to say when the write is accepted.
    """
    last = ""
    for pause in pace.pauses():
        if not pace.may():
            return WriteOutcome(
                WriteVerdict.UNKNOWN if last else WriteVerdict.WITHHELD, last or _NOT_OURS
            )
        try:
            await write()
        except Absent as error:
            return WriteOutcome(WriteVerdict.GONE, error.message)
        except ApiError as error:
            last = error.message
            if outcome := await _after(error, look):
                return outcome
            await pace.effects.clock.pause(max(pause, error.retry_after_s))
        except EnvironmentFault as fault:  # no credentials just now: nothing was sent
            last = fault.message
            await pace.effects.clock.pause(pause)
        else:
            return WriteOutcome(done)
    return WriteOutcome(WriteVerdict.UNKNOWN, last)


_NOT_OURS = "another scheduler has taken over"


async def _after(
    error: ApiError, look: Callable[[], Awaitable[WriteOutcome | None]]
) -> WriteOutcome | None:
    """Judge an error that leaves open what is so now; None = try again."""
    if isinstance(error, TooMany):  # turned away before anything was done
        return None
    found = await look()
    if found is None and isinstance(error, InvalidRequest | ForbiddenRequest):
        return WriteOutcome(WriteVerdict.REFUSED, error.message)
    return found


def nothing(pod: Pod) -> WriteOutcome | None:  # noqa: ARG001  a Judge for writes that may be repeated
    """Judge that a write to a pod that still exists is to be sent again."""
    return None


def reader(
    api: Api, who: Identity, judge: Judge = nothing
) -> Callable[[], Awaitable[WriteOutcome | None]]:
    """Return what reads a pod back and judges it."""

    async def look() -> WriteOutcome | None:
        try:
            pod = await api.get(path_of(who), Pod)
        except Absent as error:
            return WriteOutcome(WriteVerdict.GONE, error.message)
        except EnvironmentFault:  # still unknown: the write is sent again and its error reported
            return None
        if pod.metadata.uid != who.uid:
            return WriteOutcome(WriteVerdict.GONE, f"pod {pod.key} was made anew")
        return judge(pod)

    return look


class RankedCall(Struct, frozen=True):
    """Something to do, and where it stands in line: lower ranks go first."""

    rank: tuple[int, ...]
    run: Callable[[], Awaitable[Iterable["RankedCall"]]]


async def work_off(jobs: Sequence[RankedCall], at_once: int) -> None:
    """Run jobs, and those they lead to, by rank and at most `at_once` at any time."""
    line: asyncio.PriorityQueue[tuple[tuple[int, ...], int, RankedCall]] = asyncio.PriorityQueue()
    added = 0

    def add(more: Iterable[RankedCall]) -> None:
        nonlocal added
        for job in more:
            added += 1
            line.put_nowait((job.rank, added, job))

    async def worker() -> None:
        while True:
            job = (await line.get())[2]
            add(await job.run())
            line.task_done()

    add(jobs)
    async with asyncio.TaskGroup() as group:
        workers = [group.create_task(worker()) for _ in range(at_once)]
        await line.join()
        for each in workers:
            each.cancel()


async def each_of(
    whos: Sequence[Identity], write: Callable[[int], Awaitable[WriteOutcome]], at_once: int
) -> dict[str, WriteOutcome]:
    """Do one write per pod, many at once. Returns uid -> outcome, in the order given.

    Args:
        whos: the pods.
        write: from the position in `whos` to what became of it.
        at_once: most writes under way at any time.
    """
    outcomes: dict[str, WriteOutcome] = {}

    def job(index: int) -> RankedCall:
        async def run() -> tuple[RankedCall, ...]:
            outcomes[whos[index].uid] = await write(index)
            return ()

        return RankedCall((index,), run)

    await work_off([job(index) for index in range(len(whos))], min(at_once, len(whos)))
    return {who.uid: outcomes[who.uid] for who in whos}
