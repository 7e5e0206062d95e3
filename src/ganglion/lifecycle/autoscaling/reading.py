"""What is known of a service's load at one moment, and whether it can be true."""

from msgspec import Struct, field

from ganglion.model.behaviour import Signal

COUNTS = (Signal.REQUESTS, Signal.WAITING, Signal.RUNNING)
"""Signals that count requests, over all replicas."""

TOTALS = (*COUNTS, Signal.TOKENS, Signal.QUERY)
"""Signals that add up over replicas."""

LATENCIES = (Signal.TTFT, Signal.ITL, Signal.LATENCY)
"""Quantiles over the requests of all replicas."""

MOST = 1_000_000_000_000
"""Thousandths beyond which no signal is believed: a thousand million requests at once."""

SKEW_MS = 5_000
"""How far in the future a reading may lie before its clock is not believed."""


class Reading(Struct, frozen=True):
    """What a source says of a whole service.

    Attributes:
        at: when it was measured, in ms.
        values: signal -> thousandths of its unit. `requests`, `waiting`, `running`, `tokens` and
            `query` are totals over all replicas, what waits at the router included; `kv_cache` is
            the mean over ready replicas; latencies are quantiles over the requests of the last
            while, and are left out when there were none.
        arrived: requests so far, of a counter that only grows; -1 = not known.
        late: of those, the ones that were begun later than `start_within_ms`, of a counter
            that only grows; -1 = not known.
    """

    at: int
    values: dict[Signal, int] = field(default_factory=dict)
    arrived: int = -1
    late: int = -1


def doubt(reading: Reading, now: int) -> str:
    """Why a reading cannot be true; empty when nothing speaks against it.

    Args:
        reading: as a source gave it.
        now: the time, in ms.
    """
    if reading.at > now + SKEW_MS:
        return f"it was measured {(reading.at - now) // 1000} s in the future"
    for signal, milli in reading.values.items():
        if milli < 0:
            return f"{signal.value} is negative"
        if milli > (1_000 if signal is Signal.KV_CACHE else MOST):
            return f"{signal.value} is {milli // 1000}, more than there can be"
    if reading.late > reading.arrived >= 0:
        return "more requests began late than there were"
    return ""
