"""What a scaler remembers from one decision to the next."""

from msgspec import Struct, field

from ganglion.model.behaviour import Signal


class Sample(Struct, frozen=True):
    """Values of signals at a time, in ms; thousandths as in `Reading`."""

    at: int
    values: dict[Signal, int]


class Want(Struct, frozen=True):
    """How many replicas were wanted at a time, in ms, before anything held them."""

    at: int
    replicas: int


class Change(Struct, frozen=True):
    """By how many replicas more (or fewer: negative) a service was set at a time, in ms."""

    at: int
    by: int


class Memory(Struct):
    """Everything a decision depends on beside its arguments; may be lost without harm.

    After a loss, nothing goes down before the windows are full again.

    Attributes:
        since: when it began, in ms; -1 = not yet.
        samples: load of the last `window_ms`, oldest first.
        wants: what was wanted in the last `hold_down_ms`, oldest first.
        changes: what was changed in the longest time of any pace, oldest first.
        panic: replicas that are kept while load is sudden; 0 = it is not.
        panic_at: when load was last sudden, in ms.
        busy_at: when there was load for the last time, in ms.
        started_ms: how long the last replicas took from decision to ready, oldest first.
        doubt: why the last reading was not believed; empty = it was.
    """

    since: int = -1
    samples: list[Sample] = field(default_factory=list)
    wants: list[Want] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    panic: int = 0
    panic_at: int = 0
    busy_at: int = 0
    started_ms: list[int] = field(default_factory=list)
    doubt: str = ""
