"""How far one attempt gets: work, overhead and checkpoints."""

from collections.abc import Iterable

from ganglion.model.placement import PodPlacement
from ganglion.model.workload import Checkpoint, Gang

NEVER = 1 << 60
"""Later than any time of a run."""


class WorkRate:
    """How fast a gang works, by the pods it has.

    The duration of a job is that of the gang at its full size. An elastic gang with fewer pods
    works slower in proportion; work is counted in pods x ms, so that none is lost or won by
    resizing.

    Args:
        gang: the gang.

    Attributes:
        full: pods of all elastic pod sets together; 1 where there are none.
    """

    __slots__ = ("_elastic", "full")

    def __init__(self, gang: Gang) -> None:
        elastic = [pods for pods in gang.pod_sets if pods.min_count]
        self._elastic = frozenset(pods.name for pods in elastic)
        self.full = sum(pods.count for pods in elastic) or 1

    def rate(self, pods: Iterable[PodPlacement]) -> int:
        """Units of work that these pods do in one ms."""
        return sum(pod.pod_set in self._elastic for pod in pods) if self._elastic else 1


class Work:
    """The work of one attempt, in pods x ms; it begins when the pods run.

    A gang with an interval in its checkpoint contract saves that often, counted from its
    start, whatever it is doing.

    Args:
        kept: work that earlier attempts have saved.
        checkpoint: the contract; None = nothing survives the attempt.
        at: when it begins, in ms.
        rate: see `WorkRate.rate`.
        overhead_ms: time before it gets on with the work.

    Attributes:
        done: work done, that of earlier attempts included.
        saved: work that is safe.
        rate: units done in one ms.
        held: what its pods could have done in all the time they ran.
    """

    __slots__ = (
        "_begun", "_busy_from", "_every", "_kept", "_since", "done", "held", "rate", "saved",
    )  # fmt: skip

    def __init__(
        self, kept: int, checkpoint: Checkpoint | None, at: int, rate: int, overhead_ms: int
    ) -> None:
        self._kept = self.done = self.saved = kept
        self._every = checkpoint.interval_ms if checkpoint else 0
        self._begun = self._since = at
        self._busy_from = at + overhead_ms
        self.rate, self.held = rate, 0

    def settle(self, at: int) -> None:
        """Take in the time up to `at` (ms)."""
        if self._every:
            last = at - (at - self._begun) % self._every
            if last > self._since:
                self.saved = self.done + self._progress(last)
        self.done += self._progress(at)
        self.held += self.rate * (at - self._since)
        self._since = at

    def resize(self, at: int, rate: int, overhead_ms: int) -> None:
        """From `at` (ms) on it works at another rate, once it has got over the change."""
        self.settle(at)
        self.rate = rate
        self._busy_from = max(self._busy_from, at + overhead_ms)

    def pause(self, at: int) -> None:
        """From `at` (ms) on it does not work, though its pods are there."""
        self.settle(at)
        self._busy_from = NEVER

    def go_on(self, at: int, overhead_ms: int) -> None:
        """It works again once it has got over the pause."""
        self.settle(at)
        self._busy_from = at + overhead_ms

    def ends(self, needed: int) -> int | None:
        """When `needed` units will be done if nothing changes, in ms; None = never."""
        left = max(needed - self.done, 0)
        if left and (not self.rate or self._busy_from == NEVER):
            return None
        return max(self._since, self._busy_from) + (-(-left // self.rate) if left else 0)

    @property
    def paused(self) -> bool:
        """Whether it waits for pods to be replaced."""
        return self._busy_from == NEVER

    @property
    def overhead(self) -> int:
        """What its pods could have done in the time in which they did not work."""
        return self.held - (self.done - self._kept)

    def _progress(self, until: int) -> int:
        return self.rate * max(until - max(self._since, self._busy_from), 0)
