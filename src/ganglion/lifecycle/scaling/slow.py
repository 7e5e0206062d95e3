"""What keeps replicas from coming and going as fast as load does."""

from msgspec import Struct

from ganglion.lifecycle.scaling.memory import Memory
from ganglion.lifecycle.scaling.pace import fewest, most
from ganglion.model.behaviour import Scaling


class Bounds(Struct, frozen=True):
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
    bounds: Bounds,
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
        (_stabilised(memory, replicas, wanted, stay=stay), "nothing goes yet"),
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


def _stabilised(memory: Memory, replicas: int, wanted: int, *, stay: bool) -> int:
    """Fewest there may be: the most that was wanted lately, but never more than there are."""
    if wanted >= replicas:
        return 0
    return replicas if stay else min(replicas, max(want.replicas for want in memory.wants))


def _last(scaling: Scaling, memory: Memory, now: int, replicas: int) -> int:
    """1 while the last replica of a service that may sleep has to stay."""
    idle = now - max(memory.busy_at, memory.since)
    return 1 if replicas and idle < scaling.idle_ms else 0


def _paced(scaling: Scaling, memory: Memory, now: int, replicas: int, chosen: int) -> int:
    if chosen > replicas:
        return min(chosen, max(1, most(scaling.up, memory.changes, now, replicas)))
    return max(chosen, fewest(scaling.down, memory.changes, now, replicas))
