"""Places of gangs that sleep: who borrows them, and that they are back in time."""

from typing import Any

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.explain.explain import explain
from ganglion.engine.plugins.builtin import builtin_plugins
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.fleet.booking import Booking
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import EvictionRules, Future, Policy, StandbyCharge
from ganglion.model.queue import Queue
from ganglion.model.reasons import Token
from ganglion.model.resources import Amount, GpuRequest, PodRequest
from ganglion.model.workload import Checkpoint, Gang, Kind
from tests.engine.build import end, gang, node, started, state_of, submit, where

MINUTE = 60_000
SAVES = Checkpoint(grace_ms=30_000)
SLOW = Checkpoint(grace_ms=2 * MINUTE)
AT_ONCE = Policy(future=Future(patience_permille=0))
"""The first that is blocked gets a reservation, however short its wait."""


def sleeper(name: str = "chat", gpus: int = 8, **more: Any) -> Gang:
    fields: dict[str, Any] = {"kind": Kind.SERVICE, "priority": 70, "recall_ms": MINUTE} | more
    return gang(name, gpus=gpus, **fields)


def saver(name: str, gpus: int = 8, **more: Any) -> Gang:
    fields: dict[str, Any] = {"checkpoint": SAVES} | more
    return gang(name, gpus=gpus, **fields)


def wake(state: ClusterState, name: str = "chat", now: int = 100) -> Plan:
    return cycle(state, [ev.GangUpdated(now, f"{name}/0", recall_ms=0)], now)


def run_all(state: ClusterState, now: int) -> Plan:
    starting = [each for each in state.gangs.records.values() if each.phase is Phase.STARTING]
    return cycle(state, [ev.GangStarted(now, e.gang.id, e.attempt) for e in starting], now)


def leave(state: ClusterState, now: int) -> Plan:
    gone = [each for each in state.gangs.records.values() if each.phase is Phase.STOPPING]
    left = [each for each in state.gangs.records.values() if each.leaving and each not in gone]
    ends = [
        ev.GangEnded(now, e.gang.id, e.attempt, ev.Outcome.PREEMPTED, requeue=True) for e in gone
    ]
    return cycle(state, [*ends, *(ev.PodsLeft(now, e.gang.id, e.attempt) for e in left)], now)


def kept(state: ClusterState, name: str = "chat") -> list[str]:
    found = state.timeline.kept.get(f"{name}/0")
    return [pod.node for pod in found.placement.pods] if found else []


def stops(plan: Plan) -> list[tuple[str, str]]:
    return [(each.gang.partition("/")[0], str(each.cause)) for each in plan.stops]


def test_a_gang_that_sleeps_does_not_start_and_says_so() -> None:
    state = state_of(node("n0"))
    plan = submit(state, sleeper())
    assert plan.starts == [] and kept(state) == ["n0"]
    reason = state.gangs.reason("chat/0")
    assert reason and reason.token is Token.HELD and "within 60 s" in reason.message
    assert explain(state, "chat/0", 5).reason == reason
    state.validate()


def test_its_place_is_lent_only_to_gangs_that_save_and_leave_in_time() -> None:
    others = {
        "saves": saver("saves"),
        "saves too slowly": saver("slow", checkpoint=SLOW),
        "does not save": gang("plain", gpus=8),
        "may not be stopped": saver("fixed", preemptible=False),
        "has a floor": saver("floor", floor=1),
        "is more urgent but does not save": gang("urgent", gpus=8, priority=90),
    }
    for what, other in others.items():
        state = state_of(node("n0"))
        submit(state, sleeper())
        assert bool(submit(state, other, now=2).starts) == (what == "saves"), what
        state.validate()


def test_who_waits_for_a_kept_place_is_told_so() -> None:
    state = state_of(node("n0"))
    submit(state, sleeper())
    submit(state, gang("plain", gpus=8), now=2)
    reason = state.gangs.reason("plain/0")
    assert reason and reason.token is Token.ORDER and "chat/0, which sleeps" in reason.message


