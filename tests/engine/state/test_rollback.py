"""Whatever raises while an event is applied, the state is as it was before the event."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.errors import GanglionError
from ganglion.model.policy import Entitlement, Policy, UsageDecay
from tests.effort import sample
from tests.engine.test_machine import Engine, node_states, random_step

HALF_LIFE = Policy(usage=UsageDecay(half_life_ms=3_600_000))
POLICIES = (Policy(), Policy(entitlement=Entitlement.KAI), Policy(repair=True), HALF_LIFE)


class Broken(Exception):
    """What a defect raises."""


PARTS: tuple[Callable[[ClusterState], tuple[Any, str]], ...] = (
    lambda state: (state.fleet.tree, "join"),
    lambda state: (state.fleet.tree, "leave"),
    lambda state: (state.fleet.tree, "_describe"),
    lambda state: (state.queues.shares, "charge"),
    lambda state: (state.holdings.occupants, "join"),
    lambda state: (state.holdings.occupants, "part"),
    lambda state: (state.gangs.lanes, "add"),
    lambda state: (state.gangs.lanes, "discard"),
    lambda state: (state.gangs.gates, "reason"),
    lambda state: (state.gangs.floors, "came"),
    lambda state: (state.queues.past, "_add"),
    lambda state: (state.queues.shares.tree, "_index"),
)
"""Calls that events lead to."""


def seen(state: ClusterState, at: int) -> dict[str, object]:
    """All of the state that decisions at a time follow from."""
    return {
        "records": {name: repr(record) for name, record in state.gangs.records.items()},
        "nodes": node_states(state),
        "gone": state.fleet.tree.gone(),
        "usage": {name: dict(usage) for name, usage in state.queues.shares.usage.items()},
        "fixed": {name: dict(usage) for name, usage in state.queues.shares.fixed.items()},
        "queues": list(state.queues.by_name.values()),
        "promised": list(state.holdings.promised),
        "leaving": {node: set(gangs) for node, gangs in state.holdings.leaving.items()},
        "asleep": set(state.gangs.asleep),
        "short": set(state.holdings.short),
        "settled": [each.gang.id for each in state.holdings.settled()],
        "lanes": {
            (lane.queue, lane.priority, frozenset(key[-1] for key in lane.in_order()))
            for lane in state.gangs.lanes
        },
        "demand": {
            (queue, types): milli
            for queue, asked in state.gangs.lanes.demand.items()
            for types, milli in asked.items()
            if milli
        },
        "reservations": state.timeline.future.reservations(),
        "kept": {each.record.gang.id: each.placement for each in state.timeline.kept},
        "policy": state.config.policy,
        "tallies": {
            name: repr(state.gangs.gates.image(name))
            for name in sorted({each.gang.workload for each in state.gangs.records.values()})
        },
        "past": {name: state.queues.past.level(name, at) for name in state.queues.by_name},
    }


class Failing(Engine):
    """Breaks a part of the state while the next event is applied, then applies it again."""

    def __init__(self, rng: Random, policy: Policy) -> None:
        super().__init__()
        self.state, self.twin = ClusterState(policy), ClusterState(policy)
        self.rng, self.failed = rng, 0

    def think(self, *events: ev.Event) -> Any:
        for event in events:
            if self.rng.random() < 0.7:
                self.fail(event)
            plan = super().think(event)
        return plan if events else super().think()

    def fail(self, event: ev.Event) -> None:
        state = self.state
        state.fleet.tree.settle()
        passes, first = self.rng.randint(0, 5), self.rng.random() < 0.5

        def failing(whole: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **named: Any) -> Any:
                """One call fails, before or after it has done its work."""
                nonlocal passes
                passes -= 1
                if passes != -1:
                    return whole(*arguments, **named)
                if not first:
                    whole(*arguments, **named)
                raise Broken

            return call

        before, parts = seen(state, self.now), [each(state) for each in PARTS]
        for part, name in parts:
            setattr(part, name, failing(getattr(part, name)))
        try:
            state.apply(event)
        except Broken:
            self.failed += 1
        except GanglionError:
            pass
        else:
            return  # it got by without the broken part; a second time changes nothing
        finally:
            for part, name in parts:
                part.__dict__.pop(name, None)
        state.validate()
        assert seen(state, self.now) == before


@pytest.mark.parametrize("number", range(len(POLICIES)))
def test_an_event_that_fails_anywhere_leaves_everything_as_it_was(number: int) -> None:
    failed = 0
    for seed in sample(range(6), 3, turn=number):
        rng = Random(seed)
        engine = Failing(rng, POLICIES[number])
        engine.begin(rng, rng.randint(1, 6))
        for _ in range(40):
            step, arguments = random_step(rng)
            getattr(engine, step)(rng=rng, **arguments)
            engine.every_invariant_holds()
        engine.teardown()
        failed += engine.failed
    assert failed > 6
