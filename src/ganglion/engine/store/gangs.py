"""The gangs: their records, and where those that wait do so."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush

from ganglion.engine.gangs.equivalence import asked_by, form, keys_of, leaves_within
from ganglion.engine.gangs.gates import Gates, asleep
from ganglion.engine.gangs.min_available import MinAvailable
from ganglion.engine.gangs.pending import Pending, Unwatched, WaitWatcher
from ganglion.engine.gangs.rank import aged_rank, breadth
from ganglion.engine.gangs.record import HOLDING, SETTLED, GangRecord
from ganglion.engine.gangs.typical_pods import Census
from ganglion.engine.gangs.urgency import changes, due_rank, escalated
from ganglion.engine.plugins.config import EngineConfig
from ganglion.engine.queues.queues import Queues
from ganglion.engine.runtimes.estimates import Estimates
from ganglion.engine.timesharing.time_sharers import FIRST, TimeSharers
from ganglion.engine.topology.fleet import EngineProgress
from ganglion.model.errors import Conflict, InvariantBroken, NotFound
from ganglion.model.events import GangUpdated
from ganglion.model.plan import Phase
from ganglion.model.policy import Order
from ganglion.model.reasons import Reason
from ganglion.model.workload import Gang

_STEP = 1 << 60
"""Beyond every rank within one level of attained service."""


class Gangs:
    """Every gang that was submitted and not forgotten.

    Invariant: a gang that is pending waits either in one lane or behind a gate; no other waits.

    Args:
        config: what is in force.
        progress: notified when a gang may be looked at again.
        queues: the gangs' queues.

    Attributes:
        records: by id.
        lanes: what waits and may be looked at.
        gates: what waits and may not.
        floors: how many of every workload start or run.
        census: what sort of pods are submitted.
        sharers: gangs that share time with their equals.
        estimates: what was learnt about run times.
        asleep: gangs that sleep, or would if they did not run.
        fresh: gangs submitted since the last cycle.
        submissions: gangs submitted so far.
        watcher: is notified of where gangs stand.
    """

    def __init__(self, config: EngineConfig, progress: EngineProgress, queues: Queues) -> None:
        self.config, self.progress, self.queues = config, progress, queues
        self.records: dict[str, GangRecord] = {}
        self.lanes = Pending()
        self.gates = Gates()
        self.floors = MinAvailable(config.plugins.preempts)
        self.census = Census()
        self.sharers = TimeSharers(self)
        self.estimates = Estimates()
        self.asleep: dict[str, None] = {}
        self.fresh: list[str] = []
        self.submissions = 0
        self.watcher: WaitWatcher = Unwatched()
        self._alarms = Alarms()
        self._keys = keys_of(config.plugins)

    def record(self, gang: str) -> GangRecord:
        """The record of a gang. Raises NotFound."""
        found = self.records.get(gang)
        if found is None:
            raise NotFound(f"there is no gang {gang}")
        return found

    def reason(self, gang: str) -> Reason | None:
        """Why a gang waits, as far as cycles have found out; None = it does not, or unknown."""
        record = self.record(gang)
        if record.phase is not Phase.PENDING:
            return None
        lane = self.lanes.of(gang)
        return record.reason or (lane.reason if lane else None)

    def enter(self, record: GangRecord) -> None:
        """A gang was submitted."""
        self.submissions += 1
        record.number = self.submissions
        self.records[record.gang.id] = record
        self.gates.add(record.gang)
        self.sharers.enter(record)
        self.fresh.append(record.gang.id)
        self.census.add(record.gang)

    def withdraw(self, gang: Gang, submissions: int) -> None:
        """A gang was not submitted after all; `submissions` is the number of those before it."""
        del self.records[gang.id]
        self.submissions = submissions
        self.gates.forget(gang)
        self.watcher.forgets(gang.id)
        self.fresh = [each for each in self.fresh if each != gang.id]

    def forget(self, gang: str) -> None:
        """Drop the record of a gang that has ended. Raises Conflict for one that has not."""
        record = self.record(gang)
        if record.phase is not Phase.ENDED:
            raise Conflict(f"gang {gang} is {record.phase} and cannot be forgotten")
        del self.records[gang]
        self.gates.forget(record.gang)
        self.watcher.forgets(gang)

    def wake(self, now: int) -> list[GangUpdated]:
        """Let gangs be looked at for which the time makes a difference.

        Returns:
            The priorities that gangs have waited for, not yet theirs.
        """
        raised: list[GangUpdated] = []
        for gang in self._alarms.due(now):
            record = self.records.get(gang)
            if record and record.phase is Phase.PENDING and record.not_before <= now:
                record.not_before = 0
                self.progress.changed()
                self.wait(record, now)
                raised += escalated(record, self.config.policy.escalate, now)
            elif record and record.phase is Phase.RUNNING:
                self.progress.changed()  # others may stop it from now on
        return raised

    def next_wake(self) -> int | None:
        """When the next back-off or alarm is due, in ms; None = there is none."""
        found = (self._alarms.next(), self.sharers.next_turn())
        return min((at for at in found if at is not None), default=None)

    def alarms(self) -> list[tuple[int, str]]:
        """When gangs are due, in ms, in order."""
        return self._alarms.all()

    def alarm(self, at: int, gang: str) -> None:
        """Look again at that time, in ms, as the time alone makes a difference for a gang."""
        self._alarms.add(at, gang)

    def wait(self, record: GangRecord, now: int = 0) -> None:
        """Put a pending gang where it waits: behind a gate, asleep, or in its lane."""
        gang = record.gang
        self.leave_lane(record)
        record.reason = self.gates.reason(gang, record.not_before, record.held_for, record.fault)
        if gang.recall_ms:
            record.reason = record.reason or asleep(gang)
            self._goes_to_sleep(gang)
        if record.not_before:
            self.alarm(record.not_before, gang.id)
        if record.reason is None:
            self._line_up(record, self._pressing(record, max(now, self.progress.clock)))
        self.watcher.stands(record, max(now, self.progress.clock))

    def _line_up(self, record: GangRecord, pressing: int | None = None) -> None:
        """Put a gang in the lane of its equals; `pressing` is its rank if it is urgent."""
        gang = record.gang
        owner = gang.user if self._by_user(gang) else ""
        leaves, level = leaves_within(gang) if self.asleep else 0, self.sharers.level(record)
        keys = tuple(key(gang) for key in self._keys)
        record.lane = (*form(record), owner, level, leaves, *keys)
        rank = level * _STEP + self._among_equals(record) if level != FIRST else FIRST * _STEP
        rank = rank if pressing is None else 2 * FIRST * _STEP + pressing
        order = (rank, gang.submitted, gang.index, gang.id)
        self.lanes.add(record.lane, gang.queue, gang.priority, order, asked_by(gang), level)

    @contextmanager
    def as_if_waiting(self, record: GangRecord) -> Iterator[None]:
        """A gang that is not submitted waits among its equals meanwhile.

        It must be one that `is_plain` and that no gate holds; no one is notified of it.
        """
        gang = record.gang.id
        self.records[gang] = record
        self._line_up(record)
        try:
            yield
        finally:
            self.leave_lane(record)
            del self.records[gang]

    def is_plain(self, gang: Gang) -> bool:
        """Whether that a gang waits concerns its equals alone: it is not urgent, nor asleep."""
        urgent = gang.deadline_ms or self.config.policy.escalate
        return not urgent and not gang.recall_ms

    def leave_lane(self, record: GangRecord) -> None:
        """A gang waits in no lane any more."""
        if record.lane is not None:
            self.lanes.discard(record.gang.id)
            record.lane = None

    def _goes_to_sleep(self, gang: Gang) -> None:
        """From the first one on, it matters of all others how soon they leave."""
        others = () if self.asleep else [k[-1] for lane in self.lanes for k in lane.in_order()]
        self.asleep[gang.id] = None
        for each in others:
            self.wait(self.records[each])

    def expected_ms(self, gang: Gang) -> int:
        """Run time that is expected of a gang, for the order: as given, else by its limit.

        Where it has no limit, as learnt.
        """
        return gang.expected_ms or gang.time_limit_ms // 2 or self.estimates.estimate(gang).mean_ms

    def _pressing(self, record: GangRecord, now: int) -> int | None:
        """Rank of an urgent gang; it is looked at again when that or its priority changes."""
        gang, steps = record.gang, self.config.policy.escalate
        if not gang.deadline_ms and not steps:
            return None
        length = self.expected_ms(gang)
        for at in changes(record, steps, length, now):
            self.alarm(at, gang.id)
        return due_rank(gang, length, now)

    def _among_equals(self, record: GangRecord) -> int:
        """Rank among gangs of one queue and priority; smaller goes first."""
        policy, gang = self.config.policy, record.gang
        learnt = policy.order is Order.FAIR and policy.future.learn
        if not learnt and policy.order not in (Order.SHORTEST, Order.SMALLEST):
            return 0
        length = self.expected_ms(gang) * (1 if policy.order is Order.SHORTEST else breadth(gang))
        if learnt:
            length = aged_rank(length, gang.submitted, policy.future.ageing_ms)
        return length

    def _by_user(self, gang: Gang) -> bool:
        """Whether it matters whose gang it is."""
        queues = self.queues
        if queues.past.half_life_ms and "user" in self.config.policy.usage.levels:
            return True
        return any(queues.by_name[name].user_limit for name in queues.shares.path(gang.queue))

    def rebuild(self) -> Pending:
        """Let no gang wait or count.

        Returns:
            The lanes as they were; those made anew may remember them.
        """
        known, self.lanes = self.lanes, Pending()
        self.floors = MinAvailable(self.config.plugins.preempts)
        asleep = dict.fromkeys((*self.asleep, *self.records))
        self.asleep = {each: None for each in asleep if self._may_sleep(each)}
        self.sharers.regroup()
        return known

    def _may_sleep(self, gang: str) -> bool:
        record = self.records.get(gang)
        return bool(record and record.gang.recall_ms and record.phase is not Phase.ENDED)

    def check(self) -> None:
        """Check the invariant. Raises InvariantBroken."""
        for gang, record in self.records.items():
            self._check_phase(gang, record)
        settled = [each for each in self.records.values() if each.phase in SETTLED]
        running = [each for each in settled if each.phase is Phase.RUNNING]
        for records, counted in ((settled, self.floors.settled), (running, self.floors.running)):
            if Counter(each.gang.workload for each in records) != Counter(counted):
                raise InvariantBroken("the gangs of a workload are miscounted")
        self.sharers.check()

    def _check_phase(self, gang: str, record: GangRecord) -> None:
        in_lane, is_gated = self.lanes.of(gang) is not None, record.reason is not None
        if gang != record.gang.id:
            raise InvariantBroken(f"gang {record.gang.id} is listed as {gang}")
        if (in_lane or is_gated) != (record.phase is Phase.PENDING):
            raise InvariantBroken(f"gang {gang} is {record.phase}, in a lane {in_lane}")
        if in_lane and is_gated:
            raise InvariantBroken(f"gang {gang} waits both in a lane and behind a gate")
        if (record.placement is not None) != (record.phase in HOLDING):
            raise InvariantBroken(f"gang {gang} is {record.phase}, placed {record.placement}")
        if (record.outcome is not None) != (record.phase is Phase.ENDED):
            raise InvariantBroken(f"gang {gang} is {record.phase} with an outcome")


class Alarms:
    """Times at which gangs are due, each of them once."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []
        self._known: set[tuple[int, str]] = set()

    def add(self, at: int, gang: str) -> None:
        """A gang is due at a time in ms."""
        if (at, gang) not in self._known:
            self._known.add((at, gang))
            heappush(self._heap, (at, gang))

    def due(self, now: int) -> Iterator[str]:
        """Take out the gangs that are due, the earliest first; more may be added meanwhile."""
        while self._heap and self._heap[0][0] <= now:
            found = heappop(self._heap)
            self._known.discard(found)
            yield found[1]

    def all(self) -> list[tuple[int, str]]:
        """All of them, the earliest first."""
        return sorted(self._heap)

    def next(self) -> int | None:
        """The earliest time, in ms; None = there is none."""
        return self._heap[0][0] if self._heap else None