def test_an_equal_that_saves_passes_one_that_does_not() -> None:
    state = state_of(node("n0"))
    submit(state, sleeper())
    plan = submit(state, gang("plain", gpus=8, submitted=1), saver("saves", submitted=2), now=2)
    assert started(plan) == ["saves"]


def test_others_start_beside_a_kept_place() -> None:
    state = state_of(node("n0"))
    submit(state, sleeper(gpus=4))
    assert started(submit(state, gang("plain", gpus=4), now=2)) == ["plain"]
    assert not submit(state, gang("more"), now=3).starts
    assert kept(state) == ["n0"]
    state.validate()


def test_cpu_that_goes_with_a_kept_place_is_kept_too() -> None:
    state = state_of(node("n0"))
    submit(state, sleeper(request=PodRequest(90_000, 0, GpuRequest(1))))
    assert not submit(state, gang("plain", request=PodRequest(10_000)), now=2).starts
    borrower = saver("saves", request=PodRequest(10_000))
    assert started(submit(state, borrower, now=3)) == ["saves"]
    assert stops(wake(state)) == [("saves", "recalled for chat/0")]


def test_who_wakes_has_its_place_at_once_and_starts_when_the_borrower_has_left() -> None:
    state = state_of(node("n0"), node("n1"))
    submit(state, sleeper())
    place = kept(state)
    submit(state, saver("a"), saver("b"), now=2)
    run_all(state, 3)
    plan = wake(state)
    assert [cause for _, cause in stops(plan)] == ["recalled for chat/0"]
    assert state.gangs.record("chat/0").phase is Phase.RESERVED and not kept(state)
    state.validate()
    after = leave(state, 101)
    assert where(after, "chat") == place
    assert started(after) == ["chat"]
    state.validate()


def test_who_wakes_starts_at_once_where_nothing_is_lent() -> None:
    state = state_of(node("n0"))
    submit(state, sleeper())
    assert started(wake(state)) == ["chat"]
    assert not kept(state)
    state.validate()


def test_a_borrower_that_fits_elsewhere_goes_on_there() -> None:
    state = state_of(node("n0"), node("n1"))
    submit(state, sleeper())
    submit(state, gang("plain", gpus=8), now=2)
    submit(state, saver("a"), now=3)
    run_all(state, 4)
    (home,) = kept(state)
    end(state, "plain", now=5)
    assert stops(wake(state)) == [("a", "recalled for chat/0")]
    promise = state.gangs.record("a/0").promise
    assert promise and promise.pods[0].node != home
    assert sorted(started(leave(state, 101))) == ["a", "chat"]
    state.validate()


def test_only_those_in_the_way_are_stopped() -> None:
    state = state_of(node("n0"))
    submit(state, sleeper(gpus=2))
    submit(state, *(saver(f"s{i}", gpus=2) for i in range(4)), now=2)
    run_all(state, 3)
    assert len(stops(wake(state))) == 1
    state.validate()


def test_a_gang_of_several_nodes_wakes_as_one() -> None:
    state = state_of(*(node(f"n{i}") for i in range(3)))
    submit(state, sleeper(pods=2))
    submit(state, *(saver(f"s{i}") for i in range(3)), now=2)
    run_all(state, 3)
    assert len(stops(wake(state))) == 2
    assert started(leave(state, 101)) == ["chat"]
    state.validate()


def test_an_elastic_borrower_shrinks() -> None:
    state = state_of(node("n0"), node("n1"))
    submit(state, sleeper())
    (home,) = kept(state)
    submit(state, saver("wide", pods=2, pod={"min_count": 1}), now=2)
    run_all(state, 3)
    plan = wake(state)
    assert plan.stops == []
    assert [pod.node for pod in plan.resizes[0].placement.pods] != [home]
    assert str(plan.resizes[0].cause) == "recalled for chat/0"
    assert started(leave(state, 101)) == ["chat"]
    state.validate()


