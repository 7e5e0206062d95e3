"""The reasons of gangs that hold a promise."""

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.status import State, state_of
from ganglion.lifecycle.waiting.reserved import reason_of, waits_for
from ganglion.model import events as ev
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.fleet.node import Device, Node
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.queue import Queue
from ganglion.model.reasons import Token
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, Kind, PodSet

ONE = (PodSet(request=PodRequest(gpu=GpuRequest(1))),)


def gang(name: str, gpus: int = 1) -> Gang:
    return Gang(
        f"{name}-1/0", f"{name}-1", "q", pod_sets=(PodSet(count=gpus, request=ONE[0].request),)
    )


def place(*devices: int) -> Placement:
    return Placement(
        tuple(PodPlacement("main", i, "n", (device,), 1000) for i, device in enumerate(devices))
    )


def trade(victims: int) -> ClusterState:
    """Victims on one GPU each are stopped for `u`, which is promised all of theirs."""
    state = ClusterState()
    node = Node("n", 64_000, 1 << 20, (Device("H100"),) * 8)
    events: list[ev.Event] = [ev.NodeAdded(0, node), ev.QueueSet(0, Queue("q"))]
    names = [f"v{number}" for number in range(victims)]
    for number, name in enumerate(names):
        events += [
            ev.GangSubmitted(1, gang(name)),
            ev.GangPlaced(2, f"{name}-1/0", 1, place(number)),
            ev.GangStarted(3, f"{name}-1/0", 1),
        ]
    events.append(ev.GangSubmitted(4, gang("u", victims)))
    events += [
        ev.GangStopping(5, f"{name}-1/0", 1, Cause(CauseKind.PREEMPTED, gang="u-1/0"))
        for name in names
    ]
    events.append(ev.GangReserved(5, "u-1/0", place(*range(victims))))
    for event in events:
        assert state.apply(event)
    return state


@pytest.mark.parametrize(
    ("victims", "said"),
    [
        (1, "v0-1 has"),
        (2, "v0-1 and v1-1 have"),
        (3, "v0-1, v1-1 and v2-1 have"),
        (5, "v0-1, v1-1, v2-1 and 2 more have"),
    ],
)
def test_who_holds_a_promise_is_told_whom_it_waits_for(victims: int, said: str) -> None:
    state = trade(victims)
    reason = reason_of(state, "u-1/0")
    assert reason
    assert (reason.token, reason.message) == (
        Token.DRAINING,
        f"reserved: starts when {said} stopped",
    )
    assert waits_for(state, "u-1/0") == tuple(f"v{number}-1" for number in range(victims))


def test_it_is_shown_as_queued() -> None:
    state = trade(1)
    found = state_of(Kind.TRAIN, [state.gangs.records["u-1/0"]], [reason_of(state, "u-1/0")])
    assert (found.state, found.reason) == (State.QUEUED, "draining")
    assert found.message == "reserved: starts when v0-1 has stopped"


def test_it_starts_and_waits_for_nobody_once_they_have_left() -> None:
    state = trade(1)
    end = ev.GangEnded(6, "v0-1/0", 1, ev.Outcome.PREEMPTED, requeue=True)
    assert state.apply(end)
    reason = reason_of(state, "u-1/0")
    assert reason
    assert reason.message == "reserved: starts now"
    plan = cycle(state, (), 7)
    assert [start.gang.id for start in plan.starts][:1] == ["u-1/0"]
    assert reason_of(state, "u-1/0") is None
    assert waits_for(state, "u-1/0") == ()


def test_who_holds_no_promise_is_told_what_the_engine_says() -> None:
    state = trade(1)
    assert reason_of(state, "v0-1/0") is None
    state.apply(ev.GangSubmitted(6, gang("big", 9)))
    cycle(state, (), 7)
    reason = reason_of(state, "big-1/0")
    assert reason is not None
    assert reason == state.gangs.reason("big-1/0")
