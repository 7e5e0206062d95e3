"""The world by itself, without an engine."""

import pytest
from msgspec import structs
from tests.worlds.simulated.samples import S, job

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import (
    CheckpointCommitted,
    Event,
    GangEnded,
    GangStarted,
    GangSubmitted,
    NodeAdded,
    NodeLost,
    Outcome,
)
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Plan, Start, Stop
from ganglion.model.workload import Checkpoint
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import Faults
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.metrics.collector import Collector
from ganglion.worlds.simulated.setup.cluster import build_nodes
from ganglion.worlds.simulated.world import SimulatedWorld
from ganglion.worlds.world import World

PREEMPTED = Cause(CauseKind.PREEMPTED)
HERE = Placement((PodPlacement("main", 0, "n0001", (0,), 1000),))


class Stage:
    """A world of one node, driven by hand."""

    def __init__(
        self, *jobs: SimJob, timing: Timing | None = None, faults: Faults | None = None
    ) -> None:
        nodes = build_nodes(1, 2)
        self.seen = Collector((), 0)
        self.world = SimulatedWorld(nodes, jobs, self.seen, timing, faults)
        self.seen.begin(nodes)
        self.jobs = {each.gang.id: each for each in jobs}

    def start(self, name: str, attempt: int = 1) -> None:
        gang = self.jobs[f"{name}/0"].gang
        plan = Plan(self.world.now(), starts=[Start(gang, attempt, HERE)])
        self.world.execute(plan, {})

    def stop(self, name: str, attempt: int = 1, cause: Cause = PREEMPTED) -> None:
        self.world.execute(Plan(self.world.now(), stops=[Stop(f"{name}/0", attempt, cause)]), {})

    def events(self, until: int | None = None) -> list[Event]:
        """Everything reported until nothing is left, or until that many seconds."""
        found: list[Event] = []
        while self.world.advance(None if until is None else until * S):
            found += self.world.observe()
        return found + self.world.observe()

    def submitted(self) -> None:
        """Let the first submission happen."""
        assert self.world.advance()
        assert isinstance(self.world.observe()[0], GangSubmitted)


def test_it_is_a_world() -> None:
    world: World = Stage().world
    assert world.observe() == []


def test_a_job_runs_for_its_duration() -> None:
    stage = Stage(job("a", at=5, seconds=100))
    stage.submitted()
    stage.start("a")
    assert stage.events() == [
        GangStarted(5 * S, "a/0", 1),
        GangEnded(105 * S, "a/0", 1, Outcome.SUCCEEDED, exit_code=0),
    ]


def test_starting_an_attempt_twice_does_nothing_the_second_time() -> None:
    stage = Stage(job("a"))
    stage.submitted()
    stage.start("a")
    stage.start("a")
    assert len(stage.events()) == 2
    assert stage.seen.records["a/0"].attempts == 1


def test_starting_or_stopping_what_is_over_does_nothing() -> None:
    stage = Stage(job("a"))
    stage.submitted()
    stage.start("a")
    stage.events()
    stage.start("a", 2)
    stage.stop("a")
    assert stage.events() == []


def test_a_job_over_its_time_limit_is_stopped_and_says_so() -> None:
    stage = Stage(job("a", seconds=100, limit=30))
    stage.submitted()
    stage.start("a")
    end = stage.events()[-1]
    assert end == GangEnded(30 * S, "a/0", 1, Outcome.TIMED_OUT)


def test_a_stopped_job_without_checkpoints_starts_from_the_beginning() -> None:
    stage = Stage(job("a", seconds=100), timing=Timing(restart_ms=5 * S))
    stage.submitted()
    stage.start("a")
    assert stage.events(until=60) == [GangStarted(0, "a/0", 1)]
    stage.stop("a")
    assert stage.events(until=60) == [
        GangEnded(60 * S, "a/0", 1, Outcome.PREEMPTED, requeue=True, lost_gpu_ms=60 * S)
    ]
    stage.start("a", 2)
    assert stage.events()[-1].at == (60 + 5 + 100) * S
    assert stage.seen.records["a/0"].lost_ms == (60 + 5) * S


