"""Ganglion's scaler as a policy of the simulated service."""

from benchmarks.serving.fleet import Seen
from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.lifecycle.autoscaling.scaler import Scaler
from ganglion.model.behaviour import Scaling, Signal


class Ours:
    """A `Policy`: what is seen becomes a reading.

    Args:
        scaling: what the owner of the service wants.
    """

    def __init__(self, scaling: Scaling) -> None:
        self.scaler = Scaler(scaling)

    def desired(self, seen: Seen) -> int:
        """How many replicas there should be."""
        values = {
            Signal.REQUESTS: 1_000 * seen.requests,
            Signal.WAITING: 1_000 * seen.waiting,
            Signal.RUNNING: 1_000 * seen.running,
        }
        reading = Reading(seen.now, values, seen.arrived, seen.late)
        self.scaler.observe(reading, seen.now)
        return self.scaler.desired(seen.now, seen.ready, seen.starting).replicas

    def started(self, took_ms: int) -> None:
        """A replica became ready, that long after the decision."""
        self.scaler.started(took_ms)
