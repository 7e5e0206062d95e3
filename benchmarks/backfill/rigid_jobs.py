"""Rigid jobs, the pool they run on, and the textbook disciplines by name."""

from enum import StrEnum

from msgspec import Struct


class Overtaking(StrEnum):
    """What may start before a job that is ahead of it and blocked."""

    NONE = "none"
    ANY = "any"
    EASY = "easy"
    CONSERVATIVE = "conservative"


class First(StrEnum):
    """The order of jobs."""

    OLDEST = "oldest"
    SHORTEST = "shortest"
    SMALLEST = "smallest"
    DUE = "due"


class Rigid(Struct, frozen=True):
    """One rigid job.

    Attributes:
        number: unique; jobs are numbered in order of submission.
        submitted, duration: in ms.
        estimate: how long its user says it takes, at least its duration.
        size: GPUs or processors.
        due: when it should have ended, in ms.
    """

    number: int
    submitted: int
    duration: int
    estimate: int
    size: int
    due: int = 0

    def rank(self, first: First) -> tuple[int, int]:
        """Smaller is ahead."""
        kind = {First.OLDEST: 0, First.SHORTEST: self.estimate, First.DUE: self.due}
        return (kind.get(first, self.estimate * self.size), self.number)


class Pool(Struct, frozen=True):
    """Equal nodes; a job of up to a node lies on one, a larger one on whole nodes.

    Attributes:
        nodes: how many.
        per_node: GPUs or processors of each.
    """

    nodes: int
    per_node: int
