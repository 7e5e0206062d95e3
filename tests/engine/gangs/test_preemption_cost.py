"""What stopping a gang costs."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import GangRecord
from ganglion.model.events import GangStarted, GangSubmitted
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.workload import Checkpoint
from tests.engine.build import gang, node, state_of, submit

MINUTE = 60_000
HOUR = 60 * MINUTE
NOW = 100 * HOUR


def running(left_ms: int, *, declared: bool = True, **more: object) -> GangRecord:
    """A gang that has run for ten hours and runs on for so long."""
    started = NOW - 10 * HOUR
    it = gang("g", time_limit_ms=10 * HOUR + left_ms if declared else 0, **more)
    place = Placement((PodPlacement("main", 0, "n", (0,), 1000),))
    return GangRecord(it, (), None, Phase.RUNNING, 1, place, started=started)


@given(st.integers(1, 100 * HOUR), st.integers(1, 100 * HOUR))
def test_the_sooner_a_gang_ends_by_itself_the_dearer_it_is_and_at_most_ten_times(
    one: int, other: int
) -> None:
    later, sooner = (
        preemption_cost.of_victim(running(left), NOW, MINUTE)
        for left in (max(one, other), min(one, other))
    )
    lost = preemption_cost.of_gang(running(one), NOW, MINUTE)
    assert lost <= later <= sooner <= 10 * lost
    if min(one, other) >= HOUR:
        assert sooner == lost


@given(st.integers(1, 100 * HOUR))
def test_without_a_declared_end_a_gang_costs_what_it_loses(left: int) -> None:
    record = running(left, declared=False)
    assert preemption_cost.of_victim(record, NOW, MINUTE) == preemption_cost.of_gang(
        record, NOW, MINUTE
    )


def test_of_two_gangs_that_lose_the_same_the_one_that_runs_on_is_stopped() -> None:
    state = state_of(node("n", gpus=2))
    saves = Checkpoint(interval_ms=10 * MINUTE)
    submit(
        state,
        gang("ends", time_limit_ms=125 * MINUTE, checkpoint=saves),
        gang("goes-on", time_limit_ms=48 * HOUR, checkpoint=saves),
    )
    for name in ("ends", "goes-on"):
        state.apply(GangStarted(1, f"{name}/0", 1))
    now = 120 * MINUTE
    plan = cycle(state, [GangSubmitted(now, gang("urgent", priority=90, submitted=now))], now)
    assert [stop.gang for stop in plan.stops] == ["goes-on/0"]
