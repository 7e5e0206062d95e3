"""How many replicas each signal asks for."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ganglion.lifecycle.scaling.memory import Sample
from ganglion.lifecycle.scaling.reading import LATENCIES
from ganglion.model.behaviour import Signal, Target

STEEPEST = 2
"""Latency says that replicas are too few, not how many: never more than this many times as many."""


class Asked(Struct, frozen=True):
    """What the signal that asks for most asks for.

    Attributes:
        replicas: how many.
        signal: which.
        milli: its value.
    """

    replicas: int
    signal: Signal
    milli: int


def asked(targets: Iterable[Target], values: Mapping[Signal, int], ready: int) -> Asked | None:
    """What the targets ask for; None when none of their signals has a value.

    Args:
        targets: what one replica should have of each signal.
        values: thousandths of each signal.
        ready: replicas that had it.
    """
    known = [target for target in targets if target.signal in values]
    wants = [
        Asked(_replicas(each, values[each.signal], ready), each.signal, values[each.signal])
        for each in known
    ]
    return max(wants, key=lambda want: want.replicas, default=None)


def mean(samples: Iterable[Sample]) -> dict[Signal, int]:
    """The mean of each signal over the samples that have it, rounded up."""
    found: dict[Signal, list[int]] = {}
    for sample in samples:
        for signal, milli in sample.values.items():
            found.setdefault(signal, []).append(milli)
    return {signal: -(-sum(all_) // len(all_)) for signal, all_ in found.items()}


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
    return ready if 2 * milli >= target else max(1, ready - 1)
