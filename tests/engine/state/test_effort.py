"""A cycle that is out of work goes on in the next one, and nothing is forgotten or starved."""

from random import Random

import pytest

from benchmarks.speed.bursts import Burst
from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import POSTPONED, UNBOUNDED, Effort
from ganglion.engine.store.journal import Journal
from ganglion.model.events import Event, GangSubmitted, NodeAdded, QueueSet
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Entitlement, Policy
from ganglion.model.queue import Preemption, Queue, Victims
from ganglion.model.reasons import Token
from ganglion.model.workload import Topology
from tests.effort import sample
from tests.engine.build import gang, node, started, state_of, submit
from tests.engine.contention import Contention
from tests.engine.lenders import NOBODY, lenders, queue, runs, waits
from tests.engine.literal import fits_somewhere

LITTLE = (1, 200)
"""Budgets: one gang in every cycle, and a few of them."""


@pytest.mark.parametrize("effort", LITTLE)
@pytest.mark.parametrize("policy", [Policy(), Policy(entitlement=Entitlement.KAI)])
@pytest.mark.parametrize("seed", sample(range(6), 3))
def test_queues_that_fight_come_to_rest_with_little_work_in_a_cycle(
    seed: int, policy: Policy, effort: int
) -> None:
    contention = Contention(Random(seed), policy, effort, rounds=400)

    for _ in range(25):
        contention.step()
        nothing_waits_that_fits(contention.state)


def nothing_waits_that_fits(state: ClusterState) -> None:
    for record in state.gangs.records.values():
        (first, *others), gang = record.gang.pod_sets, record.gang
        reason = state.gangs.reason(gang.id) if record.phase is Phase.PENDING else None
        if reason is None:
            continue
        assert POSTPONED not in reason.evidence, f"{gang.id} was not searched for in full"
        alone = not others and first.count == 1 and gang.topology == Topology()
        if alone and reason.token in (Token.CAPACITY, Token.CONSTRAINT):
            assert not fits_somewhere(state, gang)


HEADS = (
    Policy(entitlement=Entitlement.QUOTA),
    Policy(entitlement=Entitlement.QUOTA, heads_only=True),
    Policy(entitlement=Entitlement.DOMINANT, heads_only=True),
)


@pytest.mark.parametrize("policy", [Policy(), *HEADS])
@pytest.mark.parametrize("seed", sample(range(8), 3))
def test_without_victims_the_same_gangs_start_whatever_the_work_of_a_cycle(
    seed: int, policy: Policy
) -> None:
    found = [settled(seed, effort, policy) for effort in (1, 100, 1000, 1_000_000)]

    assert found[0]
    assert found == [found[0]] * len(found)


def settled(seed: int, effort: int, policy: Policy) -> set[str]:
    """Gangs that run in the end where those that fit at all have room beside each other."""
    rng, names = Random(seed), ("a", "b", "c")
    queues = tuple(map(Queue, names))
    state = state_of(*(node(f"n{n}") for n in range(4)), policy=policy, queues=queues)
    state.agenda.effort.per_cycle = effort
    sizes = [rng.choice((1, 1, 2, 9)) for _ in range(16)]
    gangs = [gang(f"g{n}", 1, size, names[n % 3], n) for n, size in enumerate(sizes)]
    plan, now = submit(state, *gangs), 2
    while plan.decisions or state.agenda.again_at is not None:
        assert now < 200, "no rest"
        plan, now = cycle(state, [], now), now + 1
    state.validate()
    return {each.gang.id for each in state.gangs.records.values() if each.placement}


def test_a_burst_has_the_same_outcome_in_many_cycles_as_in_few() -> None:
    whole, little, again = (Burst(12, 100) for _ in range(3))
    for burst, work in ((whole, UNBOUNDED), (little, 150), (again, 150)):
        burst.state.agenda.effort.per_cycle = work

    assert whole.settle() and little.settle(400) and again.settle(400)

    assert len(whole.cycles) < 10 < len(little.cycles)
    assert len(little.started) >= len(whole.started) * 9 // 10
    assert little.lost <= 2 * whole.lost
    assert little.started == again.started
    assert len(little.cycles) == len(again.cycles)
    nothing_waits_that_fits(little.state)


def test_a_gang_that_no_cycle_has_got_to_says_so_and_the_engine_asks_to_go_on() -> None:
    state = state_of(node("a"))
    state.agenda.effort.per_cycle = 1
    plan = submit(state, gang("large", gpus=9), gang("larger", gpus=10))

    later = [wait for wait in plan.waits if POSTPONED in wait.reason.evidence]
    assert [wait.first for wait in later] == ["larger/0"]
    assert later[0].reason.token is Token.ORDER
    assert state.next_wake() == plan.at + 1

    following = cycle(state, [], plan.at + 1)

    assert [wait.first for wait in following.waits] == ["larger/0"]
    assert following.waits[0].reason.token is Token.CAPACITY
    assert POSTPONED not in following.waits[0].reason.evidence
    assert state.agenda.again_at is None


