"""How far an attempt gets, and what survives its end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.worlds.simulated.samples import job

from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.workload import Checkpoint, PodSet
from ganglion.worlds.simulated.attempt import EarlierAttempts, SimulatedAttempt, Timing
from ganglion.worlds.simulated.work import Work, WorkRate

EVERY_30 = Checkpoint(interval_ms=30, grace_ms=20)
WHEN_TOLD = Checkpoint(interval_ms=0, grace_ms=20)


def worked(checkpoint: Checkpoint | None, ms: int, *, kept: int = 0, overhead: int = 0) -> Work:
    work = Work(kept, checkpoint, 1_000, 1, overhead)
    work.settle(1_000 + ms)
    return work


def test_a_gang_that_saves_by_itself_saves_at_every_interval_since_its_start() -> None:
    assert [worked(EVERY_30, ms).saved for ms in (29, 30, 59, 60, 100)] == [0, 30, 30, 60, 90]


def test_a_checkpoint_holds_the_work_done_by_then_and_none_of_the_overhead() -> None:
    work = worked(EVERY_30, 70, kept=60, overhead=15)
    assert (work.done, work.saved, work.overhead) == (60 + 55, 60 + 45, 15)


def test_what_earlier_attempts_saved_stays() -> None:
    assert worked(EVERY_30, 10, kept=60, overhead=15).saved == 60
    assert worked(WHEN_TOLD, 100, kept=60).saved == 60


def test_an_elastic_gang_works_in_proportion_to_its_pods() -> None:
    work = Work(0, None, 0, 4, 0)
    assert work.ends(400) == 100
    work.resize(50, 2, 0)
    assert work.ends(400) == 150
    work.resize(100, 3, 10)
    assert work.ends(400) == 110 + 34  # 100 units left at 3 per ms, rounded up


def test_a_gang_without_a_working_pod_never_ends() -> None:
    work = Work(0, None, 0, 1, 0)
    work.resize(10, 0, 0)
    assert work.ends(100) is None
    assert work.ends(10) == 10


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 8), st.integers(0, 20)), max_size=6),
    st.integers(1, 40),
)
def test_work_and_overhead_make_up_all_that_was_held(
    changes: list[tuple[int, int, int]], every: int
) -> None:
    at, work, held, rate = 0, Work(0, Checkpoint(interval_ms=every), 0, 3, 5), 0, 3
    for passed, new, cost in changes:
        at, held, rate = at + passed, held + passed * rate, new
        work.resize(at, new, cost)
    assert work.held == held == work.done + work.overhead
    assert 0 <= work.saved <= work.done
    assert work.done - work.saved <= every * 8


def test_only_pods_of_elastic_sets_make_a_gang_faster() -> None:
    sets = (PodSet("head"), PodSet("worker", count=4, min_count=1))
    elastic = job("a", sets=sets).gang
    pods = [PodPlacement("head", 0, "n"), *(PodPlacement("worker", i, "n") for i in range(3))]
    assert (WorkRate(elastic).full, WorkRate(elastic).rate(pods)) == (4, 3)
    rigid = job("b", pods=3).gang
    assert (WorkRate(rigid).full, WorkRate(rigid).rate(pods)) == (1, 1)


@pytest.mark.parametrize(
    ("contract", "timing", "leaves", "saves"),
    [
        (None, Timing(stop_ms=9), 0, False),
        (EVERY_30, Timing(), 20, False),
        (EVERY_30, Timing(stop_ms=9, save_on_stop=True), 9, True),
        (WHEN_TOLD, Timing(stop_ms=90), 20, True),
    ],
)
def test_contract_and_timing_say_how_a_gang_stops(
    contract: Checkpoint | None, timing: Timing, leaves: int, saves: bool
) -> None:
    stopped = job("a", checkpoint=contract)
    assert (timing.leaves_ms(stopped), timing.saves(stopped)) == (leaves, saves)


def test_only_a_gang_that_ran_before_pays_for_a_restart() -> None:
    past = EarlierAttempts()
    for overhead in (0, 7, 7):
        attempt = SimulatedAttempt(job("a", seconds=1), 1, Placement(()), past)
        attempt.begin(past, 100, restart_ms=7)
        assert attempt.ends() == (1_100 + overhead, True)
