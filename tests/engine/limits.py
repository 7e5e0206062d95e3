"""Small fleets under limits and quotas, and a search by brute force for stops that would help."""

from collections.abc import Iterator
from itertools import permutations, product
from random import Random
from typing import NamedTuple

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.kueue.cycle import SIDE_BY_SIDE, look
from ganglion.engine.preemption_rules.growth import Growth
from ganglion.engine.preemption_rules.rules import rules
from ganglion.engine.search.find import find
from ganglion.engine.search.quota import asked
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import VictimUnit
from ganglion.model import events as ev
from ganglion.model.causes import CauseKind
from ganglion.model.plan import Phase
from ganglion.model.queue import ANY_FLAVOR, Preemption, Queue, Victims
from ganglion.model.resources import Amount
from ganglion.model.workload import Gang
from ganglion.specs.policy.presets import preset
from tests.engine.build import gang, node

HOUR = 3_600_000
ROUNDS = 40
MOST = 4
"""Gangs that are stopped together at most in the search by brute force."""


def gpus(count: int) -> dict[str, Amount]:
    return {ANY_FLAVOR: Amount(gpu_milli=count * 1000)}


class Scene(NamedTuple):
    """Nodes by size, queues, and gangs that are submitted together, hour after hour."""

    nodes: tuple[int, ...]
    queues: tuple[Queue, ...]
    gangs: tuple[tuple[Gang, ...], ...]


def play(scene: Scene, policy: str) -> tuple[ClusterState, int]:
    """The fleet at rest an hour after all was submitted, and the time."""
    state = ClusterState(preset(policy))
    nodes = [ev.NodeAdded(0, node(f"n{i}", size)) for i, size in enumerate(scene.nodes)]
    now = settle(state, 0, *(ev.QueueSet(0, each) for each in scene.queues), *nodes)
    for together in scene.gangs:
        now = settle(state, now + HOUR, *(ev.GangSubmitted(now, each) for each in together))
    return state, now + HOUR


def settle(state: ClusterState, now: int, *events: ev.Event) -> int:
    """Cycles until nothing is decided any more, in a world that carries orders out immediately."""
    given: list[ev.Event] = list(events)
    for _ in range(ROUNDS):
        now += 1000
        plan = cycle(state, [*given, *_obey(state, now)], now)
        assert not plan.rejected
        state.validate()
        given = []
        if not plan.decisions and not _obey(state, now) and not state.agenda.again_at:
            return now
    raise AssertionError("no rest")


def _obey(state: ClusterState, now: int) -> list[ev.Event]:
    done: list[ev.Event] = []
    for record in state.gangs.records.values():
        if record.phase is Phase.STARTING:
            done.append(ev.GangStarted(now, record.gang.id, record.attempt))
        if record.phase is Phase.STOPPING:
            outcome = ev.Outcome.PREEMPTED
            done.append(ev.GangEnded(now, record.gang.id, record.attempt, outcome, True))
    return done


def would_start(state: ClusterState, now: int) -> dict[str, list[str]]:
    """Waiting gangs that a limit or quota blocks -> gangs that may be stopped and would help."""
    waiting = [each for each in state.gangs.records.values() if each.phase is Phase.PENDING]
    found = {each.gang.id: _victims(state, each, now) for each in waiting}
    return {asker: victims for asker, victims in found.items() if victims}


def _victims(state: ClusterState, asker: GangRecord, now: int) -> list[str]:
    """The first of all permitted sequences of stops after which a gang starts; empty = none."""
    side_by_side = state.config.policy.entitlement in SIDE_BY_SIDE
    if not side_by_side and not _is_blocked(state, asker):
        return []
    running = [each for each in state.gangs.records.values() if each.phase in SETTLED]
    may_have = _by_quota if side_by_side else _by_share
    orders = (order for size in range(1, MOST + 1) for order in permutations(running, size))
    return next(
        (
            [each.gang.id for each in order]
            for order in orders
            if may_have(state, asker, order, now)
        ),
        [],
    )


def _is_blocked(state: ClusterState, asker: GangRecord) -> bool:
    gang, free = asker.gang, state.fleet.totals.free_gpu
    bound = state.queues.shares.passed(
        gang.queue, ANY_FLAVOR, asked(asker), gang.preemptible, free, gang.user
    )
    return bound is not None


def _by_share(
    state: ClusterState, asker: GangRecord, order: tuple[GangRecord, ...], now: int
) -> bool:
    """Whether the rules of shares permit these stops one after the other, and a gang starts."""
    tentative, growth = Tentative(state), Growth(state)
    before, allows = growth.use_of(asker), rules().allows
    try:
        for record in order:
            unit = _whole(record)
            if not record.gang.preemptible or not allows(state, asker, unit, now):
                return False
            tentative.take(unit)
        placement = find(state, asker, now)[1]
        if placement is None:
            return False
        tentative.seat(asker, placement)
        return not growth.is_beyond_share(asker, before, [_whole(each) for each in order])
    finally:
        tentative.undo()


