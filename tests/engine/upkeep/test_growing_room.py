"""Elastic gangs grow by moving others: what pays is done, once, and by every rule."""

import os
from itertools import combinations
from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.preemption.consolidate import may_move
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.causes import CauseKind
from ganglion.model.events import (
    Event,
    GangEnded,
    GangStarted,
    GangSubmitted,
    Outcome,
    PodsLeft,
)
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Backfill, EvictionRules, Future, Policy, Repack
from ganglion.model.queue import Preemption, Victims
from ganglion.model.workload import Gang
from tests.effort import examples
from tests.engine.build import gang, node, state_of, submit

HOUR = 3_600_000
RESTART = 60_000
SEEDS = int(os.environ.get("GANGLION_GROWTH_SEEDS") or examples(10))
STEPS = 24
POLICY = Policy(
    preemption=Preemption(preempt=Victims.NEVER, reclaim=Victims.NEVER),
    evict=EvictionRules(restart_ms=RESTART),
    future=Future(backfill=Backfill.ANY, reservations=0),
)


def obey(state: ClusterState, now: int) -> list[Event]:
    """What a world reports that carries orders out immediately."""
    done: list[Event] = []
    for name, each in state.gangs.records.items():
        if each.phase is Phase.STARTING:
            done.append(GangStarted(now, name, each.attempt))
        if each.phase is Phase.STOPPING:
            done.append(GangEnded(now, name, each.attempt, Outcome.PREEMPTED, requeue=True))
        elif each.leaving and each.phase in SETTLED:
            done.append(PodsLeft(now, name, each.attempt))
    return done


def rest(state: ClusterState, now: int) -> tuple[int, list[Plan]]:
    """Cycles until nothing changes for longer than a restart; the time then, and the plans."""
    plans: list[Plan] = []
    quiet = 0
    while quiet < 3:
        now += RESTART // 2
        quiet += 1
        for _ in range(20):
            now += 1
            plans.append(cycle(state, obey(state, now), now))
            state.validate()
            if plans[-1].decisions or obey(state, now):
                quiet = 0
            if state.agenda.again_at is None:
                break
        assert state.agenda.again_at is None, "a cycle without work left goes on for ever"
        assert len(plans) < 200, f"no rest: {[each.decisions for each in plans[-3:]]}"
    return now, plans


def elastic(name: str, gpus: int, least: int, most: int) -> Gang:
    return gang(name, gpus=gpus, pods=most, pod={"min_count": least})


def apart(policy: Policy = POLICY) -> tuple[ClusterState, int]:
    """Four nodes of 8 GPUs: a gang of 8 GPUs a pod, one-GPU jobs on two nodes, 5 busy on one."""
    state = state_of(*(node(f"n{number}") for number in range(4)), policy=policy)
    for number, size in enumerate((1, 1, 5)):
        submit(state, gang(f"s{number}", gpus=size), gang(f"p{number}", gpus=8 - size), now=1)
    now, _ = rest(state, 1)
    submit(state, elastic("wide", 8, 1, 3), now=now + 1)
    now, _ = rest(state, now + 1)
    for name in ("p0/0", "p1/0", "p2/0"):
        attempt = state.gangs.records[name].attempt
        state.apply(GangEnded(now, name, attempt, Outcome.SUCCEEDED))
    return state, now


def busy(state: ClusterState) -> int:
    return sum(
        preemption_cost.gpu_milli(each.placement.pods)
        for each in state.gangs.records.values()
        if each.placement
    )


def test_two_small_jobs_on_two_nodes_make_room_for_a_wide_gang() -> None:
    state, now = apart()
    _, plans = rest(state, now)

    assert busy(state) == 31_000
    assert sorted(stop.gang for plan in plans for stop in plan.stops) == ["s0/0", "s1/0"]
    assert {str(stop.cause) for plan in plans for stop in plan.stops} == {"moved for wide/0"}
    assert all(each.phase in (Phase.RUNNING, Phase.ENDED) for each in state.gangs.records.values())


@pytest.mark.parametrize(
    "policy",
    [
        replace(POLICY, repack=Repack(consolidate=False)),
        replace(POLICY, repack=Repack(horizon_ms=RESTART)),
        replace(POLICY, elastic=False),
    ],
)
def test_nobody_is_moved_where_it_is_off_or_does_not_pay(policy: Policy) -> None:
    state, now = apart(policy)
    _, plans = rest(state, now)

    assert busy(state) == 15_000
    assert not [stop for plan in plans for stop in plan.stops]


