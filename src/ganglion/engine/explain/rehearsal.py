"""Cycles tried on a copy of the state: what comes of a gang when something else is the case.

Everything that goes before the gang gets its turn first, as in the next cycle. What a trial may
cost is bounded by counting searches: one that needs more has no result.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.engine.preemption.trade import Decided
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import Exhausted
from ganglion.engine.state.fork import fork
from ganglion.model import events as ev
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase, Plan
from ganglion.model.workload import Gang

T = TypeVar("T")

WORK = 10_000
"""Work that all trials for one explanation may take together, see `engine.state.effort`."""

EVENT = 8
"""Work of taking in one event of a trial."""

COPIED = 6
"""Records that are copied at the price of one unit of work."""

CYCLES = 64
"""Cycles in which a policy that looks at the heads of queues may reach a gang."""


UPDATED = frozenset({"priority", "time_limit_ms"})
"""Properties that change in place; a gang that differs in others is submitted again."""


class Given(NamedTuple):
    """What a gang gets in a trial: a place, and what is decided about others for it."""

    placement: Placement
    yields: tuple[Decided, ...]

    @property
    def stops(self) -> tuple[str, ...]:
        """Gangs that are stopped, moved or made smaller, or lose a promise."""
        return tuple(dict.fromkeys(each.gang for each in self.yields))


class Rehearsed(NamedTuple):
    """What comes of a gang once it is submitted.

    Attributes:
        state: a copy, after the last cycle in which something was decided.
        at: time of that cycle in ms.
        given: what the gang gets; None = it waits.
    """

    state: ClusterState
    at: int
    given: Given | None


class Rehearsals:
    """Trials for one explanation, which share an allowance.

    Args:
        state: left as it is by every call.
        now: the time in ms.
        part: they may do one part in `part` of the work for one explanation.
    """

    def __init__(self, state: ClusterState, now: int, part: int = 1) -> None:
        self._state, self._now = state, now
        self._left = WORK // part

    def given(
        self,
        before: Gang,
        after: Gang,
        ended: Sequence[str] = (),
        first: Sequence[ev.Event] = (),
    ) -> Given | None:
        """What a gang gets in the next cycle if its workload is changed, or others end.

        Args:
            before: a gang that waits, or one that is not submitted.
            after: the same with other properties, or as it is.
            ended: ids of gangs that hold a place and end before the cycle.
            first: what else happens before that.

        Returns:
            None when it would wait, or when that is unknown.
        """
        events, gang = change(self._state, before, after, self._now)
        records = [self._state.gangs.record(each) for each in ended]
        return self._given([*first, *ends(records, self._now), *events], gang)

    def starts(self, before: Gang, after: Gang, ended: Sequence[str]) -> bool:
        """Whether it gets any place."""
        return self.given(before, after, ended) is not None

    def submitted(self, gang: Gang) -> Rehearsed | None:
        """What the next cycles do if a gang is submitted now; all that waits gets its turn.

        Returns:
            None when that is unknown.
        """
        return self._tried([ev.GangSubmitted(self._now, gang)], gang.id, until="")

    def later(self, rehearsed: Rehearsed, gang: str, at: int) -> Given | None:
        """What a gang that waits gets at a time in ms if nothing else happens until then.

        Args:
            rehearsed: what came of it; changed.
            gang: its id.
            at: the time.
        """
        tried = rehearsed.state
        found = self._bounded(tried, lambda: _outcome(tried, (), gang, at, ""))
        return found and found[0]

    def _given(self, events: Sequence[ev.Event], gang: str) -> Given | None:
        found = self._tried(events, gang, until=gang)
        return found and found.given

    def _tried(self, events: Sequence[ev.Event], gang: str, until: str) -> Rehearsed | None:
        self._left -= EVENT * len(events) + len(self._state.gangs.records) // COPIED
        if self._left <= 0:
            return None
        tried = fork(self._state)

        found = self._bounded(tried, lambda: _outcome(tried, events, gang, self._now, until))
        return found and Rehearsed(tried, found[1], found[0])

    def _bounded(self, tried: ClusterState, trial: Callable[[], T]) -> T | None:
        """What comes of a trial; None where it needs more than is left."""
        effort = tried.agenda.effort
        effort.allowance = self._left
        try:
            return trial()
        except Exhausted:
            return None
        finally:
            self._left = effort.allowance or 0


def change(state: ClusterState, before: Gang, after: Gang, now: int) -> tuple[list[ev.Event], str]:
    """What happens when a gang's workload is changed, and the id that the gang then has.

    All gangs of a workload change together, as users change workloads. Priority and time limit
    change in place; else those that wait are cancelled and submitted again.

    Args:
        state: left as it is.
        before: a gang that waits, or one that is not submitted.
        after: the same with other properties, or as it is.
        now: the time in ms.
    """
    if before.id not in state.gangs.records:
        return [ev.GangSubmitted(now, after)], after.id
    changed = {
        name: value
        for name in before.__struct_fields__
        if (value := getattr(after, name)) != getattr(before, name)
    }
    records = [state.gangs.records[each] for each in state.gangs.gates.siblings(before.workload)]
    if changed.keys() <= UPDATED:
        live = [each.gang.id for each in records if each.phase is not Phase.ENDED]
        return [ev.GangUpdated(now, each, **changed) for each in live if changed], before.id
    events: list[ev.Event] = []
    for each in records:
        if each.phase in WAITING:
            cancelled = ev.Outcome.CANCELLED
            events.append(ev.GangEnded(now, each.gang.id, each.attempt, cancelled))
            again = replace(each.gang, id=_again(each.gang.id), submitted=now, **changed)
            events.append(ev.GangSubmitted(now, again))
    return events, _again(before.id)


def ends(records: Iterable[GangRecord], now: int) -> list[ev.Event]:
    """What happens when gangs end."""
    succeeded = ev.Outcome.SUCCEEDED
    return [ev.GangEnded(now, each.gang.id, each.attempt, succeeded) for each in records]


def _again(gang: str) -> str:
    return f"{gang}~"


def _outcome(
    tried: ClusterState, events: Iterable[ev.Event], gang: str, now: int, until: str
) -> tuple[Given | None, int]:
    """What a gang gets, and the time of the last cycle in ms."""
    yields: list[Decided] = []
    for later in range(CYCLES):
        plan = cycle(tried, events if not later else (), now + later, isolate=True, until=until)
        yields += _yielding(plan, gang)
        place = _place(plan, gang)
        if place:
            return Given(place, tuple(yields)), plan.at
        if tried.agenda.again_at is None:
            break
    return None, plan.at


def _place(plan: Plan, gang: str) -> Placement | None:
    """The place that a cycle gives or promises a gang, before it grows there."""
    for event in plan.decisions:
        if isinstance(event, ev.GangPlaced | ev.GangReserved) and event.gang == gang:
            return event.placement
    return None


def _yielding(plan: Plan, gang: str) -> list[Decided]:
    """What a cycle has decided about others for a gang: stopped, moved, made smaller.

    A trade is written down whole: the promise follows those that leave for it.
    """
    found: list[Decided] = []
    for event in plan.decisions:
        match event:
            case ev.GangStopping() | ev.GangResized():
                found.append(event)
            case ev.GangReserved() if event.gang == gang:
                return found
            case ev.GangReserved(placement=None, cause=cause) if cause and cause.gang == gang:
                found.append(event)
            case _:
                found = []
    return []
