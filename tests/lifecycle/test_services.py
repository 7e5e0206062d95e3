"""From any replicas, as many become active as are wanted, and no service ever runs out of gangs."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.lifecycle.services import Part, Replica, Shift, drained, shift

ACTIVE, ASLEEP, DRAINING = Part.ACTIVE, Part.ASLEEP, Part.DRAINING


def replicas(*parts: Part) -> list[Replica]:
    return [Replica(f"s-1/{i}", part, since=10 * i) for i, part in enumerate(parts)]


@st.composite
def services(draw: st.DrawFn) -> list[Replica]:
    made = []
    for index in range(draw(st.integers(1, 8))):
        part = draw(st.sampled_from(Part))
        waits = part in (Part.ASLEEP, Part.STANDBY) or (part is ACTIVE and draw(st.booleans()))
        made.append(Replica(f"s-1/{index}", part, waits, draw(st.integers(0, 50))))
    return made


def carried_out(before: list[Replica], todo: Shift) -> list[Replica]:
    """The replicas once everything was done."""
    parts = dict.fromkeys((*todo.keep, *todo.wake), ACTIVE) | dict.fromkeys(todo.drain, DRAINING)
    parts |= dict.fromkeys(todo.rest, ASLEEP) | dict.fromkeys(todo.end, Part.LEAVING)
    after = [replace(each, part=parts.get(each.gang, each.part)) for each in before]
    new = [ACTIVE] * todo.submit + [ASLEEP] * todo.nap
    return after + [
        Replica(f"s-1/{len(before) + i}", part, waits=True) for i, part in enumerate(new)
    ]


def count(found: list[Replica], part: Part) -> int:
    return sum(each.part is part for each in found)


@given(services(), st.integers(0, 8))
def test_as_many_are_active_as_are_wanted(before: list[Replica], wanted: int) -> None:
    after = carried_out(before, shift(before, wanted))
    if all(each.part in (Part.LEAVING, Part.BROKEN) for each in before):
        assert after == before
        return
    seats = max(0, wanted - count(before, Part.BROKEN))
    if count(before, ACTIVE) <= seats:
        assert count(after, ACTIVE) == seats
    else:
        assert count(after, ACTIVE) == min(count(before, ACTIVE), wanted)


@given(services(), st.integers(0, 8))
def test_what_was_done_is_not_done_again(before: list[Replica], wanted: int) -> None:
    after = carried_out(before, shift(before, wanted))
    assert not shift(after, wanted)


@given(services(), st.integers(0, 8))
def test_a_service_that_is_wanted_always_has_a_gang_to_be_woken(
    before: list[Replica], wanted: int
) -> None:
    after = carried_out(before, shift(before, wanted))
    lives = any(each.part not in (Part.LEAVING, Part.BROKEN) for each in before)
    staying = (ACTIVE, ASLEEP, Part.STANDBY, Part.BROKEN)
    assert not lives or any(each.part in staying for each in after)


@given(services(), st.integers(0, 8))
def test_only_what_waits_is_ended_and_only_what_runs_is_drained(
    before: list[Replica], wanted: int
) -> None:
    todo, waits = shift(before, wanted), {each.gang: each.waits for each in before}
    assert all(waits[gang] for gang in (*todo.end, *todo.rest))
    assert not any(waits[gang] for gang in todo.drain)


def test_what_drains_is_wanted_again_before_anything_starts() -> None:
    found = replicas(ACTIVE, DRAINING, DRAINING)
    # The one that began last has most left to do.
    assert shift(found, 2) == Shift(keep=("s-1/2",))
    assert shift(found, 4) == Shift(keep=("s-1/2", "s-1/1"), submit=1)


def test_what_stands_by_is_woken_before_anything_starts() -> None:
    assert shift(replicas(ACTIVE, Part.STANDBY), 3) == Shift(wake=("s-1/1",), submit=1)


def test_the_last_one_leaves_one_that_sleeps_and_is_woken_by_the_first_request() -> None:
    assert shift(replicas(ACTIVE), 0) == Shift(nap=1, drain=("s-1/0",))
    assert shift(replicas(DRAINING, ASLEEP), 0) == Shift()
    assert shift(replicas(Part.LEAVING, ASLEEP), 1) == Shift(wake=("s-1/1",))
    # What still drains is quicker than what sleeps, which is not needed then.
    assert shift(replicas(DRAINING, ASLEEP), 1) == Shift(keep=("s-1/0",), end=("s-1/1",))


def test_what_waits_goes_first_then_the_worst_then_the_youngest() -> None:
    found = [*replicas(ACTIVE, ACTIVE, ACTIVE), Replica("s-1/3", ACTIVE, waits=True)]
    assert shift(found, 3) == Shift(end=("s-1/3",))
    assert shift(found, 2, worst=("s-1/0",)) == Shift(end=("s-1/3",), drain=("s-1/0",))
    assert shift(found, 2) == Shift(end=("s-1/3",), drain=("s-1/2",))


def test_a_cancelled_service_is_left_alone() -> None:
    assert shift(replicas(Part.LEAVING, Part.LEAVING), 2) == Shift()


def test_nobody_takes_the_seat_of_one_that_ended_for_good() -> None:
    assert shift(replicas(ACTIVE, Part.BROKEN), 2) == Shift()
    assert shift(replicas(ACTIVE, Part.BROKEN), 3) == Shift(submit=1)
    assert shift(replicas(ACTIVE, Part.BROKEN), 1) == Shift()


def test_a_drain_ends_with_the_last_request_or_with_its_time() -> None:
    found = replicas(ACTIVE, DRAINING, DRAINING, DRAINING)
    busy = {"s-1/1": True, "s-1/2": False, "s-1/3": None}
    assert drained(found, busy, now=100, drain_ms=1_000) == ("s-1/2",)
    assert drained(found, busy, now=1_010, drain_ms=1_000) == ("s-1/1", "s-1/2")
    assert drained(found, {}, now=1_030, drain_ms=1_000) == ("s-1/1", "s-1/2", "s-1/3")
