"""World and engine together."""

from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.worlds.simulated.samples import S, job, scenario

from ganglion.model.errors import Conflict
from ganglion.model.events import Event, GangEnded, Outcome
from ganglion.model.plan import Phase, Plan
from ganglion.model.queue import Queue
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import PRESETS, Faults
from ganglion.worlds.simulated.metrics.fragmentation import NodeRoom
from ganglion.worlds.simulated.run import FinishedRun, simulate
from ganglion.worlds.simulated.scenario import SimulatedScenario, with_queues_of
from ganglion.worlds.simulated.setup.cluster import build_nodes, equal_quotas
from ganglion.worlds.simulated.setup.synthetic import TEAMS, synthetic_jobs

HOUR = 3_600 * S


def outcomes(run: FinishedRun) -> Counter[Outcome | None]:
    return Counter(record.outcome for record in run.collector.records.values())


def test_jobs_wait_for_each_other_as_counted_by_hand() -> None:
    # two jobs of 8 GPUs on one node of 8: the second starts when the first is over
    run = simulate(scenario(job("a", gpus=8), job("b", at=40, gpus=8, seconds=50)), check=True)
    first, second = run.collector.records.values()
    assert (first.wait_ms, first.jct_ms) == (0, 100 * S)
    assert (second.wait_ms, second.jct_ms) == (60 * S, 110 * S)
    assert run.ended == 150 * S
    assert run.collector.used.total == 8_000 * 150 * S
    assert run.collector.waiting.total == 60 * S
    (cause,) = run.waits.causes.values()
    assert (cause.gangs, cause.waited_ms, cause.gang) == (1, 60 * S, "b/0")


def test_headroom_and_fragments_follow_what_runs() -> None:
    # 6 of 8 GPUs are taken for 100 s; 8-GPU pods are half of the typical ones
    run = simulate(scenario(job("a", gpus=6), job("b", at=100, gpus=8)), check=True)
    collector = run.collector
    assert collector.headroom.total == 2 * 100 * S
    assert collector.free.total == 2_000 * 100 * S
    # neither the 6-GPU nor the 8-GPU pod can use the 2 that are free: all of it is fragment
    assert collector.fragment.total == collector.free.total * collector.fragments.weight


def test_headroom_is_what_wholly_free_nodes_have_or_the_largest_hole() -> None:
    # three nodes, one of them partly used for 100 s: two whole ones are left; then a gang of
    # two whole nodes beside it for 50 s leaves the hole of 2 GPUs
    jobs = (job("a", gpus=6), job("b", at=50, gpus=8, pods=2, seconds=50))
    collector = simulate(scenario(*jobs, nodes=3), check=True).collector
    assert collector.headroom.total == (16 * 50 + 2 * 50) * S


def test_a_job_that_can_never_start_is_reported_and_stops_nobody() -> None:
    run = simulate(scenario(job("huge", gpus=8, pods=3), job("a", at=1)), check=True)
    assert list(run.never) == ["huge/0"]
    assert "24 GPUs" in run.never["huge/0"]
    assert outcomes(run) == {Outcome.CANCELLED: 1, Outcome.SUCCEEDED: 1}
    assert run.collector.records["huge/0"].withdrawn


def test_a_job_whose_dependency_failed_does_not_hang_the_run() -> None:
    run = simulate(scenario(job("a", seconds=10, limit=5), job("b", after=("a",))), check=True)
    assert run.collector.records["a/0"].outcome is Outcome.TIMED_OUT
    assert run.collector.records["b/0"].first_start is None


def test_the_horizon_cuts_a_run_off() -> None:
    run = simulate(scenario(job("a", seconds=100), job("b", at=500), horizon=60), check=True)
    assert run.ended == 60 * S
    assert run.collector.running.value == 1
    assert list(run.collector.records) == ["a/0"]


def test_late_starts_hold_resources_but_do_no_work() -> None:
    run = simulate(scenario(job("a"), timing=Timing(start_ms=20 * S)), check=True)
    assert run.collector.records["a/0"].wait_ms == 20 * S
    assert run.ended == 120 * S
    assert run.collector.used.total == 1_000 * 120 * S


def test_a_failed_start_is_tried_again_after_its_back_off() -> None:
    faults = Faults(seed=1, start_failure=0.5)
    run = simulate(scenario(*(job(f"j{i}") for i in range(8)), faults=faults), check=True)
    assert outcomes(run) == {Outcome.SUCCEEDED: 8}
    failed = run.collector.counts.interruptions[Outcome.START_FAILED]
    assert failed > 0
    assert sum(record.attempts for record in run.collector.records.values()) == 8 + failed
    assert all(
        record.wait_ms in (0, *(1_000 * (2**n - 1) for n in range(1, 7)))
        for record in run.collector.records.values()
    )


