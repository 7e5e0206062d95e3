"""The service of a running attempt: what is worked out once holds at every later time."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.engine.gangs.preemption_cost import attained
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.timesharing.running_attempt import RunningAttempt
from ganglion.engine.timesharing.service_levels import FEWEST, Levels, learnt
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase
from tests.engine.build import gang

BEGAN = 1_000
LEVELS = Levels((0, 50_000, 90_000, 200_000), (0, 5, 2, 7), slice_ms=20, apart=2)
"""Learnt levels may fall."""


def running(gpus: int = 2, attained: int = 0) -> GangRecord:
    pods = (PodPlacement("main", 0, "n0", tuple(range(gpus)), 1_000),)
    return GangRecord(
        gang("a", gpus=gpus),
        (),
        None,
        Phase.RUNNING,
        placement=Placement(pods),
        placed_at=BEGAN,
        started=BEGAN,
        attained=attained,
    )


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 10**7), min_size=FEWEST + 1, max_size=40),
    st.integers(0, 10**7),
    st.lists(st.tuples(st.integers(0, 20), st.integers(BEGAN, 10_000)), max_size=20),
)
def test_what_is_known_of_an_attempt_is_what_a_new_look_at_it_finds(
    services: list[int], before: int, asked: list[tuple[int, int]]
) -> None:
    levels, record = learnt(sorted(services), restart_ms=1), running(attained=before)
    known = RunningAttempt(record, levels)
    for level, now in asked:
        assert known.service(now) == attained(record, now)
        assert known.level(now) == levels.level(record, now)
        assert known.passes(level, now) == RunningAttempt(record, levels).passes(level, now)


def test_an_attempt_yields_from_the_first_time_at_which_it_is_above_the_others() -> None:
    record = running()
    known = RunningAttempt(record, LEVELS)
    high = [at for at in range(BEGAN, 1_200) if LEVELS.level(record, at) >= 3 + LEVELS.apart]
    assert known.passes(3, BEGAN) == high[0] == BEGAN + 25
    assert known.passes(3, high[0]) == high[0]
    lower = next(at for at in range(high[0], 1_200) if at not in high)
    assert known.passes(3, lower) == BEGAN + 100, "it fell to a lower level in between"
    assert known.passes(6, lower) is None, "no level is so high"


@pytest.mark.parametrize(
    "change",
    [
        lambda record: setattr(record, "attained", 60_000),
        lambda record: setattr(record, "started", BEGAN + 1),
        lambda record: setattr(record, "placement", running(1).placement),
    ],
)
def test_what_is_known_holds_for_the_attempt_and_its_size_alone(
    change: Callable[[GangRecord], None],
) -> None:
    record = running()
    known = RunningAttempt(record, LEVELS)
    assert known.is_of(record, LEVELS)
    assert not known.is_of(record, replace(LEVELS, slice_ms=1))
    change(record)
    assert not known.is_of(record, LEVELS)
