"""What GPUs did, between the thread that asks exporters and the one that reports turns."""

import threading
from collections.abc import Container, Iterable, Iterator, Sequence

from ganglion.metering.activity import ActivityInterval, ActivityMeter, AttemptLook
from ganglion.model.events import (
    Delivered,
    GangEnded,
    GangPlaced,
    GangResized,
    GangStopping,
    GpusSampled,
    PodsLeft,
    SampledAttempt,
)

EVERY_S = 30.0
"""How often exporters are asked: as often as they look at GPUs, by default."""
LONGEST_MS = 75_000
"""Two looks that are further apart say nothing about the time between them."""
STEP_MS = 1_000
"""By as much the wall clock and the steady one may differ over that time."""
MOST_ATTEMPTS = 500
"""Attempts that one event names."""
CHANGES = (GangPlaced, GangResized, GangStopping, PodsLeft, GangEnded)
"""Events that change what an attempt holds."""


class GpuSums:
    """Adds up what exporters say until it is reported; safe from any thread.

    What was reported is forgotten, whatever becomes of it: it is unknown rather than said twice.
    """

    def __init__(self) -> None:
        self._meter, self._lock = ActivityMeter(LONGEST_MS), threading.Lock()
        self._asked = (0, 0.0)

    def look(self, asked: tuple[int, float], looks: Iterable[AttemptLook]) -> None:
        """Take in what exporters said.

        Args:
            asked: when it was asked who holds what, before they were asked: in ms by the wall
                clock, and in s by the steady one.
            looks: of every attempt of which any of them said something.
        """
        with self._lock:
            (wall, steady), self._asked = self._asked, asked
            stepped = asked[0] - wall - round((asked[1] - steady) * 1000)
            if abs(stepped) > STEP_MS:
                self._meter.doubted()
            self._meter.look(asked[0], looks)

    def before(self, events: Sequence[Delivered], now: int) -> Iterator[GpusSampled]:
        """What is to be said before some events: what is long enough, and what they end.

        Args:
            events: of a turn.
            now: its time in ms.
        """
        return self._due(now, {each.gang for each in events if isinstance(each, CHANGES)})

    def rest(self, now: int) -> Iterator[GpusSampled]:
        """All that was not said, at a time in ms."""
        return self._due(now, (), everything=True)

    def _due(
        self, now: int, changed: Container[str], *, everything: bool = False
    ) -> Iterator[GpusSampled]:
        with self._lock:
            self._meter.changed(changed)
            due = self._meter.due(everything=everything)
            self._meter.written(due)
        said = [_said(each) for each in due if each.sampled_gpu_us or each.energy_gpu_us]
        for first in range(0, len(said), MOST_ATTEMPTS):
            yield GpusSampled(now, tuple(said[first : first + MOST_ATTEMPTS]))


def _said(found: ActivityInterval) -> SampledAttempt:
    return SampledAttempt(
        found.gang,
        found.attempt,
        found.node,
        found.begin_ms,
        found.end_ms,
        found.source if found.sampled_gpu_us else "",
        found.sampled_gpu_us,
        found.active_gpu_us,
        found.energy_source if found.energy_gpu_us else "",
        found.energy_gpu_us,
        found.energy_mj,
    )
