"""Which replicas stand by, whichever host asks."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.services import Part, Replica
from ganglion.lifecycle.standby import (
    AT_RISK,
    PATIENCE_MS,
    ObservedStandby,
    Sleeper,
    StandbyDecision,
    Swap,
    decide,
)
from ganglion.model.behaviour import Scaling, Standby

NOTICE_MS = 60_000
A, S = Part.ACTIVE, Part.STANDBY


def wants(count: int, ceiling: int = 10) -> Scaling:
    return Scaling(ceiling=ceiling, standby=Standby(count, NOTICE_MS))


def seen(
    *parts: Part,
    placed: Mapping[int, bool] | None = None,
    stuck: Mapping[int, int] | None = None,
    notice_ms: int = NOTICE_MS,
) -> ObservedStandby:
    """Replicas 0, 1, .. with these parts; those that stand by have places but where it says."""
    has = {number: True for number, part in enumerate(parts) if part is S} | dict(placed or {})
    return ObservedStandby(
        [Replica(str(number), part) for number, part in enumerate(parts)],
        {str(number): Sleeper(notice_ms, place, 0) for number, place in has.items()},
        {str(number): at for number, at in (stuck or {}).items()},
        [str(number) for number, place in has.items() if place],
    )


def nothing() -> StandbyDecision:
    return StandbyDecision((), (), 0, NOTICE_MS, (), {})


def test_as_many_stand_by_as_are_asked_for_and_no_more_are_made_then() -> None:
    assert decide(seen(A), wants(2), 0).submit == 2
    assert decide(seen(A, S), wants(2), 0).submit == 1
    assert decide(seen(A, S, S), wants(2), 0) == nothing()


def test_the_ceiling_counts_those_that_are_active_and_the_latest_go_first() -> None:
    assert decide(seen(A, A), wants(2, ceiling=3), 0).submit == 1
    assert decide(seen(A, A, A), wants(2, ceiling=3), 0).submit == 0
    assert decide(seen(A, S, A, S, S), wants(3, ceiling=3), 0).end == ("3", "4")


@pytest.mark.parametrize("scaling", [None, Scaling(ceiling=10)])
def test_where_none_is_asked_for_all_of_them_go(scaling: Scaling | None) -> None:
    assert decide(seen(A, S, S), scaling, 0).end == ("1", "2")


def test_a_service_that_is_on_its_way_out_gets_none() -> None:
    assert decide(seen(Part.LEAVING, Part.BROKEN), wants(2), 0) == nothing()


def test_borrowers_get_the_time_that_the_service_says_now() -> None:
    found = decide(seen(A, S, S, S, notice_ms=5), wants(2), 0)
    assert (found.renotice, found.end, found.notice_ms) == (("1", "2"), ("3",), NOTICE_MS)


def test_one_that_finds_no_place_changes_its_part_with_the_best_that_has_one() -> None:
    found = decide(seen(A, A, S, S, placed={2: False}, stuck={0: 0, 1: 0}), wants(2), 0)
    assert found.swaps == (Swap("0", "3", NOTICE_MS),)
    assert (found.submit, found.end, found.renotice) == (0, (), ())


def test_an_alarm_counts_those_that_have_been_without_a_place_for_too_long() -> None:
    def alarms(now: int) -> Mapping[str, str]:
        return decide(seen(A, S, S, placed={1: False}), wants(2), now).alarms

    assert alarms(PATIENCE_MS - 1) == {}
    assert alarms(PATIENCE_MS) == {AT_RISK: "1 of 2 replicas that stand by have no place"}


def test_one_that_gave_its_part_away_counts_as_one_without_a_place_from_its_submission_on() -> None:
    found = decide(seen(A, S, stuck={0: 5}), wants(1), PATIENCE_MS + 4)
    assert (found.swaps, found.alarms) == ((Swap("0", "1", NOTICE_MS),), {})
    assert decide(seen(A, S, stuck={0: 5}), wants(1), PATIENCE_MS + 5).alarms.keys() == {AT_RISK}


@given(st.lists(st.sampled_from(Part), max_size=8), st.integers(1, 4), st.integers(1, 8))
def test_active_ones_and_those_that_stand_by_stay_within_the_ceiling(
    parts: list[Part], count: int, ceiling: int
) -> None:
    found = decide(seen(*parts), wants(count, ceiling), 0)
    active, asleep = parts.count(A), parts.count(S)
    after = asleep + found.submit - len(found.end)
    assert 0 <= after <= count
    assert not after or active + after <= ceiling
    assert not (found.submit and found.end)
