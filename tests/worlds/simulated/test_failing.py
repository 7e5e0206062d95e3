"""Pods that are replaced while the rest of their gang waits, nodes that fail often, crashes."""

from collections.abc import Iterable, Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples
from tests.worlds.simulated.samples import S, job, scenario

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.failures.guard import FleetGuard
from ganglion.model.events import Event, NodeCordoned
from ganglion.model.policy import Failures
from ganglion.model.workload import Checkpoint
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import DAY_MS, Dice, Faults
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.run import FinishedRun, simulate

HOUR_S = 3_600
RARE = Faults(seed=4, node_mtbf_ms=40 * HOUR_S * S, node_mttr_ms=2 * HOUR_S * S)
SLOW = Timing(restart_ms=600 * S, replace_ms=60 * S)


def training(*, in_place: bool, hours: int = 30) -> SimJob:
    made = job("w", gpus=8, pods=4, seconds=hours * HOUR_S, checkpoint=Checkpoint(HOUR_S * S))
    return SimJob(replace(made.gang, replace=in_place), made.duration_ms)


def run(*jobs: SimJob, nodes: int = 8, faults: Faults = RARE, timing: Timing = SLOW) -> FinishedRun:
    return simulate(scenario(*jobs, nodes=nodes, faults=faults, timing=timing), check=True)


def test_a_gang_that_can_take_it_goes_on_in_the_same_attempt() -> None:
    record = run(training(in_place=True)).collector.records["w/0"]
    assert record.attempts == 1
    assert record.lost_ms
    assert record.lost_ms % (60 * S) == 0
    assert record.ended == 30 * HOUR_S * S + record.lost_ms


def test_others_fall_back_to_their_checkpoint_and_start_anew() -> None:
    record = run(training(in_place=False)).collector.records["w/0"]
    assert record.attempts > 1
    assert record.lost_ms > (record.attempts - 1) * 600 * S


def test_replacing_in_place_loses_less_of_the_same_faults() -> None:
    losses = [
        run(training(in_place=each)).collector.records["w/0"].lost_ms for each in (True, False)
    ]
    assert losses[0] < losses[1] / 3


def test_without_a_node_to_spare_the_gang_waits_and_starts_anew() -> None:
    done = run(training(in_place=True), nodes=4)
    record = done.collector.records["w/0"]
    assert record.attempts > 1
    assert record.ended


@settings(max_examples=examples(12, nightly=500), deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 6), st.booleans())
def test_whatever_fails_the_state_stays_sound_and_the_work_is_done(
    seed: int, nodes: int, in_place: bool
) -> None:
    faults = Faults(
        seed=seed,
        node_mtbf_ms=15 * HOUR_S * S,
        node_mttr_ms=HOUR_S * S,
        device_mtbf_ms=80 * HOUR_S * S,
        device_mttr_ms=HOUR_S * S,
        lemons=0.3,
        crash_mtbf_ms=100 * HOUR_S * S,
    )
    timing = Timing(start_ms=30 * S, restart_ms=60 * S, replace_ms=20 * S, most_restarts=10_000)
    jobs = (
        SimJob(replace(each.gang, replace=in_place), each.duration_ms)
        for each in (
            job("a", gpus=8, pods=2, seconds=9 * HOUR_S, checkpoint=Checkpoint(600 * S)),
            job("b", gpus=4, pods=3, seconds=5 * HOUR_S, checkpoint=Checkpoint(600 * S)),
        )
    )
    records = run(*jobs, nodes=nodes, faults=faults, timing=timing).collector.records
    for record in records.values():
        assert record.ended
        held = record.ended - record.job.gang.submitted
        assert held >= (record.job.duration_ms or 0) + record.lost_ms


def test_lemons_fail_more_often_and_are_always_the_same() -> None:
    dice = Dice(Faults(seed=1, node_mtbf_ms=DAY_MS, lemons=0.2))
    names = [f"n{i}" for i in range(500)]
    lemons = [name for name in names if dice.is_lemon(name)]
    assert 60 < len(lemons) < 140
    assert lemons == [name for name in names if Dice(Faults(seed=1, lemons=0.2)).is_lemon(name)]
    sound = next(name for name in names if name not in lemons)
    stays = [mean(dice.node_up_ms(name) for _ in range(2000)) for name in (sound, lemons[0])]
    assert 7 < stays[0] / stays[1] < 14


def mean(values: Iterable[int] | Iterator[int]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def test_a_program_that_crashes_starts_again_from_its_checkpoint() -> None:
    faults = Faults(seed=2, crash_mtbf_ms=30 * HOUR_S * S)
    record = run(training(in_place=True), faults=faults).collector.records["w/0"]
    assert record.attempts > 1
    assert record.ended


class Closer:
    """A warden that shuts a node at a time."""

    def __init__(self) -> None:
        self.heard = 0
        self.done = False

    def note(self, event: Event) -> None:
        self.heard += 1

    def tend(self, _: ClusterState, now: int) -> list[Event]:
        if self.done or now < 50 * S:
            return []
        self.done = True
        return [NodeCordoned(now, "n0001", "closed")]

    def next_due(self, _now: int) -> int | None:
        return None if self.done else 50 * S


def test_a_warden_is_asked_when_it_wants_to_be_and_its_decisions_count() -> None:
    closer = Closer()
    jobs = [job("a", gpus=8, seconds=100), job("b", at=60, gpus=8, seconds=10)]
    done = simulate(scenario(*jobs, nodes=1, horizon=500), warden=closer)
    assert closer.done
    assert closer.heard
    assert done.collector.records["b/0"].first_start is None


def test_a_guard_keeps_gangs_off_the_nodes_that_fail_again_and_again() -> None:
    faults = replace(RARE, node_mtbf_ms=500 * HOUR_S * S, lemons=0.1, lemon_factor=100, seed=5)
    jobs = [job("w", gpus=8, pods=14, seconds=300 * HOUR_S, checkpoint=Checkpoint(HOUR_S * S))]
    plain = simulate(scenario(*jobs, nodes=20, faults=faults, timing=SLOW))
    lemons = [node.name for node in plain.scenario.nodes if Dice(faults).is_lemon(node.name)]
    assert lemons
    guard = FleetGuard(Failures(quarantine_after=2, most_permille=200))
    watched = simulate(scenario(*jobs, nodes=20, faults=faults, timing=SLOW), warden=guard)
    before, after = (each.collector.records["w/0"].lost_ms for each in (plain, watched))
    assert after < 0.7 * before
