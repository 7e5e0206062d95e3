"""What keeps replicas from coming and going as fast as load does."""

from msgspec import Struct

from ganglion.lifecycle.autoscaling.memory import FadingFloor, Memory
from ganglion.lifecycle.autoscaling.pace import fewest, most
from ganglion.model.behaviour import Scaling

FADING_PCT = 60
"""Per cent of `hold_down_ms` in which an excess of replicas falls to 1/e (37 %)."""

COUNTS_MILLI = 100
"""Of a fading excess, more thousandths of a replica than these keep it."""


class ReplicaBounds(Struct, frozen=True):
    """Fewest and most replicas there may be now."""

    floor: int
    ceiling: int

    def clamp(self, replicas: int) -> int:
        """The nearest number within."""
        return max(self.floor, min(replicas, self.ceiling))


class Slowed(Struct, frozen=True):
    """How many replicas there should be.

    Attributes:
        replicas: how many.
        note: what made it another number than was wanted, as the end of a sentence; may be empty.
    """

    replicas: int
    note: str


def slow(
    scaling: Scaling,
    memory: Memory,
    now: int,
    replicas: int,
    wanted: int,
    bounds: ReplicaBounds,
    *,
    stay: bool,
) -> Slowed:
    """From what is wanted to what is done.

    Args:
        scaling: what the owner wants.
        memory: wants and changes, the present want among them.
        now: the time, in ms.
        replicas: how many there are or are to come.
        wanted: how many the load asks for.
        bounds: floor and ceiling, which nothing else overrides.
        stay: nothing may go.
    """
    steps = (
        (_stabilised(scaling, memory, now, replicas, wanted, stay=stay), "nothing goes yet"),
        (_last(scaling, memory, now, replicas), "the last one stays a while"),
    )
    chosen, note = wanted, ""
    for least, why in steps:
        if chosen < least:
            chosen, note = least, why
    paced = _paced(scaling, memory, now, replicas, chosen)
    if paced != chosen:
        chosen, note = paced, "as fast as its pace allows"
    final = bounds.clamp(chosen)
    if final != chosen:
        note = f"{'floor' if final > chosen else 'ceiling'} {final}"
    return Slowed(final, f"; {note}" if note else "")


def _stabilised(
    scaling: Scaling, memory: Memory, now: int, replicas: int, wanted: int, *, stay: bool
) -> int:
    """Fewest there may be: what was wanted lately, but never more than there are."""
    lately = max(want.replicas for want in memory.wants)
    if memory.promise is not None:
        lately = faded(memory.kept, now, wanted, replicas, scaling.hold_down_ms * FADING_PCT // 100)
    if wanted >= replicas:
        return 0
    return replicas if stay else min(replicas, lately)


def faded(kept: FadingFloor, now: int, wanted: int, replicas: int, time_ms: int) -> int:
    """What is kept of what was wanted before: its excess over what is wanted fades.

    The most of a window keeps a peak in full and then drops it at once: it pays for peaks that
    are over, and starts replicas again for those that return after the window. A peak that fades
    exponentially does neither (a leaky peak detector).

    Args:
        kept: what was kept; changed in place.
        now: the time, in ms.
        wanted: replicas that load asks for.
        replicas: how many there are: where nothing is remembered, all of them are kept at first.
        time_ms: in about so long the excess falls to 1/e.

    Returns:
        Replicas.
    """
    passed = now - kept.at if kept.at >= 0 else 0
    before = kept.milli if kept.at >= 0 else replicas * 1_000
    excess = max(0, before - wanted * 1_000)
    # Dividing by the sum is stable for any time between two decisions, unlike subtracting.
    kept.milli = wanted * 1_000 + (excess * time_ms // (time_ms + passed) if time_ms else 0)
    kept.at = now
    return (kept.milli + 999 - COUNTS_MILLI) // 1_000


def _last(scaling: Scaling, memory: Memory, now: int, replicas: int) -> int:
    """1 while the last replica of a service that may sleep has to stay."""
    idle = now - max(memory.busy_at, memory.since)
    return 1 if replicas and idle < scaling.idle_ms else 0


def _paced(scaling: Scaling, memory: Memory, now: int, replicas: int, chosen: int) -> int:
    if chosen > replicas:
        return min(chosen, max(1, most(scaling.up, memory.changes, now, replicas)))
    return max(chosen, fewest(scaling.down, memory.changes, now, replicas))