def faulty(seed: int, faults: Faults, jobs: int = 60) -> SimulatedScenario:
    nodes = build_nodes(4, 8, 2)
    return SimulatedScenario(
        nodes=nodes,
        queues=equal_quotas(TEAMS, nodes),
        jobs=tuple(synthetic_jobs(jobs, seed, gpus=32)),
        timing=Timing(start_ms=2 * S, restart_ms=60 * S),
        faults=faults,
    )


BAD = Faults(
    node_mtbf_ms=30 * HOUR,
    node_mttr_ms=2 * HOUR,
    device_mtbf_ms=100 * HOUR,
    device_mttr_ms=2 * HOUR,
    late_start=0.3,
    late_start_ms=600 * S,
    start_failure=0.1,
    lost=0.2,
    reconcile_ms=300 * S,
    duplicated=0.3,
    window_ms=400 * S,
)
"""Everything at once, and often."""


@pytest.fixture
def no_device_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail as soon as more of a node is really in use than it has."""
    take = NodeRoom.take

    def checked(self: NodeRoom, *args: Any) -> int:
        taken = take(self, *args)
        assert min(self.free) >= 0
        assert max(self.free) <= 1_000
        assert 0 <= self.cpu <= self.node.cpu_milli
        assert 0 <= self.memory <= self.node.memory_mib
        return taken

    monkeypatch.setattr(NodeRoom, "take", checked)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("no_device_twice")
def test_under_faults_every_job_ends_exactly_once_and_invariants_hold(seed: int) -> None:
    final: dict[str, set[int]] = defaultdict(set)
    started: Counter[str] = Counter()

    def observe(events: list[Event], plan: Plan) -> None:
        # a report may arrive twice: what counts is which attempt it is about
        for event in events:
            if isinstance(event, GangEnded) and not event.requeue:
                final[event.gang].add(event.attempt)
        started.update(start.gang.id for start in plan.starts)

    given_faults = Faults(
        **{name: getattr(BAD, name) for name in Faults.__struct_fields__ if name != "seed"},
        seed=seed,
    )
    run = simulate(faulty(seed, given_faults), check=True, observe=observe)
    counts = run.collector.counts
    assert counts.node_losses > 0
    assert counts.interruptions
    assert {gang: len(attempts) for gang, attempts in final.items()} == dict.fromkeys(
        run.collector.records, 1
    )
    assert started == {gang: record.attempts for gang, record in run.collector.records.items()}
    assert all(record.ended is not None for record in run.collector.records.values())
    assert all(record.phase is Phase.ENDED for record in run.state.gangs.records.values())
    assert run.collector.done == len(run.scenario.jobs)
    assert run.collector.used.value == run.collector.running.value == 0
    # what the engine believes of each job is what really happened
    assert {gang: record.outcome for gang, record in run.state.gangs.records.items()} == {
        gang: record.outcome for gang, record in run.collector.records.items()
    }


@settings(max_examples=examples(8, nightly=300))
@given(
    st.integers(0, 10_000),
    st.builds(
        Faults,
        seed=st.integers(0, 99),
        node_mtbf_ms=st.sampled_from([0, 5 * HOUR, 50 * HOUR]),
        device_mtbf_ms=st.sampled_from([0, 20 * HOUR]),
        late_start=st.sampled_from([0.0, 0.5]),
        start_failure=st.sampled_from([0.0, 0.3]),
        lost=st.sampled_from([0.0, 0.3]),
        duplicated=st.sampled_from([0.0, 0.5]),
        window_ms=st.sampled_from([0, 1_000, HOUR]),
    ),
)
def test_any_mix_of_faults_leaves_engine_and_world_in_agreement(seed: int, faults: Faults) -> None:
    run = simulate(faulty(seed, faults, jobs=15), check=True)
    assert all(record.ended is not None for record in run.collector.records.values())
    assert all(record.phase is Phase.ENDED for record in run.state.gangs.records.values())


def test_equal_scenarios_have_equal_plans() -> None:
    def plans() -> list[Plan]:
        seen: list[Plan] = []
        simulate(faulty(4, PRESETS["heavy"]), observe=lambda _, plan: seen.append(plan))
        return seen

    assert plans() == plans()


def test_progress_ends_with_all_jobs_done() -> None:
    told: list[tuple[int, int, int]] = []
    simulate(scenario(job("a"), job("b", at=3)), progress=lambda *each: told.append(each))
    assert told[-1] == (2, 2, 103 * S)


def test_queues_that_only_the_jobs_name_are_shared_without_quota() -> None:
    queues = (Queue("org"), Queue("team", parent="org"))
    jobs = [job("a", queue="team"), job("b", queue="new")]
    assert [queue.name for queue in with_queues_of(queues, jobs)] == ["org", "team", "new"]
    with pytest.raises(Conflict, match="org"):
        with_queues_of(queues, [job("c", queue="org")])


def test_a_job_that_waits_behind_one_without_an_end_does_not_keep_a_run_going() -> None:
    run = simulate(scenario(job("a", gpus=8, seconds=None), job("b", at=5, gpus=8)), check=True)
    assert run.ended == 5 * S
    assert run.collector.waiting.value == run.collector.running.value == 1
