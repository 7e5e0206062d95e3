"""Which queues of a cluster took back from which, as its schedulers delivered it."""

from collections import deque

from msgspec import Struct, field

from ganglion.model.causes import CauseKind

KEPT = 2_000
"""Stops that are kept of a cluster; older ones are dropped."""


class ClusterReclaim(Struct, frozen=True, omit_defaults=True):
    """One attempt of a cluster that was stopped, or made smaller, for a gang of another queue.

    Attributes:
        at: when it was asked to, in ms, by the clock of the scheduler.
        cause: the kind of its cause.
        gang, attempt: whose attempt it was, as the server counts.
        giver: queue of the gang then.
        asker: gang for whose sake.
        taker: queue of that then; empty = it is not known.
        gave_milli: thousandths of GPUs that it gave up; None = unknown.
        kept_milli: thousandths of GPUs that it went on with; 0 = it was stopped.
    """

    at: int
    cause: CauseKind
    gang: str
    attempt: int
    giver: str
    asker: str
    taker: str = ""
    gave_milli: int | None = None
    kept_milli: int = 0


class ClusterReclaims(Struct):
    """The last ones of a cluster.

    Attributes:
        since: since when all were noted, in ms; 0 = since the cluster delivers.
        items: the oldest first.
        dropped: time of the newest that is kept no more, in ms; 0 = all are.
    """

    since: int = 0
    items: deque[ClusterReclaim] = field(default_factory=deque)
    dropped: int = 0

    def note(self, found: ClusterReclaim) -> None:
        """Take one in; a scheduler that starts says again who was asked to stop."""
        stopped = (each for each in reversed(self.items) if not each.kept_milli)
        own = (found.gang, found.attempt)
        if not found.kept_milli and any((each.gang, each.attempt) == own for each in stopped):
            return
        self.items.append(found)
        if len(self.items) > KEPT:
            self.dropped = max(self.dropped, self.items.popleft().at)
