"""A server with sweeps."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ganglion.model.causes import CauseKind
from ganglion.model.errors import FieldError
from ganglion.model.events import GangEnded, GangStopping, MetricReported, Outcome
from ganglion.model.plan import Phase
from ganglion.server.commands import live
from ganglion.server.controllers.sweeps import SweepsController
from ganglion.server.views.workloads import detail
from tests.server.conftest import Rig

STOP = {"metric": "loss", "factor": 2}


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """A server over two nodes of 8 GPUs."""
    made = Rig(tmp_path / "home", lambda: [SweepsController()])
    yield made
    made.ledger.close()


def sweep(rig: Rig, trials: int = 4, **more: Any) -> str:
    found = rig.submit("s", kind="sweep", params={"x": list(range(trials))}, **more)
    rig.turn()
    return found


def report(rig: Rig, trial: int, step: int, value: float | None, name: str = "loss") -> None:
    gang = f"s-1/{trial}"
    with rig.service.read() as mind:
        attempt = mind.state.gangs.record(gang).attempt
    rig.world.facts.append(MetricReported(rig.world.now(), gang, attempt, name, step, value))
    rig.turn()


def phases(rig: Rig) -> list[str]:
    with rig.service.read() as mind:
        return [str(mind.state.gangs.records[gang].phase) for gang in mind.book.gangs["s-1"]]


def priorities(rig: Rig, workload: str = "s-1") -> list[int]:
    """Of the trials that have not ended."""
    with rig.service.read() as mind:
        records = [mind.state.gangs.records[gang] for gang in mind.book.gangs[workload]]
        return [each.gang.priority for each in records if each.phase is not Phase.ENDED]


def test_a_trial_that_does_badly_is_stopped_and_its_sweep_succeeds(rig: Rig) -> None:
    sweep(rig, early_stop=STOP)
    for trial, loss in enumerate((0.5, 0.9, 0.4, 0.8)):
        report(rig, trial, 1, loss)
    rig.turn(2)
    assert phases(rig) == ["running", "ended", "running", "ended"]
    why = "stopped early: loss 0.9 at step 1 is place 2 of 2 so far, and the best 1 go on"
    assert ("s-1/1", why) in [(gang, str(cause)) for gang, _, cause, _ in rig.machine.stops]
    with rig.service.read() as mind:
        shown = detail(mind, "s-1")
    assert (shown.running, shown.stopped_early, shown.failed, shown.state) == (2, 2, 0, "RUNNING")
    assert (shown.gangs[1].outcome, shown.gangs[1].message) == ("stopped_early", why)
    for trial in (0, 2):
        rig.machine.end(f"s-1/{trial}")
    rig.turn()
    assert rig.state("s-1") == "SUCCEEDED"


def test_what_depends_on_the_sweep_starts_although_trials_were_given_up(rig: Rig) -> None:
    sweep(rig, 2, early_stop=STOP)
    after = rig.submit("then", after=["s"])
    report(rig, 0, 1, 0.1)
    report(rig, 1, 1, 0.9)
    rig.turn(2)
    rig.machine.end("s-1/0")
    rig.turn(2)
    assert rig.state(after) == "RUNNING"


def test_other_metrics_and_sweeps_without_a_rule_stop_nobody(rig: Rig) -> None:
    sweep(rig, early_stop=STOP)
    for trial in range(4):
        report(rig, trial, 1, float(trial), name="accuracy")
    other = rig.submit("t", kind="sweep", params={"x": [1, 2]}, resources={"gpus": 0, "cpus": 1})
    assert rig.machine.stops == []
    assert phases(rig) == ["running"] * 4
    assert rig.state(other) == "STARTING"


def test_what_is_no_number_is_the_worst_and_survives_the_ledger(rig: Rig) -> None:
    sweep(rig, early_stop=STOP)
    report(rig, 0, 1, 0.5)
    report(rig, 1, 1, None)
    rig.turn()
    assert phases(rig)[1] == "ended"
    rig.crash()
    assert [e.value for e in rig.ledger.replay() if isinstance(e, MetricReported)] == [0.5, None]


def test_a_server_that_died_judges_as_if_it_had_lived(rig: Rig) -> None:
    sweep(rig, early_stop=STOP)
    report(rig, 0, 1, 0.5)
    rig.crash()
    report(rig, 1, 1, 0.9)
    rig.turn()
    assert phases(rig)[:2] == ["running", "ended"]
    before = len(rig.machine.stops)
    rig.crash()
    rig.turn(2)
    assert len(rig.machine.stops) == before


def test_a_trial_that_is_preempted_before_it_could_be_given_up_is_not_begun_again(
    rig: Rig,
) -> None:
    rig.machine.lingering = True
    sweep(rig, 2, early_stop=STOP, resources={"gpus": 8}, priority=10)
    report(rig, 0, 1, 0.1)
    rig.submit("big", nodes=2, resources={"gpus": 8}, priority=90)
    report(rig, 1, 1, 0.9)
    rig.machine.leave()
    rig.turn(3)
    assert phases(rig)[1] == "ended"
    ends = [e for e in rig.ledger.replay() if isinstance(e, GangEnded) and e.gang == "s-1/1"]
    assert [(e.outcome, e.requeue) for e in ends] == [(Outcome.STOPPED_EARLY, False)]


def test_one_that_succeeds_while_it_is_given_up_has_succeeded(rig: Rig) -> None:
    rig.machine.lingering = True
    sweep(rig, 2, early_stop=STOP)
    report(rig, 0, 1, 0.1)
    report(rig, 1, 1, 0.9)
    rig.machine.end("s-1/1", Outcome.SUCCEEDED)
    rig.turn(2)
    with rig.service.read() as mind:
        assert mind.state.gangs.record("s-1/1").outcome is Outcome.SUCCEEDED


def test_so_many_trials_have_the_teams_priority_and_the_rest_is_spare(rig: Rig) -> None:
    sweep(rig, 6, parallel="2..4", priority=50)
    assert priorities(rig) == [50, 50, -1, -1, -1, -1]
    assert phases(rig) == ["running"] * 4 + ["pending"] * 2


def test_spare_trials_leave_for_others_and_come_back_when_there_is_room(rig: Rig) -> None:
    sweep(rig, 16, parallel="4..16")
    assert phases(rig).count("running") == 16
    other = rig.submit("other", resources={"gpus": 8}, priority=0)
    rig.turn(3)
    assert rig.state(other) == "RUNNING"
    assert (phases(rig)[:4], phases(rig).count("running")) == (["running"] * 4, 8)
    rig.machine.end(f"{other}/0")
    rig.turn(3)
    assert phases(rig).count("running") == 16


def test_when_a_trial_ends_a_spare_one_that_runs_takes_its_turn(rig: Rig) -> None:
    sweep(rig, 6, parallel="2..4", priority=50)
    rig.machine.end("s-1/0")
    rig.turn(2)
    assert priorities(rig) == [50, 50, -1, -1, -1]
    with rig.service.read() as mind:
        assert mind.state.gangs.record("s-1/2").gang.priority == 50
    rig.crash()
    rig.machine.end("s-1/1")
    rig.turn(2)
    assert priorities(rig) == [50, 50, -1, -1]


def test_where_none_runs_the_next_that_waits_takes_the_turn(rig: Rig) -> None:
    sweep(rig, 5, parallel="1..2", priority=50, resources={"gpus": 8}, nodes=2)
    assert phases(rig) == ["running"] + ["pending"] * 4
    rig.machine.end("s-1/0")
    rig.turn(2)
    assert priorities(rig) == [50, -1, -1, -1]
    assert phases(rig)[1] == "running"


def test_another_priority_of_the_sweep_leaves_spare_trials_spare(rig: Rig) -> None:
    job = sweep(rig, 4, parallel="2..4")
    rig.do(lambda draft: live.change(draft, job, live.Changes(priority=80)))
    assert priorities(rig) == [80, 80, -1, -1]
    rig.machine.end("s-1/0")
    rig.turn(2)
    assert priorities(rig) == [80, 80, -1]
    with rig.service.read() as mind:
        assert detail(mind, job).priority == 80


def test_a_sweep_is_cancelled_as_one(rig: Rig) -> None:
    job = sweep(rig, 40, parallel="4..8", early_stop=STOP)
    report(rig, 0, 1, 0.1)
    rig.do(lambda draft: live.cancel(draft, job, "ada"))
    rig.turn(2)
    assert rig.state(job) == "CANCELLED"
    assert not any(
        each.cause.kind is CauseKind.GIVEN_UP
        for each in rig.ledger.replay()
        if isinstance(each, GangStopping)
    )


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"params": {"x": "0..10000"}}, "params"),
        ({"params": {"x": "0..99999"}, "search": {"trials": 10_001}}, "search.trials"),
        ({"trials": [{"x": n} for n in range(10_001)]}, "trials"),
    ],
)
def test_more_trials_than_a_server_takes_are_refused_in_words(
    rig: Rig, more: dict[str, Any], key: str
) -> None:
    with pytest.raises(FieldError, match="it would have 10,001 gangs; most are 10,000") as caught:
        rig.submit("s", kind="sweep", **more)
    assert caught.value.key == key
    assert caught.value.hint
