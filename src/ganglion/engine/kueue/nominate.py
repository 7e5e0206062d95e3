"""What the first gang of a queue could do now: start, have others stopped, or neither."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.kueue.classic_preemption import Asker, Taken
from ganglion.engine.kueue.flavors import Assigner, Assignment, Mode
from ganglion.engine.kueue.minimal_victims import quota_fits, user_limit_passed, victims_for
from ganglion.engine.placement.place import Demand, place
from ganglion.engine.placement.tas import place_tightly, suits
from ganglion.engine.queues.cohort import KINDS, Borrowing
from ganglion.engine.search.diagnose import diagnose
from ganglion.engine.search.find import Found
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import LOOK, SEARCH
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.pod_shape import excluding
from ganglion.model.placement import Placement
from ganglion.model.policy import Placing
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.reasons import Reason, Remedy, Token
from ganglion.model.resources import decimal

_WORDS: Mapping[str, str] = {
    "gpu_milli": "GPUs",
    "cpu_milli": "CPUs",
    "memory_mib": "MiB of memory",
}


class Nomination(NamedTuple):
    """What a gang could do.

    Attributes:
        record: the gang.
        assignment: its flavors.
        victims: gangs that must be stopped first.
        reason: why it can neither start nor have others stopped; None = it can.
        waits_for_room: it would fit if others left, but none of them may be stopped.
    """

    record: GangRecord
    assignment: Assignment
    victims: tuple[Taken, ...] = ()
    reason: Reason | None = None
    waits_for_room: bool = False

    @property
    def able(self) -> bool:
        """Whether it can start, at once or in place of others."""
        return self.reason is None


class Nominator:
    """Works nominations out as things stand.

    Args:
        state: left as it is by every call.
        borrowing: reads the queues.
        now: the time in ms.
        trades: whether others may be stopped for a gang.
    """

    def __init__(
        self, state: ClusterState, borrowing: Borrowing, now: int, *, trades: bool = True
    ) -> None:
        self._state, self._borrowing, self._now = state, borrowing, now
        self._trades = trades
        self._places: dict[Hashable, Placement | None] = {}

    def nominate(self, record: GangRecord, flavors: Assignment | None = None) -> Nomination:
        """The best a gang could do: all its pods, or else as many as it can.

        Args:
            record: the gang.
            flavors: keep to these.
        """
        sets = record.gang.pod_sets
        found = self._try(record, [each.count for each in sets], flavors)
        if not found.able and any(each.least < each.count for each in sets):
            found = self._shrunk(record, flavors) or found
        if not found.able:
            self._state.agenda.effort.spend_in_vain(len(self._state.fleet.tree.nodes))
        return found

    def place(self, nomination: Nomination) -> Placement | None:
        """A place for a nominated gang on nodes of its flavors, beside what is reserved."""
        record, tree = nomination.record, self._state.fleet.tree
        wants = tuple(nomination.assignment.wants.items())
        key = (record.gang.id, nomination.assignment.counts, wants, tree.epoch, len(tree.changes))
        if key not in self._places:
            self._places[key] = self._search(record, nomination.assignment)
        return self._places[key]

    def place_tentatively(self, nomination: Nomination) -> Placement | None:
        """The same while victims are taken out."""
        self._state.agenda.effort.spend(LOOK)
        return self.place(nomination)

    def _search(self, record: GangRecord, assignment: Assignment) -> Placement | None:
        demand = self._demand(record, assignment)

        def search() -> Found:
            return None, self._place(self._state.fleet.indexes, demand)

        found = search()
        if found[1] is None:
            return None
        return self._state.timeline.future.settle(record, self._now, found, search)[1]

    def fits_quota(self, nomination: Nomination) -> bool:
        """Whether the queue may use that much, without the victims."""
        asker = self._asker(nomination.record, nomination.assignment)
        gone = [record for record, _ in nomination.victims]
        for record in gone:
            self._state.queues.charge(record.gang, record.charged, -1)
        fits = quota_fits(self._state, self._borrowing, asker, may_borrow=True)
        for record in gone:
            self._state.queues.charge(record.gang, record.charged, 1)
        return fits

    def _shrunk(self, record: GangRecord, flavors: Assignment | None) -> Nomination | None:
        """All elastic sets give up the same part of what they can do without."""
        sets = record.gang.pod_sets
        spare = [each.count - each.least for each in sets]
        low, high, best = 0, sum(spare) + 1, None
        while low < high:
            middle = (low + high) // 2
            counts = [
                each.count - more * middle // sum(spare)
                for each, more in zip(sets, spare, strict=True)
            ]
            found = self._try(record, counts, flavors)
            if found.able:
                best, high = found, middle
            else:
                low = middle + 1
        return best

    def _try(
        self, record: GangRecord, counts: Sequence[int], flavors: Assignment | None
    ) -> Nomination:
        self._state.agenda.effort.spend(SEARCH)
        assigner = Assigner(
            self._state,
            self._borrowing,
            record,
            self._eligible(record, flavors),
            self._now,
            trades=self._trades,
        )
        assignment = assigner.assign(counts)
        found = Nomination(record, assignment)
        if assignment.missing:
            return found._replace(reason=self._short(record, assignment))
        has_room = self.place(found) is not None
        if has_room and assignment.quality.mode is Mode.FIT:
            return found
        return self._with_victims(found, has_room)

    def _with_victims(self, found: Nomination, has_room: bool) -> Nomination:
        """Have others stopped, for quota or for room."""
        record, assignment = found.record, found.assignment
        state, demand = self._state, self._demand(record, assignment)
        if not has_room:
            if not self._could_be_placed(demand):
                return found._replace(reason=diagnose(state, demand))
            assignment = assignment._replace(needs=frozenset(assignment.wants))
        found = found._replace(assignment=assignment)
        if self._trades:
            victims = victims_for(
                state,
                self._borrowing,
                self._asker(record, assignment),
                lambda: self.place_tentatively(found) is not None,
            )
            if victims:
                return found._replace(victims=tuple(victims))
        reason = self._short(record, assignment) if has_room else diagnose(state, demand)
        return found._replace(reason=reason, waits_for_room=True)

    def _could_be_placed(self, demand: Demand) -> bool:
        """Whether the empty fleet has a place."""
        bare, gang = self._state.fleet.empty(), demand.gang
        key = (tuple(demand.shapes), gang.pod_sets, gang.topology, gang.kind)
        if key not in bare.answers:
            bare.answers[key] = self._place(bare, demand) is not None
        return bool(bare.answers[key])

    def _place(self, indexes: Indexes, demand: Demand) -> Placement | None:
        policy = self._state.config.policy
        if policy.placement is Placing.COMPACT or not suits(demand):
            return place(indexes, demand, policy.tries, self._state.progress.turn)
        return place_tightly(indexes, demand, even=policy.placement is Placing.EVEN)

    def _asker(self, record: GangRecord, assignment: Assignment) -> Asker:
        return Asker(record, assignment.wants, assignment.needs, self._now)

    def _eligible(self, record: GangRecord, flavors: Assignment | None) -> "_Eligible":
        usable = [self._state.fleet.totals.charged(shape) for shape in record.shapes]
        if flavors:
            usable = [
                names if ANY_FLAVOR in kept.values() else names & set(kept.values())
                for names, kept in zip(usable, flavors.flavors, strict=True)
            ]
        return _Eligible(usable)

    def _demand(self, record: GangRecord, assignment: Assignment) -> Demand:
        """The gang in its nominated size, each set kept to its flavors."""
        gang, known = record.gang, self._state.fleet.totals.flavors()
        sets = tuple(
            each if each.least == count == each.count else replace(each, count=count, min_count=0)
            for each, count in zip(gang.pod_sets, assignment.counts, strict=True)
        )
        shapes = [
            excluding(shape, tuple(f for f in known if f not in kept.values()))
            if kept and ANY_FLAVOR not in kept.values()
            else shape
            for shape, kept in zip(record.shapes, assignment.flavors, strict=True)
        ]
        return Demand(replace(gang, pod_sets=sets), shapes)

    def _short(self, record: GangRecord, assignment: Assignment) -> Reason:
        """Which quota is not enough."""
        queue = record.gang.queue
        owned = set(self._state.queues.by_name[queue].quota) - {ANY_FLAVOR}
        if owned and not any(
            owned & self._state.fleet.totals.charged(each) for each in record.shapes
        ):
            return Reason(
                Token.CONSTRAINT,
                f"queue {queue} has quota of {', '.join(sorted(owned))}; no node of those can run"
                " its pods",
                never=True,
                remedy=Remedy.ADMIN,
            )
        flavor, kind = assignment.missing or min(assignment.needs)
        word = _WORDS[kind]
        if not flavor:
            return Reason(
                Token.QUOTA,
                f"queue {queue} has no quota of {word}",
                never=True,
                remedy=Remedy.ADMIN,
            )
        cell = flavor, kind
        asked = sum(self._asked(record, assignment, kind))
        of_user = user_limit_passed(self._state, record, {(flavor, kind): asked})
        if of_user:
            return of_user.reason
        left, most = self._borrowing.available(queue, cell), self._borrowing.potential(queue, cell)
        what = word if flavor == ANY_FLAVOR else f"{flavor} {word}"
        unit = kind.partition("_")[2]
        return Reason(
            Token.QUOTA,
            f"queue {queue} may use {_number(kind, max(left, 0))} more {what};"
            f" it asks for {_number(kind, asked)}",
            never=asked > most and len(self._state.queues.by_name[queue].quota) == 1,
            evidence={f"asked_{unit}": asked, f"available_{unit}": left, f"most_{unit}": most},
            remedy=Remedy.ADMIN if asked > most else Remedy.WAIT,
        )

    def _asked(self, record: GangRecord, assignment: Assignment, kind: str) -> Iterator[int]:
        for each, count in zip(record.gang.pod_sets, assignment.counts, strict=True):
            request = each.request
            numbers = (request.gpu.count * request.gpu.milli, request.cpu_milli, request.memory_mib)
            yield numbers[KINDS.index(kind)] * count


class _Eligible:
    """Which flavors each pod set may use."""

    def __init__(self, usable: list[frozenset[str]]) -> None:
        self._usable = usable

    def __call__(self, pod_set: int, flavor: str) -> bool:
        return flavor in self._usable[pod_set]


def _number(kind: str, value: int) -> str:
    return str(value) if kind == "memory_mib" else decimal(value)
