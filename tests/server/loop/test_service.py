"""The service keeps its promises whatever fails between any two of its steps."""

from pathlib import Path
from typing import Any

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import Conflict, EnvironmentFault
from ganglion.model.events import Event, GangEnded, GangPlaced, GangStarted, GangSubmitted, Outcome
from ganglion.seams.effects import SYSTEM
from ganglion.server.commands import live
from ganglion.server.loop import service
from ganglion.server.recovery.recover import replayed
from ganglion.server.state.transaction import Transaction
from tests.faults.clock import HandClock
from tests.server.conftest import Rig


def test_a_job_goes_from_submission_to_history(rig: Rig) -> None:
    job = rig.submit("a")
    assert (rig.state(job), rig.machine.began) == ("STARTING", [("a-1/0", 1)])
    rig.turn()
    assert rig.state(job) == "RUNNING"
    rig.machine.end("a-1/0")
    rig.turn()
    assert rig.state(job) == "SUCCEEDED"
    filed = rig.ledger.history.by_id(job)
    assert filed is not None
    assert b'"outcome":"succeeded"' in filed.detail
    with rig.service.read() as mind:
        assert (mind.state.gangs.records, mind.book.entries) == ({}, {})
    kinds = [type(event) for event in rig.ledger.replay()]
    assert kinds[-4:] == [GangSubmitted, GangPlaced, GangStarted, GangEnded]


def test_facts_and_decisions_of_one_turn_are_one_cycle(rig: Rig) -> None:
    rig.submit("a")
    last = list(rig.ledger.cycles())[-1]
    assert [type(e) for e in last.incoming] == [GangSubmitted]
    assert [type(e) for e in last.decisions] == [GangPlaced]


def test_nothing_starts_before_it_is_written(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_batch: object) -> None:
        raise EnvironmentFault("the disk is full", "free some space")

    with monkeypatch.context() as patch:
        patch.setattr(rig.ledger, "append", full)
        with pytest.raises(EnvironmentFault, match="the disk is full"):
            rig.submit("a")
        assert rig.service.trouble == "the disk is full"
        assert rig.machine.began == []
    assert rig.submit("a") == "a-1"
    assert rig.service.trouble == ""
    assert rig.machine.began == [("a-1/0", 1)]


