"""When: reservations of blocked gangs, and who may overtake them (backfill).

How the cycle uses it, all on a state whose `join` and `part` tell `Occupants`:

    for event in future.renew(now): apply and record it       # once, before the turns
    found = future.settle(record, now, find(...), lambda: find(...))
    if it found a place:            start                     # life.placed calls future.drop
    elif a trade was found:         carry it out
    else:
        for event in future.plan(record, reason, now): apply and record it

`drop` and `apply` say whether a place was given up; the state's `freed` counter has to grow
then. The server wakes the engine at `next_wake`. Limits guarantee: while every gang ends by its
time limit and no node is lost, a reservation is kept to the millisecond and only ever moves to an
earlier time. A higher priority is not held up by a lower one's reservation.

EASY: Lifka, JSSPP 1995. Conservative backfill: Mu'alem and Feitelson, TPDS 2001.
"""

from collections.abc import Callable, Iterator

from ganglion.engine.gangs.equivalence import asked_by
from ganglion.engine.gangs.pending import BEFORE_EQUALS
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.what_if import Sketch
from ganglion.engine.timeline.draining import later, starves
from ganglion.engine.timeline.free_at import Room, by_node, fits_into
from ganglion.engine.timeline.profile import ProfileInput, StartSearch, earliest
from ganglion.engine.timeline.reservation import Reservation, is_about_room, overtakes, seniority
from ganglion.engine.timeline.reservation_table import Apart, Reservations
from ganglion.engine.timeline.reserved_nodes import Rooms
from ganglion.engine.timeline.standby import StandbyPlaces
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import StartPlanned
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.policy import Backfill
from ganglion.model.reasons import Reason

CONSERVATIVE_DEPTH = 256
"""Reservations held at most where every waiting gang gets one."""

_LATE = Cause(CauseKind.PLACE_LATE)
_GONE = Cause(CauseKind.PLACE_GONE)
_HIGHER = Cause(CauseKind.HIGHER_PRIORITY)
Found = tuple[Reason | None, Placement | None]
"""Either a reason to wait or a placement."""


