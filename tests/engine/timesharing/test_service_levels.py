"""Levels of attained service: learnt as Gittins indexes of what has ended."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ganglion.engine.runtimes.history import RunTimeHistory
from ganglion.engine.timesharing import service_levels
from ganglion.model.resources import WHOLE

HOUR = 3_600_000
RESTART = 60_000
UNIT = service_levels.RESTARTS * RESTART * WHOLE


def gpu_hours(*hours: float) -> list[int]:
    return sorted(round(each * HOUR * WHOLE) for each in hours)


@settings(deadline=None)
@given(st.lists(st.integers(1, 10**12), min_size=service_levels.FEWEST + 1, max_size=64))
def test_levels_are_the_gittins_index_to_within_half_a_level(services: list[int]) -> None:
    services.sort()
    history = RunTimeHistory()
    for each in services:
        history.add(each)
    levels = service_levels.learnt(services, RESTART)
    fresh = (history.gittins(0) // UNIT).bit_length()
    for service in (0, *services):
        known = service < services[-service_levels.FEWEST]
        index = history.gittins(service) if known else service
        level = levels.of(service) + fresh
        lower = UNIT << level >> 1 if level else 0
        assert 3 * lower <= 4 * index
        assert 2 * index < 3 * (UNIT << level)


@settings(deadline=None)
@given(st.lists(st.integers(1, 10**12), min_size=service_levels.FEWEST + 1, max_size=64))
def test_a_level_differs_from_the_one_before_it(services: list[int]) -> None:
    levels = service_levels.learnt(sorted(services), RESTART)
    assert levels.bounds[0] == levels.levels[0] == 0
    assert list(levels.bounds) == sorted(set(levels.bounds))
    for bound in levels.bounds[1:]:
        assert levels.of(bound - 1) != levels.of(bound)


def test_gangs_of_one_known_length_do_not_take_turns() -> None:
    levels = service_levels.learnt(gpu_hours(*[6.0] * 30), RESTART)
    assert levels.of(gpu_hours(5.9)[0]) == 0, "an equal that has not run passes none of them"
    assert levels.of(gpu_hours(9)[0]) > 0, "one that turns out to be longer yields"


def test_where_most_are_short_a_long_one_yields_soon() -> None:
    levels = service_levels.learnt(gpu_hours(*[0.1] * 90, *[100] * 10), RESTART)
    assert levels.of(gpu_hours(0.2)[0]) > 0


def test_the_oldest_services_are_forgotten() -> None:
    services: list[int] = []
    recent: list[int] = []
    for value in range(10):
        service_levels.insert(services, recent, [9 - value], window=4)
    assert (services, recent) == ([0, 1, 2, 3], [3, 2, 1, 0])


def test_a_gang_does_not_yield_for_a_small_difference() -> None:
    levels = service_levels.learnt(gpu_hours(*[1, 2, 4, 8, 16, 32] * 4), RESTART)
    assert levels.apart == service_levels.APART > 1
    assert service_levels.fixed(HOUR).apart == 1, "a given quantum is exact"
