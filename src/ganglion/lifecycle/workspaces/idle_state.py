"""What is remembered of every workspace; all of it follows from events."""

from collections.abc import Iterator

from msgspec import Struct

from ganglion.lifecycle.workspaces.rule import Warned
from ganglion.model.causes import CauseKind, suspends
from ganglion.model.events import (
    Event,
    GangEnded,
    GangPlaced,
    GangStarted,
    GangStopping,
    GangSubmitted,
    GangUpdated,
    IdleWarned,
)
from ganglion.model.workload import Gang, Kind

REGRET_MS = 600_000
"""A suspension was wrong when a user resumes the workspace within this time."""
GPU_MILLI = 1_000


class Ward(Struct):
    """One workspace; times in ms.

    Attributes:
        gang: as submitted.
        attempt: the last attempt that was placed.
        started: when that began to run; 0 = it does not.
        stopping: whether it was asked to stop.
        warned: the warning that stands.
        held: since when it is suspended; 0 = it is not.
        idle: whether it was suspended for being idle, and not by a user.
        away: since when it holds nothing, being suspended; 0 = it does.
        returning: whether it was resumed and has not started since.
    """

    gang: Gang
    attempt: int = 0
    started: int = 0
    stopping: bool = False
    warned: Warned | None = None
    held: int = 0
    idle: bool = False
    away: int = 0
    returning: bool = False

    @property
    def runs(self) -> bool:
        """Whether idleness is to be watched: it runs and is not being stopped."""
        return bool(self.started) and not self.stopping

    @property
    def gpu_milli(self) -> int:
        """Thousandths of GPUs that it asks for; parts given as memory count as nothing."""
        return sum(
            pods.count * pods.request.gpu.count * pods.request.gpu.milli
            for pods in self.gang.pod_sets
            if not pods.request.gpu.share_mib
        )


class IdleTally(Struct):
    """What came of it all.

    Attributes:
        warnings: warnings given.
        idle: workspaces suspended because they were idle.
        asked: likewise because a user asked for it.
        resumed: taken up again.
        wrongful: of the idle ones, those taken up again within `REGRET_MS`.
        returned_gpu_ms: GPU-ms not held while workspaces slept, of those that sleep no more.
    """

    warnings: int = 0
    idle: int = 0
    asked: int = 0
    resumed: int = 0
    wrongful: int = 0
    returned_gpu_ms: int = 0


class Wards:
    """All live workspaces.

    Attributes:
        tally: what came of it all.
    """

    def __init__(self) -> None:
        self._wards: dict[str, Ward] = {}
        self.tally = IdleTally()

    def __iter__(self) -> Iterator[Ward]:
        return iter(list(self._wards.values()))  # others look while the server works

    def get(self, gang: str) -> Ward | None:
        """The ward of that gang."""
        return self._wards.get(gang)

    def returned_gpu_ms(self, now: int) -> int:
        """GPU-ms that suspended workspaces have not held so far, those that sleep included."""
        return self.tally.returned_gpu_ms + sum(
            each.gpu_milli * (now - each.away) // GPU_MILLI for each in self if each.away
        )

    def note(self, event: Event) -> None:
        """Take an event in; most are none of ours."""
        if isinstance(event, GangSubmitted):
            if event.gang.kind is Kind.WORKSPACE:
                self._wards[event.gang.id] = Ward(event.gang)
            return
        ward = self._wards.get(getattr(event, "gang", ""))
        if ward:
            self._noted(ward, event)

    def _noted(self, ward: Ward, event: Event) -> None:
        match event:
            case GangPlaced():
                ward.attempt, ward.started, ward.stopping = event.attempt, 0, False
            case GangStarted():
                ward.started, ward.warned = event.at, None
            case GangStopping():
                ward.stopping, ward.warned = True, None
            case GangEnded():
                self._ended(ward, event)
            case IdleWarned():
                self._warned(ward, event)
            case GangUpdated(held=True):
                self._held(ward, event)
            case GangUpdated(held=False):
                self._released(ward, event)
            case GangUpdated(priority=int()):
                ward.returning = ward.returning and not ward.started

    def _ended(self, ward: Ward, event: GangEnded) -> None:
        ward.started, ward.stopping, ward.warned = 0, False, None
        if not event.requeue:
            self._gave_back(ward, event.at)
            del self._wards[ward.gang.id]
        elif ward.held:
            ward.away = event.at

    def _gave_back(self, ward: Ward, now: int) -> None:
        if ward.away:
            self.tally.returned_gpu_ms += ward.gpu_milli * (now - ward.away) // GPU_MILLI

    def _warned(self, ward: Ward, event: IdleWarned) -> None:
        ward.warned = Warned(event.at, event.suspend_at) if event.suspend_at else None
        self.tally.warnings += bool(event.suspend_at)

    def _held(self, ward: Ward, event: GangUpdated) -> None:
        if event.cause is None or not suspends(event.cause) or ward.held:
            return
        ward.held, ward.idle = event.at, event.cause.kind is CauseKind.IDLE
        ward.returning = False
        self.tally.idle += ward.idle
        self.tally.asked += not ward.idle

    def _released(self, ward: Ward, event: GangUpdated) -> None:
        if not ward.held:
            return
        self._gave_back(ward, event.at)
        self.tally.resumed += 1
        self.tally.wrongful += ward.idle and event.at - ward.held < REGRET_MS
        ward.held, ward.away, ward.idle, ward.returning = 0, 0, False, True
