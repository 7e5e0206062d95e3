"""What a scheduler says of what its queues lend one another: sums, every ten minutes."""

from collections.abc import Iterable, Iterator

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.metering.lending import LendingMeter, LentInterval
from ganglion.model.events import Delivered, QueueLending, QueuesLent, SchedulerSettled
from ganglion.server.state.transaction import lend

EVERY_MS = 600_000
"""Sums that began as long ago are said. What is not said is lost with a killed scheduler."""


class LendingReports:
    """Follows what queues have and use from when all that the clusters show has been looked at."""

    def __init__(self) -> None:
        self._meter = LendingMeter()

    def of(
        self, state: ClusterState, events: Iterable[Delivered], now: int
    ) -> Iterator[QueuesLent]:
        """What is to be said after a turn.

        Args:
            state: after the turn.
            events: of the turn.
            now: its time in ms.
        """
        if not self._meter.now:
            lend(self._meter, state, SchedulerSettled(now))
        for each in events:
            lend(self._meter, state, each)
        if self._meter.now and now - self._meter.begin >= EVERY_MS:
            yield from self.rest(now)

    def rest(self, now: int) -> Iterator[QueuesLent]:
        """All that was not said, at a time in ms."""
        if self._meter.now:
            self._meter.passes(now)
            self._meter.close()
        spans = dict[tuple[int, int], list[LentInterval]]()
        for each in self._meter.drain():
            spans.setdefault((each.begin_ms, each.end_ms), []).append(each)
        for (begin, end), rows in spans.items():
            amounts = ((each.queue, each.lent_gpu_us, each.borrowed_gpu_us) for each in rows)
            yield QueuesLent(now, begin, end, tuple(QueueLending(*each) for each in amounts))
