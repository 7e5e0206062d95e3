"""When a waiting gang is expected to start: a band, and how often such bands held.

The wait is computed by working the queue forward (`Foresight`), and corrected by how such
waits compared with true ones (`Ratios`). A start that hangs on gangs with neither a time limit
nor a history is unknown.

Announcing bands costs at most `ALLOWANCE` steps of work a cycle and `PACE` a millisecond on
average: after a roll-out that took more, the next bands are announced some cycles later.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice

from msgspec import Struct

from ganglion.engine.forecast.queue_wait import CountedUnit, Foreseen, Foresight, running, unit_of
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.runtimes.calibration import LEAST_MS, Ratios
from ganglion.engine.runtimes.estimates import Estimates
from ganglion.engine.runtimes.expected_ends import ExpectedEnds
from ganglion.engine.store.store import Store
from ganglion.engine.timeline.reservation import Reservation
from ganglion.model.events import StartExpected
from ganglion.model.plan import Phase

FORETOLD = 16
"""Bands announced in one cycle, and of gangs that are submitted together."""

ALLOWANCE, SAVED = 50, 20_000
"""Steps of work that every cycle adds to what announcing may spend, and the most that is saved."""
PACE = 1
"""Most steps that a millisecond adds: cycles that follow each other closely share them."""

SCORED = 1000
"""Bands over which it is reported how often they held."""

GUESSES = 5
"""Gangs named at most of those that make a start unknown."""

Held = Callable[[str], Reservation | None]
"""The reservation of a gang."""


class Band(Struct, frozen=True):
    """When a gang is expected to start.

    Attributes:
        p50_ms, p90_ms: times by which half and nine of ten such gangs start; 0 = unknown.
        raw_ms: the wait computed, before the correction; 0 = unknown.
        guesses: gangs whose ends it hangs on and of which neither limit nor history is known.
    """

    p50_ms: int = 0
    p90_ms: int = 0
    raw_ms: int = 0
    guesses: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether it says anything."""
        return self.p90_ms > 0


class Coverage(Struct, frozen=True):
    """How often bands held lately.

    Attributes:
        bands: how many are over: their gang has started, or their p90 has passed.
        held_p50, held_p90: starts that came by the announced time.
    """

    bands: int
    held_p50: int
    held_p90: int