def test_a_start_counts_one() -> None:
    state = state_of(*(node(f"n{number}") for number in range(4)))
    state.agenda.effort.per_cycle = 20

    plan = submit(state, *(gang(f"g{number}", cpu=number) for number in range(32)))

    assert (len(plan.starts), state.agenda.effort.used) == (20, 20)
    assert len(cycle(state, [], 2).starts) == 12


class Steps(Journal):
    """Notes for which gangs work was done that began when that of the cycle was used up."""

    def __init__(self, effort: Effort) -> None:
        super().__init__()
        self.late: set[str] = set()
        self.seen: set[str] = set()
        self._effort, self._step = effort, ("", 0)

    def attend(self, gang: str) -> None:
        before, used = self._step
        if before and self._effort.used > used >= self._effort.per_cycle:
            self.late.add(before)
        self._step = gang, self._effort.used
        self.seen.add(gang)
        super().attend(gang)


@pytest.mark.parametrize("policy", [Policy(elastic=False), *HEADS])
def test_no_cycle_exceeds_its_work_by_more_than_one_step(policy: Policy) -> None:
    for work in (1, 40, 200):
        state = ClusterState(policy)
        state.agenda.effort.per_cycle = work
        steps = state.journal = Steps(state.agenda.effort)
        names = [f"q{number}" for number in range(12)]
        news: list[Event] = [QueueSet(0, Queue(name)) for name in names]
        news += [NodeAdded(0, node(f"n{number}")) for number in range(3)]
        gangs = [gang(f"g{n}", 1, 1 + n % 9, names[n % 12], n) for n in range(48)]
        news += [GangSubmitted(1, each) for each in gangs]
        most, now = 0, 1
        while news or state.agenda.again_at is not None:
            cycle(state, news, now)
            assert len(steps.late) <= 1
            most, now, news = max(most, state.agenda.effort.used), now + 1, []
            steps.late.clear()
        assert len(steps.seen) > 48, "every gang, and none alone"
        assert most < work + 40, "more than a nomination and a search in vain"
        nothing_waits_that_fits(state)


@pytest.mark.parametrize("policy", HEADS)
def test_the_same_events_give_the_same_plans_for_heads_of_queues(policy: Policy) -> None:
    def plans() -> list[Plan]:
        state = lenders(*(queue(name, 4) for name in "abc"), policy=policy)
        state.agenda.effort.per_cycle = 10
        for number in range(12):
            waits(state, f"g{number}", "abc"[number % 3], 1 + number % 3, priority=number % 4)
        found = [cycle(state, [], 100)]
        while state.agenda.again_at is not None:
            found.append(cycle(state, [], state.agenda.again_at))
        return found

    first = plans()
    assert len(first) > 3
    assert first == plans()


def test_quota_is_kept_for_a_head_until_all_others_were_looked_at() -> None:
    owner = queue("owner", 2, preemption=Preemption(Victims.NEVER, Victims.LOWER))
    state = lenders(owner, queue("guest", 0, preemption=NOBODY))
    runs(state, "there", "owner", 1)
    waits(state, "big", "owner", 2, at=2)
    waits(state, "guest", "guest", 1, at=3)
    state.agenda.effort.per_cycle = 1

    plans = [cycle(state, [], now) for now in range(100, 104)]

    assert [wait.first for wait in plans[0].waits] == ["big/0", "guest/0"]
    assert POSTPONED in plans[0].waits[1].reason.evidence
    assert plans[1].starts == [], "its quota is kept for the head that was looked at before"
    assert started(plans[2]) == ["guest"], "as it would be in the second cycle of one look each"


def test_questions_leave_no_trace_in_what_a_cycle_may_do() -> None:
    state = state_of(node("a"))
    state.agenda.effort.per_cycle = 1
    submit(state, gang("held", gpus=8), gang("waits", gpus=8, priority=90))
    before = (
        state.agenda.effort.used,
        state.agenda.effort.missed_moves,
        state.agenda.effort.per_cycle,
    )

    with state.agenda.effort.apart():
        state.agenda.effort.spend(1_000)
        state.agenda.effort.missed_moves += 1
        assert not state.agenda.effort.is_spent

    assert before == (
        state.agenda.effort.used,
        state.agenda.effort.missed_moves,
        state.agenda.effort.per_cycle,
    )
