"""Whether what is known of a service's load allows a decision."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ganglion.lifecycle.autoscaling.memory import Memory, Sample
from ganglion.lifecycle.autoscaling.reading import LATENCIES, TOTALS
from ganglion.model.behaviour import Scaling, Signal, Target

LOST = "metrics.lost"
"""Alarm: no report came, or none of some target."""

IMPLAUSIBLE = "metrics.implausible"
"""Alarm: reports are not plausible."""


class Trouble(Struct, frozen=True):
    """Why a decision is held.

    Attributes:
        text: what is wrong, as part of a sentence.
        alarm: code; empty = it is no reason for an alarm.
        blind: nothing may be decided; otherwise only nothing may go.
    """

    text: str
    alarm: str
    blind: bool


def trouble(scaling: Scaling, memory: Memory, now: int) -> Trouble | None:
    """What is wrong with what is known; None = nothing."""
    if memory.doubt:
        return Trouble(f"its metrics are not plausible: {memory.doubt}", IMPLAUSIBLE, True)
    last = memory.samples[-1].at if memory.samples else memory.since
    if now - last > scaling.window_ms:
        return Trouble(f"no load was reported for {(now - last) // 1000} s", LOST, True)
    if not memory.samples:
        return Trouble("its load is not known yet", "", True)
    lacking = missing(scaling.targets, memory.samples)
    if lacking:
        names = ", ".join(signal.value for signal in lacking)
        everything = len(lacking) == len(scaling.targets)
        return Trouble(f"its metrics lack {names}", LOST, everything)
    return None


def missing(targets: Iterable[Target], samples: list[Sample]) -> list[Signal]:
    """Signals of targets that no sample has, latencies apart where there are no requests."""
    signals = [target.signal for target in targets]
    known = {signal for sample in samples for signal in sample.values}
    return [
        signal
        for signal in signals
        if signal not in known and not (signal in LATENCIES and quiet(samples))
    ]


def quiet(samples: Iterable[Sample]) -> bool:
    """Whether something is known to count the load, and it is nothing in every sample."""
    totals = [
        milli for sample in samples for signal, milli in sample.values.items() if signal in TOTALS
    ]
    return bool(totals) and not any(totals)


def busy(values: Mapping[Signal, int]) -> bool:
    """Whether something that counts the load is more than nothing."""
    return any(milli for signal, milli in values.items() if signal in TOTALS)