@pytest.mark.parametrize(
    ("interval", "timing", "ends", "lost"),
    [
        # it works on until its grace of 2 s is over; its last checkpoint was at 56 s
        (7, Timing(), 62 + 44, 6),
        (7, Timing(stop_ms=10 * S), 62 + 44, 6),
        (7, Timing(stop_ms=1 * S), 61 + 44, 5),
        (7, Timing(save_on_stop=True), 62 + 38, 0),
        (0, Timing(), 62 + 38, 0),
    ],
)
def test_a_stopped_job_goes_on_from_its_last_checkpoint(
    interval: int, timing: Timing, ends: int, lost: int
) -> None:
    contract = Checkpoint(interval_ms=interval * S, grace_ms=2 * S)
    stage = Stage(job("a", seconds=100, checkpoint=contract), timing=timing)
    stage.submitted()
    stage.start("a")
    stage.events(until=60)
    stage.stop("a", cause=Cause(CauseKind.PREEMPTED, gang="b/0"))
    (end,) = stage.events(until=70)
    assert isinstance(end, GangEnded)
    assert (end.outcome, end.requeue) == (Outcome.PREEMPTED, True)
    assert end.lost_gpu_ms == lost * S
    stage.start("a", 2)
    assert stage.events()[-1].at == ends * S
    record = stage.seen.records["a/0"]
    assert (record.lost_ms, record.preemptions) == (lost * S, 1)
    assert stage.seen.counts.traded_milli_ms == lost * S * 1000


def test_a_job_whose_work_is_done_within_its_grace_has_succeeded() -> None:
    contract = Checkpoint(interval_ms=7 * S, grace_ms=2 * S)
    stage = Stage(job("a", seconds=61, checkpoint=contract))
    stage.submitted()
    stage.start("a")
    stage.events(until=60)
    stage.stop("a")
    assert stage.events() == [GangEnded(61 * S, "a/0", 1, Outcome.SUCCEEDED, exit_code=0)]
    assert stage.seen.counts.trades == {}


@pytest.mark.parametrize(
    ("cause", "counted"),
    [
        (CauseKind.PREEMPTED, "preempted"),
        (CauseKind.RECLAIMED, "reclaimed"),
        (CauseKind.MOVED, "moved"),
        (CauseKind.YIELDED, "yielded"),
        (CauseKind.CLEARED, "preempted"),
        (CauseKind.CANCELLED, ""),
        (CauseKind.PODS_LOST, ""),
    ],
)
def test_the_cause_of_a_stop_says_what_it_counts_as(cause: CauseKind, counted: str) -> None:
    stage = Stage(job("a"))
    stage.submitted()
    stage.start("a")
    stage.stop("a", cause=Cause(cause))
    stage.events()
    assert stage.seen.counts.trades == ({counted: 1} if counted else {})


def test_checkpoints_are_reported_when_asked_for() -> None:
    contract = Checkpoint(interval_ms=40 * S)
    stage = Stage(
        job("a", seconds=100, checkpoint=contract), timing=Timing(report_checkpoints=True)
    )
    stage.submitted()
    stage.start("a")
    assert stage.events()[1:-1] == [CheckpointCommitted(at * S, "a/0", 1) for at in (40, 80)]


def test_reports_of_checkpoints_do_not_keep_a_run_going() -> None:
    contract = Checkpoint(interval_ms=40 * S)
    stage = Stage(
        job("a", seconds=None, checkpoint=contract), timing=Timing(report_checkpoints=True)
    )
    stage.submitted()
    stage.start("a")
    assert stage.events() == [GangStarted(0, "a/0", 1)]


def test_a_job_told_to_cancel_ends_for_good() -> None:
    stage = Stage(job("a"))
    stage.submitted()
    stage.start("a")
    stage.stop("a", cause=Cause(CauseKind.CANCELLED))
    assert stage.events()[-1] == GangEnded(0, "a/0", 1, Outcome.CANCELLED)


def test_a_job_without_an_end_runs_on_when_nothing_else_happens() -> None:
    stage = Stage(job("a", seconds=None))
    stage.submitted()
    stage.start("a")
    assert stage.events() == [GangStarted(0, "a/0", 1)]
    assert stage.seen.running.value == 1


def test_a_job_that_is_interrupted_too_often_ends_as_failed() -> None:
    stage = Stage(job("a"), timing=Timing(most_restarts=1))
    stage.submitted()
    for attempt in (1, 2):
        stage.start("a", attempt)
        stage.stop("a", attempt)
        (end,) = (each for each in stage.events() if isinstance(each, GangEnded))
        assert end.requeue is (attempt == 1)
    assert end.outcome is Outcome.FAILED


