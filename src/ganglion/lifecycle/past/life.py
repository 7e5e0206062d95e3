"""Marks of a gang's life: other sizes, checkpoints, on which attempts went on, other wishes."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from ganglion.lifecycle.past.changes import AskedFor, GangChange, differing
from ganglion.model.causes import Cause
from ganglion.model.events import CheckpointCommitted, GangPlaced, GangResized, GangUpdated
from ganglion.model.placement import Placement
from ganglion.model.plan import SavePoint
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Gang

LifeNews = GangPlaced | GangResized | GangUpdated | CheckpointCommitted
"""Events about what happened to a gang beside its ends."""
KEPT = 50
"""Checkpoints of a gang that are kept, and other marks: the newest."""


class LifeKind(StrEnum):
    """What happened."""

    CHECKPOINT = "checkpoint"
    RESUMED = "resumed"
    """An attempt was placed that got a checkpoint to go on from."""
    RESIZED = "resized"
    CHANGED = "changed"
    """Something else is asked for."""


class LifeMark(Struct, frozen=True, omit_defaults=True):
    """One thing that happened to a gang.

    Attributes:
        at: when, in ms.
        kind: what.
        attempt: the last one that was placed by then; 0 = none.
        step, path: of the checkpoint; 0 and empty = its program did not say.
        saved_by: attempt that saved the checkpoint that this one goes on from.
        changes: what was before and after.
        cause: why; None = it was not said.
        escalated: whether waiting raised the priority.
        missing: what was said of checkpoints that were not there any more, where an attempt got
            none or an older one than the newest; which one is not kept then.
    """

    at: int
    kind: LifeKind
    attempt: int = 0
    step: int = 0
    path: str = ""
    saved_by: int = 0
    changes: tuple[GangChange, ...] = ()
    cause: Cause | None = None
    escalated: bool = False
    missing: str = ""


class GangLife(Struct):
    """What happened to a gang.

    Attributes:
        asked: what is asked for; None = it was submitted to an earlier version.
        marks: the first first.
        left_out: older ones that were dropped.
        attempt: the last one that was placed; 0 = none.
    """

    asked: AskedFor | None = None
    marks: tuple[LifeMark, ...] = ()
    left_out: int = 0
    attempt: int = 0

    @classmethod
    def of(cls, gang: Gang) -> "GangLife":
        """The life of a gang that is submitted."""
        return cls(AskedFor.of(gang))

    def take(
        self,
        event: LifeNews,
        place: Placement | None = None,
        saved: tuple[SavePoint, ...] = (),
    ) -> None:
        """Go on by one event.

        Args:
            event: what happened.
            place: where it was before.
            saved: checkpoints that it had before, newest first.
        """
        match event:
            case GangPlaced(attempt=number):
                self.attempt = number
                for newest in saved[:1]:
                    resumed = (newest.step, newest.path, newest.attempt)
                    self.add(LifeMark(event.at, LifeKind.RESUMED, number, *resumed))
            case GangResized() if place:
                changes = differing(_size(place), _size(event.placement))
                mark = LifeMark(event.at, LifeKind.RESIZED, self.attempt, changes=changes)
                if changes:
                    self.add(replace(mark, cause=event.cause))
            case CheckpointCommitted():
                told = (event.step, event.path)
                self.add(LifeMark(event.at, LifeKind.CHECKPOINT, self.attempt, *told))
            case GangUpdated() if self.asked:
                before, self.asked = self.asked, self.asked.updated(event)
                changes = differing(before.texts(), self.asked.texts())
                mark = LifeMark(event.at, LifeKind.CHANGED, self.attempt, changes=changes)
                if changes:
                    self.add(replace(mark, cause=event.cause, escalated=event.escalated))

    def change(self, at: int, changes: tuple[GangChange, ...]) -> None:
        """Note that something else is asked for, if it is."""
        if changes:
            self.add(LifeMark(at, LifeKind.CHANGED, self.attempt, changes=changes))

    def miss(self, said: str) -> None:
        """The last attempt did not get the newest checkpoint: it was not there any more."""
        for place, mark in reversed(list(enumerate(self.marks))):
            if mark.kind is LifeKind.RESUMED:
                other = LifeMark(mark.at, mark.kind, mark.attempt, missing=said)
                self.marks = (*self.marks[:place], other, *self.marks[place + 1 :])
                return

    def add(self, mark: LifeMark) -> None:
        """Note something; of too many of its sort the oldest is dropped."""
        saves = mark.kind is LifeKind.CHECKPOINT
        alike = [each for each in self.marks if (each.kind is LifeKind.CHECKPOINT) is saves]
        if len(alike) >= KEPT:
            self.marks = tuple(each for each in self.marks if each is not alike[0])
            self.left_out += 1
        self.marks = (*self.marks, mark)


def _size(place: Placement) -> dict[str, str]:
    sets = dict[str, int]()
    for pod in place.pods:
        sets[pod.pod_set] = sets.get(pod.pod_set, 0) + 1
    counts = {f"pods of {name}": str(count) for name, count in sorted(sets.items())}
    return {**counts, "GPUs": f"{place.gpu_milli / WHOLE:g}"}
