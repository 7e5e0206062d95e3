"""Elastic gangs in the simulated world: pods come and go, work is conserved."""

from tests.worlds.simulated.samples import S, job

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Event, GangEnded, GangSubmitted, NodeLost, Outcome, PodsLeft
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Plan, Resize, Start, Stop
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Checkpoint, PodSet
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import Faults
from ganglion.worlds.simulated.metrics.collector import Collector
from ganglion.worlds.simulated.setup.cluster import build_nodes
from ganglion.worlds.simulated.world import SimulatedWorld

ELASTIC = (PodSet(count=4, min_count=1, request=PodRequest(gpu=GpuRequest(1))),)
GRACEFUL = Checkpoint(interval_ms=1_000 * S, grace_ms=10 * S)


def pods(*indexes: int) -> Placement:
    """Pod i on GPU i % 2 of node i // 2."""
    return Placement(
        tuple(PodPlacement("main", i, f"n000{i // 2 + 1}", (i % 2,), 1000) for i in indexes)
    )


class Stage:
    """One elastic job of 100 s at four pods on two nodes of two GPUs, driven by hand."""

    def __init__(
        self,
        *indexes: int,
        timing: Timing | None = None,
        faults: Faults | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        nodes = build_nodes(2, 2)
        self.seen = Collector((), 0)
        self.job = job("a", sets=ELASTIC, checkpoint=checkpoint)
        self.world = SimulatedWorld(nodes, [self.job], self.seen, timing, faults)
        self.seen.begin(nodes)
        assert self.world.advance()
        assert isinstance(self.world.observe()[0], GangSubmitted)
        self.world.execute(Plan(0, starts=[Start(self.job.gang, 1, pods(*indexes))]), {})

    def resize(self, *indexes: int) -> None:
        plan = Plan(self.world.now(), resizes=[Resize(self.job.gang, 1, pods(*indexes))])
        self.world.execute(plan, {})

    def events(self, until: int | None = None) -> list[Event]:
        found: list[Event] = []
        while self.world.advance(None if until is None else until * S):
            found += self.world.observe()
        return found + self.world.observe()

    def end(self) -> GangEnded:
        end = self.events()[-1]
        assert isinstance(end, GangEnded)
        return end

    @property
    def used(self) -> int:
        return self.seen.used.value // 1000


def test_fewer_pods_work_longer_and_use_as_much() -> None:
    stage = Stage(0)
    assert stage.end() == GangEnded(400 * S, "a/0", 1, Outcome.SUCCEEDED, exit_code=0)
    assert stage.seen.used.total == 1_000 * 400 * S


def test_work_is_conserved_when_a_gang_grows_and_shrinks() -> None:
    stage = Stage(0, 1)
    stage.events(until=50)
    stage.resize(0, 1, 2, 3)
    assert stage.used == 4
    stage.events(until=100)
    stage.resize(0)
    # of 400 pod-seconds 100 and 200 are done; one pod does the last 100
    assert stage.end().at == 200 * S
    assert stage.seen.used.total == 1_000 * 400 * S
    assert stage.seen.records["a/0"].lost_ms == 0
    counts = stage.seen.counts
    assert (counts.grown, counts.shrunk) == (1, 1)


def test_dropped_pods_of_a_gang_without_contract_leave_at_once() -> None:
    stage = Stage(0, 1, 2, 3)
    stage.events(until=10)
    stage.resize(0, 1)
    assert stage.used == 2
    assert stage.events(until=11) == [PodsLeft(10 * S, "a/0", 1)]


def test_dropped_pods_hold_their_devices_through_the_grace_and_do_no_work() -> None:
    stage = Stage(0, 1, 2, 3, checkpoint=GRACEFUL)
    stage.events(until=60)
    stage.resize(0, 2)
    assert stage.used == 4
    assert stage.events(until=69) == []
    assert stage.events(until=71) == [PodsLeft(70 * S, "a/0", 1)]
    assert stage.used == 2
    assert stage.end().at == (60 + 80) * S


def test_pods_that_are_told_one_after_another_are_reported_when_none_is_left() -> None:
    stage = Stage(0, 1, 2, 3, checkpoint=GRACEFUL)
    stage.events(until=60)
    stage.resize(0, 1, 2)
    stage.events(until=65)
    stage.resize(0, 1)
    assert stage.events(until=74) == []
    assert stage.used == 3
    assert stage.events(until=76) == [PodsLeft(75 * S, "a/0", 1)]


def test_repeating_an_order_changes_nothing() -> None:
    stage = Stage(0, 1)
    for _ in range(2):
        stage.resize(0, 1, 2)
    assert (stage.used, stage.seen.counts.grown) == (3, 1)


def test_a_change_of_size_costs_what_the_knob_says_and_not_in_the_moment_of_the_start() -> None:
    stage = Stage(0, 1, timing=Timing(resize_ms=5 * S))
    stage.resize(0, 1, 2, 3)
    stage.events(until=50)
    stage.resize(0, 1)
    assert stage.end().at == (50 + 5 + 100) * S
    assert stage.seen.counts.traded_milli_ms == 2_000 * 5 * S


def test_new_pods_work_once_they_have_started() -> None:
    stage = Stage(0, 1, timing=Timing(start_ms=10 * S))
    stage.events(until=60)  # began at 10 s
    stage.resize(0, 1, 2, 3)
    # 100 pod-seconds until then, 20 while the new ones start, 280 with all of them
    assert stage.end().at == (60 + 10 + 70) * S


def test_an_end_takes_the_leaving_pods_with_it() -> None:
    stage = Stage(0, 1, 2, 3, checkpoint=GRACEFUL)
    stage.events(until=95)
    stage.resize(0, 1)
    # 20 pod-seconds are left for two pods; the dropped ones would stay until 105 s
    assert stage.end() == GangEnded(105 * S, "a/0", 1, Outcome.SUCCEEDED, exit_code=0)
    stage = Stage(0, 1, 2, 3, checkpoint=GRACEFUL)
    stage.events(until=97)
    stage.resize(0, 1)
    assert stage.events() == [GangEnded(103 * S, "a/0", 1, Outcome.SUCCEEDED, exit_code=0)]
    assert stage.used == 0


def test_a_lost_node_with_nothing_but_leaving_pods_does_not_end_the_gang() -> None:
    faults = Faults(seed=1, node_mtbf_ms=40 * S, node_mttr_ms=10_000_000 * S)
    slow = Checkpoint(interval_ms=1_000 * S, grace_ms=1_000_000 * S)
    stage = Stage(0, 1, 2, 3, faults=faults, checkpoint=slow)
    stage.resize(0, 1)
    assert stage.world.advance()
    (lost,) = (event for event in stage.world.observe() if isinstance(event, NodeLost))
    assert lost.name == "n0002"
    assert (stage.used, stage.seen.running.value) == (2, 1)


def test_no_gang_is_resized_that_is_over_or_stops() -> None:
    stage = Stage(0, 1, checkpoint=GRACEFUL)
    plan = Plan(stage.world.now(), stops=[Stop("a/0", 1, Cause(CauseKind.PREEMPTED, gang="b/0"))])
    stage.world.execute(plan, {})
    stage.resize(0, 1, 2)
    assert stage.used == 2
    stage.events()
    stage.resize(0, 1, 2)
    assert stage.used == 0
