"""Gangs that make room for others: what users see, and what a crash leaves of it."""

from typing import Any

import pytest

from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import (
    CheckpointCommitted,
    GangEnded,
    GangPlaced,
    GangReserved,
    PodsLeft,
)
from ganglion.server.commands import live
from ganglion.server.views.cluster import waiting_by_reason
from ganglion.server.views.lists import order_page
from ganglion.server.views.workloads import detail
from tests.server.conftest import Rig

LOW = {"resources": {"gpus": 8}, "nodes": 2, "priority": 10, "checkpoint": {"interval": "1h"}}
HIGH = {"resources": {"gpus": 8}, "priority": 90}


def traded(rig: Rig) -> tuple[str, str]:
    """`low` has both nodes, takes its time to leave, and `high` has been promised one."""
    rig.machine.lingering = True
    low = rig.submit("low", **LOW)
    rig.turn()
    assert rig.state(low) == "RUNNING"
    return low, rig.submit("high", **HIGH)


def shown(rig: Rig, workload: str) -> Any:
    with rig.service.read() as mind:
        return detail(mind, workload)


def test_who_gets_the_place_of_others_is_queued_and_says_whom_it_waits_for(rig: Rig) -> None:
    low, high = traded(rig)
    view = shown(rig, high)
    assert (view.state, view.reason) == ("QUEUED", "draining")
    assert view.message == "reserved: starts when low-1 has stopped"
    assert view.waits_for == ("low-1",)
    (gang,) = view.gangs
    assert (gang.phase, gang.waits_for) == ("reserved", ("low-1",))
    assert len(gang.promise.pods) == 1
    leaving = shown(rig, low)
    assert (leaving.state, leaving.message) == ("STOPPING", "preempted for high-2/0")
    with rig.service.read() as mind:
        assert [item.gang for item in order_page(mind.state).items] == ["high-2/0"]
        assert waiting_by_reason(mind.state) == {"draining": 1}


def test_it_starts_when_they_have_left_and_they_wait_again(rig: Rig) -> None:
    low, high = traded(rig)
    rig.machine.leave()
    rig.turn(2)
    assert rig.state(high) == "RUNNING"
    view = shown(rig, low)
    assert view.state == "QUEUED"
    assert (view.preemptions, view.gangs[0].restarts, view.failed) == (1, 1, 0)
    assert view.gangs[0].outcome == "preempted"
    rig.machine.end("high-2/0")
    rig.turn(2)
    assert rig.state(low) == "RUNNING"
    assert [key for key in rig.machine.began if key[0] == "low-1/0"] == [
        ("low-1/0", 1),
        ("low-1/0", 2),
    ]


@pytest.mark.parametrize("saved", [False, True])
def test_the_gpu_time_that_was_lost_is_counted_since_the_last_checkpoint(
    rig: Rig, saved: bool
) -> None:
    rig.machine.time = 7_200_000
    low, _ = traded(rig)
    begun = shown(rig, low).gangs[0].started
    rig.machine.time = begun + 600_000
    if saved:
        rig.world.facts.append(CheckpointCommitted(begun + 500_000, "low-1/0", 1))
        rig.turn()
    rig.machine.leave()
    rig.turn()
    lost = shown(rig, low).lost_gpu_ms
    assert lost // 1_000_000 == (16 * 100 if saved else 16 * 600) // 1_000
    rig.crash()
    assert shown(rig, low).lost_gpu_ms == lost


def test_what_was_promised_a_place_can_be_cancelled_and_the_place_is_free_again(rig: Rig) -> None:
    low, high = traded(rig)
    rig.do(lambda draft: live.cancel(draft, high, "ada"))
    assert rig.state(high) == "CANCELLED"
    rig.machine.leave()
    rig.turn(2)
    assert rig.state(low) == "RUNNING"
    assert ("high-2/0", 1) not in rig.machine.began


def test_what_was_promised_a_place_can_still_be_changed(rig: Rig) -> None:
    _, high = traded(rig)
    rig.do(lambda draft: live.change(draft, high, live.Changes(held=True)))
    view = shown(rig, high)
    assert (view.state, view.reason, view.waits_for) == ("QUEUED", "held", ())