def test_nobody_grows_into_a_kept_place_who_would_not_leave_in_time() -> None:
    for checkpoint, pods in ((None, 1), (SAVES, 2)):
        state = state_of(node("n0"), node("n1"))
        submit(state, sleeper())
        submit(state, gang("wide", 2, 8, checkpoint=checkpoint, pod={"min_count": 1}), now=2)
        placement = state.gangs.record("wide/0").placement
        assert placement and len(placement.pods) == pods
        state.validate()


def test_a_place_is_kept_where_gangs_run_that_would_leave_for_it() -> None:
    state = state_of(node("n0"))
    submit(state, saver("train", priority=30))
    run_all(state, 2)
    plan = submit(state, sleeper(), now=3)
    assert kept(state) == ["n0"] and plan.stops == []
    assert stops(wake(state)) == [("train", "recalled for chat/0")]


@pytest.mark.parametrize(
    "other",
    [
        saver("other", priority=90),
        saver("other", preemptible=False),
        saver("other", checkpoint=SLOW),
        gang("other", gpus=8),
        saver("other", queue="theirs", priority=10),
    ],
    ids=["higher", "fixed", "slow", "no checkpoint", "within its quota"],
)
def test_no_place_is_kept_where_gangs_run_that_need_not_leave(other: Gang) -> None:
    quota = {"*": Amount(gpu_milli=8000)}
    state = state_of(node("n0"), queues=(Queue("team"), Queue("theirs", quota=quota)))
    submit(state, other)
    run_all(state, 2)
    submit(state, sleeper(), now=3)
    assert not kept(state)
    assert started(end(state, "other", now=4)) == [] and kept(state) == ["n0"]


def test_no_place_is_kept_where_a_gang_takes_longer_to_leave() -> None:
    state = state_of(node("n0"))
    submit(state, saver("slow", checkpoint=SLOW))
    cycle(state, [ev.GangStopping(2, "slow/0", 1, Cause(CauseKind.CANCELLED))], 2)
    submit(state, sleeper(), now=3)
    assert not kept(state)
    cycle(state, [ev.GangEnded(4, "slow/0", 1, ev.Outcome.CANCELLED)], 4)
    assert kept(state) == ["n0"]


@pytest.mark.parametrize(
    "news", [ev.NodeLost(5, "n0"), ev.NodeLost(5, "n1"), ev.DeviceHealth(5, "n0", 3, False)]
)
def test_a_kept_place_moves_when_its_node_fails(news: ev.Event) -> None:
    state = state_of(node("n0"), node("n1"))
    submit(state, sleeper())
    cycle(state, [news], 5)
    other = "n0" if isinstance(news, ev.NodeLost) and news.name == "n1" else "n1"
    assert kept(state) == [other]
    state.validate()


def test_a_kept_place_moves_off_a_cordoned_node() -> None:
    state = state_of(node("n0"), node("n1"))
    submit(state, sleeper())
    (home,) = kept(state)
    cycle(state, [ev.NodeCordoned(5, home, "maintenance")], 5)
    assert kept(state) == [{"n0": "n1", "n1": "n0"}[home]]


@pytest.mark.parametrize(
    "change",
    [
        ev.GangEnded(5, "chat/0", 0, ev.Outcome.CANCELLED),
        ev.GangUpdated(5, "chat/0", held=True),
    ],
)
def test_a_place_is_given_back_when_its_gang_wants_it_no_more(change: ev.Event) -> None:
    state = state_of(node("n0"))
    submit(state, sleeper(), gang("plain", gpus=8))
    assert started(cycle(state, [change], 5)) == ["plain"]
    assert not kept(state)
    state.validate()


def test_other_terms_are_a_new_contract() -> None:
    state = state_of(node("n0"))
    submit(state, sleeper())
    cycle(state, [ev.GangUpdated(5, "chat/0", recall_ms=10_000)], 5)
    assert kept(state) == ["n0"]
    assert not submit(state, saver("saves"), now=6).starts


