"""Cycles tried on a copy of the state: what comes of a gang when something else is the case.

Everything that goes before the gang gets its turn first, as in the next cycle. What a trial may
cost is bounded by counting searches: one that needs more has no result.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import Exhausted
from ganglion.engine.state.fork import fork
from ganglion.model import events as ev
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase, Plan
from ganglion.model.workload import Gang

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
    """What a gang gets in a trial: a place, and the gangs that are stopped or moved for it."""

    placement: Placement
    stops: tuple[str, ...]


class Rehearsals:
    """Trials for one explanation, which share an allowance.

    Args:
        state: left as it is by every call.
        now: the time in ms.
    """

    def __init__(self, state: ClusterState, now: int) -> None:
        self._state, self._now = state, now
        self._left = WORK

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

    def _given(self, events: Sequence[ev.Event], gang: str) -> Given | None:
        self._left -= EVENT * len(events) + len(self._state.gangs.records) // COPIED
        if self._left <= 0:
            return None
        tried = fork(self._state)
        tried.agenda.effort.allowance = self._left
        try:
            return _outcome(tried, events, gang, self._now)
        except Exhausted:
            return None
        finally:
            self._left = tried.agenda.effort.allowance or 0


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


def _outcome(tried: ClusterState, events: Iterable[ev.Event], gang: str, now: int) -> Given | None:
    stops: dict[str, None] = {}
    for later in range(CYCLES):
        plan = cycle(tried, events if not later else (), now + later, isolate=True, until=gang)
        stops |= _stopped(plan, gang)
        record = tried.gangs.records.get(gang)
        place = record and (record.placement or record.promise)
        if place:
            return Given(place, tuple(stops))
        if tried.agenda.again_at is None:
            break
    return None


def _stopped(plan: Plan, gang: str) -> dict[str, None]:
    """Gangs that a cycle has stopped, moved or made smaller for a gang.

    A trade is written down whole: the promise follows those that leave for it.
    """
    found: dict[str, None] = {}
    for event in plan.decisions:
        match event:
            case ev.GangStopping() | ev.GangResized():
                found[event.gang] = None
            case ev.GangReserved() if event.gang == gang:
                return found
            case _:
                found = {}
    return {}
