"""What one workload costs."""

from msgspec import Struct


class WorkloadCost(Struct, frozen=True):
    """What a workload costs, in millionths of a unit of the currency.

    Attributes:
        currency: code of the currency.
        so_far_micro: what it was charged until now, with corrections.
        most_micro: that, and what the attempts that run or wait may still cost until their time
            limits, at the highest prices that are known; None = unknown.
        unknown: why the most is unknown; empty = it is known.
        unpriced_gpu_us: GPU time that had no price and is in neither.
    """

    currency: str = ""
    so_far_micro: int = 0
    most_micro: int | None = None
    unknown: str = ""
    unpriced_gpu_us: int = 0