def test_a_borrower_with_a_floor_of_late_ends_the_contract() -> None:
    state = state_of(node("n0"))
    submit(state, sleeper())
    submit(state, saver("saves"), now=2)
    cycle(state, [ev.GangUpdated(5, "saves/0", floor=1)], 5)
    assert not kept(state)
    state.validate()


def test_the_right_is_held_within_quota() -> None:
    queue = Queue("team", quota={"*": Amount(gpu_milli=8000)})
    state = state_of(node("n0"), node("n1"), queues=(queue,))
    submit(state, sleeper("a"), sleeper("b"))
    assert [bool(kept(state, name)) for name in "ab"] == [True, False]
    assert state.queues.shares.usage["team"]["*"].gpu_milli == 8000
    submit(state, saver("saves"), now=2)
    assert state.queues.shares.usage["team"]["*"].gpu_milli == 16_000
    wake(state, "a")
    leave(state, 101)
    assert started(run_all(state, 102)) == []
    state.validate()


def test_waking_never_lacks_quota() -> None:
    queue = Queue("team", limit={"*": Amount(gpu_milli=8000)})
    state = state_of(node("n0"), node("n1"), queues=(queue,))
    submit(state, sleeper())
    assert not submit(state, gang("plain", gpus=8), now=2).starts
    assert started(wake(state)) == ["chat"]


def test_rights_may_cost_nothing_until_they_are_used() -> None:
    queue = Queue("team", limit={"*": Amount(gpu_milli=8000)})
    policy = Policy(sleeping=StandbyCharge.NOTHING)
    state = state_of(node("n0"), node("n1"), queues=(queue,), policy=policy)
    submit(state, sleeper())
    assert started(submit(state, gang("plain", gpus=8, preemptible=False), now=2)) == ["plain"]
    wake(state)
    assert state.gangs.record("chat/0").phase is Phase.PENDING and kept(state)
    assert started(end(state, "plain", now=101)) == ["chat"]
    state.validate()


def test_what_waits_with_more_priority_goes_before_a_right() -> None:
    state = state_of(node("n0"))
    plan = submit(state, sleeper(priority=50), gang("plain", gpus=8, priority=60))
    assert started(plan) == ["plain"] and not kept(state)


def test_a_plugin_that_protects_a_gang_keeps_it_off_lent_places() -> None:
    class Protect:
        name = "protect"

        def may_stop(self, victim: Gang, favoured: Gang, now: int) -> bool:
            return victim.workload != "saves"

    plugins = replace(builtin_plugins(Policy()), preempts=(Protect(),))
    assert isinstance(plugins, Plugins)
    state = state_of(node("n0"), plugins=plugins)
    submit(state, sleeper())
    assert not submit(state, saver("saves"), now=2).starts
    assert started(submit(state, saver("other", priority=40), now=3)) == ["other"]


def test_nothing_is_lent_where_nobody_is_ever_stopped() -> None:
    state = state_of(node("n0"), policy=Policy(evict=EvictionRules(enabled=False)))
    submit(state, sleeper())
    assert kept(state) == ["n0"]
    assert not submit(state, saver("saves"), now=2).starts


def test_a_borrower_promised_a_lent_place_loses_the_promise() -> None:
    state = state_of(node("n0"))
    submit(state, saver("first", priority=30))
    run_all(state, 2)
    submit(state, sleeper(), now=3)
    submit(state, saver("second", priority=40), now=4)
    assert state.gangs.record("second/0").phase is Phase.RESERVED
    state.validate()
    wake(state)
    assert state.gangs.record("second/0").phase is Phase.PENDING
    assert started(leave(state, 101)) == ["chat"]
    state.validate()


def test_it_sleeps_again_after_it_ran() -> None:
    state = state_of(node("n0"))
    submit(state, sleeper())
    wake(state)
    run_all(state, 101)
    cycle(state, [ev.GangUpdated(102, "chat/0", recall_ms=MINUTE)], 102)
    stopping = ev.GangStopping(103, "chat/0", 1, Cause(CauseKind.PREEMPTED))
    cycle(state, [stopping], 103)
    leave(state, 104)
    assert state.gangs.record("chat/0").phase is Phase.PENDING and kept(state) == ["n0"]
    state.validate()


