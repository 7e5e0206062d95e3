"""How long replicas take from decision to the first answer."""

from collections.abc import Sequence

from ganglion.lifecycle.autoscaling.memory import Sample
from ganglion.lifecycle.autoscaling.wanted import mean
from ganglion.model.behaviour import Scaling, Signal

UNKNOWN_MS = 60_000
"""Until the first replica has started."""

LONGEST_MS = 1_800_000
"""Load is not predicted for longer."""

CALM_MS = 150_000
"""Stretches of load that are compared are at least this long: shorter ones differ by chance."""

REMEMBERED = 20
"""Number of the last starts that are learnt from."""


def lead(scaling: Scaling, started_ms: Sequence[int]) -> int:
    """How long before it is needed a replica has to be decided on, in ms.

    What its owner says, or else what nine of ten of the last starts stayed within.

    Args:
        scaling: what the owner wants.
        started_ms: how long the last replicas took.
    """
    if scaling.cold_start_ms:
        return scaling.cold_start_ms
    if not started_ms:
        return UNKNOWN_MS
    ranked = sorted(started_ms)
    return ranked[-(-9 * len(ranked) // 10) - 1]


def reach(lead_ms: int) -> int:
    """How long samples are kept to measure how load rises, in ms."""
    return 2 * _stretch(lead_ms)


def rise(samples: Sequence[Sample], now: int, lead_ms: int) -> dict[Signal, int]:
    """How much more of each signal to reckon with once a replica that is started now is ready.

    The mean of a stretch of time against that of the one before, carried on for as long as a
    start takes, and halved: load that rises does not go on rising for ever.

    Args:
        samples: oldest first.
        now: the time, in ms.
        lead_ms: how long a start takes.
    """
    stretch = _stretch(lead_ms)
    begin, middle = now - 2 * stretch, now - stretch
    before = mean(each for each in samples if begin < each.at <= middle)
    lately = mean(each for each in samples if each.at > middle)
    ahead = min(lead_ms, stretch)
    return {
        signal: max(0, milli - before[signal]) * ahead // (2 * stretch)
        for signal, milli in lately.items()
        if signal in before
    }


def _stretch(lead_ms: int) -> int:
    return max(CALM_MS, min(lead_ms, LONGEST_MS))
