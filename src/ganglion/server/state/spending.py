"""What workloads have used so far: GPU time, run time, attempts; part of the book."""

from msgspec import Struct, field

from ganglion.model.events import Event, GangEnded, GangPlaced, GangResized, GangStarted
from ganglion.model.placement import Placement
from ganglion.model.resources import WHOLE


class Spent(Struct):
    """What one workload has used.

    Attributes:
        gpu_ms: GPU time that its gangs held, from their placement to their end.
        run_ms: time in which at least one of its gangs ran.
        attempts: attempts that were placed.
        held: gang id -> since when its attempt holds thousandths of GPUs, and how many.
        running: gangs that run.
        since: when the first of these began, in ms.
    """

    gpu_ms: int = 0
    run_ms: int = 0
    attempts: int = 0
    held: dict[str, tuple[int, int]] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    since: int = 0


class Spending:
    """Follows from events alone, as the book does."""

    def __init__(self) -> None:
        self.of: dict[str, Spent] = {}

    def note(self, event: Event) -> None:
        """Take in an event that the engine's state has accepted."""
        match event:
            case GangPlaced():
                spent = self.of.setdefault(_workload(event.gang), Spent())
                spent.attempts += 1
                _hold(spent, event.gang, event.at, event.placement)
            case GangResized():
                _hold(self.of[_workload(event.gang)], event.gang, event.at, event.placement)
            case GangStarted():
                _run(self.of[_workload(event.gang)], event.gang, event.at)
            case GangEnded() if _workload(event.gang) in self.of:
                _end(self.of[_workload(event.gang)], event.gang, event.at)

    def close(self, workload: str) -> None:
        """The workload is over."""
        self.of.pop(workload, None)


def _workload(gang: str) -> str:
    return gang.rpartition("/")[0]


def _hold(spent: Spent, gang: str, at: int, placement: Placement | None) -> None:
    """Charge what the gang has held so far, and note what it holds from now on."""
    since, milli = spent.held.pop(gang, (at, 0))
    spent.gpu_ms += milli * max(at - since, 0) // WHOLE
    if placement is not None:
        spent.held[gang] = at, placement.gpu_milli


def _run(spent: Spent, gang: str, at: int) -> None:
    if not spent.running:
        spent.since = at
    spent.running.add(gang)


def _end(spent: Spent, gang: str, at: int) -> None:
    _hold(spent, gang, at, None)
    if gang in spent.running:
        spent.running.discard(gang)
        spent.run_ms += 0 if spent.running else max(at - spent.since, 0)
