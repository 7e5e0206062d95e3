"""A service's scaler: takes readings in, says how many replicas there should be.

Stable and panic windows are those of Knative's autoscaler (knative/serving,
pkg/autoscaler/scaling), pace and stabilisation those of Kubernetes' HorizontalPodAutoscaler v2;
what is kept beside the load is in `spare`.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ganglion.lifecycle.autoscaling import backlog, spare
from ganglion.lifecycle.autoscaling.lead import REMEMBERED, lead, reach
from ganglion.lifecycle.autoscaling.load import asked_now, describe
from ganglion.lifecycle.autoscaling.memory import (
    FadingFloor,
    Learnt,
    Memory,
    Promise,
    ReplicaChange,
    Sample,
    Want,
)
from ganglion.lifecycle.autoscaling.reading import Reading, doubt
from ganglion.lifecycle.autoscaling.slow import ReplicaBounds, slow
from ganglion.lifecycle.autoscaling.trust import LOST, busy, trouble
from ganglion.lifecycle.autoscaling.wanted import WantedReplicas
from ganglion.lifecycle.schedules import next_date
from ganglion.model.behaviour import Hint, Scaling, Schedule


class Desired(Struct, frozen=True):
    """How many replicas there should be.

    Attributes:
        replicas: how many.
        reason: why, as a sentence for people.
        hold: too little is known to let any go; where nothing is known, none comes either,
            floor and hints apart.
        alarm: stable code of what a person should look at; empty = nothing.
    """

    replicas: int
    reason: str
    hold: bool = False
    alarm: str = ""


class Scaler:
    """Scales one service. No clock, no I/O: same calls, same answers.

    Args:
        scaling: what its owner wants.
        memory: of an earlier scaler of the same service; None = nothing is remembered.
    """

    def __init__(self, scaling: Scaling, memory: Memory | None = None) -> None:
        self._scaling = scaling
        self.memory = memory or Memory()
        if scaling.start_within_ms and self.memory.promise is None:
            self.memory.promise = Promise(spare.FIRST)

    @property
    def lead_ms(self) -> int:
        """How long before it is needed a replica is decided on."""
        return lead(self._scaling, self.memory.started_ms)

    def observe(self, reading: Reading, now: int) -> None:
        """Take a reading in; one that cannot be true is remembered as a doubt and not used.

        Args:
            reading: as a source gave it; one that is not newer than the last is ignored.
            now: the time, in ms.
        """
        memory = self.memory
        if memory.samples and reading.at <= memory.samples[-1].at:
            return
        memory.doubt = doubt(reading, now)
        if memory.doubt:
            return
        memory.samples.append(Sample(reading.at, reading.values, reading.arrived))
        if busy(reading.values) or reading.arrived > memory.arrived >= 0:
            memory.busy_at = reading.at
        memory.arrived = reading.arrived
        backlog.watch(memory.passed, reading)
        if memory.promise:
            spare.learn(memory.promise, reading, 1_000 - self._scaling.start_milli)

    def started(self, took_ms: int) -> None:
        """A replica became ready, `took_ms` after it was decided on."""
        self.memory.started_ms = [*self.memory.started_ms, took_ms][-REMEMBERED:]

    def desired(self, now: int, ready: int, starting: int, by_hand: int | None = None) -> Desired:
        """How many replicas there should be now.

        Args:
            now: the time, in ms since 1970; never earlier than in a call before.
            ready: replicas that answer requests.
            starting: replicas that are to come and do not answer yet, those that wait for a
                place included; those that are leaving count nowhere.
            by_hand: number that a person gave and that stays for now; None = load counts.
        """
        replicas = ready + starting
        self._begin(now, replicas)
        self._forget(now)
        # What was not done, or was done by others, counts for the pace as it is and not as decided.
        self._change(now, self.memory.decided, replicas)
        found = self._decide(now, ready, replicas)
        if by_hand is not None:
            found = self._held(now, by_hand, found)
        self._change(now, replicas, found.replicas)
        self.memory.decided = found.replicas
        return found

    def _held(self, now: int, by_hand: int, found: Desired) -> Desired:
        """Load is followed meanwhile, so that it counts at once when the hold is over."""
        held = self._bounds(now).clamp(by_hand)
        if self.memory.promise:
            self.memory.kept = FadingFloor(held * 1_000, now)
        return replace(found, replicas=held, reason=f"held at {held}, as it was scaled by hand")

    def learnt(self) -> Learnt:
        """What is worth to be known by a scaler that follows this one."""
        memory, promise = self.memory, self.memory.promise
        return Learnt(
            tuple(memory.started_ms),
            promise.spare_micro if promise else 0,
            promise.weight if promise else 0,
            memory.passed.done,
            memory.passed.ran,
        )

    def _change(self, now: int, before: int, after: int) -> None:
        if before >= 0 and after != before:
            self.memory.changes.append(ReplicaChange(now, after - before))

    def _begin(self, now: int, replicas: int) -> None:
        if self.memory.since < 0:
            self.memory.since = now
            self.memory.wants.append(Want(now, replicas))

    def _forget(self, now: int) -> None:
        scaling, memory = self._scaling, self.memory
        window = max(scaling.window_ms, reach(self.lead_ms))
        pace = max(scaling.up.per_ms, scaling.down.per_ms)
        # The last sample stays, whatever its age: it says since when there were no reports.
        kept = [each for each in memory.samples if each.at > now - window]
        memory.samples = kept or memory.samples[-1:]
        memory.wants = [each for each in memory.wants if each.at > now - scaling.hold_down_ms]
        memory.changes = [each for each in memory.changes if each.at > now - pace]

    def _decide(self, now: int, ready: int, replicas: int) -> Desired:
        scaling, memory = self._scaling, self.memory
        bounds = self._bounds(now)
        wrong = trouble(scaling, memory, now)
        found = None if wrong and wrong.blind else self._asked(now, ready)
        if found is None:
            text, alarm = (wrong.text, wrong.alarm) if wrong else ("no target is known", LOST)
            return Desired(bounds.clamp(replicas), f"held: {text}", hold=True, alarm=alarm)
        memory.wants.append(Want(now, found.replicas))
        slowed = slow(scaling, memory, now, replicas, found.replicas, bounds, stay=bool(wrong))
        reason = f"{describe(found)}{slowed.note}"
        if wrong:
            return Desired(slowed.replicas, f"{reason}; {wrong.text}", hold=True, alarm=wrong.alarm)
        return Desired(slowed.replicas, reason)

    def _asked(self, now: int, ready: int) -> WantedReplicas | None:
        return asked_now(self._scaling, self.memory, now, ready, self.lead_ms)

    def _bounds(self, now: int) -> ReplicaBounds:
        scaling = self._scaling
        floor = max(scaling.floor, hinted(scaling.hints, now, self.lead_ms))
        return ReplicaBounds(min(floor, scaling.ceiling), scaling.ceiling)


def hinted(hints: Iterable[Hint], now: int, lead_ms: int) -> int:
    """The highest floor that hints ask for from now until a replica started now is ready.

    Args:
        hints: what is known beforehand.
        now: the time, in ms since 1970.
        lead_ms: how long a replica takes to start.
    """
    floors = (hint.floor for hint in hints if _holds(hint, now, lead_ms))
    return max(floors, default=0)


def _holds(hint: Hint, now: int, lead_ms: int) -> bool:
    """Whether one of its dates has begun and is not over, or begins within the lead."""
    date = next_date(Schedule(hint.cron, hint.zone), now - hint.for_ms)
    return date is not None and date <= now + lead_ms
