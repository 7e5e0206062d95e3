"""A cycle that is out of work goes on in the next one, and nothing is forgotten or starved."""

from random import Random

import pytest

from ganglion.bench.bursts import Burst
from ganglion.engine.cycle import cycle
from ganglion.engine.effort import POSTPONED, UNBOUNDED
from ganglion.engine.state import ClusterState
from ganglion.model.plan import Phase
from ganglion.model.policy import Entitlement, Policy
from ganglion.model.reasons import Token
from ganglion.model.workload import Topology
from tests.engine.build import gang, node, state_of, submit
from tests.engine.contention import Contention
from tests.engine.literal import fits_somewhere

LITTLE = (1, 200)
"""Budgets: one gang in every cycle, and a few of them."""


@pytest.mark.parametrize("effort", LITTLE)
@pytest.mark.parametrize("policy", [Policy(), Policy(entitlement=Entitlement.KAI)])
@pytest.mark.parametrize("seed", range(6))
def test_queues_that_fight_come_to_rest_with_little_work_in_a_cycle(
    seed: int, policy: Policy, effort: int
) -> None:
    contention = Contention(Random(seed), policy, effort, rounds=400)

    for _ in range(25):
        contention.step()
        nothing_waits_that_fits(contention.state)


def nothing_waits_that_fits(state: ClusterState) -> None:
    for record in state.records.values():
        (first, *others), gang = record.gang.pod_sets, record.gang
        reason = state.reason(gang.id) if record.phase is Phase.PENDING else None
        if reason is None:
            continue
        assert POSTPONED not in reason.evidence, f"{gang.id} was not searched for in full"
        alone = not others and first.count == 1 and gang.topology == Topology()
        if alone and reason.token in (Token.CAPACITY, Token.CONSTRAINT):
            assert not fits_somewhere(state, gang)


@pytest.mark.parametrize("seed", range(8))
def test_without_victims_the_same_gangs_start_whatever_the_work_of_a_cycle(seed: int) -> None:
    started = [settled(seed, effort) for effort in (1, 100, 1000, 1_000_000)]

    assert started[0]
    assert started == [started[0]] * len(started)


def settled(seed: int, effort: int) -> set[str]:
    """Gangs that run in the end where those that fit at all have room beside each other."""
    rng = Random(seed)
    state = state_of(*(node(f"n{number}") for number in range(4)))
    state.effort = effort
    sizes = [rng.choice((1, 1, 2, 9)) for _ in range(16)]
    plan = submit(state, *(gang(f"g{n}", gpus=size, cpu=n) for n, size in enumerate(sizes)))
    now = 2
    while plan.decisions or state.again_at is not None:
        assert now < 200, "no rest"
        plan, now = cycle(state, [], now), now + 1
    state.validate()
    return {each.gang.id for each in state.records.values() if each.placement}


def test_a_burst_has_the_same_outcome_in_many_cycles_as_in_few() -> None:
    whole, little, again = (Burst(12, 100) for _ in range(3))
    whole.state.effort, little.state.effort, again.state.effort = UNBOUNDED, 150, 150

    assert whole.settle() and little.settle(400) and again.settle(400)

    assert len(whole.cycles) < 10 < len(little.cycles)
    assert len(little.started) >= len(whole.started) * 9 // 10
    assert little.lost <= 2 * whole.lost
    assert little.started == again.started
    assert len(little.cycles) == len(again.cycles)
    nothing_waits_that_fits(little.state)


def test_a_gang_that_no_cycle_has_got_to_says_so_and_the_engine_asks_to_go_on() -> None:
    state = state_of(node("a"))
    state.effort = 1
    plan = submit(state, gang("large", gpus=9), gang("larger", gpus=10))

    later = [wait for wait in plan.waits if POSTPONED in wait.reason.evidence]
    assert [wait.first for wait in later] == ["larger/0"]
    assert later[0].reason.token is Token.ORDER
    assert state.next_wake() == plan.at + 1

    following = cycle(state, [], plan.at + 1)

    assert [wait.first for wait in following.waits] == ["larger/0"]
    assert following.waits[0].reason.token is Token.CAPACITY
    assert POSTPONED not in following.waits[0].reason.evidence
    assert state.again_at is None


def test_starts_count_as_no_work() -> None:
    state = state_of(*(node(f"n{number}") for number in range(4)))
    state.effort = 1

    plan = submit(state, *(gang(f"g{number}", cpu=number) for number in range(32)))

    assert len(plan.starts) == 32
