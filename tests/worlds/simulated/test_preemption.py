"""World and engine together, where gangs are stopped for others."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.worlds.simulated.samples import S, job, scenario

from ganglion.model.events import Event, Outcome
from ganglion.model.plan import Phase, Plan
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Checkpoint, PodSet
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import Faults
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.report.summary import as_json, summarise
from ganglion.worlds.simulated.run import simulate

EVERY_30 = Checkpoint(interval_ms=30 * S, grace_ms=10 * S)


def low_and_high(checkpoint: Checkpoint | None) -> tuple[SimJob, SimJob]:
    """One takes the whole node; another one, more urgent, comes after 50 s."""
    return (
        job("low", gpus=8, checkpoint=checkpoint),
        job("high", at=50, gpus=8, seconds=20, priority=90),
    )


@pytest.mark.parametrize(
    ("checkpoint", "starts", "lost"),
    [(None, 50, 50), (EVERY_30, 60, 0), (Checkpoint(grace_ms=10 * S), 60, 0)],
)
def test_an_urgent_job_starts_when_its_victim_has_left(
    checkpoint: Checkpoint | None, starts: int, lost: int
) -> None:
    timing = Timing(restart_ms=5 * S)
    run = simulate(scenario(*low_and_high(checkpoint), timing=timing), check=True)
    low, high = run.collector.records.values()
    assert high.first_start == starts * S
    assert low.preemptions == 1
    # what is left of its work, after the urgent one and its own restart
    saved = 60 if checkpoint else 0
    assert low.ended == (starts + 20 + 5 + 100 - saved) * S
    assert low.lost_ms == (lost + 5) * S
    part = summarise(run).preemption
    assert (part.preempted, part.lost_unit_hours * 3_600_000) == (1, (lost + 5) * 8 * S)


def test_who_holds_a_promise_counts_as_waiting() -> None:
    run = simulate(scenario(*low_and_high(EVERY_30), horizon=55), check=True)
    assert run.state.gangs.records["high/0"].phase is Phase.RESERVED
    summary = summarise(run)
    assert (summary.jobs.running, summary.jobs.waiting) == (1, 1)
    assert any(cause.gang == "high/0" for cause in run.waits.causes.values())


def test_the_figures_of_preemption_are_in_the_json_file() -> None:
    data = as_json(summarise(simulate(scenario(*low_and_high(None)), check=True)))
    assert data["preemption"]["preempted"] == 1
    assert data["preemption"]["lost_unit_hours"] == data["damage"]["lost_unit_hours"] > 0
    assert data["damage"]["interruptions"] == {"preempted": 1}


JOBS = st.lists(
    st.builds(
        lambda at, gpus, seconds, priority, every, elastic: (
            at,
            gpus,
            seconds,
            priority,
            every,
            elastic,
        ),
        st.integers(0, 200),
        st.sampled_from([1, 2, 4, 8]),
        st.integers(1, 120),
        st.sampled_from([10, 50, 90]),
        st.sampled_from([None, 0, 20]),
        st.booleans(),
    ),
    min_size=2,
    max_size=12,
)


def drawn(rows: list[tuple[int, int, int, int, int | None, bool]]) -> list[SimJob]:
    """Jobs from rows, by submit time."""
    found = []
    for number, (at, gpus, seconds, priority, every, elastic) in enumerate(sorted(rows, key=str)):
        contract = None if every is None else Checkpoint(interval_ms=every * S, grace_ms=5 * S)
        one = PodSet(count=gpus, min_count=1, request=PodRequest(gpu=GpuRequest(1)))
        found.append(
            job(
                f"j{number}",
                at=at,
                gpus=min(gpus, 4),
                seconds=seconds,
                priority=priority,
                checkpoint=contract,
                sets=(one,) if elastic else (),
            )
        )
    return sorted(found, key=lambda each: each.gang.submitted)


@settings(max_examples=examples(12, nightly=500))
@given(
    JOBS,
    st.builds(
        Faults,
        seed=st.integers(0, 99),
        node_mtbf_ms=st.sampled_from([0, 300 * S]),
        node_mttr_ms=st.just(50 * S),
        start_failure=st.sampled_from([0.0, 0.2]),
        lost=st.sampled_from([0.0, 0.3]),
        duplicated=st.sampled_from([0.0, 0.5]),
        window_ms=st.sampled_from([0, 20 * S]),
    ),
    st.builds(
        Timing,
        start_ms=st.sampled_from([0, 2 * S]),
        restart_ms=st.just(3 * S),
        resize_ms=st.sampled_from([0, 2 * S]),
        report_checkpoints=st.booleans(),
    ),
)
def test_with_preemption_and_faults_every_job_ends_once_and_all_agree(
    rows: list[tuple[int, int, int, int, int | None, bool]], faults: Faults, timing: Timing
) -> None:
    run = simulate(
        scenario(*drawn(rows), nodes=2, gpus=4, faults=faults, timing=timing), check=True
    )
    assert all(record.ended is not None for record in run.collector.records.values())
    assert all(record.phase is Phase.ENDED for record in run.state.gangs.records.values())
    assert run.collector.used.value == run.collector.running.value == 0
    assert run.state.holdings.leaving == {}
    outcomes = Counter(record.outcome for record in run.collector.records.values())
    assert set(outcomes) <= {Outcome.SUCCEEDED, Outcome.CANCELLED, Outcome.FAILED}


def test_two_urgent_gangs_of_one_cycle_never_take_the_same_pods() -> None:
    rows = [(12, 8, 29, 50, 0, True), (29, 8, 11, 90, 0, True), (29, 8, 83, 90, None, True)]
    run = simulate(scenario(*drawn(rows), nodes=2, gpus=4), check=True)
    assert all(record.ended is not None for record in run.collector.records.values())
    assert run.collector.counts.shrunk > 0


def test_equal_scenarios_with_preemption_have_equal_plans() -> None:
    def plans() -> list[Plan]:
        seen: list[Plan] = []

        def note(_: list[Event], plan: Plan) -> None:
            seen.append(plan)

        rows = [
            (n % 7, 1 + n % 4, 20 + n, 10 * (n % 9), 15 if n % 2 else None, n % 3 == 0)
            for n in range(30)
        ]
        simulate(scenario(*drawn(rows), nodes=2, gpus=4), observe=note)
        return seen

    first = plans()
    assert first == plans()
    assert any(plan.stops for plan in first)
