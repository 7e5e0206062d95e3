"""What queues were owed and had, and unused GPUs: on cases worked out by hand."""

import pytest

from benchmarks.common.bands import Told
from benchmarks.common.drive import Course
from benchmarks.packing.unused_gpus import Idle
from benchmarks.tenants.owed import Owed, jain
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Event, GangEnded, GangSubmitted, Outcome, StartExpected
from ganglion.model.placement import Placement
from ganglion.model.plan import Plan, Start, Stop
from ganglion.model.workload import Gang
from ganglion.worlds.simulated.job import Shapes, SimJob

SECOND = 1000


def gang(name: str, queue: str, gpus: int) -> Gang:
    return Gang(f"{name}/0", name, queue, pod_sets=Shapes().gpus(gpus))


def plan(at: int, *starts: Gang, stops: tuple[Gang, ...] = ()) -> Plan:
    made = Plan(at * SECOND)
    made.starts = [Start(each, 1, Placement(())) for each in starts]
    made.stops = [Stop(each.id, 1, Cause(CauseKind.RECLAIMED)) for each in stops]
    return made


def submitted(*gangs: Gang) -> list[Event]:
    return [GangSubmitted(0, each) for each in gangs]


def ended(of: Gang) -> GangEnded:
    return GangEnded(0, of.id, 1, Outcome.SUCCEEDED)


def test_jain_is_one_for_equals_and_one_nth_when_one_has_everything() -> None:
    assert jain([0.5, 0.5, 0.5]) == pytest.approx(1.0)
    assert jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)


def test_a_shortage_lasts_from_the_wish_within_quota_to_its_fulfilment() -> None:
    state, owed = ClusterState(), Owed({"a": 4, "b": 4})
    borrows, wants = gang("x", "b", 8), gang("y", "a", 4)
    owed.look(state, submitted(borrows), plan(0, borrows))
    owed.look(state, submitted(wants), plan(10))
    owed.look(state, [], plan(70, wants, stops=(borrows,)))
    found = owed.figures()
    assert found["shortages"] == 1
    assert found["time_to_reclaim_max_s"] == 60


def test_a_wish_beyond_quota_is_no_shortage() -> None:
    state, owed = ClusterState(), Owed({"a": 4})
    runs, wants = gang("x", "a", 3), gang("y", "a", 2)
    owed.look(state, submitted(runs, wants), plan(0, runs))
    owed.look(state, [ended(runs)], plan(50, wants))
    assert owed.figures()["shortages"] == 0


def test_a_share_counts_against_what_is_wanted_when_that_is_less() -> None:
    state, owed = ClusterState(), Owed({"a": 4, "b": 4})
    small, other = gang("x", "a", 1), gang("y", "b", 4)
    owed.look(state, submitted(small, other), plan(0, small))
    owed.look(state, [], plan(100, other))
    assert owed.figures()["share_over_entitlement"] == {"a": 1.0, "b": 0.0}


def test_idle_gpus_count_only_while_somebody_waits_for_one() -> None:
    state, idle = ClusterState(), Idle(8000, 0, 100 * SECOND)
    first, second = gang("x", "q", 4), gang("y", "q", 8)
    idle.look(state, submitted(first), plan(0, first))
    idle.look(state, submitted(second), plan(20))
    idle.look(state, [ended(first)], plan(60, second))
    idle.look(state, [ended(second)], plan(100))
    found = idle.figures()
    assert found["unallocated_pct_while_waiting"] == pytest.approx(50)
    assert found["waiting_pct"] == pytest.approx(40)
    assert found["allocated_pct"] == pytest.approx(100 * (4 * 60 + 8 * 40) / 800)


def test_the_first_band_told_is_the_one_that_counts() -> None:
    state, told = ClusterState(), Told()
    late, early = gang("x", "q", 1), gang("y", "q", 1)
    made = plan(0)
    made.decisions = [StartExpected(0, late.id, 10, 20, 10)]
    told.look(state, [], made)
    made.decisions = [StartExpected(5, late.id, 90, 99, 10)]
    told.look(state, [], made)
    courses = [Course(SimJob(late, 1), started=15), Course(SimJob(early, 1), started=0)]
    assert told.scored(courses) == {
        "bands": 1,
        "held_p50_pct": 0.0,
        "held_p90_pct": 100.0,
        "all_p90_pct": 100.0,
    }