def test_failed_starts_back_off_longer_each_time() -> None:
    faults = Faults(start_failure=0.999999)
    stage = Stage(job("a"), faults=faults)
    stage.submitted()
    waits = []
    for attempt in (1, 2, 3):
        stage.start("a", attempt)
        (end,) = stage.events()
        assert isinstance(end, GangEnded)
        assert end.outcome is Outcome.START_FAILED
        waits.append(end.not_before - end.at)
    assert waits == [1_000, 2_000, 4_000]


def test_a_lost_start_report_never_arrives_and_a_lost_end_with_the_next_reconcile() -> None:
    stage = Stage(job("a", seconds=100), faults=Faults(lost=0.999999, reconcile_ms=60 * S))
    stage.submitted()
    stage.start("a")
    assert stage.events() == [GangEnded(100 * S, "a/0", 1, Outcome.SUCCEEDED, exit_code=0)]
    assert stage.world.now() == 120 * S


def test_doubled_reports_are_equal() -> None:
    stage = Stage(job("a"), faults=Faults(duplicated=0.999999))
    stage.submitted()
    stage.start("a")
    started, again, ended, once_more = stage.events()
    assert started == again
    assert ended == once_more


def test_a_lost_node_takes_its_jobs_with_it_and_comes_back() -> None:
    contract = Checkpoint(interval_ms=10 * S)
    faults = Faults(seed=5, node_mtbf_ms=200 * S, node_mttr_ms=50 * S)
    stage = Stage(job("a", seconds=100_000, checkpoint=contract), faults=faults)
    stage.submitted()
    stage.start("a")
    started, lost, ended, back = stage.events()
    assert isinstance(started, GangStarted)
    assert lost == NodeLost(lost.at, "n0001")
    assert ended == GangEnded(
        lost.at, "a/0", 1, Outcome.NODE_LOST, requeue=True, lost_gpu_ms=lost.at % (10 * S)
    )
    assert isinstance(back, NodeAdded)
    assert back.at > lost.at
    assert stage.seen.records["a/0"].lost_ms == lost.at % (10 * S)
    assert stage.seen.total.value == 2_000


def test_a_failed_device_ends_only_the_jobs_on_it() -> None:
    faults = Faults(seed=2, device_mtbf_ms=500 * S, device_mttr_ms=10 * S)
    stage = Stage(job("a", seconds=5_000), job("b", seconds=5_000), faults=faults)
    stage.submitted()
    stage.start("a")
    there = Placement((structs.replace(HERE.pods[0], devices=(1,)),))
    gang = stage.jobs["b/0"].gang
    stage.world.execute(Plan(0, starts=[Start(gang, 1, there)]), {})
    while stage.world.advance():
        events = stage.world.observe()
        ends = [each for each in events if isinstance(each, GangEnded)]
        if ends:
            break
    (end,) = ends
    assert end.outcome is Outcome.NODE_LOST
    assert stage.seen.running.value == 1
    assert stage.seen.total.value == 1_000


def test_what_can_never_start_is_withdrawn_once() -> None:
    stage = Stage(job("a"))
    stage.submitted()
    stage.world.withdraw("a/0", "too large")
    stage.world.withdraw("a/0", "too large")
    assert stage.events() == [GangEnded(0, "a/0", 0, Outcome.CANCELLED, message="too large")]


def test_a_later_wake_up_takes_the_place_of_an_earlier_one() -> None:
    stage = Stage(job("a", at=100))
    for at in (5, 20, 10):
        stage.world.wake_at(at * S)
    stage.world.advance()
    assert stage.world.now() == 10 * S
    stage.world.observe()
    stage.world.wake_at(20 * S)
    stage.world.wake_at(None)
    stage.submitted()
    assert stage.world.now() == 100 * S


def test_a_run_ends_before_a_wake_up_that_nobody_waits_for() -> None:
    stage = Stage(job("a", seconds=10))
    stage.submitted()
    stage.start("a")
    stage.world.wake_at(1_000 * S, background=True)
    assert isinstance(stage.events()[-1], GangEnded)
    assert stage.world.now() == 10 * S
