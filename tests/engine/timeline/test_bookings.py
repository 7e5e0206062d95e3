"""Nodes that are spoken for in advance."""

import pytest

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.timeline.bookings import Bookings
from ganglion.model.errors import NotFound
from ganglion.model.fleet.booking import Booking
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.reasons import Reason, Token
from tests.engine.build import gang, node, state_of

SERVICE = Booking("service", ("a",), 1000, 2000, reason="new firmware")
COURSE = Booking("course", ("a", "b"), 1000, 2000, queues=("school",), users=("ada",))


def _refusal(booking: Booking, now: int = 0, node: str = "a", **fields: object) -> Reason | None:
    bookings = Bookings(lambda queue: (queue, "school") if queue == "class" else (queue,))
    bookings.put(booking)
    record = GangRecord(gang("x", **fields), (), None)
    return bookings.refusal(record, Placement((PodPlacement("main", 0, node),)), now)


def test_a_gang_that_ends_before_the_window_may_start() -> None:
    assert _refusal(SERVICE, time_limit_ms=1000) is None


def test_a_gang_that_may_run_into_maintenance_waits_and_is_told_for_what() -> None:
    reason = _refusal(SERVICE, time_limit_ms=1001)
    assert reason and reason.token is Token.DRAINING
    assert "service (new firmware)" in reason.message
    assert reason.evidence["booked_from_ms"] == 1000


def test_without_a_time_limit_nobody_knows_when_it_is_gone() -> None:
    reason = _refusal(COURSE)
    assert reason and reason.token is Token.POLICY
    assert "without a time limit" in reason.message


def test_other_nodes_and_later_times_are_free() -> None:
    assert _refusal(SERVICE, node="b") is None
    assert _refusal(SERVICE, now=2000) is None


def test_a_reservation_lets_those_in_for_whom_it_was_made() -> None:
    assert _refusal(COURSE, queue="class", user="ada") is None
    assert _refusal(COURSE, queue="class", user="bob")
    assert _refusal(COURSE, queue="team", user="ada")


def test_the_nodes_of_a_booking_are_closed_for_others() -> None:
    bookings = Bookings(lambda queue: (queue,))
    bookings.put(SERVICE)
    tree = state_of(node("a"), node("b")).fleet.tree
    assert list(bookings.closed(gang("x"), 0, tree)) == [0]
    assert list(bookings.closed(gang("x"), 2000, tree)) == []


def test_an_unknown_booking_cannot_be_removed() -> None:
    bookings = Bookings(lambda queue: (queue,))
    bookings.put(SERVICE)
    with pytest.raises(NotFound, match="no booking sevice"):
        bookings.remove("sevice")
    bookings.remove("service")
    assert bookings.next_change(0) is None


def test_time_changes_things_when_a_booking_begins_and_when_it_ends() -> None:
    bookings = Bookings(lambda queue: (queue,))
    bookings.put(SERVICE)
    assert [bookings.next_change(at) for at in (0, 1000, 2000)] == [1000, 2000, None]
    assert bookings.changed(0, 1000)
    assert not bookings.changed(1000, 1999)
