"""What runs once a budget is spent leaves at its next checkpoint, and starts again by itself."""

from msgspec.structs import replace
from tests.worlds.simulated.samples import S, job, scenario

from ganglion.model.causes import CauseKind
from ganglion.model.events import (
    BudgetRaised,
    BudgetSet,
    Event,
    GangEnded,
    GangStarted,
    GangStopping,
    Outcome,
    PriceSet,
)
from ganglion.model.fleet.price import Price
from ganglion.model.plan import Plan
from ganglion.model.queue import Budget
from ganglion.model.workload import Checkpoint, Kind
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.run import simulate

HOUR = 3_600
SECOND = 1_000
"""Millionths that 8 GPUs cost in one second."""
PRICE = PriceSet(0, Price("GPU", 0, SECOND * HOUR // 8, currency="EUR"))


def lived(
    *jobs: SimJob,
    budget: int,
    grace: int = 60,
    more: tuple[Event, ...] = (),
    horizon: int | None = 9_000,
) -> list[Event]:
    """What happens on one node of 8 GPUs with a budget for `budget` s of it."""
    happened = list[Event]()

    def note(events: list[Event], plan: Plan) -> None:
        happened.extend((*events, *plan.decisions))

    given = scenario(*jobs, horizon=horizon)
    held = BudgetSet(0, Budget("q", budget * SECOND, grace_ms=grace * S))
    simulate(replace(given, facts=(PRICE, held, *more)), observe=note, check=True)
    return happened


def times(happened: list[Event], kind: type[Event], name: str) -> list[int]:
    """When that happened to a job, in s."""
    return [e.at // S for e in happened if isinstance(e, kind) and getattr(e, "gang", "") == name]


def work(
    name: str,
    *,
    gpus: int = 8,
    interval: int = 0,
    limit: int = 0,
    floor: int = -1,
    seconds: int = 5_000,
) -> SimJob:
    """A job that comes at 10 s; `floor`: it is a replica of a service."""
    saves = Checkpoint(interval * S, grace_ms=0) if interval else None
    made = job(name, at=10, gpus=gpus, seconds=seconds, checkpoint=saves, limit=limit)
    kind = {"kind": Kind.SERVICE, "workload": "service", "floor": floor} if floor >= 0 else {}
    return replace(made, gang=replace(made.gang, **kind))


def test_what_saves_leaves_at_its_next_checkpoint_after_the_grace_and_goes_on_when_it_may() -> None:
    more = (BudgetRaised(5_000 * S, 1, "q", 5_000 * SECOND),)
    happened = lived(work("a", interval=100), budget=3_700, more=more)
    (stop,) = (each for each in happened if isinstance(each, GangStopping))
    assert (stop.cause.kind, stop.cause.name) == (CauseKind.BUDGET_SPENT, "q")
    assert times(happened, GangStopping, "a/0") == [3_776]
    assert times(happened, GangStarted, "a/0") == [10, 5_000]
    lost = 66_250 * 8  # a checkpoint is certainly over after as long, and then it leaves
    first, last = (each for each in happened if isinstance(each, GangEnded))
    assert (first.outcome, first.requeue, first.lost_gpu_ms) == (Outcome.SUSPENDED, True, lost)
    assert (last.outcome, last.at) == (Outcome.SUCCEEDED, 6_300 * S)


def test_what_saves_nothing_leaves_when_the_grace_is_over_unless_it_has_a_time_limit() -> None:
    both = work("lost", gpus=4, seconds=9_000), work("limited", gpus=4, seconds=9_000, limit=6_000)
    happened = lived(*both, budget=5_000)
    assert times(happened, GangStopping, "lost/0") == [5_070]
    assert not times(happened, GangStopping, "limited/0")
    lost, timed_out = (each for each in happened if isinstance(each, GangEnded))
    assert lost.lost_gpu_ms == 5_060 * 4 * S
    assert (timed_out.outcome, timed_out.at) == (Outcome.TIMED_OUT, 6_010 * S)


def test_replicas_up_to_the_floor_of_a_service_go_on_and_all_of_one_that_does_not_scale() -> None:
    replicas = tuple(work(f"r{n}", gpus=2, floor=1) for n in range(3))
    happened = lived(*replicas, budget=3_000, horizon=5_000)
    stopped = {each.gang for each in happened if isinstance(each, GangStopping)}
    assert stopped == {"r1/0", "r2/0"}
    replicas = tuple(work(f"r{n}", gpus=2, floor=0) for n in range(3))
    happened = lived(*replicas, budget=3_000, horizon=5_000)
    assert not any(isinstance(each, GangStopping) for each in happened)


def test_a_budget_that_is_raised_within_the_grace_stops_nothing() -> None:
    more = (BudgetRaised(3_730 * S, 1, "q", 5_000 * SECOND),)
    happened = lived(work("a", interval=100), budget=3_700, more=more)
    assert times(happened, GangStarted, "a/0") == [10]
    assert not times(happened, GangStopping, "a/0")
    assert times(happened, GangEnded, "a/0") == [5_010]


def test_what_ends_at_the_moment_at_which_it_is_due_just_ends() -> None:
    happened = lived(work("a"), budget=4_940)
    assert times(happened, GangEnded, "a/0") == [5_010]
    assert [e.outcome for e in happened if isinstance(e, GangEnded)] == [Outcome.SUCCEEDED]


def test_a_price_that_rises_and_one_that_differs_by_hours_spend_it_sooner() -> None:
    dearer = PriceSet(1_000 * S, replace(PRICE.price, since_ms=1_000 * S, micro=900_000))
    happened = lived(work("a", interval=100), budget=8_000, more=(dearer,))
    assert times(happened, GangStopping, "a/0") == [4_576]
    night = PriceSet(1, replace(PRICE.price, micro=900_000, end_min=60, zone="UTC"))
    happened = lived(work("a", interval=100), budget=8_000, more=(night,))
    assert times(happened, GangStopping, "a/0") == [4_576]


def test_a_run_without_a_horizon_ends_while_work_waits_for_its_budget() -> None:
    happened = lived(work("a", interval=100), budget=3_700, horizon=None)
    assert times(happened, GangStopping, "a/0") == [3_776]
    assert times(happened, GangStarted, "a/0") == [10]
