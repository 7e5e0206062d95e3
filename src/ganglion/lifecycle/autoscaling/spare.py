"""How much is kept beside the load, so that requests need not wait for replicas to start.

Load that consists of many independent requests varies by about its square root (Halfin and Whitt,
"Heavy-traffic limits for queues with many exponential servers", Operations Research 29, 1981).
How many square roots a service needs depends on how long its replicas take to start, how long
its requests run and how they bunch; that is not known beforehand, so it is learnt from the
requests that began late: too many, and there is more to spare; too few, and there is less.
"""

from math import isqrt

from ganglion.lifecycle.autoscaling.memory import Promise
from ganglion.lifecycle.autoscaling.reading import Reading

FIRST = 1_500_000
"""Square roots kept to begin with, in millionths."""

LEAST = 400_000
MOST = 4_000_000

DAY = 86_400_000

HASTE = 36
"""Square roots more if all requests of a day were late."""

FEWEST = 20_000
"""Requests a day below which learning does not become faster: chance would decide."""


def spare(milli: int, unit: int, spare_micro: int) -> int:
    """What to keep beside a load: a multiple of its square root, and one unit and a half.

    Args:
        milli: load, in thousandths.
        unit: thousandths that come and go at a time: of one request, or of one replica's share.
        spare_micro: square roots, in millionths.
    """
    return spare_micro * isqrt(milli * unit) // 1_000_000 + unit * 3 // 2


def learn(promise: Promise, reading: Reading, budget_milli: int) -> None:
    """Take the requests in that began since the last reading.

    Args:
        promise: what was learnt before; changed in place.
        reading: what is known now; one without counters teaches nothing.
        budget_milli: thousandths of the requests that may begin late.
    """
    if reading.arrived < 0 or reading.late < 0:
        return
    came, late = _since(promise, reading)
    _weigh(promise, reading.at, came)
    over = late * 1_000 - came * budget_milli
    # Rounding towards zero on both sides favours neither.
    step = abs(over) * HASTE * 1_000_000 // max(promise.weight, FEWEST * 1_000)
    wanted = promise.spare_micro + (step if over > 0 else -step)
    promise.spare_micro = max(LEAST, min(wanted, MOST))


def _since(promise: Promise, reading: Reading) -> tuple[int, int]:
    """Requests and late ones since the last reading; counters that fell began anew."""
    first, again = promise.arrived < 0, reading.arrived < promise.arrived
    came = 0 if first else reading.arrived - (0 if again else promise.arrived)
    late = 0 if first else max(0, reading.late - (0 if again else promise.late))
    promise.arrived, promise.late = reading.arrived, reading.late
    return came, late


def _weigh(promise: Promise, at: int, came: int) -> None:
    passed = min(DAY, max(0, at - promise.at)) if promise.at else 0
    promise.weight += came * 1_000 - promise.weight * passed // DAY
    promise.at = at
