"""Bookings begin and end by the wall clock, however that is set."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ganglion.model.errors import FieldError
from ganglion.model.events import BookingSet
from ganglion.model.fleet.booking import Booking
from ganglion.server.commands.bookings import (
    CLOSE_MS,
    DAY_MS,
    LOOK_MS,
    BookingsKeeper,
    set_booking,
)
from ganglion.server.views.cluster import booking_view
from ganglion.specs.policy.bookings import parse_booking
from tests.server.conftest import Rig

HOUR = 3_600_000
MINUTE = 60_000
EPOCH = 1_800_000_000_000
"""The time of the wall clock, where the time of the server begins near 0."""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """A server over two nodes of 8 GPUs that keeps bookings at their times."""
    made = Rig(tmp_path / "home", lambda: [BookingsKeeper()])
    made.machine.ahead_ms = EPOCH
    yield made
    made.ledger.close()


def wall(rig: Rig) -> int:
    return rig.machine.time + rig.machine.ahead_ms


def iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()


def book(rig: Rig, begin: int, length_ms: int, **more: Any) -> Booking:
    """Book both nodes from a time by the wall clock on."""
    data = {
        "name": "pump",
        "nodes": ["n0", "n1"],
        "begin": iso(begin),
        "end": iso(begin + length_ms),
    }
    file, wrong = parse_booking(data | more)
    made: Booking = rig.do(lambda draft: set_booking(draft, file, wrong))
    return made


def booking(rig: Rig) -> Booking:
    with rig.service.read() as mind:
        (found,) = mind.state.timeline.bookings.all()
        return found


def state(rig: Rig) -> str:
    return booking_view(booking(rig), rig.machine.time).state


def pass_by(rig: Rig, ms: int) -> None:
    """Time passes by both clocks."""
    rig.machine.time += ms
    rig.turn(2)


def step(rig: Rig, ms: int) -> None:
    """The wall clock is set."""
    rig.machine.ahead_ms += ms
    rig.turn(2)


def test_a_booking_is_shown_as_it_was_asked_for(rig: Rig) -> None:
    begin = (wall(rig) // 1000 + 7_200) * 1000
    made = book(rig, begin, HOUR)
    view = booking_view(made, rig.machine.time)
    assert (view.begin, view.end, view.state) == (begin, begin + HOUR, "planned")
    with pytest.raises(FieldError, match="would be over already"):
        book(rig, wall(rig) - 3 * HOUR, HOUR)


@pytest.mark.parametrize("stepped", [HOUR, -HOUR])
def test_a_booking_ahead_begins_and_ends_by_the_clock_that_was_set(rig: Rig, stepped: int) -> None:
    begin = (wall(rig) // 1000 + 7_200) * 1000
    book(rig, begin, HOUR)
    step(rig, stepped)
    assert (booking(rig).begins_at, booking(rig).ends_at) == (begin, begin + HOUR)
    seen = []
    while wall(rig) < begin + HOUR + 5 * MINUTE:
        pass_by(rig, 5 * MINUTE)
        expected = "planned" if wall(rig) < begin else "active"
        seen.append((state(rig), "over" if wall(rig) >= begin + HOUR else expected))
    assert [found for found, _ in seen] == [expected for _, expected in seen]
    assert {found for found, _ in seen} == {"planned", "active", "over"}


def test_an_hour_back_or_forward_within_a_booking_loses_it_not_and_ends_it_by_the_wall(
    rig: Rig,
) -> None:
    begin = (wall(rig) // 1000 + 600) * 1000
    book(rig, begin, 90 * MINUTE)
    pass_by(rig, 20 * MINUTE)
    assert state(rig) == "active"
    step(rig, HOUR)
    assert state(rig) == "active", "20 minutes are left"
    step(rig, HOUR)
    assert state(rig) == "over"
    step(rig, -2 * HOUR)
    assert state(rig) == "active", "it is not lost by a step that is taken back"
    step(rig, -HOUR)
    assert state(rig) == "planned"
    pass_by(rig, HOUR)
    assert state(rig) == "active"


def test_what_a_booking_keeps_off_starts_when_it_ends_by_the_wall(rig: Rig) -> None:
    book(rig, wall(rig) - MINUTE, 2 * HOUR)
    job = rig.submit("job")
    rig.turn()
    assert rig.state(job) == "QUEUED"
    step(rig, 2 * HOUR)
    assert rig.state(job) in ("STARTING", "RUNNING")


def test_a_step_is_recorded_once_and_replays_to_the_same(rig: Rig) -> None:
    book(rig, wall(rig) + HOUR, HOUR)
    step(rig, HOUR)
    for _ in range(20):
        pass_by(rig, LOOK_MS)
        rig.machine.ahead_ms -= CLOSE_MS // 40  # the clocks come closer, less than matters
    set_again = [each for each in rig.ledger.replay() if isinstance(each, BookingSet)]
    assert len(set_again) == 2
    before = booking(rig)
    rig.crash()
    assert booking(rig) == before
    times = [entry.at for entry in rig.ledger.events()]
    assert times == sorted(times)


def test_clocks_that_part_slowly_are_noticed_without_any_other_event(rig: Rig) -> None:
    begin = wall(rig) + 3 * HOUR
    book(rig, begin, HOUR)
    for _ in range(360):
        rig.machine.time += 10_000
        rig.machine.ahead_ms -= 500  # too little for a turn to take it for a step
        rig.turn()
    assert abs(booking(rig).begin + rig.machine.ahead_ms - begin) <= CLOSE_MS + LOOK_MS // 20


def test_a_booking_that_was_over_for_a_day_stays_as_it_is(rig: Rig) -> None:
    book(rig, wall(rig) + MINUTE, MINUTE)
    pass_by(rig, DAY_MS + HOUR)
    before = booking(rig)
    step(rig, HOUR)
    assert booking(rig) == before
