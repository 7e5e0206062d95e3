"""What programs report, as the server takes it in."""

from collections.abc import Mapping

import pytest

from ganglion.lifecycle.reports.hearing import BROKEN, MISSING
from ganglion.model.events import (
    AlarmSet,
    CheckpointCommitted,
    Event,
    GangEnded,
    MetricReported,
    Outcome,
)
from ganglion.model.plan import Plan, SavePoint, Start
from ganglion.model.workload import Workload
from ganglion.server.views.workloads import detail
from tests.server.conftest import Rig

GANG = "job-1/0"


@pytest.fixture
def job(rig: Rig) -> str:
    """A job of two GPUs that runs."""
    workload = rig.submit("job", resources={"gpus": 2}, checkpoint={"grace": "20s"})
    rig.turn()
    assert rig.state(workload) == "RUNNING"
    return workload


def hear(rig: Rig, *facts: Event) -> None:
    rig.world.facts += facts
    rig.turn()


def written(rig: Rig, kind: type[Event]) -> list[Event]:
    return [event for event in rig.ledger.replay() if isinstance(event, kind)]


def loss(rig: Rig, at: int, step: int, attempt: int = 1) -> None:
    hear(rig, MetricReported(at, GANG, attempt, "loss", step, 1 / step))


@pytest.mark.usefixtures("job")
def test_metrics_are_written_once_also_when_a_new_server_hears_them_again(rig: Rig) -> None:
    for _ in range(2):
        loss(rig, 5_000, 1)
        loss(rig, 6_000, 2)
        rig.crash()
    found = [event for event in rig.ledger.replay() if isinstance(event, MetricReported)]
    assert [event.step for event in found] == [1, 2]
    with rig.service.read() as mind:
        assert mind.book.trails[GANG].metrics["loss"].step == 2
        (shown,) = detail(mind, GANG.rpartition("/")[0]).gangs
    assert (shown.metrics["loss"].step, shown.metrics["loss"].value) == (2, 1 / 2)


@pytest.mark.usefixtures("job")
def test_reports_of_gangs_that_nobody_knows_are_left_alone(rig: Rig) -> None:
    hear(rig, MetricReported(5_000, "other-9/0", 1, "loss", 1, 0.5))
    assert written(rig, MetricReported) == []


def test_an_alarm_is_written_once_and_ends_as_the_next_attempt_begins(rig: Rig, job: str) -> None:
    for _ in range(2):
        hear(rig, AlarmSet(rig.machine.time, GANG, BROKEN, "pod 0 reports nonsense"))
        rig.crash()
    assert len(written(rig, AlarmSet)) == 1
    with rig.service.read() as mind:
        assert detail(mind, job).alarms == {BROKEN: "pod 0 reports nonsense"}
    rig.machine.end(GANG, Outcome.NODE_LOST)
    rig.turn(2)
    hear(rig, AlarmSet(rig.machine.time, GANG, MISSING, "step 3 is gone"))
    with rig.service.read() as mind:
        assert detail(mind, job).gangs[0].attempt == 2
        assert detail(mind, job).alarms == {MISSING: "step 3 is gone"}


def test_the_next_attempt_is_handed_the_checkpoints_the_newest_first(
    rig: Rig, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[Start] = []
    execute = rig.world.execute

    def seen(plan: Plan, workloads: Mapping[str, Workload]) -> None:
        starts.extend(plan.starts)
        execute(plan, workloads)

    monkeypatch.setattr(rig.world, "execute", seen)
    for at, step in ((5_000, 100), (6_000, 200)):
        hear(rig, CheckpointCommitted(at, GANG, 1, step, f"/ck/{step}"))
    hear(rig, CheckpointCommitted(7_000, GANG, 1))
    rig.machine.end(GANG, Outcome.NODE_LOST)
    rig.turn(2)
    saved = (SavePoint(6_000, 200, "/ck/200", 1), SavePoint(5_000, 100, "/ck/100", 1))
    assert [(start.attempt, start.resume) for start in starts] == [(2, saved)]
    with rig.service.read() as mind:
        newest = detail(mind, job).gangs[0].saved
    assert newest is not None
    assert (newest.step, newest.path) == (200, "/ck/200")


def test_a_node_that_is_lost_costs_what_was_not_saved_though_it_is_no_preemption(
    rig: Rig, job: str
) -> None:
    with rig.service.read() as mind:
        started = mind.state.gangs.records[GANG].started
    rig.machine.time = started + 9_000
    hear(rig, CheckpointCommitted(started + 2_000, GANG, 1, 5, "/ck/5"))
    rig.machine.end(GANG, Outcome.NODE_LOST)
    rig.turn()
    (end,) = written(rig, GangEnded)
    assert isinstance(end, GangEnded)
    assert end.lost_gpu_ms == 2 * (end.at - started - 2_000)
    with rig.service.read() as mind:
        shown = detail(mind, job)
    assert (shown.preemptions, shown.lost_gpu_ms) == (0, 0)
