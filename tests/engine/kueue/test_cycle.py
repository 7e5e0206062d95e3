"""One gang per queue and cycle."""

from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.ordering.attempt import TrialOutcome, resolve, seek
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.fleet.booking import Booking
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Future
from ganglion.model.queue import Preemption, Queue, Victims
from ganglion.model.reasons import Token
from ganglion.model.resources import Amount
from tests.engine.build import gang, node, started, state_of
from tests.engine.lenders import CLASSIC, FAIR, FREELY, NOBODY, lenders, queue, runs, waits


def _victims(found: TrialOutcome) -> list[str]:
    assert found.trade
    return [unit.record.gang.id for unit in found.trade.units]


def go(state: ClusterState, now: int = 100) -> Plan:
    plan = cycle(state, [], now)
    state.validate()
    return plan


def test_one_gang_of_each_queue_is_looked_at() -> None:
    state = lenders(queue("a", 4), queue("b", 4))
    for name in ("a1", "a2", "b1", "b2"):
        waits(state, name, name[0])

    assert sorted(started(go(state))) == ["a1", "b1"]
    assert state.next_wake() is not None
    assert sorted(started(go(state, 101))) == ["a2", "b2"]
    assert go(state, 102).decisions == []
    assert state.next_wake() is None


def test_who_borrows_from_nearer_goes_first_whatever_the_priority() -> None:
    state = lenders(queue("a", 2), queue("b", 2))
    waits(state, "borrows", "a", 3, priority=9, at=1)
    waits(state, "owns", "b", 2, priority=1)

    assert started(go(state)) == ["owns"]


def test_by_share_the_one_goes_first_that_leaves_its_queue_with_less() -> None:
    queues = (queue("a", 2, weight=2), queue("b", 2), queue("idle", 4))
    state = lenders(*queues, policy=FAIR)
    waits(state, "heavy", "a", 5)
    waits(state, "light", "b", 4, priority=9)

    assert started(go(state)) == ["heavy"]


def test_a_head_that_no_longer_fits_waits_for_the_next_cycle() -> None:
    state = lenders(queue("a", 2), queue("b", 2))
    waits(state, "first", "a", 3, at=1)
    waits(state, "second", "b", 3)

    plan = go(state)

    assert started(plan) == ["first"]
    assert plan.waits == []
    assert [each.first for each in go(state, 101).waits] == ["second/0"]


def test_idle_quota_is_kept_for_its_owner_for_one_cycle_unless_it_can_be_taken_back() -> None:
    for rule, expected in ((Victims.LOWER, []), (Victims.ANY, ["guest"])):
        owner = queue("owner", 2, preemption=Preemption(Victims.NEVER, rule))
        state = lenders(owner, queue("guest", 0, preemption=NOBODY))
        runs(state, "there", "owner", 1)
        waits(state, "big", "owner", 2, at=2)
        waits(state, "guest", "guest", 1, at=3)

        assert started(go(state)) == expected
        assert started(go(state, 101)) == ([] if expected else ["guest"])


def test_a_strict_queue_waits_for_its_head() -> None:
    state = lenders(queue("strict", 4, strict=True), queue("loose", 4))
    for name in ("strict", "loose"):
        runs(state, f"{name}-there", name, 3)
        waits(state, f"{name}-big", name, 6, at=2)
        waits(state, f"{name}-small", name, 1, at=3)

    assert [started(go(state, 100 + each)) for each in range(3)] == [[], ["loose-small"], []]


def test_victims_are_told_to_stop_and_the_place_is_promised() -> None:
    state = lenders(queue("q", 4))
    low = runs(state, "low", "q", 4, priority=1)
    high = waits(state, "high", "q", 2, priority=9)

    plan = go(state)

    assert [(stop.gang, str(stop.cause)) for stop in plan.stops] == [
        ("low/0", "preempted for high/0")
    ]
    assert (low.phase, high.phase) == (Phase.STOPPING, Phase.RESERVED)
    left = ev.GangEnded(101, "low/0", 1, ev.Outcome.PREEMPTED, requeue=True)
    assert started(cycle(state, [left], 101)) == ["high"]
    assert go(state, 102).decisions == []
    assert low.phase is Phase.PENDING