def test_a_cycle_without_work_left_goes_on_in_the_next_one() -> None:
    state, now = apart()
    state.agenda.effort.per_cycle = 1
    rest(state, now)

    assert busy(state) == 31_000


class Yard:
    """Nodes, elastic gangs and others that come and go; a gang is only stopped to move."""

    def __init__(self, seed: int, effort: int) -> None:
        self.rng, self.now, self.count = Random(seed), 0, 0
        sizes = [self.rng.choice((2, 4, 4, 8)) for _ in range(self.rng.randint(2, 6))]
        self.state = state_of(*(node(f"n{i}", size) for i, size in enumerate(sizes)), policy=POLICY)
        self.state.agenda.effort.per_cycle, self.moves = effort, 0

    def step(self, event: Event) -> None:
        self.now += 1
        before = {name: each.placement for name, each in self.state.gangs.records.items()}
        assert self.state.apply(event)
        self.now, plans = rest(self.state, self.now)
        for plan in plans:
            for stop in plan.stops:
                record = self.state.gangs.records[stop.gang]
                assert stop.cause.kind is CauseKind.MOVED, stop
                assert record.gang.preemptible, stop
                assert record.phase is Phase.RUNNING, f"{stop} does not go on"
                mine, then = record.placement, before[stop.gang]
                assert mine and (then is None or len(mine.pods) >= len(then.pods)), stop
        moved = [stop.gang for plan in plans for stop in plan.stops]
        assert len(moved) == len(set(moved)), f"moved twice: {moved}"
        self.moves += len(moved)
        self.at_rest()

    def act(self) -> None:
        rng, live = self.rng, [e for e in self.state.gangs.records.values() if e.phase in SETTLED]
        if live and rng.random() < (0.2 if len(live) < 6 else 0.6):
            record = rng.choice(live)
            done = GangEnded(self.now, record.gang.id, record.attempt, Outcome.SUCCEEDED)
            self.step(done)
            return
        self.count += 1
        size, name = rng.choice((1, 1, 2, 4)), f"w{self.count}"
        if rng.random() < 0.4:
            made = elastic(name, size, 1, rng.randint(2, 4))
        else:
            made = gang(name, gpus=size, preemptible=rng.random() < 0.8)
        self.step(GangSubmitted(self.now, replace(made, submitted=self.now)))

    def at_rest(self) -> None:
        """No gang could grow by moves that pay."""
        records = list(self.state.gangs.records.values())
        for record in records:
            pod_set, place = record.gang.pod_sets[0], record.placement
            if place and record.phase is Phase.RUNNING and len(place.pods) < pod_set.count:
                self.cannot_grow(record, pod_set.request.gpu.count)

    def cannot_grow(self, record: GangRecord, size: int) -> None:
        assert record.placement
        own = preemption_cost.gpu_milli(record.placement.pods) * RESTART
        gain = size * 1000 * HOUR - own
        state, free = self.state, self.free()
        assert gain < 0 or max(free.values()) < size, f"{record.gang.id} does not grow"
        others = [
            each
            for each in state.holdings.settled()
            if each is not record and each.placement and may_move(state, each, self.now)
        ]
        for number in (1, 2):
            for chosen in combinations(others, number):
                cost = sum(preemption_cost.of_victim(each, self.now, RESTART) for each in chosen)
                if cost < gain and fits_elsewhere(free, chosen, size):
                    names = [each.gang.id for each in chosen]
                    raise AssertionError(f"{record.gang.id} grows if {names} move")

    def free(self) -> dict[str, int]:
        tree = self.state.fleet.tree
        return {
            name: sum(self.state.fleet.table.known[tree.conditions[rank]].usable) // 1000
            for rank, name in enumerate(tree.names)
        }


def fits_elsewhere(free: dict[str, int], chosen: tuple[GangRecord, ...], size: int) -> bool:
    """Whether a pod of that size fits once some have left, and they fit beside it."""
    left, pods = dict(free), []
    for each in chosen:
        for pod in each.placement.pods if each.placement else ():
            left[pod.node] += len(pod.devices)
            pods.append(len(pod.devices))
    return packs(left, [size, *sorted(pods, reverse=True)])


def packs(free: dict[str, int], pods: list[int]) -> bool:
    """Whether all pods fit, by trying every node for each."""
    if not pods:
        return True
    return any(
        packs(free | {name: room - pods[0]}, pods[1:])
        for name, room in free.items()
        if room >= pods[0]
    )


@pytest.mark.parametrize("effort", [1, 10_000])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_at_rest_no_move_that_pays_is_left_and_none_is_repeated(seed: int, effort: int) -> None:
    yard = Yard(seed, effort)
    for _ in range(STEPS):
        yard.act()