@pytest.mark.parametrize("moment", ["decided", "told", "left", "heard", "promised"])
def test_a_crash_in_the_middle_of_a_trade_loses_nothing_and_starts_nothing_twice(
    rig: Rig, moment: str
) -> None:
    if moment == "decided":  # written, but the world was never told
        rig.machine.lingering = True
        low = rig.submit("low", **LOW)
        rig.turn()
        rig.world.refuse = EnvironmentFault("the world refuses")
        high = rig.submit("high", **HIGH)
        assert rig.machine.stops == []
    else:
        low, high = traded(rig)
    if moment in ("left", "heard", "promised"):
        rig.machine.leave()
    if moment == "heard":  # the end is written, the start is not carried out
        rig.world.refuse = EnvironmentFault("the world refuses")
    if moment in ("heard", "promised"):
        rig.turn()
    rig.crash()
    assert [stop[:2] for stop in rig.machine.stops][:1] == [("low-1/0", 1)]
    rig.machine.leave()
    rig.turn(2)
    assert (rig.state(high), rig.state(low)) == ("RUNNING", "QUEUED")
    rig.crash()
    rig.machine.end("high-2/0")
    rig.turn(3)
    assert (rig.state(high), rig.state(low)) == ("SUCCEEDED", "RUNNING")
    assert sorted(rig.machine.began) == [("high-2/0", 1), ("low-1/0", 1), ("low-1/0", 2)]
    events = list(rig.ledger.replay())
    assert sum(isinstance(event, GangReserved) for event in events) == 1
    assert sum(isinstance(event, GangPlaced) for event in events) == 3
    assert sum(isinstance(event, GangEnded) for event in events) == 2
    with rig.service.read() as mind:
        mind.state.validate()


def test_a_promise_that_could_not_be_written_was_never_made(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.machine.lingering = True
    low = rig.submit("low", **LOW)
    rig.turn()

    def full(_batch: object) -> None:
        raise EnvironmentFault("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(rig.ledger, "append", full)
        with pytest.raises(EnvironmentFault):
            rig.submit("high", **HIGH)
    assert rig.machine.stops == []
    assert rig.state(low) == "RUNNING"


# --- elastic gangs ------------------------------------------------------------------------------

ELASTIC = {"nodes": "2..16", "resources": {"gpus": 1}, "priority": 10}


def test_an_elastic_gang_starts_as_large_as_it_can(rig: Rig) -> None:
    rig.submit("wide", **ELASTIC)
    rig.turn()
    assert rig.machine.pods == {("wide-1/0", 1): 16}
    assert len(shown(rig, "wide-1").gangs[0].placement.pods) == 16


def shrunk(rig: Rig) -> str:
    """`wide` has the order to give up half of its pods for `high`."""
    rig.submit("wide", **ELASTIC)
    rig.turn()
    return rig.submit("high", **HIGH)


def test_pods_that_leave_make_room_and_the_gang_goes_on(rig: Rig) -> None:
    high = shrunk(rig)
    assert rig.machine.resizes[-1] == ("wide-1/0", 1, 8)
    assert rig.machine.stops == []
    assert shown(rig, high).waits_for == ("wide-1",)
    rig.turn(2)
    assert rig.state(high) == "QUEUED"
    rig.world.facts.append(PodsLeft(rig.machine.time, "wide-1/0", 1))
    rig.turn(2)
    assert (rig.state(high), rig.state("wide-1")) == ("RUNNING", "RUNNING")
    assert shown(rig, "wide-1").preemptions == 0


def test_an_order_to_shrink_that_was_not_carried_out_is_given_again(rig: Rig) -> None:
    rig.submit("wide", **ELASTIC)
    rig.turn()
    rig.world.refuse = EnvironmentFault("the world refuses")
    high = rig.submit("high", **HIGH)
    assert rig.machine.pods["wide-1/0", 1] == 16
    rig.crash()
    assert rig.machine.pods["wide-1/0", 1] == 8
    rig.world.facts.append(PodsLeft(rig.machine.time, "wide-1/0", 1))
    rig.turn(2)
    assert rig.state(high) == "RUNNING"


def test_a_start_that_comes_after_a_change_of_size_has_the_last_size(rig: Rig) -> None:
    rig.world.refuse = EnvironmentFault("the world refuses")
    rig.submit("wide", **ELASTIC)
    rig.submit("high", **HIGH)
    assert rig.machine.began == []
    rig.world.refuse = None
    rig.turn()
    with rig.service.read() as mind:
        placement = mind.state.gangs.records["wide-1/0"].placement
    assert placement is not None
    assert rig.machine.pods["wide-1/0", 1] == len(placement.pods)