def test_quota_of_all_flavors_is_charged_once() -> None:
    queues = (
        Queue("all", quota={"*": Amount(8000)}),
        Queue("a", "all", {"*": Amount(4000)}, preemption=FREELY),
        Queue("b", "all", {"*": Amount(4000)}, preemption=FREELY),
    )
    for policy in (CLASSIC, FAIR):
        state = state_of(node("n", 16), queues=queues, policy=policy)
        for name in ("a1", "a2"):
            waits(state, name, "a", 4)
        waits(state, "b1", "b", 4, at=9)

        assert sorted(started(go(state))) == ["a1", "b1"]
        assert [stop.gang for stop in go(state, 101).stops] == []
        assert state.queues.shares.usage["all"]["*"].gpu_milli == 8000


def test_a_flavor_that_no_node_has_is_named() -> None:
    state = state_of(
        node("n", 8), queues=(Queue("q", quota={"B200": Amount(8000)}),), policy=CLASSIC
    )
    waits(state, "w", "q", 1)

    (wait,) = go(state).waits

    assert wait.reason.never
    assert "B200" in wait.reason.message


def test_gangs_that_run_too_short_or_are_not_preemptible_are_spared() -> None:
    for protected, preemptible, stopped in ((0, True, 1), (1000, True, 0), (0, False, 0)):
        rules = Preemption(Victims.LOWER, Victims.ANY, protected_ms=protected)
        state = lenders(queue("q", 4, preemption=rules))
        there = runs(state, "low", "q", 4, priority=1)
        there.gang = replace(there.gang, preemptible=preemptible)
        waits(state, "high", "q", 2, priority=9)

        assert len(go(state, 500).stops) == stopped


def test_a_delay_holds_preemption_back() -> None:
    state = lenders(queue("q", 4, preemption=Preemption(Victims.LOWER, delay_ms=1000)))
    runs(state, "low", "q", 4, priority=1)
    waits(state, "high", "q", 2, priority=9, at=2)

    assert go(state, 500).stops == []


def test_a_users_limit_holds_here_too() -> None:
    owner = Queue("q", quota={"H100": Amount(8000)}, user_limit={"H100": Amount(2000)})
    state = state_of(node("n", 8), queues=(owner,), policy=CLASSIC)
    waits(state, "large", "q", 3)
    assert started(go(state)) == []

    waits(state, "small", "q", 2)
    assert started(go(state, 101)) == ["small"]


def test_work_that_nobody_may_stop_does_not_borrow() -> None:
    state = lenders(queue("a", 2), queue("b", 2))
    fixed = gang("fixed", 1, 3, "a", preemptible=False)
    state.apply(ev.GangSubmitted(1, fixed))

    assert started(go(state)) == []


def test_nodes_that_are_booked_are_left_alone() -> None:
    state = lenders(queue("q", 4))
    state.apply(ev.BookingSet(1, Booking("upkeep", ("n",), 0, 10_000)))
    waits(state, "w", "q", 1)

    assert started(go(state)) == []


def test_asking_why_tells_what_the_cycle_would_do() -> None:
    state = lenders(queue("q", 4))
    runs(state, "low", "q", 4, priority=1)
    high = waits(state, "high", "q", 2, priority=9)
    equal = waits(state, "equal", "q", 2, priority=1)
    before = (list(state.fleet.tree.conditions), dict(state.queues.shares.usage["q"]))

    assert _victims(resolve(state, high, 100)) == ["low/0"]
    assert resolve(state, equal, 100).reason is not None
    assert (list(state.fleet.tree.conditions), dict(state.queues.shares.usage["q"])) == before


def test_looking_for_a_place_alone_stops_nobody() -> None:
    state = lenders(queue("q", 4))
    runs(state, "low", "q", 4, priority=1)
    high = waits(state, "high", "q", 2, priority=9)

    reason, place = seek(state, high, 100)

    assert place is None
    assert reason
    assert reason.token is Token.QUOTA
    assert _victims(resolve(state, high, 100)) == ["low/0"]


def test_a_reservation_keeps_others_from_overtaking_where_the_policy_makes_them() -> None:
    for reservations, expected in ((0, ["small"]), (1, [])):
        policy = replace(CLASSIC, future=Future(reservations=reservations, patience_permille=0))
        state = lenders(queue("a", 12), queue("b", 8), policy=policy, gpus=8)
        asked = gang("there", 1, 4, "a", time_limit_ms=10_000)
        state.apply(ev.GangSubmitted(1, asked))
        assert started(go(state, 1)) == ["there"]
        state.apply(ev.GangStarted(1, asked.id, 1))
        waits(state, "big", "a", 8, at=2)
        waits(state, "small", "b", 4, at=3)

        assert started(go(state)) == expected