def test_two_that_sleep_on_one_node_have_their_places_on_their_own_terms() -> None:
    state = state_of(node("n0"))
    submit(state, sleeper("quick", 4, recall_ms=30_000), sleeper("slow", 4, recall_ms=2 * MINUTE))
    submit(state, saver("hasty", 4), saver("tardy", 4, checkpoint=SLOW), now=2)
    assert state.gangs.record("tardy/0").phase is Phase.STARTING
    state.validate()
    run_all(state, 3)
    assert stops(wake(state, "quick", 100)) == [("hasty", "recalled for quick/0")]
    assert stops(wake(state, "slow", 101)) == [("tardy", "recalled for slow/0")]
    state.validate()


def test_replaying_the_events_keeps_the_same_places() -> None:
    state, twin = state_of(node("n0"), node("n1")), state_of(node("n0"), node("n1"))
    steps: list[list[ev.Event]] = [
        [ev.GangSubmitted(1, sleeper())],
        [ev.GangSubmitted(2, saver("saves"))],
        [ev.NodeLost(3, "n0")],
        [ev.GangUpdated(4, "chat/0", recall_ms=0)],
    ]
    for now, events in enumerate(steps, 1):
        plan = cycle(state, events, now)
        for event in (*events, *plan.decisions):
            twin.apply(event)
        assert [k.placement for k in state.timeline.kept] == [
            k.placement for k in twin.timeline.kept
        ]
        assert (
            state.gangs.records == twin.gangs.records
            and state.queues.shares.usage == twin.queues.shares.usage
        )


def test_a_kept_place_leaves_nodes_that_are_booked() -> None:
    state = state_of(node("n0"), node("n1"))
    submit(state, sleeper())
    (home,) = kept(state)
    booking = Booking("repair", (home,), 30 * MINUTE, 60 * MINUTE)
    cycle(state, [ev.BookingSet(5, booking)], 5)
    assert kept(state) == [{"n0": "n1", "n1": "n0"}[home]]


def test_lost_pods_are_replaced_on_a_kept_place_only_where_they_would_leave_in_time() -> None:
    for checkpoint, replaced in ((None, False), (SAVES, True)):
        state = state_of(*(node(f"n{i}") for i in range(3)), policy=Policy(repair=True))
        submit(state, gang("wide", 2, 8, checkpoint=checkpoint))
        run_all(state, 2)
        submit(state, sleeper(), now=3)
        (home,) = kept(state)
        placement = state.gangs.record("wide/0").placement
        assert placement
        plan = cycle(state, [ev.NodeLost(4, placement.pods[0].node)], 4)
        assert [home in {p.node for p in each.placement.pods} for each in plan.resizes] == (
            [True] * replaced
        )
        assert bool(plan.stops) != replaced
        state.validate()


def test_a_reservation_does_not_lie_on_a_kept_place() -> None:
    state = state_of(node("n0"), node("n1"), policy=AT_ONCE)
    submit(state, gang("runs", gpus=8, time_limit_ms=MINUTE), sleeper())
    (home,) = kept(state)
    run_all(state, 2)
    submit(state, gang("next", gpus=8, time_limit_ms=MINUTE, preemptible=False), now=3)
    held = state.timeline.future.reservation("next/0")
    assert held and [pod.node for pod in held.placement.pods] != [home]
    assert started(end(state, "runs", now=30_000)) == ["next"]


def test_a_place_is_not_kept_where_one_is_reserved() -> None:
    state = state_of(node("n0"), policy=AT_ONCE)
    submit(state, gang("runs", gpus=4, time_limit_ms=MINUTE, preemptible=False))
    run_all(state, 2)
    submit(state, gang("next", gpus=8, priority=90, preemptible=False), now=3)
    assert state.timeline.future.reservation("next/0")
    submit(state, sleeper(gpus=4), now=4)
    assert not kept(state)
