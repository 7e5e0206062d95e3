"""Which trials of a sweep have its own priority, and which are spare.

A sweep of `parallel: 4..64` has at most four trials with the priority of its team; the others
are spare: they use what no other gang waits for and leave as soon as one does. When a trial
with the sweep's own priority ends, a spare one takes its turn, if possible one that runs.
"""

from collections.abc import Iterable
from heapq import heappop, heappush

from msgspec import Struct, field


class ElasticWidth(Struct):
    """The trials of one sweep that have not ended, by index.

    Attributes:
        own: those with the sweep's own priority.
        running: spare ones that start or run, in the order in which they were placed.
        waiting: spare ones that wait.
    """

    own: set[int] = field(default_factory=set)
    running: dict[int, None] = field(default_factory=dict)
    waiting: set[int] = field(default_factory=set)
    _next: list[int] = field(default_factory=list)

    @classmethod
    def found(
        cls, own: Iterable[int], running: Iterable[int], waiting: Iterable[int]
    ) -> "ElasticWidth":
        """The trials as they are found: see the attributes."""
        made = cls(own=set(own), running=dict.fromkeys(running))
        for trial in sorted(waiting):
            made.submitted(trial, spare=True)
        return made

    def submitted(self, trial: int, *, spare: bool) -> None:
        """A trial is there."""
        if spare:
            self._wait(trial)
        else:
            self.own.add(trial)

    def placed(self, trial: int) -> None:
        """A trial starts."""
        if trial in self.waiting:
            self.waiting.discard(trial)
            self.running[trial] = None

    def promoted(self, trial: int) -> None:
        """A trial has the sweep's own priority from now on."""
        self.running.pop(trial, None)
        self.waiting.discard(trial)
        self.own.add(trial)

    def ended(self, trial: int, *, again: bool) -> None:
        """An attempt of a trial is over; `again` = the trial waits for another one."""
        was_spare = trial in self.running or trial in self.waiting
        self.running.pop(trial, None)
        if again:
            if was_spare:
                self._wait(trial)
            return
        self.waiting.discard(trial)
        self.own.discard(trial)

    def turn(self, width: int) -> int | None:
        """The spare trial whose turn it is, where fewer than `width` have the own priority."""
        if len(self.own) >= width:
            return None
        if self.running:
            return next(iter(self.running))
        while self._next and self._next[0] not in self.waiting:
            heappop(self._next)
        return self._next[0] if self._next else None

    def _wait(self, trial: int) -> None:
        if trial not in self.waiting:
            self.waiting.add(trial)
            heappush(self._next, trial)
