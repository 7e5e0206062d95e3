"""What a scheduler says of why gangs wait: which of them are equals, and the reason they share.

A gang that waits is named once, with its group; a reason that changes is written once for all of a
group, as `UntoldReasons` bounds it. While nothing changes, that is said too, once a minute.
"""

from collections.abc import Hashable, Iterable, Iterator

from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.waiting.sums import UNKNOWN, waiting_place
from ganglion.lifecycle.waiting.untold import UntoldReasons
from ganglion.model.events import ReasonsChanged, WaitGroups, WaitOrder
from ganglion.model.plan import Plan, Wait
from ganglion.server.cluster.outbox.order import OrderReports

STILL_MS = 60_000
"""After this time without a record it is said that what was said holds."""
AGAIN_MS = 10_000
"""Least time between two times at which all of it is said again."""
MOST_GANGS = 2_000
"""Gangs that one event names."""

Said = ReasonsChanged | WaitGroups | WaitOrder


class WaitReports:
    """Is notified of where gangs stand, and says what is new of that.

    Attributes:
        places: gangs that wait, as was said -> their lane, or the kind of a reason of their own.
    """

    def __init__(self) -> None:
        self.places: dict[str, Hashable] = {}
        self._state: ClusterState | None = None
        self._moved: dict[str, None] = {}
        self._numbers: dict[Hashable, str] = {}
        self._members: dict[Hashable, int] = {}
        self._kinds: dict[Hashable, str] = {}
        self._untold = UntoldReasons(self._known)
        self._last = self._said_at = self._repeated = 0
        self._is_lost = False
        self._order = OrderReports()

    def stands(self, record: GangRecord, _at: int) -> None:
        """A gang waits somewhere, or somewhere else, or no more."""
        self._moved[record.gang.id] = None
        if record.phase not in WAITING:
            self._leave(record.gang.id)
            self._order.leaves(record.gang.id)

    def forgets(self, gang: str) -> None:
        """A gang is no more."""
        self._leave(gang)
        self._order.leaves(gang)

    def lost(self) -> None:
        """Something that was said has not arrived."""
        self._is_lost = True
        self._order.lost()

    def of(self, state: ClusterState, plan: Plan, now: int, *, alone: bool) -> Iterator[Said]:
        """What is new after a turn.

        Args:
            state: after the turn.
            plan: of the turn.
            now: time of the turn in ms.
            alone: whether the turn reports nothing else.
        """
        if self._state is not state:
            self._state, state.gangs.watcher = state, self
            self._moved |= dict.fromkeys(state.gangs.records)
        joined = [*self._joined(state)]
        self._untold.found(state, (*_reasons(state, joined), *plan.waits), now)
        if self._is_lost and now - self._repeated >= AGAIN_MS:
            self._is_lost, self._repeated = False, now
            told = [*self._again(now)]
        else:
            told = [*self._groups(now, joined)]
        changed = self._untold.due(state, now, alone=alone and not told)
        told += self._changed(changed) if changed else ()
        order = self._order.of(state, now)
        told += (order,) if order else ()
        if told or not alone:
            self._said_at = now
        elif self.places and now - self._said_at >= STILL_MS:
            self._said_at = now
            told.append(WaitGroups(now, {}))
        yield from told

    def _known(self, gang: str) -> str:
        return self._kinds.get(self.places.get(gang), "")

    def _joined(self, state: ClusterState) -> Iterator[str]:
        """Gangs that wait elsewhere than was said."""
        moved, self._moved = self._moved, {}
        for gang in moved:
            record = state.gangs.records.get(gang)
            if record is None or record.phase not in WAITING:
                continue
            place = waiting_place(record) or UNKNOWN
            if self.places.get(gang) != place:
                self._leave(gang)
                self.places[gang] = place
                self._members[place] = self._members.get(place, 0) + 1
                yield gang

    def _groups(self, now: int, gangs: Iterable[str]) -> Iterator[WaitGroups]:
        found, count = dict[str, list[str]](), 0
        for gang in gangs:
            found.setdefault(self._name(self.places[gang]), []).append(gang)
            count += 1
            if count == MOST_GANGS:
                yield _event(now, found)
                found, count = {}, 0
        if found:
            yield _event(now, found)

    def _again(self, now: int) -> Iterator[Said]:
        yield from self._groups(now, list(self.places))
        heads = {place: gang for gang, place in self.places.items()}
        found = dict[str, list[str]]()
        for place, kind in self._kinds.items():
            found.setdefault(kind, []).append(heads[place])
        if found:
            yield ReasonsChanged(now, {kind: tuple(each) for kind, each in found.items()})

    def _changed(self, event: ReasonsChanged) -> Iterator[ReasonsChanged]:
        for kind, gangs in event.reasons.items():
            places = (self.places[gang] for gang in gangs if gang in self.places)
            self._kinds |= dict.fromkeys(places, kind)
        yield event

    def _name(self, place: Hashable) -> str:
        """How a group is named; numbers are never given again."""
        if isinstance(place, str):
            return place
        if place not in self._numbers:
            self._last += 1
            self._numbers[place] = str(self._last)
        return self._numbers[place]

    def _leave(self, gang: str) -> None:
        place = self.places.pop(gang, None)
        if place is None:
            return
        self._members[place] -= 1
        if not self._members[place]:
            for each in (self._members, self._numbers, self._kinds):
                each.pop(place, None)


def _reasons(state: ClusterState, gangs: Iterable[str]) -> Iterator[Wait]:
    """What is known already of lanes that gangs have joined: no cycle says that again."""
    for gang in gangs:
        record = state.gangs.records[gang]
        if reason := state.gangs.reason(gang):
            yield Wait(record.gang.queue, gang, 1, reason)


def _event(now: int, groups: dict[str, list[str]]) -> WaitGroups:
    return WaitGroups(now, {name: tuple(each) for name, each in groups.items()})
