"""One bad gang, event or plugin stops only itself; everything else is decided."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.ordering import attempt
from ganglion.engine.plugins.builtin import builtin_plugins
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.search import find
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.isolation import DEFECTS
from ganglion.engine.upkeep import grow, replace_pods
from ganglion.model import events as ev
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Entitlement, Policy, Repack
from ganglion.model.reasons import Reason, Token
from ganglion.model.workload import Gang, PodSet
from tests.effort import sample
from tests.engine import random_fleets as make
from tests.engine.build import gang, node, started, state_of, submit
from tests.engine.test_machine import Engine, random_step


class Broken(Exception):
    """What a defect raises."""


class Picky:
    """A Permit and Filter plugin that fails over some gangs."""

    name = "picky"

    def __init__(self, *bad: str, filters: bool = False) -> None:
        self.bad, self.filters = bad, filters

    def permit(self, gang: Gang, _placement: Placement, _now: int) -> Reason | None:
        if gang.workload in self.bad:
            raise Broken(gang.workload)
        return None

    def key(self, gang: Gang, _pod_set: PodSet) -> str:
        if self.filters and gang.workload in self.bad:
            raise Broken(gang.workload)
        return ""

    def allows(self, _key: str, _node: object) -> bool:
        return True


def plugins(policy: Policy, picky: Picky) -> Plugins:
    base = builtin_plugins(policy)
    if picky.filters:
        return replace(base, filters=(*base.filters, picky))
    return replace(base, permits=(*base.permits, picky))


def state_with(*bad: str, filters: bool = False, policy: Policy | None = None) -> ClusterState:
    policy = policy or Policy()
    picky = Picky(*bad, filters=filters)
    return state_of(node("n", 4), policy=policy, plugins=plugins(policy, picky))


def isolated(state: ClusterState, *events: ev.Event, now: int) -> Plan:
    plan = cycle(state, events, now, isolate=True)
    state.validate()
    return plan


def submitted(*gangs: Gang) -> list[ev.Event]:
    return [ev.GangSubmitted(1, each) for each in gangs]


def test_without_isolation_a_failure_is_raised() -> None:
    with pytest.raises(Broken):
        submit(state_with("bad"), gang("bad"))


def test_a_gang_that_fails_is_set_apart_and_all_others_start() -> None:
    state = state_with("bad")
    plan = isolated(state, *submitted(gang("a"), gang("bad"), gang("b")), now=1)
    assert started(plan) == ["a", "b"]
    assert [(each.stage, each.gang, each.error) for each in plan.defects] == [
        ("turns", "bad/0", "Broken: bad")
    ]
    reason = state.gangs.reason("bad/0")
    assert reason and reason.token is Token.HELD and "Broken: bad" in reason.message


def test_a_gang_that_is_set_apart_is_not_tried_until_it_is_changed() -> None:
    state = state_with("bad")
    isolated(state, *submitted(gang("bad")), now=1)
    again = isolated(state, *submitted(gang("other")), now=2)
    assert not again.defects and started(again) == ["other"]
    plan = isolated(state, ev.GangUpdated(3, "bad/0", priority=70), now=3)
    assert [each.gang for each in plan.defects] == ["bad/0"]


def test_a_replay_needs_no_isolation() -> None:
    state, twin = state_with("bad"), state_with("bad")
    events = submitted(gang("a"), gang("bad"))
    plan = isolated(state, *events, now=1)
    for event in (*events, *plan.decisions):
        twin.apply(event)
    assert twin.gangs.records == state.gangs.records
    assert not cycle(twin, [], 2).defects


def test_an_event_that_fails_is_rejected_and_counted() -> None:
    state = state_with("bad", filters=True)
    plan = isolated(state, *submitted(gang("bad"), gang("a")), now=1)
    assert started(plan) == ["a"]
    assert [(each.event.gang.id, each.code) for each in plan.rejected] == [("bad/0", "defect")]
    assert [(each.stage, each.gang) for each in plan.defects] == [("events", "bad/0")]
    assert "bad/0" not in state.gangs.records


def test_a_plugin_that_fails_over_every_gang_bounds_the_work_of_a_cycle() -> None:
    names = [f"w{number}" for number in range(2 * DEFECTS)]
    state = state_with(*names)
    # Priorities differ, so that every gang has a turn of its own.
    gangs = [gang(name, priority=number) for number, name in enumerate(names)]
    plan = isolated(state, *submitted(*gangs), now=1)
    assert len(plan.defects) == DEFECTS
    assert state.next_wake() == 2
    assert len(isolated(state, now=2).defects) == DEFECTS
    assert not isolated(state, now=3).defects


def test_a_stage_that_fails_over_no_gang_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    state = state_of(node("n", 2))
    monkeypatch.setattr(state.forecast.bands, "tell", lambda *_: 1 // 0)
    plan = isolated(state, *submitted(gang("a")), now=1)
    assert started(plan) == ["a"]
    assert [(each.stage, each.gang) for each in plan.defects] == [("forecasts", "")]


def test_what_a_failing_trade_had_begun_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    state = state_of(node("n", 2))
    submit(state, gang("low", gpus=2, priority=10))
    cycle(state, [ev.GangStarted(2, "low/0", 1)], 2)
    whole = state.holdings.pledge

    def pledge(record: Any, placement: Placement) -> None:
        whole(record, placement)
        if record.gang.id == "high/0":
            raise Broken

    monkeypatch.setattr(state.holdings, "pledge", pledge)
    plan = isolated(state, *submitted(gang("high", gpus=2, priority=90)), now=700_000)
    assert [each.gang for each in plan.defects] == ["high/0"]
    assert not plan.stops and state.gangs.records["low/0"].phase is Phase.RUNNING


PLACES: tuple[tuple[object, str], ...] = (
    (find, "place"),
    (attempt, "find"),
    (replace_pods, "_repair"),
    (grow, "place_beside"),
)
"""Functions that decisions go through."""

POLICIES = (
    Policy(),
    Policy(entitlement=Entitlement.KAI),
    Policy(entitlement=Entitlement.QUOTA, repair=True),
    Policy(repack=Repack(empty_nodes=True), repair=True),
)


class Faulty(Engine):
    """Some calls fail, at random, in the middle of cycles."""

    isolate = True

    def __init__(self, rng: Random, policy: Policy, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.state, self.twin = ClusterState(policy), ClusterState(policy)
        self.rng, self.patch, self.defects = rng, patch, 0

    def think(self, *events: ev.Event) -> Plan:
        if self.rng.random() < 0.3:
            return self.without_fault(*events)
        countdown = self.rng.randint(1, 15)

        def failing(whole: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **named: Any) -> Any:
                nonlocal countdown
                countdown -= 1
                if countdown == 0:
                    raise Broken
                return whole(*arguments, **named)

            return call

        state = self.state
        with self.patch.context() as patch:
            for owner, name in PLACES:
                if hasattr(owner, name):
                    patch.setattr(owner, name, failing(getattr(owner, name)))
            for owner, name in (
                (state.fleet.tree, "join"),
                (state.fleet.tree, "leave"),
                (state.queues.shares, "charge"),
                (state.holdings.occupants, "join"),
                (state.holdings.occupants, "part"),
                (state.gangs.lanes, "add"),
                (state.gangs.lanes, "discard"),
            ):
                patch.setattr(owner, name, failing(getattr(owner, name)))
            plan = self.without_fault(*events)
        state.validate()
        self.defects += len(plan.defects)
        return plan

    def without_fault(self, *events: ev.Event) -> Plan:
        # Of two equal events the second may get by where the first has failed.
        plan = super().think(*events[:1] if events[1:] == events[:1] else events)
        for defect in plan.defects:
            record = self.state.gangs.records.get(defect.gang)
            assert defect.stage == "events" or not defect.gang or (record and record.fault)
        return plan

    def decisions_come_to_rest(self) -> None:
        for _ in range(8):
            if not self.without_fault().decisions:
                return
        raise AssertionError("every cycle decides something else")


@pytest.mark.parametrize("number", range(len(POLICIES)))
def test_failures_at_random_leave_a_state_that_goes_on(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    defects = 0
    for seed in sample(range(6), 3, turn=number):
        rng = Random(seed)
        engine = Faulty(rng, POLICIES[number], monkeypatch)
        engine.begin(rng, rng.randint(2, 6))
        for _ in range(40):
            step, arguments = random_step(rng)
            if step != "nonsense":
                getattr(engine, step)(rng=rng, **arguments)
            engine.every_invariant_holds()
            engine.limits_hold_at_every_start()
        engine.teardown()
        defects += engine.defects
    assert defects > 1


@pytest.mark.parametrize("number", range(3))
def test_others_are_decided_as_if_those_set_apart_were_held(number: int) -> None:
    for seed in sample(range(6), 3, turn=number):
        rng = Random(seed)
        policy = POLICIES[number]
        bad = {f"w{each}" for each in range(40) if rng.random() < 0.2}
        held = ClusterState(policy)
        apart = ClusterState(policy, plugins(policy, Picky(*bad)))
        queues = make.queue_tree(rng)
        opening: list[ev.Event] = [
            *(ev.QueueSet(0, queue) for queue in queues),
            *(ev.NodeAdded(0, make.node(rng, f"n{each}")) for each in range(4)),
        ]
        for state in (held, apart):
            cycle(state, opening, 0)
        for step in range(40):
            now = 1000 * (step + 1)
            fresh = make.gang(rng, step, now)
            running = [each.gang.id for each in held.holdings.settled()]
            ends: list[ev.Event] = []
            if running and rng.random() < 0.4:
                ended = held.gangs.records[rng.choice(running)]
                ends = [ev.GangEnded(now, ended.gang.id, ended.attempt, ev.Outcome.SUCCEEDED)]
            if fresh.workload in bad:
                # Nothing else happens meanwhile, so that both know of it at the same time.
                before = replace(fresh, held=True)
                cycle(held, [ev.GangSubmitted(now, before)], now)
                cycle(apart, [ev.GangSubmitted(now, before)], now)
                cycle(apart, [ev.GangUpdated(now, fresh.id, held=False)], now, isolate=True)
                if not apart.gangs.records[fresh.id].fault:
                    cycle(apart, [ev.GangUpdated(now, fresh.id, held=True)], now)
                continue
            plans = [
                cycle(state, [*ends, ev.GangSubmitted(now, fresh)], now, isolate=True)
                for state in (held, apart)
            ]
            assert not plans[0].defects
            assert [(e.gang.id, e.placement) for e in plans[0].starts] == [
                (e.gang.id, e.placement) for e in plans[1].starts
            ]
            assert plans[0].stops == plans[1].stops
            apart.validate()


class Protector:
    """A Preempt plugin that fails over one victim."""

    name = "protector"

    def may_stop(self, victim: Gang, _favoured: Gang, _now: int) -> bool:
        if victim.workload == "bad":
            raise Broken(victim.workload)
        return True


def test_a_victim_over_which_a_plugin_fails_is_left_alone_and_the_asker_takes_another() -> None:
    policy = Policy()
    protecting = replace(builtin_plugins(policy), preempts=(Protector(),))
    state = state_of(node("a", 1), node("b", 1), policy=policy, plugins=protecting)
    submit(state, gang("bad", priority=10), gang("other", priority=20))
    cycle(state, [ev.GangStarted(2, f"{name}/0", 1) for name in ("bad", "other")], 2)
    plan = isolated(state, *submitted(gang("high", priority=90)), now=700_000)
    assert [(each.stage, each.gang) for each in plan.defects] == [("turns", "bad/0")]
    assert [each.gang for each in plan.stops] == ["other/0"]
    assert state.gangs.records["bad/0"].phase is Phase.RUNNING
