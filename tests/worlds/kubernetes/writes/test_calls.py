"""How writes are sent and judged, without a server."""

import asyncio
from collections.abc import Sequence

import pytest

from ganglion.model.errors import EnvironmentFault
from ganglion.worlds.kubernetes.http.errors import (
    Absent,
    ApiError,
    ApiUnavailable,
    InvalidRequest,
    ObjectConflict,
    TooMany,
)
from ganglion.worlds.kubernetes.writes.calls import RankedCall, RetryPace, each_of, settle, work_off
from ganglion.worlds.kubernetes.writes.outcome import ObjectRef, WriteOutcome, WriteVerdict

QUICK = RetryPace(tries=3, first_pause_s=0, most_pause_s=0)
HERE = WriteOutcome(WriteVerdict.ALREADY_HERE)


def settled(
    errors: Sequence[Exception], seen: WriteOutcome | None = None, pace: RetryPace = QUICK
) -> tuple[WriteOutcome, int, int]:
    """What becomes of a write that fails so often; how often it was sent and looked at."""
    counts = {"sent": 0, "looked": 0}

    async def write() -> None:
        counts["sent"] += 1
        if counts["sent"] <= len(errors):
            raise errors[counts["sent"] - 1]

    async def look() -> WriteOutcome | None:
        counts["looked"] += 1
        return seen

    outcome = asyncio.run(settle(write, look, pace))
    return outcome, counts["sent"], counts["looked"]


def test_what_is_accepted_is_done() -> None:
    assert settled([]) == (WriteOutcome(WriteVerdict.DONE), 1, 0)


def test_what_is_absent_is_gone() -> None:
    assert settled([Absent("no such pod")]) == (
        WriteOutcome(WriteVerdict.GONE, "no such pod"),
        1,
        0,
    )


@pytest.mark.parametrize("error", [ObjectConflict("x"), ApiUnavailable("x")])
def test_what_is_in_doubt_is_looked_at(error: ApiError) -> None:
    assert settled([error], HERE) == (HERE, 1, 1)
    assert settled([error]) == (WriteOutcome(WriteVerdict.DONE), 2, 1)
    assert settled([error] * 3) == (WriteOutcome(WriteVerdict.UNKNOWN, "x"), 3, 3)


def test_what_was_turned_away_at_the_door_is_sent_again_unseen() -> None:
    assert settled([TooMany("x")], HERE) == (WriteOutcome(WriteVerdict.DONE), 2, 0)


def test_what_is_refused_is_not_sent_again() -> None:
    assert settled([InvalidRequest("bad")] * 3) == (WriteOutcome(WriteVerdict.REFUSED, "bad"), 1, 1)
    assert settled([InvalidRequest("bad")], HERE) == (HERE, 1, 1)


def test_missing_credentials_are_waited_for() -> None:
    assert settled([EnvironmentFault("no token")]) == (WriteOutcome(WriteVerdict.DONE), 2, 0)


def test_a_write_that_may_have_been_sent_is_unknown_when_leadership_is_lost() -> None:
    never = RetryPace(may=lambda: False)
    assert settled([], pace=never)[0].verdict is WriteVerdict.WITHHELD
    answers = iter([True, False])
    once = RetryPace(first_pause_s=0, may=lambda: next(answers))
    assert settled([ApiUnavailable("lost")], pace=once)[:2] == (
        WriteOutcome(WriteVerdict.UNKNOWN, "lost"),
        1,
    )


def test_pauses_double_up_to_the_longest() -> None:
    pauses = list(RetryPace(tries=5, first_pause_s=1, most_pause_s=4).pauses())
    for pause, most in zip(pauses, (1, 2, 4, 4, 4), strict=True):
        assert most / 2 <= pause <= most


def test_no_more_than_so_many_at_once_and_lower_ranks_first() -> None:
    started: list[int] = []
    running, most = 0, 0

    def job(rank: int, then: tuple[RankedCall, ...] = ()) -> RankedCall:
        async def run() -> tuple[RankedCall, ...]:
            nonlocal running, most
            started.append(rank)
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            return then

        return RankedCall((rank,), run)

    first = job(0, (job(1), job(2)))
    asyncio.run(work_off([job(index) for index in range(9, 4, -1)] + [first], 2))
    assert most == 2
    assert started == [0, 5, 1, 2, 6, 7, 8, 9]


def test_an_error_of_ours_stops_all_work() -> None:
    async def run() -> tuple[RankedCall, ...]:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(work_off([RankedCall((0,), run)], 4))
    assert caught.group_contains(ZeroDivisionError)


def test_outcomes_come_in_the_order_asked_for() -> None:
    whos = [ObjectRef("ns", str(index), f"u{index}") for index in range(5)]

    async def write(index: int) -> WriteOutcome:
        for _ in range(5 - index):
            await asyncio.sleep(0)
        return WriteOutcome(WriteVerdict.DONE, str(index))

    outcomes = asyncio.run(each_of(whos, write, 3))
    assert [each.message for each in outcomes.values()] == ["0", "1", "2", "3", "4"]
    assert asyncio.run(each_of([], write, 3)) == {}
