"""A service's scaler: takes readings in, says how many replicas there should be.

Stable and panic windows are those of Knative's autoscaler (knative/serving,
pkg/autoscaler/scaling), pace and stabilisation those of Kubernetes' HorizontalPodAutoscaler v2.
"""

from msgspec import Struct

from ganglion.lifecycle.scaling.memory import Change, Memory, Sample, Want
from ganglion.lifecycle.scaling.pace import fewest, most
from ganglion.lifecycle.scaling.reading import Reading, doubt
from ganglion.lifecycle.scaling.wanted import asked, mean
from ganglion.model.behaviour import Scaling

STALE_WINDOWS = 2
"""A source that is silent for so many windows is lost."""

LOST = "metrics.lost"
"""Alarm: nothing was heard, or nothing of any target."""

IMPLAUSIBLE = "metrics.implausible"
"""Alarm: what was heard cannot be true."""


class Desired(Struct, frozen=True):
    """How many replicas there should be.

    Attributes:
        replicas: how many.
        reason: why, as a sentence for people.
        hold: what is known does not allow a decision: nothing goes down, and nothing comes but
            what the floor asks for.
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

    def observe(self, reading: Reading, now: int) -> None:
        """Take a reading in; one that cannot be true is remembered as a doubt and not used.

        Args:
            reading: as a source gave it; readings come in the order of their times.
            now: the time, in ms.
        """
        memory = self.memory
        memory.doubt = doubt(reading, now)
        if memory.doubt or (memory.samples and reading.at <= memory.samples[-1].at):
            return
        memory.samples.append(Sample(reading.at, reading.values))

    def started(self, took_ms: int) -> None:
        """A replica became ready, `took_ms` after it was decided on."""
        self.memory.started_ms.append(took_ms)

    def desired(self, now: int, ready: int, starting: int) -> Desired:
        """How many replicas there should be now.

        Args:
            now: the time, in ms; never earlier than in a call before.
            ready: replicas that answer requests.
            starting: replicas that are to come and do not answer yet, those that wait for a
                place included; those that are leaving count nowhere.
        """
        scaling, memory, replicas = self._scaling, self.memory, ready + starting
        found = asked(scaling.targets, mean(memory.samples), ready)
        if found is None:
            return Desired(replicas, "nothing is known of its load", hold=True, alarm=LOST)
        memory.wants.append(Want(now, found.replicas))
        lowest = fewest(scaling.down, memory.changes, now, replicas)
        highest = most(scaling.up, memory.changes, now, replicas)
        wanted = max(scaling.floor, min(found.replicas, scaling.ceiling))
        chosen = max(lowest, min(wanted, highest))
        if chosen != replicas:
            memory.changes.append(Change(now, chosen - replicas))
        return Desired(chosen, f"{found.signal.value} is {found.milli / 1000:g}")
