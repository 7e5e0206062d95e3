"""Gangs that share time: those of one queue and priority with a checkpoint contract.

They are compared by levels of attained service, learnt from those that have ended. Such an order
has a price: the longest gang is served last. So gangs are compared with first come, first served as
well (`first_come`): one whose age passes the longest completion that it would give is late and has
the level of a short gang; one that is later still goes first among equals and yields to none. Where
nearly all are that late the order is first come, first served.

Sources: least attained service and Gittins index, see `service_levels`; promotion against
starvation as Tiresias' PromoteKnob (NSDI'19).
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol

from ganglion.engine.gangs.pending import Pending
from ganglion.engine.gangs.preemption_cost import attained
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.plugins.config import EngineConfig
from ganglion.engine.timesharing.first_come import FirstCome
from ganglion.engine.timesharing.running_attempt import RunningAttempt
from ganglion.engine.timesharing.service_levels import FEWEST, Levels, fixed, insert, learnt, prior
from ganglion.engine.topology.fleet import EngineProgress
from ganglion.model.errors import InvariantBroken
from ganglion.model.plan import Phase
from ganglion.model.policy import Order
from ganglion.model.queue import Queue
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Gang, Kind

WINDOW = 512
"""Ended gangs whose services are remembered."""

BATCH = 16
"""Ended gangs after which the levels are worked out anew."""

LATE_PERMILLE = 1_250
"""Age from which a gang is late, over the longest completion of first come, first served, in
thousandths."""

OVERDUE_PERMILLE = 1_500
"""Age from which it goes first, over the same."""

LATE = 3
"""Highest level of late gangs: those that have had little go first, and most others yield."""

FIRST = -1_000
"""Level of overdue gangs: below every other."""

RUNS_TO_AN_END = (Kind.TRAIN, Kind.SWEEP, Kind.BATCH)
"""Kinds of gangs that share time by default."""


class ByName(Protocol):
    """What is read of the queues."""

    @property
    def by_name(self) -> dict[str, Queue]:
        """All queues by name."""


class Holder(Protocol):
    """What is read and changed of the component that the gangs are in; see `Gangs`."""

    config: EngineConfig
    progress: EngineProgress
    records: dict[str, GangRecord]
    lanes: Pending

    @property
    def queues(self) -> ByName:
        """The queues."""

    def wait(self, record: GangRecord, now: int = 0) -> None:
        """Put a pending gang where it waits."""


class SharingPool:
    """Gangs of one queue and priority that share time.

    Attributes:
        live: those that have not ended, the oldest first.
        running: those that start or run.
        returning: those that wait and have run before.
        overdue: those that are late or overdue -> the highest level that they may have.
        fifo: what first come, first served would do.
        levels: what compares the others.
        passed_by: running gang -> the level below which those that wait may take its place, as
            far as they know.
        due_at: when the next running gang has had its turn for one that waits, in ms; None = no
            such time.
        overdue_at: when the next gang may become overdue, in ms; None = unknown.
        relearnt: whether the levels changed since the last cycle.
        changed: whether what runs, or what it asks for, changed since the last cycle.
        quantum_ms: the first quantum that is set; 0 = it is learnt.
    """

    def __init__(self, quantum_ms: int, levels: Levels) -> None:
        self.quantum_ms = quantum_ms
        self.live: dict[str, GangRecord] = {}
        self.running: dict[str, GangRecord] = {}
        self.returning: dict[str, GangRecord] = {}
        self.overdue: dict[str, int] = {}
        self.fifo = FirstCome()
        self.passed_by: dict[str, int] = {}
        self.levels = levels
        self.relearnt, self.changed = False, True
        self.due_at: int | None = None
        self.overdue_at: int | None = None
        self._attempts: dict[str, RunningAttempt] = {}
        self._services: list[int] = []
        self._recent: list[int] = []
        self._fresh: list[int] = []

    def level(self, record: GangRecord, now: int) -> int:
        """Where a gang stands; those at higher levels yield to it."""
        gang = record.gang.id
        runs = self.running.get(gang) is record
        level = self.attempt(record).level(now) if runs else self.levels.level(record, now)
        most = self.overdue.get(gang)
        return level if most is None or level < most else most

    def attempt(self, record: GangRecord) -> RunningAttempt:
        """The present attempt of one of those that run."""
        found = self._attempts.get(record.gang.id)
        if found is None or not found.is_of(record, self.levels):
            found = self._attempts[record.gang.id] = RunningAttempt(record, self.levels)
        return found

    def learn(self, record: GangRecord, restart_ms: int) -> None:
        """A gang has ended by itself.

        Args:
            record: its record.
            restart_ms: what a restart costs.
        """
        service = record.attained
        self.fifo.ended(record.gang.id, service, service // max(_milli(record.gang), 1))
        self._fresh.append(service)
        if not self.quantum_ms and len(self._fresh) >= BATCH:
            insert(self._services, self._recent, self._fresh, WINDOW)
            self._fresh.clear()
            assert len(self._services) > FEWEST
            self.levels = learnt(self._services, restart_ms)
            self.relearnt = True

    def learnt(self) -> tuple[list[int], list[int], list[int]]:
        """What ended gangs have taught: services in order, by age, not yet used."""
        return self._services, self._recent, self._fresh

    def take(self, learnt: tuple[list[int], list[int], list[int]]) -> None:
        """Go on with what `learnt` gave."""
        self._services, self._recent, self._fresh = learnt

    def drop(self, gang: str) -> None:
        """A gang shares time no more."""
        self.rest(gang)
        for each in (self.live, self.returning, self.overdue):
            each.pop(gang, None)

    def rest(self, gang: str) -> None:
        """A gang leaves its place."""
        self.changed = True
        for each in (self.running, self.passed_by, self._attempts):
            each.pop(gang, None)

    def run(self, record: GangRecord) -> None:
        """A gang takes its place."""
        self.changed = True
        self.running[record.gang.id] = record
        self.returning.pop(record.gang.id, None)

    def compare(self, now: int) -> None:
        """Find what first come, first served would do with the newest, and which are late by it."""
        if self.changed:
            self.changed = False
            self.fifo.hold(sum(_milli(each.gang) for each in self.running.values()))
        if self.fifo.is_due:
            begun = (*self.running.values(), *self.returning.values())
            self.fifo.look([attained(each, now) for each in begun], len(self.live), now)
        longest = self.fifo.longest
        self.overdue = {}
        for gang, record in self.live.items() if longest else ():
            age = 1_000 * (now - record.gang.submitted)
            if age < LATE_PERMILLE * longest:
                break
            self.overdue[gang] = LATE if age < OVERDUE_PERMILLE * longest else FIRST
        self.overdue_at = self._due_next(now)

    def _due_next(self, now: int) -> int | None:
        """When the next gang may become late or overdue, in ms."""
        longest, found = self.fifo.longest, None
        for record in self.live.values() if longest else ():
            late, overdue = (
                record.gang.submitted + -(-longest * part // 1_000)
                for part in (LATE_PERMILLE, OVERDUE_PERMILLE)
            )
            if late > now:
                return late if found is None else min(found, late)
            if overdue > now and found is None:
                found = overdue
        return found

    def take_turns(self, now: int) -> list[tuple[int, int]]:
        """Which of the levels that wait may stop more gangs than before: (first, end)."""
        found: set[tuple[int, int]] = set()
        known, apart = self.passed_by, self.levels.apart
        for gang, record in self.running.items():
            if now < self.attempt(record).keeps_until:
                continue
            before = known.get(gang, FIRST)
            end = known[gang] = self.level(record, now) - apart + 1
            if before < end:
                found.add((before, end))
        return sorted(found)

    def next_turn(self, waiting: Sequence[int], now: int) -> int | None:
        """When the next running gang has had its turn for one that waits, in ms; None = never.

        Args:
            waiting: levels of those that wait, ascending.
            now: the time in ms.
        """
        found: int | None = None
        soonest = now + max(self.levels.slice_ms // 2, 1)
        for gang, record in self.running.items() if waiting else ():
            at = bisect_left(waiting, self.passed_by.get(gang, FIRST))
            if at == len(waiting):
                continue
            most = self.overdue.get(gang)
            if most is not None and most < waiting[at] + self.levels.apart:
                continue
            due = self.attempt(record).passes(waiting[at], now)
            if due is not None and due <= soonest:
                return soonest
            if due is not None and (found is None or due < found):
                found = due
        return found


class TimeSharers:
    """All pools.

    Args:
        state: whose gangs they are.
    """

    def __init__(self, state: Holder) -> None:
        self._state = state
        self._pools: dict[tuple[str, int], SharingPool] = {}

    def pools(self) -> dict[tuple[str, int], SharingPool]:
        """All of them by queue and priority."""
        return self._pools

    def of(self, gang: Gang) -> SharingPool | None:
        """The pool of a gang; None = it shares its time with no other."""
        quantum = self._quantum_ms(gang)
        if quantum is None:
            return None
        key = (gang.queue, gang.priority)
        found = self._pools.get(key)
        if found is None or found.quantum_ms != quantum:
            restart = self._state.config.policy.evict.restart_ms
            levels = fixed(quantum) if quantum else prior(restart)
            found = self._pools[key] = SharingPool(quantum, levels)
        return found

    def _quantum_ms(self, gang: Gang) -> int | None:
        """The first quantum that is set; 0 = it is learnt, None = no sharing."""
        if gang.checkpoint is None or not gang.preemptible or gang.spare:
            return None
        policy, own = self._state.config.policy, self._state.queues.by_name[gang.queue].timeshare_ms
        if own is not None:
            return own or None
        # What saves by the clock alone would lose work at every turn.
        saves = not gang.checkpoint.interval_ms
        by_default = policy.timeshare and policy.order is not Order.FIFO and saves
        return 0 if by_default and gang.kind in RUNS_TO_AN_END else None

    def enter(self, record: GangRecord) -> None:
        """A gang was submitted, or got other equals."""
        pool, gang = self.of(record.gang), record.gang.id
        if pool is None:
            return
        last = next(reversed(pool.live.values()), record)
        pool.live[gang] = record
        pool.fifo.came(gang, record.gang.submitted)
        if record.number < last.number:
            pool.live = dict(sorted(pool.live.items(), key=lambda each: each[1].number))
        if record.phase in SETTLED:
            pool.run(record)
        elif record.attained:
            pool.returning[gang] = record

    def change(self, record: GangRecord, gang: Gang) -> None:
        """A gang gets other properties, and with another queue or priority other equals."""
        moves = self.of(record.gang) is not self.of(gang)
        if moves:
            self.leave(record)
        record.gang = gang
        pool = self.of(gang)
        if moves:
            self.enter(record)
        elif pool:
            pool.changed = True

    def leave(self, record: GangRecord) -> None:
        """A gang has ended, or gets other equals."""
        pool = self.of(record.gang)
        if pool:
            pool.drop(record.gang.id)
            pool.fifo.forget(record.gang.id)

    def ended(self, record: GangRecord, *, learn: bool) -> None:
        """A gang has ended for good; `learn` = by itself."""
        pool = self.of(record.gang)
        if pool is None:
            return
        if learn:
            pool.learn(record, self._state.config.policy.evict.restart_ms)
        self.leave(record)

    def regroup(self) -> None:
        """The policy or a queue changed, and with it which gangs share time, and how."""
        for pool in self._pools.values():
            for gang in list(pool.live):
                pool.drop(gang)
            pool.relearnt = True
        for record in self._state.records.values():
            if record.phase is not Phase.ENDED:
                self.enter(record)
        for pool in self._pools.values():
            pool.fifo.keep(pool.live)

    def runs(self, record: GangRecord) -> None:
        """A gang takes its place."""
        pool = self.of(record.gang)
        if pool:
            pool.run(record)

    def rests(self, record: GangRecord) -> None:
        """A gang leaves its place."""
        pool = self.of(record.gang)
        if pool:
            pool.rest(record.gang.id)

    def level(self, record: GangRecord) -> int:
        """The level of a gang that waits; it is looked at again when the levels change."""
        pool = self.of(record.gang)
        if pool is None:
            return 0
        if record.attained:
            pool.returning[record.gang.id] = record
        return pool.level(record, 0)

    def next_turn(self) -> int | None:
        """When a cycle may make another decision by time-sharing, in ms; None = unknown."""
        found = (at for pool in self._pools.values() for at in (pool.due_at, pool.overdue_at))
        return min((at for at in found if at is not None), default=None)

    def check(self) -> None:
        """Compare the pools with the records. Raises InvariantBroken."""
        for record in self._state.records.values():
            gang, pool = record.gang.id, self.of(record.gang)
            if pool is None:
                continue
            listed = (gang in pool.live, gang in pool.running)
            if listed != (record.phase is not Phase.ENDED, record.phase in SETTLED):
                raise InvariantBroken(f"gang {gang} is {record.phase} and listed as {listed}")

    def arm(self, now: int) -> None:
        """Say when the next gang has had its turn for one that waits; at the end of a cycle."""
        levels: dict[tuple[str, int], set[int]] = {}
        for lane in self._state.lanes:
            levels.setdefault((lane.queue, lane.priority), set()).add(lane.level)
        for key, pool in self._pools.items():
            pool.due_at = pool.next_turn(sorted(levels.get(key, ())), now)

    def refresh(self, now: int) -> None:
        """Apply new levels, note which gangs are overdue or had a turn; as a cycle begins."""
        for key, pool in self._pools.items():
            changed = pool.returning if pool.relearnt else {}
            pool.relearnt = False
            before = pool.overdue
            pool.compare(now)
            moved = {gang for gang, _ in before.items() ^ pool.overdue.items()}
            late = [each for each in pool.live if each in moved] if moved else ()
            for gang in (*changed, *late):
                record = pool.live[gang]
                if self._state.lanes.of(gang) is not None:
                    self._state.wait(record)
            self._state.progress.changed(bool(changed or moved))
            for least, end in pool.take_turns(now):
                self._state.lanes.reopen_levels(*key, least, end)


def _milli(gang: Gang) -> int:
    return WHOLE * sum(each.count * each.request.gpu.count for each in gang.pod_sets)
