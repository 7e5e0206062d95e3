"""Who held, holds and will hold nodes."""

from msgspec import Struct


class TimelineSpan(Struct):
    """What one gang has of one node, from one time to another.

    Attributes:
        kind: `run` = an attempt holds or held it; `promise` = it starts there once others have
            left; `reservation` = a place and time that are kept for it.
        node: its name.
        gang, workload, user, queue: whose it is.
        attempt: its number; 0 = it is planned.
        begin: from when on, in ms.
        end: before when, in ms; None = it goes on, and has no end that is known.
        open: whether it goes on now.
        milli: thousandths of GPUs of the node.
        devices: GPUs of the node; of attempts that an early version metered none are named.
        guess: whether the times are guesses: the place is kept until it is free.
        ahead_of: backfill: id of a gang that was submitted earlier, and had a place and a time
            reserved when this attempt started; empty = it went ahead of none, or an early version
            started it.
    """

    kind: str
    node: str
    gang: str
    workload: str
    user: str
    queue: str
    attempt: int
    begin: int
    end: int | None
    open: bool = False
    milli: int = 0
    devices: tuple[int, ...] = ()
    guess: bool = False
    ahead_of: str = ""


class TimelinePage(Struct):
    """A period of the past, and all that is planned.

    Attributes:
        since, until: the period of the past, in ms.
        metered_since: before then nothing is known, in ms; None = there is nothing yet.
        items: the newest first.
        left_out: whether there were too many spans; then the oldest are missing.
    """

    since: int
    until: int
    metered_since: int | None
    items: tuple[TimelineSpan, ...] = ()
    left_out: bool = False


class AttemptPage(Struct):
    """What one workload held, attempt by attempt and node by node.

    Attributes:
        metered_since: before then nothing is known, in ms; None = there is nothing yet.
        items: the first first.
        left_out: whether there were too many spans; then the oldest are missing.
    """

    metered_since: int | None
    items: tuple[TimelineSpan, ...] = ()
    left_out: bool = False
