"""Which trials are given up early: asynchronous successive halving by reported metric.

Trials are compared at rungs: the step `first`, then `factor` times as far, and so on. A trial
that reaches a rung goes on if it is among the best 1/`factor` of those that reached it so far;
no trial waits for the others. The first `factor` - 1 at a rung always go on.

Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020, in the
variant that stops trials where that paper pauses them, as Ray Tune and Syne Tune offer it.
"""

from bisect import bisect_left, insort
from math import isfinite

from msgspec import Struct, field

from ganglion.model.behaviour import EarlyStop

WORST = float("inf")
"""What counts for a value that is no number."""


class Rung(Struct):
    """What trials reported at one rung.

    Attributes:
        losses: ascending; of a metric that is to be large, its negative.
    """

    losses: list[float] = field(default_factory=list)


class Ladder(Struct):
    """How far the trials of one sweep have come.

    Attributes:
        rungs: step -> what trials reported there.
        reached: trial -> the highest rung it was compared at.
    """

    rungs: dict[int, Rung] = field(default_factory=dict)
    reached: dict[int, int] = field(default_factory=dict)


class GivenUp(Struct, frozen=True):
    """A trial is to be given up.

    Attributes:
        rung: the step at which it was compared.
        value: what it reported; None = no number.
        place: how many were better, and it.
        among: how many came there so far.
        kept: how many of those go on.
    """

    rung: int
    value: float | None
    place: int
    among: int
    kept: int


def climb(
    ladder: Ladder, rule: EarlyStop, trial: int, step: int, value: float | None
) -> GivenUp | None:
    """Take in what a trial reports; the verdict, if it is to be given up.

    Reports between rungs, and of rungs that the trial passed before (it was preempted and
    began again), change nothing. A trial that skips rungs counts at each of them.

    Args:
        ladder: changed in place.
        rule: when trials are compared.
        trial: its index.
        step: how far it has come.
        value: the metric; None, or no finite number = worse than any other.
    """
    passed = [each for each in rungs_up_to(rule, step) if each > ladder.reached.get(trial, 0)]
    if not passed:
        return None
    ladder.reached[trial] = passed[-1]
    loss = _loss(rule, value)
    for each in passed:
        insort(ladder.rungs.setdefault(each, Rung()).losses, loss)
    return _judged(ladder.rungs[passed[-1]], rule, passed[-1], value, loss)


def rungs_up_to(rule: EarlyStop, step: int) -> list[int]:
    """Steps of the rungs up to a step, ascending."""
    found, rung = list[int](), max(rule.first, 1)
    while rung <= step:
        found.append(rung)
        rung *= max(rule.factor, 2)
    return found


def _loss(rule: EarlyStop, value: float | None) -> float:
    if value is None or not isfinite(value):
        return WORST
    return -value if rule.maximise else value


def _judged(
    rung: Rung, rule: EarlyStop, step: int, value: float | None, loss: float
) -> GivenUp | None:
    among = len(rung.losses)
    kept = among // max(rule.factor, 2)
    better = bisect_left(rung.losses, loss)
    if not kept or better < kept:
        return None
    return GivenUp(step, value, better + 1, among, kept)
