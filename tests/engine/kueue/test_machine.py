"""Random histories under Kueue's entitlements: nothing is broken, nothing goes on for ever."""

from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import SETTLED
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import PER_CYCLE, UNBOUNDED
from ganglion.engine.state.fork import fork
from ganglion.model import events as ev
from ganglion.model.plan import Phase
from ganglion.model.policy import Entitlement, Placing, Policy
from ganglion.model.queue import Flavors, Preemption, Queue, Victims
from tests.engine import random_fleets as make

MOST_CYCLES = 150


def policy(rng: Random) -> Policy:
    return Policy(
        heads_only=rng.random() < 0.7,
        entitlement=rng.choice((Entitlement.QUOTA, Entitlement.DOMINANT)),
        placement=rng.choice(tuple(Placing)),
        repair=rng.random() < 0.5,
        elastic=rng.random() < 0.3,
    )


def ruled(rng: Random, queue: Queue) -> Queue:
    """The queue with rules of its own."""
    rules = Preemption(
        rng.choice((Victims.NEVER, Victims.LOWER, Victims.LOWER_OR_NEWER)),
        rng.choice((Victims.NEVER, Victims.LOWER, Victims.ANY)),
        rng.choice((Victims.NEVER, Victims.LOWER)),
        rng.choice((None, 60)),
    )
    flavors = Flavors(("T4", "H100"), rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.5)
    return replace(
        queue,
        preemption=rules,
        flavors=rng.choice((None, flavors)),
        strict=rng.choice((None, False, True)),
    )


def happenings(rng: Random, state: ClusterState, now: int, first: int) -> list[ev.Event]:
    """What users and nodes do next."""
    news: list[ev.Event] = [
        ev.GangSubmitted(now, make.gang(rng, first + number, now)) for number in range(3)
    ]
    for gang, record in state.gangs.records.items():
        if record.phase is Phase.STARTING and rng.random() < 0.8:
            news.append(ev.GangStarted(now, gang, record.attempt))
        elif record.phase is Phase.RUNNING and rng.random() < 0.2:
            news.append(ev.GangEnded(now, gang, record.attempt, ev.Outcome.SUCCEEDED))
    if rng.random() < 0.2:
        news.append(ev.NodeLost(now, rng.choice(state.fleet.tree.names)))
    return news


def leaving(rng: Random, state: ClusterState, now: int) -> list[ev.Event]:
    """Some of those with the order to stop are gone."""
    events: list[ev.Event] = []
    for gang, record in state.gangs.records.items():
        if record.phase is Phase.STOPPING and rng.random() < 0.7:
            end = ev.GangEnded(now, gang, record.attempt, ev.Outcome.PREEMPTED, requeue=True)
            events.append(end)
        elif record.leaving and record.phase in SETTLED:
            events.append(ev.PodsLeft(now, gang, record.attempt))
    return events


def settle(rng: Random, state: ClusterState, news: list[ev.Event], now: int) -> int:
    """Cycles until nothing is left to do; returns the time."""
    for _ in range(MOST_CYCLES):
        plan = cycle(state, news, now)
        state.validate()
        assert [
            each for each in plan.rejected if not isinstance(each.event, ev.GangSubmitted)
        ] == []
        now += 1
        news = leaving(rng, state, now)
        stopping = any(each.phase is Phase.STOPPING for each in state.gangs.records.values())
        if not (plan.decisions or news or stopping or state.agenda.again_at):
            nothing_is_forgotten(state, now)
            return now
    raise AssertionError("it never settles")


def nothing_is_forgotten(state: ClusterState, now: int) -> None:
    """A cycle that looks at everything finds nothing to decide."""
    tried = fork(state)
    tried.agenda.effort.per_cycle = UNBOUNDED
    assert [each for each in cycle(tried, [], now).decisions if not is_foretold(each)] == []


def is_foretold(event: ev.Event) -> bool:
    return isinstance(event, ev.StartExpected)


@pytest.mark.parametrize(
    ("seed", "work"), [*((seed, PER_CYCLE) for seed in range(40)), *((s, 1) for s in range(12))]
)
def test_invariants_hold_and_every_history_comes_to_rest(seed: int, work: int) -> None:
    rng = Random(seed)
    state = ClusterState(policy(rng))
    state.agenda.effort.per_cycle = work
    queues = [ruled(rng, each) for each in make.queue_tree(rng)]
    nodes = [make.node(rng, f"n{number}") for number in range(5)]
    news: list[ev.Event] = [ev.QueueSet(0, each) for each in queues]
    news += [ev.NodeAdded(0, each) for each in nodes]
    now = 1
    for step in range(5):
        now = settle(rng, state, news, now) + 10
        news = happenings(rng, state, now, 3 * step)
