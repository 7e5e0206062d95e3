"""Places and times that are kept for gangs, and starts as they are announced."""

from ganglion.model.causes import Cause
from ganglion.model.events.base import EventBase
from ganglion.model.placement import Placement


class GangReserved(EventBase, frozen=True, tag="gang_reserved"):
    """Decision: the place is the gang's own from now on.

    It starts once all pods that are being stopped there have left. None gives the place back.
    """

    gang: str
    placement: Placement | None
    cause: Cause | None = None


class PlaceKept(EventBase, frozen=True, tag="place_kept"):
    """Decision: a gang that sleeps has this place, which is lent meanwhile; None ends that.

    It ends by itself when the gang takes any place, is cancelled, or is changed otherwise than
    by waking it.
    """

    gang: str
    placement: Placement | None
    cause: Cause | None = None


class StartPlanned(EventBase, frozen=True, tag="start_planned"):
    """Decision: a blocked gang's reservation; None takes it back.

    It starts there by then at the latest, and no gang may start that would be in its way.
    `start_ms` is the announced time, `end_ms` when it ends at the latest; `cause` says why a
    reservation was moved to a later time. `drains` says that the times are guesses: the place
    is kept until it is free, however late that is.
    """

    gang: str
    placement: Placement | None
    start_ms: int = 0
    end_ms: int = 0
    cause: Cause | None = None
    drains: bool = False


class StartExpected(EventBase, frozen=True, tag="start_expected"):
    """Decision: the band in which a waiting gang is expected to start, as announced to its user.

    Times in ms; half of the gangs start by `p50_ms`, nine of ten by `p90_ms`. `raw_ms` is the
    wait that was computed before past bands corrected it. All of them 0 = unknown; `guesses`
    names gangs, the first few, that the start hangs on and that have neither a time limit nor
    finished runs like them.
    """

    gang: str
    p50_ms: int
    p90_ms: int
    raw_ms: int
    guesses: tuple[str, ...] = ()

    @property
    def unknown(self) -> bool:
        """Whether it says that the start is unknown."""
        return not self.p90_ms
