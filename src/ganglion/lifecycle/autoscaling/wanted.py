"""How many replicas each signal asks for."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ganglion.lifecycle.autoscaling.memory import Sample
from ganglion.lifecycle.autoscaling.reading import COUNTS, LATENCIES, TOTALS
from ganglion.lifecycle.autoscaling.spare import spare
from ganglion.model.behaviour import Signal, Target

STEEPEST = 2
"""Latency says that replicas are too few, not how many: never more than this many times as many."""

REQUEST = 1_000
"""Thousandths of a request."""


class WantedReplicas(Struct, frozen=True):
    """What the signal that asks for most asks for.

    Attributes:
        replicas: how many.
        signal: which.
        milli: its value.
        load: replicas for the load alone, without what is kept beside it.
    """

    replicas: int
    signal: Signal
    milli: int
    load: int


def asked(
    targets: Iterable[Target], values: Mapping[Signal, int], ready: int, spare_micro: int = 0
) -> WantedReplicas | None:
    """What the targets ask for; None when none of their signals has a value.

    Args:
        targets: what one replica should have of each signal.
        values: thousandths of each signal.
        ready: replicas that had it.
        spare_micro: square roots of the load to keep beside it, in millionths; 0 = nothing.
    """
    found = [
        _asked(target, values[target.signal], ready, spare_micro)
        for target in targets
        if target.signal in values
    ]
    return max(found, key=lambda each: each.replicas, default=None)


def mean(samples: Iterable[Sample]) -> dict[Signal, int]:
    """The mean of each signal over the samples that have it, rounded up."""
    found: dict[Signal, list[int]] = {}
    for sample in samples:
        for signal, milli in sample.values.items():
            found.setdefault(signal, []).append(milli)
    return {signal: -(-sum(each) // len(each)) for signal, each in found.items()}


def halfway(samples: Sequence[Sample]) -> dict[Signal, int]:
    """Each signal halfway between its mean and its last value: calmer than one, later than none."""
    last = samples[-1].values
    return {
        signal: -(-(milli + last.get(signal, milli)) // 2)
        for signal, milli in mean(samples).items()
    }


def _asked(target: Target, milli: int, ready: int, spare_micro: int) -> WantedReplicas:
    load = _replicas(target, milli, ready)
    if not (spare_micro and milli and target.signal in TOTALS):
        return WantedReplicas(load, target.signal, milli, load)
    unit = min(REQUEST, target.milli) if target.signal in COUNTS else target.milli
    wide = milli + spare(milli, unit, spare_micro)
    return WantedReplicas(_replicas(target, wide, ready), target.signal, milli, load)


def _replicas(target: Target, milli: int, ready: int) -> int:
    if target.signal in LATENCIES:
        return _by_latency(target.milli, milli, ready)
    if target.signal is Signal.KV_CACHE:
        return -(-ready * milli // target.milli)
    return -(-milli // target.milli)


def _by_latency(target: int, milli: int, ready: int) -> int:
    """More in proportion, up to `STEEPEST`; one fewer where it is less than half of the target."""
    if milli > target:
        return min(-(-ready * milli // target), ready * STEEPEST)
    return ready if 2 * milli >= target else max(0, ready - 1)
