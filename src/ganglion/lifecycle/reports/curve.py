"""One series of numbers over the time of an attempt, in a bounded number of points."""

from collections.abc import Mapping
from itertools import pairwise
from math import isfinite
from typing import Any, Self

MOST_POINTS = 300
"""Points of one series; as soon as there are more, two of them become one."""


class Curve:
    """A series.

    Points lie at least `every_ms` apart. Of what comes in between, measurements (`mean`) give
    their mean, and reports the last one: a step has one loss.

    Args:
        mean: whether it is measured.

    Attributes:
        every_ms: least time between two points.
        points: time in ms, step (0 = none) and value of each.
    """

    def __init__(self, *, mean: bool) -> None:
        self.mean, self.every_ms = mean, 0
        self.points: list[tuple[int, int, float]] = []
        self._begin = self._count = 0

    def add(self, at: int, step: int, value: float) -> None:
        """A number of a time in ms; one that is no number, or of the past, is left out."""
        if not isfinite(value) or (self.points and at < self.points[-1][0]):
            return
        if self.points and at - self._begin < self.every_ms:
            self._count += 1
            before = self.points[-1][2]
            mean = before + (value - before) / self._count
            self.points[-1] = (at, step, mean if self.mean else value)
            return
        self.points.append((at, step, value))
        self._begin, self._count = at, 1
        if len(self.points) > MOST_POINTS:
            self._thin()

    def _thin(self) -> None:
        length = self.points[-1][0] - self.points[0][0]
        self.every_ms = max(2 * self.every_ms, 2 * length // MOST_POINTS, 1)
        *full, last = self.points
        pairs = [pair for number, pair in enumerate(pairwise(full)) if number % 2 == 0]
        rest = full[2 * len(pairs) :]
        self.points = [*(self._one(*pair) for pair in pairs), *rest, last]

    def _one(
        self, first: tuple[int, int, float], second: tuple[int, int, float]
    ) -> tuple[int, int, float]:
        at, step, value = second
        return at, step, (first[2] + value) / 2 if self.mean else value

    def saved(self) -> dict[str, Any]:
        """It as plain values."""
        return {"mean": self.mean, "every_ms": self.every_ms, "points": self.points}

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Self:
        """It of what was saved. Raises KeyError, TypeError or ValueError where that is none."""
        made = cls(mean=bool(saved["mean"]))
        made.every_ms = int(saved["every_ms"])
        made.points = [(int(at), int(step), float(value)) for at, step, value in saved["points"]]
        if made.points:
            made._begin, made._count = made.points[-1][0], 1
        return made
