"""What the load of now and of a moment ago asks for, before anything slows it down."""

from msgspec.structs import replace

from ganglion.lifecycle.autoscaling.backlog import eased, takes_ms
from ganglion.lifecycle.autoscaling.lead import rise
from ganglion.lifecycle.autoscaling.memory import Memory, Sample
from ganglion.lifecycle.autoscaling.reading import LATENCIES
from ganglion.lifecycle.autoscaling.trust import quiet
from ganglion.lifecycle.autoscaling.wanted import WantedReplicas, asked, halfway, mean
from ganglion.model.behaviour import Scaling, Signal


def asked_now(
    scaling: Scaling, memory: Memory, now: int, ready: int, lead_ms: int
) -> WantedReplicas | None:
    """What is asked for over the stable window, or in panic whatever was most since it began.

    Panic as Knative has it: load of the short window that wants `panic_milli` thousandths of the
    ready replicas begins or prolongs it, and it ends a stable window after that.

    Args:
        scaling: what the owner wants.
        memory: samples, one at least; what it knows of panic is changed in place.
        now: the time, in ms.
        ready: replicas that answer requests.
        lead_ms: how long a replica takes to start.

    Returns:
        None when no sample has a signal of a target.
    """
    samples = _within(memory.samples, now - scaling.window_ms)
    recent = _within(samples, now - scaling.panic_window_ms)
    burst = _eased(scaling, memory, mean(recent), samples, ready, lead_ms)
    sudden = asked(scaling.targets, burst, ready)
    stable = _stable(scaling, memory, samples, now, ready, lead_ms)
    if stable is None:
        return None
    _panic(scaling, memory, now, sudden.load if sudden else 0, ready)
    if memory.panic_at >= 0:
        memory.panic = max(memory.panic, stable.replicas, sudden.replicas if sudden else 0)
        return replace(stable, replicas=memory.panic)
    return stable


def _eased(
    scaling: Scaling,
    memory: Memory,
    values: dict[Signal, int],
    samples: list[Sample],
    ready: int,
    lead_ms: int,
) -> dict[Signal, int]:
    """Backlogs are weighed only where the owner set what is late: else they count as they are."""
    shares = [each.milli for each in scaling.targets if each.signal is Signal.REQUESTS]
    if memory.promise is None or not shares:
        return values
    return eased(samples, values, ready * min(shares), takes_ms(memory.passed), lead_ms)


def _within(samples: list[Sample], begin: int) -> list[Sample]:
    """Those after a time, or else the last."""
    return [each for each in samples if each.at > begin] or samples[-1:]


def _stable(
    scaling: Scaling, memory: Memory, samples: list[Sample], now: int, ready: int, lead_ms: int
) -> WantedReplicas | None:
    silent = _silent(scaling, samples)
    if memory.promise is None:
        return asked(scaling.targets, mean(samples) | silent, ready)
    more = rise(memory.samples, now, lead_ms)
    base = {each: milli + more.get(each, 0) for each, milli in halfway(samples).items()}
    values = _eased(scaling, memory, base, samples, ready, lead_ms)
    return asked(scaling.targets, values | silent, ready, memory.promise.spare_micro)


def _panic(scaling: Scaling, memory: Memory, now: int, load: int, ready: int) -> None:
    """Begin, prolong or end it."""
    if load * 1_000 >= scaling.panic_milli * max(1, ready):
        memory.panic_at = now
    elif now - memory.panic_at > scaling.window_ms:
        memory.panic_at, memory.panic = -1, 0


def _silent(scaling: Scaling, samples: list[Sample]) -> dict[Signal, int]:
    """Latencies that were not measured as there are no requests: as good as they can be."""
    if not quiet(samples):
        return {}
    known = {signal for sample in samples for signal in sample.values}
    signals = (target.signal for target in scaling.targets)
    return {each: 0 for each in signals if each in LATENCIES and each not in known}


def describe(found: WantedReplicas) -> str:
    """What is asked for, as the beginning of a sentence."""
    text = f"{found.signal.value} {found.milli / 1_000:g}: {found.load} replicas"
    more = found.replicas - found.load
    return f"{text}, {more} to spare" if more else text
