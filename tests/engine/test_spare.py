"""Spare gangs use what no other gang waits for, and leave as soon as one does."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import (
    Event,
    GangEnded,
    GangPlaced,
    GangStarted,
    GangSubmitted,
    GangUpdated,
    NodeAdded,
    Outcome,
    QueueSet,
)
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Entitlement, EvictionRules, Future, Policy
from ganglion.model.queue import Preemption, Queue, Victims
from ganglion.model.resources import Amount
from ganglion.model.workload import SPARE, Checkpoint, Gang
from tests.effort import examples
from tests.engine.build import gang, node, started, state_of, submit

HOUR = 3_600_000
A, B = Queue("a", quota={"*": Amount(4_000)}), Queue("b", quota={"*": Amount(4_000)})


def spare(name: str, queue: str = "team", **more: object) -> Gang:
    return gang(name, queue=queue, priority=SPARE, **more)  # type: ignore[arg-type]


def run(state: ClusterState, *gangs: Gang, now: int = 1) -> None:
    plan = submit(state, *gangs, now=now)
    assert len(plan.starts) == len(gangs)
    cycle(state, [GangStarted(now, each.gang.id, each.attempt) for each in plan.starts], now)


def stopped(plan: Plan) -> dict[str, str]:
    return {each.gang.partition("/")[0]: str(each.cause) for each in plan.stops}


def test_a_spare_gang_takes_what_is_free() -> None:
    state = state_of(node("n0"))
    assert started(submit(state, spare("s", gpus=8))) == ["s"]


def test_it_goes_after_everybody_else_whatever_its_team_deserves() -> None:
    state = state_of(node("n0", gpus=4), queues=(A, B))
    run(state, gang("b0", gpus=2, queue="b"))
    plan = submit(state, spare("s", queue="a", gpus=2), gang("b1", gpus=2, queue="b"))
    assert started(plan) == ["b1"]


def test_it_leaves_for_any_other_team_even_one_beyond_its_share() -> None:
    state = state_of(node("n0"), queues=(A, B))
    run(state, gang("b0", gpus=4, queue="b"))
    run(state, spare("s", queue="a", gpus=4))
    plan = submit(state, gang("b1", gpus=4, queue="b"), now=HOUR)
    assert stopped(plan) == {"s": "cleared for b1/0"}


def test_it_leaves_for_a_lower_priority_and_where_queues_never_preempt() -> None:
    state = state_of(node("n0"), queues=(Queue("team", preemption=Preemption(Victims.NEVER)),))
    run(state, spare("s", gpus=8))
    assert stopped(submit(state, gang("low", gpus=8, priority=0), now=HOUR)) == {
        "s": "cleared for low/0"
    }


def test_it_leaves_before_anybody_else_has_to_whatever_it_loses() -> None:
    state = state_of(node("n0"), node("n1"))
    run(state, gang("cheap", gpus=8, priority=10, checkpoint=Checkpoint()), now=HOUR)
    run(state, spare("s", gpus=8), now=1)
    assert list(stopped(submit(state, gang("x", gpus=8, priority=80), now=2 * HOUR))) == ["s"]


def test_nobody_is_moved_to_spare_it() -> None:
    state = state_of(node("n0"), node("n1"))
    run(state, gang("saved", gpus=4, checkpoint=Checkpoint()))
    state.apply(GangSubmitted(1, spare("s", gpus=4)))
    place = Placement((PodPlacement("main", 0, "n1", (0, 1, 2, 3), 1000),))
    state.apply(GangPlaced(1, "s/0", 1, place))
    state.apply(GangStarted(1, "s/0", 1))
    plan = submit(state, gang("x", gpus=8), now=HOUR)
    assert set(stopped(plan)) == {"s"}


def test_it_leaves_at_once_not_at_its_next_checkpoint_or_after_a_protected_time() -> None:
    policy = Policy(evict=EvictionRules(checkpoint_wait_ms=HOUR))
    kept = Queue("team", preemption=Preemption(protected_ms=HOUR))
    state = state_of(node("n0"), policy=policy, queues=(kept,))
    saves = Checkpoint(interval_ms=600_000)
    run(state, spare("s", gpus=8, checkpoint=saves))
    plan = submit(state, gang("x", gpus=8, submitted=550_000), now=550_000)
    assert list(stopped(plan)) == ["s"]


def test_it_disturbs_nobody_not_even_its_equals() -> None:
    state = state_of(node("n0"), queues=(Queue("team", timeshare_ms=1_000),))
    run(state, gang("low", gpus=4, priority=0), spare("s0", gpus=4))
    plan = submit(state, spare("s1", gpus=4), now=HOUR)
    assert (plan.starts, plan.stops) == ([], [])


def test_it_keeps_no_place_and_no_time_for_itself() -> None:
    state = state_of(node("n0"), policy=Policy(future=Future(reservations=4)))
    run(state, gang("long", gpus=4, time_limit_ms=HOUR))
    submit(state, spare("s", gpus=8))
    assert not state.timeline.future.reservations()


def test_it_leaves_where_it_uses_up_what_its_own_team_may_use() -> None:
    few = Queue("a", limit={"*": Amount(4_000)})
    state = state_of(node("n0"), node("n1", gpus=4), queues=(few, B))
    run(state, spare("theirs", queue="b", gpus=4), spare("mine", queue="a", gpus=1))
    run(state, gang("fill", queue="b", gpus=7))
    assert state.gangs.record("mine/0").placement
    plan = submit(state, gang("x", queue="a", gpus=4), now=HOUR)
    assert set(stopped(plan)) == {"theirs", "mine"}


def test_one_that_is_promoted_stays_when_others_come() -> None:
    state = state_of(node("n0"))
    run(state, spare("s", gpus=8))
    cycle(state, [GangUpdated(2, "s/0", priority=50)], 2)
    plan = submit(state, gang("x", gpus=8), now=HOUR)
    assert plan.stops == []
    assert state.gangs.record("x/0").phase is Phase.PENDING


def test_what_it_waits_for_makes_no_team_deserve_more() -> None:
    state = state_of(node("n0"), queues=(A, B))
    submit(state, *(spare(f"s{n}", queue="a") for n in range(40)))
    assert not any(state.gangs.lanes.demand.get("a", {}).values())


class _Play:
    """Gangs come and go at random; what stops is gone a moment later."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        limit = {"*": Amount(self.rng.randrange(4, 12) * 1_000)}
        self.happened: list[Event] = [
            QueueSet(0, Queue("a", limit=limit if self.rng.random() < 0.3 else {})),
            QueueSet(0, Queue("b", quota={"*": Amount(self.rng.randrange(8) * 1_000)})),
            *(NodeAdded(0, node(f"n{i}", gpus=4)) for i in range(3)),
        ]
        self.policy = Policy(entitlement=self.rng.choice((Entitlement.SHARE, Entitlement.KAI)))
        self.state = ClusterState(self.policy)
        self.now = 0
        self.take(self.happened, keep=False)

    def take(self, events: list[Event], *, keep: bool = True) -> None:
        self.now += 1_000
        self.happened += events if keep else []
        plan = cycle(self.state, events, self.now)
        assert plan.rejected == []
        self.happened += plan.decisions
        self.state.validate()

    def step(self, number: int) -> None:
        events: list[Event] = [
            self.over(record.gang.id, Outcome.SUCCEEDED)
            for record in self.state.gangs.records.values()
            if record.phase is Phase.RUNNING and self.rng.random() < 0.15
        ]
        for each in range(self.rng.randrange(4)):
            priority = self.rng.choice((SPARE, SPARE, 20, 50))
            gpus, pods = self.rng.choice(((1, 1), (2, 1), (4, 1), (2, 2)))
            name, queue = f"w{number}-{each}", self.rng.choice("ab")
            made = gang(name, pods, gpus, queue, priority=priority, submitted=self.now)
            events.append(GangSubmitted(self.now, made))
        self.take(events)

    def over(self, name: str, outcome: Outcome) -> GangEnded:
        again = outcome is Outcome.PREEMPTED
        return GangEnded(
            self.now, name, self.state.gangs.record(name).attempt, outcome, requeue=again
        )

    def settle(self) -> None:
        """Gangs with the order to stop leave, started gangs run, until nothing happens."""
        for _ in range(60):
            phases = {name: each.phase for name, each in self.state.gangs.records.items()}
            left = [n for n, phase in phases.items() if phase is Phase.STOPPING]
            ran = [n for n, phase in phases.items() if phase is Phase.STARTING]
            if not left and not ran:
                return
            events: list[Event] = [self.over(name, Outcome.PREEMPTED) for name in left]
            events += [GangStarted(self.now, n, self.state.gangs.record(n).attempt) for n in ran]
            self.take(events)
        raise AssertionError("it does not come to rest")

    def without_spares(self) -> Plan:
        """What would happen if every spare gang were gone."""
        state = ClusterState(self.policy)
        for event in self.happened:
            state.apply(event)
        spares = [each for each in state.gangs.records.values() if each.gang.spare]
        ends = [
            GangEnded(self.now, each.gang.id, each.attempt, Outcome.CANCELLED)
            for each in spares
            if each.phase is not Phase.ENDED
        ]
        return cycle(state, ends, self.now)


@settings(max_examples=examples(30, nightly=1_200), deadline=None)
@given(st.integers(0, 10**9))
def test_nobody_waits_for_room_that_spare_gangs_hold(seed: int) -> None:
    play = _Play(seed)
    for number in range(8):
        play.step(number)
        play.settle()
        assert [start.gang.id for start in play.without_spares().starts] == []
