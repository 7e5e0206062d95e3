"""What a scaler remembers from one decision to the next."""

from msgspec import Struct, field

from ganglion.model.behaviour import Signal


class Sample(Struct, frozen=True):
    """Values of signals at a time, in ms; thousandths and `arrived` as in `Reading`."""

    at: int
    values: dict[Signal, int]
    arrived: int = -1


class Want(Struct, frozen=True):
    """How many replicas were wanted at a time, in ms, before anything held them."""

    at: int
    replicas: int


class ReplicaChange(Struct, frozen=True):
    """By how many replicas more (or fewer: negative) a service was set at a time, in ms."""

    at: int
    by: int


class Promise(Struct):
    """What was learnt from requests that began late.

    Attributes:
        spare_micro: square roots of the load that are kept beside it, in millionths.
        arrived: requests so far, as last read; -1 = never.
        late: of them, those that began late, as last read.
        weight: thousandths of requests of the last day or so, older ones counting less.
        at: when `weight` was reckoned last, in ms.
    """

    spare_micro: int
    arrived: int = -1
    late: int = 0
    weight: int = 0
    at: int = 0


class FadingFloor(Struct):
    """What was wanted before, fading: what a service with a promise does not go below.

    Attributes:
        milli: thousandths of replicas.
        at: when that was reckoned, in ms; -1 = never.
    """

    milli: int = 0
    at: int = -1


class Pass(Struct):
    """What was learnt of how long requests run.

    Attributes:
        at: of the last reading, in ms; -1 = there was none.
        arrived: requests until then.
        within: of them, those that waited or ran then, in thousandths.
        running: those that ran, in thousandths.
        done: thousandths of requests that were done, older ones counting less.
        ran: how long they ran together, in thousandths of ms, older ones counting less.
    """

    at: int = -1
    arrived: int = 0
    within: int = 0
    running: int = 0
    done: int = 0
    ran: int = 0


class Learnt(Struct, frozen=True):
    """What is learnt over hours and kept across restarts; fields as of `ServiceLearnt`."""

    started_ms: tuple[int, ...] = ()
    spare_micro: int = 0
    weight: int = 0
    done: int = 0
    ran: int = 0

    def differs(self, known: "Learnt") -> bool:
        """Whether there is news: a start, or a figure that moved by a twentieth."""
        return self.started_ms != known.started_ms or any(
            abs(new - old) * 20 > old
            for new, old in (
                (self.spare_micro, known.spare_micro),
                (_mean(self), _mean(known)),
            )
        )


def _mean(learnt: Learnt) -> int:
    return learnt.ran // learnt.done if learnt.done else 0


def recalled(learnt: Learnt, at: int) -> "Memory":
    """The memory of a scaler that begins with what another one had learnt, at a time in ms."""
    return Memory(
        started_ms=[*learnt.started_ms],
        promise=Promise(learnt.spare_micro, weight=learnt.weight, at=at)
        if learnt.spare_micro
        else None,
        passed=Pass(done=learnt.done, ran=learnt.ran),
    )


class Memory(Struct):
    """Everything a decision depends on beside its arguments.

    It may be lost: what was learnt is `recalled`, and nothing goes down before as much time
    has passed as `hold_down_ms` says, or where there is a promise all replicas fade over it.

    Attributes:
        since: when it began, in ms; -1 = not yet.
        samples: load of the last `window_ms`, oldest first.
        wants: what was wanted in the last `hold_down_ms`, oldest first.
        changes: what was changed in the longest time of any pace, oldest first.
        decided: replicas there should be since the last decision; -1 = there was none.
        panic: most that was wanted since load became sudden.
        panic_at: when load was last sudden, in ms; -1 = nothing of it is left.
        busy_at: when there was load for the last time, in ms; -1 = never.
        arrived: requests so far, as last read; -1 = not known.
        started_ms: how long the last replicas took from decision to ready, oldest first.
        promise: what was learnt from late requests; None = nothing yet.
        kept: what was wanted before and fades, where there is a promise.
        passed: what was learnt of how long requests run.
        doubt: why the last reading was not believed; empty = it was.
    """

    since: int = -1
    samples: list[Sample] = field(default_factory=list)
    wants: list[Want] = field(default_factory=list)
    changes: list[ReplicaChange] = field(default_factory=list)
    decided: int = -1
    panic: int = 0
    panic_at: int = -1
    busy_at: int = -1
    arrived: int = -1
    started_ms: list[int] = field(default_factory=list)
    promise: Promise | None = None
    kept: FadingFloor = field(default_factory=FadingFloor)
    passed: Pass = field(default_factory=Pass)
    doubt: str = ""