def test_facts_that_could_not_be_written_are_written_later(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = rig.submit("a")
    rig.turn()
    rig.machine.end("a-1/0")
    with monkeypatch.context() as patch:
        patch.setattr(rig.ledger, "append", _raise(EnvironmentFault("full")))
        rig.turn(3)
    rig.turn()
    assert rig.state(job) == "SUCCEEDED"
    assert sum(isinstance(e, GangEnded) for e in rig.ledger.replay()) == 1


def test_a_crash_between_decision_and_start_starts_it_once(rig: Rig) -> None:
    rig.world.refuse = EnvironmentFault("no process can be made")
    job = rig.submit("a")
    assert (rig.state(job), rig.machine.began) == ("STARTING", [])
    rig.crash()
    assert rig.machine.began == [("a-1/0", 1)]
    rig.crash()
    assert rig.machine.began == [("a-1/0", 1)]


def test_what_the_world_refuses_is_tried_again(rig: Rig) -> None:
    rig.world.refuse = EnvironmentFault("no process can be made")
    rig.submit("a")
    assert rig.service.trouble == "no process can be made"
    rig.world.refuse = None
    rig.turn()
    assert (rig.service.trouble, rig.machine.began) == ("", [("a-1/0", 1)])


def test_many_starts_keep_nobody_waiting_and_what_is_cancelled_first_never_starts(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "BUDGET_S", 0)
    job = rig.submit("s", kind="sweep", params={"x": list(range(8))}, resources={"gpus": 1})
    assert rig.machine.began == []
    rig.do(lambda draft: live.cancel(draft, "s/3", "ada"))
    monkeypatch.setattr(service, "BUDGET_S", 10)
    rig.turn()
    assert rig.machine.began == [(f"{job}/{i}", 1) for i in range(8) if i != 3]


def test_an_end_while_no_server_lived_is_noticed(rig: Rig) -> None:
    job = rig.submit("a")
    rig.turn()
    rig.ledger.close()
    rig.machine.end("a-1/0", Outcome.FAILED, 7)
    rig.start()
    rig.turn()
    assert rig.state(job) == "FAILED"


def test_a_crash_while_stopping_stops_again(rig: Rig) -> None:
    job = rig.submit("a")
    rig.turn()
    rig.service._carry_out = lambda: None  # type: ignore[method-assign]
    rig.do(lambda draft: live.cancel(draft, job, "ada"))
    assert rig.machine.stops == []
    rig.crash()
    rig.turn()
    assert rig.machine.stops == [("a-1/0", 1, Cause(CauseKind.CANCELLED, user="ada"), False)]
    assert rig.state(job) == "CANCELLED"


def test_replaying_gives_the_state_that_the_server_had(rig: Rig) -> None:
    for i in range(20):
        rig.submit(f"w{i}", resources={"gpus": 1 + i % 8})
        rig.turn()
        if i % 3 == 0 and rig.machine.live:
            rig.machine.end(sorted(rig.machine.live)[0][0], *_ends(i))
    rig.turn(2)
    again = replayed(rig.ledger, rig.service._policy)
    with rig.service.read() as mind:
        assert again.state.gangs.records == mind.state.gangs.records
        assert again.state.queues.by_name == mind.state.queues.by_name
        assert again.state.fleet.nodes == mind.state.fleet.nodes
        assert again.state.queues.shares.usage == mind.state.queues.shares.usage
        assert again.book.trails == mind.book.trails
        assert again.book.entries == mind.book.entries
        again.state.validate()
        mind.state.validate()


def _ends(i: int) -> tuple[Outcome, int]:
    return (Outcome.SUCCEEDED, 0) if i % 2 else (Outcome.FAILED, 1)


def test_asking_the_engine_again_gives_every_decision_that_was_written(rig: Rig) -> None:
    for i in range(12):
        rig.submit(f"w{i}", resources={"gpus": 1 + i % 8}, nodes=1 + i % 2)
        if i % 4 == 3:
            rig.turn()
            rig.machine.end(sorted(rig.machine.live)[0][0])
    rig.turn()
    state = ClusterState()
    for each in rig.ledger.cycles():
        for event in each.incoming:
            state.apply(event)
        assert cycle(state, (), each.at).decisions == each.decisions


def test_a_failed_job_waits_for_its_back_off_and_starts_again(rig: Rig) -> None:
    job = rig.submit("a", retry={"limit": 1, "backoff": "10s"})
    rig.turn()
    rig.machine.end("a-1/0", Outcome.FAILED, 1)
    rig.turn()
    assert rig.state(job) == "QUEUED"
    rig.turn(3)
    assert rig.machine.began == [("a-1/0", 1)]
    rig.machine.time += 10_000
    rig.turn()
    assert rig.machine.began == [("a-1/0", 1), ("a-1/0", 2)]
    rig.turn()
    rig.machine.end("a-1/0", Outcome.FAILED, 1)
    rig.turn()
    assert rig.state(job) == "FAILED"


def test_a_command_that_fails_half_way_leaves_no_trace_and_harms_no_other(rig: Rig) -> None:
    def half(draft: Transaction) -> None:
        live.cordon(draft, "n0", "half")
        raise Conflict("no")

    bad = rig.ask(half)
    good = rig.ask(lambda draft: live.cordon(draft, "n1", "whole"))
    rig.turn()
    with pytest.raises(Conflict):
        bad.result(0)
    assert good.result(0) is None
    with rig.service.read() as mind:
        assert (mind.state.fleet.nodes["n0"].cordoned, mind.state.fleet.nodes["n1"].cordoned) == (
            "",
            "whole",
        )
    assert "half" not in str(list(rig.ledger.replay()))


def test_a_bug_in_a_command_does_not_end_the_service(rig: Rig) -> None:
    with pytest.raises(ZeroDivisionError):
        rig.do(lambda draft: 1 // 0)
    assert rig.submit("a") == "a-1"


def test_a_senseless_report_stops_no_other(rig: Rig) -> None:
    job = rig.submit("a")
    rig.world.facts = [GangEnded(1, "nobody-9/0", 1, Outcome.FAILED)]
    rig.turn()
    assert rig.state(job) == "RUNNING"


def test_stale_and_repeated_reports_are_not_recorded(rig: Rig) -> None:
    rig.submit("a")
    rig.turn()
    head = rig.ledger.head
    rig.world.facts = [GangStarted(1, "a-1/0", 1), GangEnded(1, "a-1/0", 9, Outcome.FAILED)]
    rig.turn()
    assert rig.ledger.head == head


def test_an_end_that_is_told_twice_ends_one_attempt(rig: Rig) -> None:
    job = rig.submit("a", retry={"limit": 1, "backoff": "1h"})
    rig.turn()
    for _ in range(2):
        rig.world.facts = [GangEnded(2, "a-1/0", 1, Outcome.FAILED)]
        rig.turn()
    assert rig.state(job) == "QUEUED"
    assert sum(isinstance(event, GangEnded) for event in rig.ledger.replay()) == 1


def test_an_idle_server_writes_nothing(rig: Rig) -> None:
    rig.turn()
    before = (rig.ledger.head, rig.ledger.cycle)
    rig.turn(10)
    assert (rig.ledger.head, rig.ledger.cycle) == before


def test_requests_after_the_end_are_refused(rig: Rig) -> None:
    rig.service.start()
    rig.service.stop()
    with pytest.raises(EnvironmentFault, match="shutting down"):
        rig.service.ask(lambda draft: None)


def _raise(error: Exception) -> Any:
    def fail(*_: object) -> None:
        raise error

    return fail


def test_requests_that_follow_each_other_closely_share_a_look_at_the_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, looks = HandClock(), [0]
    rig = Rig(tmp_path, effects=SYSTEM._replace(clock=clock))
    observe = rig.world.observe

    def counted() -> list[Event]:
        looks[0] += 1
        return observe()

    monkeypatch.setattr(rig.world, "observe", counted)
    rig.service.turn([])  # nothing is asked: it looks
    for number in range(10):
        clock.sleep(service.LOOK_S / 4)
        rig.submit(f"job-{number}")
    assert looks[0] == 1 + 2  # 50 ms of requests
    rig.service.turn([])
    assert looks[0] == 4
