"""What first come, first served would do: waits from the work that is there."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.timesharing.first_come import FEWEST, SPAN, FirstCome
from ganglion.engine.timesharing.service_levels import prior
from ganglion.engine.timesharing.time_sharers import SharingPool
from tests.engine.build import gang

HOUR = 3_600_000
GPU_HOUR = 1_000 * HOUR


def look(found: FirstCome, begun: list[int], live: int, now: int) -> None:
    """As the pool of gangs asks it: on 4 GPUs that are held."""
    found.hold(4_000)
    if found.is_due:
        found.look(begun, live, now)


def learnt(hours: int = 1, count: int = FEWEST) -> FirstCome:
    """Jobs of one GPU that took so long have ended, on 4 GPUs."""
    found = FirstCome()
    look(found, [0] * 4, 4, 0)
    for number in range(count):
        found.ended(f"old{number}", hours * GPU_HOUR, hours * HOUR)
    return found


def test_nothing_is_said_before_enough_gangs_have_ended() -> None:
    found = learnt(count=FEWEST - 1)
    found.came("new", 0)
    look(found, [], 100, HOUR)
    assert found.longest == 0


def test_a_gang_waits_until_the_work_that_is_there_is_done() -> None:
    found = learnt()
    found.came("new", 0)
    look(found, [], 40, 0)
    assert found.longest == 10 * HOUR, "40 GPU-hours on 4 GPUs"
    found.ended("new", 2 * GPU_HOUR, 2 * HOUR)
    assert found.longest == 12 * HOUR, "and its own run time"


def test_what_has_had_much_is_expected_to_take_as_much_again() -> None:
    found = learnt()
    found.came("new", 0)
    look(found, [100 * GPU_HOUR], 1, 0)
    assert found.longest == 25 * HOUR


def test_gangs_that_came_before_anything_was_known_are_estimated_later() -> None:
    found = FirstCome()
    found.came("early", 0)
    look(found, [0] * 4, 5, 0)
    for number in range(FEWEST):
        found.ended(f"old{number}", GPU_HOUR, HOUR)
    look(found, [], 1, 5 * HOUR)
    assert found.longest == 5 * HOUR + HOUR // 4


def test_a_gang_that_is_listed_again_keeps_its_estimate() -> None:
    found = learnt()
    found.came("new", 0)
    look(found, [], 4, 0)
    found.came("new", 0)
    found.keep(("new",))
    look(found, [], 4, 1_000 * HOUR)
    assert found.longest == HOUR


@given(st.integers(0, 3))
def test_what_was_long_ago_is_forgotten(spans: int) -> None:
    found = learnt(hours=1_000)
    for number in range(SPAN * spans):
        found.ended(f"later{number}", GPU_HOUR, HOUR)
    assert found.longest == (1_000 * HOUR if spans < 2 else HOUR)


def test_what_is_saved_goes_on_as_before() -> None:
    found, other = learnt(), FirstCome()
    found.came("new", 0)
    look(found, [], 40, 0)
    other.take(found.learnt())
    other.ended("new", 2 * GPU_HOUR, 2 * HOUR)
    assert other.longest == 12 * HOUR


def test_what_a_pool_holds_is_counted_again_after_every_change() -> None:
    pool = SharingPool(0, prior(1))
    for number, most in ((1, 2_000), (2, 5_000)):
        pool.run(GangRecord(gang(f"g{number}", gpus=number + 1), (), None))
        pool.compare(number)
        assert held(pool) == most
    pool.rest("g1/0")
    pool.fifo = FirstCome()
    pool.compare(3)
    assert held(pool) == 3_000, "a new span has not seen the other"


def held(pool: SharingPool) -> int:
    """The most that gangs of a pool held at once, in thousandths of GPUs."""
    _, _, (*_, milli), _ = pool.fifo.learnt()
    return milli