def _by_quota(
    state: ClusterState, asker: GangRecord, order: tuple[GangRecord, ...], now: int
) -> bool:
    """The same by Kueue's rules, for a gang with which its queue stays within its quota."""
    tentative, gang = Tentative(state), asker.gang
    rights = state.queues.by_name[gang.queue].preemption or state.config.policy.preemption
    asks = sum(each.count * each.request.gpu.count * 1000 for each in gang.pod_sets)
    try:
        for record in order:
            victim, own = record.gang, record.gang.queue == gang.queue
            rule = rights.preempt if own else rights.reclaim
            lower = rule is Victims.LOWER and victim.priority < gang.priority
            if not victim.preemptible or not (lower or rule is Victims.ANY):
                return False
            if not own and _used(state, victim.queue) <= _quota(state, victim.queue):
                return False
            tentative.take(_whole(record))
        if _used(state, gang.queue) + asks > _quota(state, gang.queue):
            return False
        return look(state, asker, now, trades=False).placement is not None
    finally:
        tentative.undo()


def _whole(record: GangRecord) -> VictimUnit:
    assert record.placement
    return VictimUnit(record, record.placement.pods, True, 0, CauseKind.PREEMPTED)


def _used(state: ClusterState, queue: str) -> int:
    used = state.queues.shares.usage[queue].get(ANY_FLAVOR)
    return used.gpu_milli if used else 0


def _quota(state: ClusterState, queue: str) -> int:
    return state.queues.by_name[queue].quota[ANY_FLAVOR].gpu_milli or 0


def systematic() -> Iterator[Scene]:
    """A limit of a queue, a department or a user; who holds it is of the queue, or beside it."""
    sizes = ((4,), (2, 2), (4, 4))
    bounds = ("queue", "department", "user", "user above")
    for nodes, most, holds, asks in product(sizes, (2, 3, 4), (1, 2, 3), (1, 2, 3)):
        for bound, beside in product(bounds, (False, True)):
            if beside == (bound in ("department", "user above")) or not beside:
                yield _one(nodes, most, holds, asks, bound, beside)


def _one(
    nodes: tuple[int, ...], most: int, holds: int, asks: int, bound: str, beside: bool
) -> Scene:
    above, below = bound in ("department", "user above"), bound in ("queue", "user")
    of_user = bound.startswith("user")

    def limits(here: bool) -> dict[str, dict[str, Amount]]:
        return {"user_limit" if of_user else "limit": gpus(most)} if here else {}

    queues = (
        Queue("department", **limits(above)),
        Queue("queue", "department", quota=gpus(min(asks, most)), **limits(below)),
        Queue("sibling", "department", quota=gpus(0)),
    )
    place = "sibling" if beside else "queue"
    first = gang("holder", gpus=holds, queue=place, priority=90 if beside else 20, user="ada")
    second = gang("filler", gpus=1, queue=place, priority=90 if beside else 20, user="ada")
    asker = gang("asker", gpus=asks, queue="queue", priority=90, user="ada")
    return Scene(nodes, queues, ((first,), (second,), (asker,)))


def drawn(rng: Random, policy: str) -> Scene:
    """Queues on one or two levels with limits, quotas and limits of users, and gangs in them."""
    nodes = tuple(rng.choice((2, 4, 4, 8)) for _ in range(rng.choice((1, 1, 2, 3))))
    leaves = ("a", "b", "c")[: rng.choice((1, 2, 2, 3))]
    kueue = policy == "kueue"

    def some(chance: float) -> dict[str, Amount]:
        return gpus(rng.randint(0, sum(nodes))) if rng.random() < chance else {}

    above, queues = [""], []
    if kueue or rng.random() < 0.5:
        above = ["d"]
        queues.append(Queue("d", limit={} if kueue else some(0.6), user_limit=some(0.2)))
        if not kueue and rng.random() < 0.3:
            above.append("e")
            queues.append(Queue("e", limit=some(0.5), quota=some(0.4)))
    rights = Preemption(Victims.LOWER, rng.choice((Victims.ANY, Victims.LOWER)))
    queues += [
        Queue(
            name,
            rng.choice(above),
            quota=some(1 if kueue else 0.5),
            limit=some(0.5),
            user_limit=some(0.3),
            lend_limit={} if kueue else some(0.1),
            over_quota_weight=rng.choice((0, 1, 1, 2)),
            preemption=rights if kueue else None,
        )
        for name in leaves
    ]
    gangs, number = [], 0
    for _ in range(rng.choice((2, 3))):
        count = rng.randint(1, 4)
        gangs.append(tuple(_gang(rng, number + i, leaves) for i in range(count)))
        number += count
    return Scene(nodes, tuple(queues), tuple(gangs))


def _gang(rng: Random, number: int, leaves: tuple[str, ...]) -> Gang:
    return gang(
        f"g{number}",
        pods=rng.choice((1, 1, 1, 2)),
        gpus=rng.choice((1, 1, 2, 3, 4)),
        queue=rng.choice(leaves),
        priority=rng.choice((20, 50, 90)),
        user=rng.choice(("ada", "bob")),
        preemptible=rng.random() < 0.9,
        submitted=number,
    )