class BackfillPlanner:
    """The reservations, changed by `StartPlanned` events and by what happens to their gangs.

    Args:
        ground: the fleet, who is where until when, and the bookings.
        kept: places kept for gangs that sleep.
    """

    def __init__(self, ground: ProfileInput, kept: StandbyPlaces) -> None:
        self._ground, self._kept, self._policy = ground, kept, ground.state.config.policy.future
        self._held = Reservations(kept)
        self._renewed = -1
        self._ticked = -1
        self._in_vain: tuple[object, ...] = ()
        self._none_due = False
        self._scanned: tuple[object, ...] = ()
        self._senior: GangRecord | None = None
        self._rooms = Rooms(ground, self._held, kept)

    def reservation(self, gang: str) -> Reservation | None:
        """The reservation of a gang."""
        return self._held.get(gang)

    def reservations(self) -> tuple[Reservation, ...]:
        """All of them, those made first in front."""
        return tuple(self._held)

    def held(self) -> dict[str, Reservation]:
        """All of them by gang, those made first in front."""
        return self._held.copy()

    def restore(self, held: dict[str, Reservation]) -> None:
        """Exactly these are held."""
        self._renewed = -1
        self._rooms.forget()
        self._held.swap(held)

    def apply(self, event: StartPlanned) -> bool:
        """Take a reservation in, move it or take it back; False when that changes nothing."""
        if event.placement is None:
            return self.drop(event.gang)
        record = self._ground.state.gangs.record(event.gang)
        times = (event.start_ms, event.end_ms, event.drains)
        made = Reservation(record, event.placement, *times)
        if not self._held.put(made):
            return False
        if self._held.below(record.gang.priority):
            self._renewed = -1
        return True

    def drop(self, gang: str) -> bool:
        """A gang keeps no place any more; whether it did."""
        self._rooms.forget()
        return self._held.drop(gang)

    def apart_from(self, *gangs: str) -> Apart:
        """A context without the reservations of these gangs, as to seat one tentatively."""
        return self._held.apart_from(*gangs)

    def next_wake(self, now: int) -> int | None:
        """The next time at which time alone makes a difference, in ms; None = there is none."""
        now = max(now, self._ticked)
        starts = [each.start_ms for each in self._held if each.start_ms > now]
        change = self._ground.bookings.next_change(now)
        return min([*starts, *(() if change is None else (change,))], default=None)

    def renew(self, now: int) -> Iterator[StartPlanned]:
        """Move reservations forward where something ended early, and mend broken ones.

        Apply each event before asking for the next one.
        """
        state = self._ground.state
        # The time alone lets a gang start whose reservation begins, or a booking ends.
        due = any(self._ticked < each.start_ms <= now for each in self._held)
        state.progress.changed(due or self._ground.bookings.changed(self._ticked, now))
        self._ticked = now
        self._in_vain, self._none_due, self._scanned = (), False, ()
        fresh, self._renewed = state.progress.freed != self._renewed, state.progress.freed
        for held in self._held.by_priority():
            state.journal.attend(held.record.gang.id)
            if held.record.phase is not Phase.PENDING or held.record.reason:
                yield StartPlanned(now, held.record.gang.id, None)
            else:
                self._put_first(held.record)
                if held.start_ms <= now or fresh:
                    yield from self._renewal(held, now)

    def plan(
        self, record: GangRecord, reason: Reason, now: int, without: tuple[str, ...] = ()
    ) -> Iterator[StartPlanned]:
        """Reserve place and time for a gang that cannot start now, if it is its turn to hold any.

        A gang that waits for anything but room gives back what it has; a spare one has none.

        Args:
            record: a waiting gang.
            reason: why it waits, as `settle` returned it.
            now: the time in ms.
            without: flavors that are out of quota for it.
        """
        gang = record.gang.id
        if record.gang.spare:
            return
        if not is_about_room(reason):
            if gang in self._held:
                cause = Cause(CauseKind.BLOCKED, text=reason.message)
                yield StartPlanned(now, gang, None, cause=cause)
            return
        if reason.never or self._is_full(record):
            return
        first = self._first(record, now)
        if first is None or (yielding := self._slot(first)) is None:
            return
        for each in yielding:
            yield StartPlanned(now, each.record.gang.id, None, cause=_HIGHER)
        found = self._worthwhile(first, without if first is record else (), now)
        if found:
            start, placement, drains = found
            yield self._planned(first, start, placement, now, None, drains=drains)

    def settle(
        self, record: GangRecord, now: int, found: Found, search: Callable[[], Found]
    ) -> Found:
        """Whether a gang may start where a place was found, or else where it may, or why not.

        Args:
            record: the gang.
            now: the time in ms.
            found: the result of a search that knows no reservations.
            search: the same search; it is repeated with all reserved places taken.
        """
        reason, placement = found
        if placement:
            reason = self.allows(record, placement, now)
            if reason is None:
                return found
            with self.beside(record, now):
                _, other = search()
            if other and self.allows(record, other, now) is None:
                return None, other
        elif reason is None or not is_about_room(reason):
            return found
        own = self.due(record, now)
        return (None, own) if own else (reason, None)

    def allows(self, record: GangRecord, placement: Placement, now: int) -> Reason | None:
        """Why a gang may not start there now; None = it may.

        It may when it ends by its limit before everything that is reserved there begins, or
        when there is room beside it.
        """
        refused = self._ground.bookings.refusal(record, placement, now)
        refused = refused or self._kept.refusal(record, placement)
        if refused or not self._held:
            return refused
        ends = now + self._ground.clock.length(record.gang)
        pods: dict[str, list[PodPlacement]] = {}
        for pod in placement.pods:
            pods.setdefault(pod.node, []).append(pod)
        for held in self._held.ahead(record.gang):
            if held.keeps_off(record.gang, ends) and not self._rooms.leaves_room(
                held, record, pods, now
            ):
                return overtakes(held, ends)
        return None

    def beside(self, record: GangRecord, now: int) -> Sketch:
        """The tree with everything taken that is reserved or booked while a gang would run.

        Use it as a context manager: the tree is as it was after it.
        """
        ground = self._ground
        ends = now + ground.clock.length(record.gang)
        sketch = Sketch(ground.state)
        for held in self._held.binding(record.gang):
            if held.keeps_off(record.gang, ends):
                sketch.come(held.record, held.placement.pods)
        sketch.shut(ground.bookings.closed(record.gang, now, ground.state.fleet.tree))
        return sketch

    def due(self, record: GangRecord, now: int) -> Placement | None:
        """The place that is reserved for a gang, if it may start there now."""
        held = self._held.get(record.gang.id)
        if held is None:
            return None
        tree = self._ground.state.fleet.tree
        for node, pods in by_node(held.placement).items():
            if node not in tree.index:
                return None
            condition = tree.table.known[tree.conditions[tree.index[node]]]
            room = Room(condition, [condition.tenancy] if condition.tenancy else [])
            if not fits_into(room, record, pods):
                return None
        early = now < held.start_ms and self.allows(record, held.placement, now)
        refused = early or self._kept.refusal(record, held.placement)
        return None if refused else held.placement

    def _put_first(self, record: GangRecord) -> None:
        """Let a gang with a reservation go before its equals, which are not to have its place."""
        lanes, gang = self._ground.state.gangs.lanes, record.gang
        lane = lanes.of(gang.id)
        head = lane.head() if lane else None
        if lane is None or head is None or head[-1] in self._held:
            return
        lanes.discard(gang.id)
        key = (BEFORE_EQUALS, gang.submitted, gang.index, gang.id)
        lanes.add(record.lane, gang.queue, gang.priority, key, asked_by(gang), lane.level)

    def _renewal(self, held: Reservation, now: int) -> Iterator[StartPlanned]:
        """An earlier start, or a later one if the present one cannot be kept."""
        record = held.record
        if held.drains:
            yield from self._drained(held, now)
            return
        sound = self._rooms.is_sound(held, now)
        before = held.start_ms if sound else None
        if before is not None and before <= now:
            return
        search = StartSearch(
            record, self._held.binding(record.gang), self._rooms.flavors_left_out(held), before
        )
        found = earliest(self._ground, search, now)
        if found:
            yield self._planned(record, *found, now, None if sound else _LATE)
        elif not sound:
            yield StartPlanned(now, record.gang.id, None, cause=_GONE)

    def _planned(
        self,
        record: GangRecord,
        start: int,
        placement: Placement,
        now: int,
        cause: Cause | None,
        *,
        drains: bool = False,
    ) -> StartPlanned:
        end = start + self._ground.clock.length(record.gang)
        return StartPlanned(now, record.gang.id, placement, start, end, cause, drains)

    def _drained(self, held: Reservation, now: int) -> Iterator[StartPlanned]:
        """A place that is drained is kept, unless the gang can start elsewhere at once.

        Another domain would have to be drained from the beginning.
        """
        record, ground = held.record, self._ground
        search = StartSearch(
            record, self._held.binding(record.gang), self._rooms.flavors_left_out(held), now + 1
        )
        found = earliest(ground, search, now)
        if found:
            yield self._planned(record, *found, now, None)
        elif not self._rooms.is_open(held, now):
            yield StartPlanned(now, record.gang.id, None, cause=_GONE)
        elif held.start_ms <= now:
            start = later(ground, held, now)
            yield self._planned(record, start, held.placement, now, _LATE, drains=True)

    def _worthwhile(
        self, record: GangRecord, without: tuple[str, ...], now: int
    ) -> tuple[int, Placement, bool] | None:
        """The earliest start of a gang and whether it is a guess; only one that starves guesses.

        In one cycle the same gang is asked about for every gang that is blocked, so a search in
        vain is not repeated.
        """
        ground, others = self._ground, self._held.binding(record.gang)
        guesses = starves(ground.state, record, self._held, self._policy, now)
        version = (record.gang.id, without, others, ground.version())
        if version == self._in_vain:
            return None
        certain = guesses or ground.foresees(others, now)
        search = StartSearch(record, others, without, None if certain else now + 1)
        found = earliest(ground, search, now)
        vouched = found is not None and ground.is_vouched_for(found[1], found[0], now)
        if found and (guesses or vouched):
            return *found, not vouched
        self._in_vain = version
        return None

    def _most(self) -> int:
        policy = self._policy
        if policy.backfill is Backfill.ANY:
            return 0
        easy = policy.backfill is Backfill.EASY
        return policy.reservations if easy else CONSERVATIVE_DEPTH

    def _first(self, record: GangRecord, now: int) -> GangRecord | None:
        """Which gang gets the next reservation: of the highest priority, the one waiting longest.

        Going by age, and not by the order among equals, bounds the wait of all gangs, however
        many shorter ones may come. A reservation costs the others time, so it is made only for a
        gang that has nearly waited for as long as it would where no gang overtakes.
        """
        state = self._ground.state
        if self._policy.backfill is Backfill.CONSERVATIVE:
            return None if record.gang.id in self._held else record
        version = (self._ground.version(), state.gangs.lanes.changes)
        senior: tuple[GangRecord, ...] = ()
        if not self._none_due:
            # In one cycle this is asked for every gang that is blocked.
            known = self._senior if version == self._scanned else None
            senior = (known,) if known and self._wants_room(known) else self._heads()
        free = (
            r for r in (record, *senior) if r.gang.id not in self._held and self._is_due(r, now)
        )
        found = min(free, key=seniority, default=None)
        self._scanned, self._senior = version, found
        # A gang that begins to wait for room within this cycle is asked about by itself.
        self._none_due = found is None
        return found

    def _heads(self) -> tuple[GangRecord, ...]:
        """The first gang of every lane that waits for room."""
        state = self._ground.state
        firsts = ((lane.head(), lane.reason) for lane in state.gangs.lanes)
        return tuple(
            state.gangs.records[key[-1]]
            for key, reason in firsts
            if key and reason and not reason.never and is_about_room(reason)
        )

    def _wants_room(self, record: GangRecord) -> bool:
        """Whether a gang still goes first in its lane, waits for room and holds no reservation."""
        lane = self._ground.state.gangs.lanes.of(record.gang.id)
        key = lane.head() if lane else None
        if lane is None or lane.reason is None or key is None or key[-1] != record.gang.id:
            return False
        held = record.gang.id in self._held
        return not held and not lane.reason.never and is_about_room(lane.reason)

    def _is_due(self, record: GangRecord, now: int) -> bool:
        """Whether a gang has waited for long enough to get a reservation."""
        patience, waited = self._policy.patience_permille, max(now - record.gang.submitted, 0)
        return 1000 * waited >= patience * record.turn_ms

    def _is_full(self, record: GangRecord) -> bool:
        """Whether no gang that waits may take a reservation; cheap, as most gangs stop here."""
        most = self._most()
        if len(self._held) < most:
            return False
        highest = self._ground.state.gangs.lanes.highest(record.gang.priority)
        return not most or self._held.below(highest) is None

    def _slot(self, record: GangRecord) -> list[Reservation] | None:
        """Reservations given up so that a gang may have one; None = it gets none."""
        most = self._most()
        if len(self._held) < most:
            return []
        lowest = self._held.below(record.gang.priority) if most else None
        return [lowest] if lowest else None
