"""Time-sharing among equals: gangs that had much service yield to gangs that had little.

Asker and victim have a checkpoint contract, the same queue and the same priority. A victim is
at a higher level (see `service_levels` and `time_sharers`) and past the time for which each
attempt keeps its place; it is priced like any other victim.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.preemption_rules.units import units_of
from ganglion.engine.search.quota import asked
from ganglion.engine.store.store import Store
from ganglion.engine.store.victims import Useful, VictimRules, VictimUnit
from ganglion.engine.timesharing.time_sharers import SharingPool
from ganglion.model.causes import CauseKind
from ganglion.model.placement import PodPlacement
from ganglion.model.reasons import Reason, Token


class TurnRules:
    """The rules of a policy, and after them those of time-sharing, within the floors of workloads.

    Args:
        inner: the rules of the policy.
    """

    def __init__(self, inner: VictimRules) -> None:
        self._inner = inner
        self._had_turns: dict[tuple[str, int], list[_HadTurn]] = {}
        self._made = -1

    def hopeless(self, state: Store, asker: GangRecord, now: int) -> Reason | None:
        """Why no gang may be stopped for this one, by arithmetic alone; None = perhaps."""
        reason = self._inner.hopeless(state, asker, now)
        if reason is None or reason.token is Token.POLICY:
            return reason
        held = sum(each.milli for each in self._yielding(state, asker, now))
        free = state.fleet.totals.free_for(asker.shapes)
        return None if held and held + free >= asked(asker).gpu_milli else reason

    def allows(
        self,
        state: Store,
        asker: GangRecord,
        unit: VictimUnit,
        now: int,
        gets: Collection[str] = (),
    ) -> bool:
        """Whether a unit may still be taken as usage stands now, just before it is."""
        if unit.whole and not state.gangs.floors.spares(unit.record):
            return False
        return unit.cause is CauseKind.YIELDED or self._inner.allows(state, asker, unit, now, gets)

    def may_any(self, state: Store, asker: GangRecord, now: int) -> bool:
        """Whether `allows` may be true of any unit as usage stands; see `VictimRules`."""
        return self._inner.may_any(state, asker, now) or bool(self._yielding(state, asker, now))

    def top(self, state: Store, asker: GangRecord, queue: str, now: int) -> int:
        """The highest priority of what might be taken of a queue as usage stands."""
        return self._inner.top(state, asker, queue, now)

    def next_ripe(self, state: Store, asker: GangRecord, now: int) -> int | None:
        """When a gang has run long enough to be stopped for this one's share; None = unknown."""
        return self._inner.next_ripe(state, asker, now)

    def victims(
        self, state: Store, asker: GangRecord, now: int, useful: Useful
    ) -> Iterator[VictimUnit]:
        """Units in the order in which they are to be taken; see `VictimRules`."""
        offered = set()
        for unit in self._inner.victims(state, asker, now, useful):
            offered.add(unit.record.gang.id)
            yield unit
        found = [
            each.record
            for each in self._yielding(state, asker, now)
            if each.record.gang.id not in offered
        ]
        restart = state.config.policy.evict.restart_ms

        def priced(record: GangRecord, pods: tuple[PodPlacement, ...], whole: bool) -> int:
            if whole:
                return preemption_cost.of_gang(record, now, restart)
            return preemption_cost.of_surplus(pods, restart)

        for record in sorted(found, key=lambda each: (-each.attained, each.gang.id)):
            yield from units_of(record, CauseKind.YIELDED, priced, useful)

    def _yielding(self, state: Store, asker: GangRecord, now: int) -> list["_HadTurn"]:
        """Gangs that have to yield to a gang if it needs their place."""
        pool = state.gangs.sharers.of(asker.gang)
        if pool is None:
            return []
        if now != self._made:
            self._made = now
            self._had_turns.clear()
        key = (asker.gang.queue, asker.gang.priority)
        found = self._had_turns.get(key)
        if found is None:
            found = self._had_turns[key] = list(_had_turns(pool, now))
        least, running = pool.level(asker, now) + pool.levels.apart, pool.running
        return [
            each
            for each in found
            if each.level >= least and running.get(each.record.gang.id) is each.record
        ]


class _HadTurn(NamedTuple):
    """A running gang that need not keep its place, its level and thousandths of GPUs."""

    record: GangRecord
    level: int
    milli: int


def _had_turns(pool: SharingPool, now: int) -> Iterator[_HadTurn]:
    for record in pool.running.values():
        attempt = pool.attempt(record)
        if now >= attempt.keeps_until:
            yield _HadTurn(record, pool.level(record, now), attempt.milli)