class StartEstimates:
    """Announced bands, and whether they held.

    Args:
        state: the fleet and what waits.
        estimates: learnt run times.

    Attributes:
        load: when running gangs are expected to end.
        ratios: how computed waits compared with true ones.
        open: announced bands of gangs that wait, by gang.
        deadlines: a heap of (p90 in ms, gang, when the band was announced in ms).
        untold, unknown: gangs without an announcement; gangs announced as having no known start.
        scores: whether the latest bands held: (p50, p90).
    """

    def __init__(self, state: Store, estimates: Estimates) -> None:
        self._state = state
        self.load = ExpectedEnds(estimates)
        self.ratios = Ratios()
        self.open: dict[str, Told] = {}
        self.deadlines: list[tuple[int, str, int]] = []
        self.untold: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self._credit, self._at = SAVED, 0
        self._answer: tuple[object, Foresight] | None = None
        self.scores: deque[tuple[bool, bool]] = deque(maxlen=SCORED)

    def tell(self, fresh: Iterable[str], now: int, held: Held) -> Iterator[StartExpected]:
        """The bands of gangs that have begun to wait, or whose band has passed.

        Args:
            fresh: gangs submitted since the last call.
            now: the time in ms.
            held: their reservations.
        """
        self._settle(now)
        added = min(ALLOWANCE, PACE * max(0, now - self._at))
        self._credit, self._at = min(self._credit + added, SAVED), now
        waiting = (gang for gang in fresh if self._foreseeable(gang))
        self.untold |= dict.fromkeys(islice(waiting, FORETOLD))
        if self._credit <= 0 or not self.untold:
            return
        self.untold = {gang: None for gang in self.untold if self._foreseeable(gang)}
        records = [self._state.gangs.records[gang] for gang in islice(self.untold, FORETOLD)]
        if records:
            self.load.refresh(running(self._state), now)
        for unit in (CountedUnit(True), CountedUnit(False)):
            asked = [record for record in records if self._unit(record) == unit]
            if not asked:
                continue
            self._state.journal.attend("")
            foresight = Foresight(self._state, self.load, unit, now)
            for gang, foreseen in foresight.foresee(asked).items():
                self._state.journal.attend(gang)
                self.untold.pop(gang, None)
                band = self._band(foreseen, now, held(gang))
                if band.known or gang not in self.unknown:
                    yield StartExpected(
                        now, gang, band.p50_ms, band.p90_ms, band.raw_ms, band.guesses
                    )
            self._credit -= foresight.steps

    def _unit(self, record: GangRecord) -> CountedUnit:
        self._state.journal.attend(record.gang.id)
        return unit_of(record)

    def apply(self, event: StartExpected) -> bool:
        """A band was announced to the gang's user."""
        self._settle(event.at)
        self._state.gangs.record(event.gang)
        self.unknown.pop(event.gang, None)
        if event.unknown:
            self.open.pop(event.gang, None)
            self.unknown[event.gang] = None
            return True
        teaches = self.ratios.teaches(event.raw_ms, event.at)
        self.open[event.gang] = Told(event, teaches)
        heappush(self.deadlines, (event.p90_ms, event.gang, event.at))
        return True

    def _settle(self, now: int) -> None:
        """Bands whose p90 has passed while their gang still waits did not hold."""
        while self.deadlines and self.deadlines[0][0] < now:
            _, gang, at = heappop(self.deadlines)
            told = self.open.get(gang)
            if told and told.event.at == at:
                del self.open[gang]
                self.untold[gang] = None
                self.scores.append((False, False))
                if told.teaches:
                    event = told.event
                    self.ratios.learn(event.raw_ms, event.p90_ms - event.at, late=True)

    def is_settled(self, now: int) -> bool:
        """Whether all bands that have passed by a time in ms are scored, and have taught."""
        return not self.deadlines or self.deadlines[0][0] >= now

    def told(self, gang: str) -> StartExpected | None:
        """The band announced to the user of a gang that still waits, unless its p90 has passed."""
        found = self.open.get(gang)
        return found.event if found else None

    def started(self, record: GangRecord, now: int) -> None:
        """A gang has started: score its band, and note when it should end."""
        gang = record.gang.id
        self.load.started(record, now)
        self._settle(now)
        self._forget(gang)
        told = self.open.pop(gang, None)
        if told is None:
            return
        event = told.event
        self.scores.append((now <= event.p50_ms, now <= event.p90_ms))
        if told.teaches:
            self.ratios.learn(event.raw_ms, now - event.at)

    def ended(self, gang: str) -> None:
        """An attempt is over, or the gang is not wanted any more."""
        self.load.ended(gang)
        self.open.pop(gang, None)
        self._forget(gang)
        # What has ended teaches run times: some of those that were unknown may be known now.
        self.untold |= dict.fromkeys(islice(self.unknown, FORETOLD))

    def _forget(self, gang: str) -> None:
        self.untold.pop(gang, None)
        self.unknown.pop(gang, None)

    def coverage(self) -> Coverage:
        """How often the latest bands held."""
        scores = self.scores
        return Coverage(len(scores), sum(p50 for p50, _ in scores), sum(p90 for _, p90 in scores))

    def band(self, record: GangRecord, now: int, held: Reservation | None = None) -> Band:
        """When a waiting gang is expected to start.

        Args:
            record: a waiting gang.
            now: the time in ms.
            held: its reservation, which bounds the band.
        """
        gang, foreseen = record.gang.id, Foreseen(None)
        if self._foreseeable(gang):
            foreseen = self._asked(unit_of(record), now).foresee([record])[gang]
        return self._band(foreseen, now, held)

    def _asked(self, unit: CountedUnit, now: int) -> Foresight:
        """The queue worked forward from now; while nothing changes, the one made before.

        What a cycle announces never rests on it, so that questions change no plan.
        """
        state = self._state
        version = (
            unit,
            now,
            state.progress.turn,
            state.progress.freed,
            state.gangs.lanes.changes,
            state.config.policy,
        )
        if self._answer is None or self._answer[0] != version:
            self._answer = (version, Foresight(state, self.load, unit, now))
        return self._answer[1]

    def _foreseeable(self, gang: str) -> bool:
        """Whether a gang waits for room."""
        lane, record = self._state.gangs.lanes.of(gang), self._state.gangs.records.get(gang)
        waits = record is not None and record.phase is Phase.PENDING
        return waits and lane is not None and not (lane.reason and lane.reason.never)

    def _band(self, foreseen: Foreseen, now: int, held: Reservation | None) -> Band:
        latest = max(held.start_ms, now + 1) if held else None
        if foreseen.wait_ms is None:
            if latest is None:
                return Band(guesses=foreseen.guesses[:GUESSES])
            return Band(latest, latest, max(latest - now, LEAST_MS))
        raw = max(foreseen.wait_ms, LEAST_MS)
        p50, p90 = (now + each for each in self.ratios.bounds(raw))
        if latest is not None and latest < p90:
            p50, p90 = min(p50, latest), latest
        return Band(p50, p90, raw)


class Told:
    """An announced band, and whether its gang's start teaches."""

    def __init__(self, event: StartExpected, teaches: bool) -> None:
        self.event, self.teaches = event, teaches
