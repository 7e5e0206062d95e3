"""Intervals of time in which what an attempt holds on a node, or what a node has, is the same.

Sums are thousandths of a GPU times milliseconds, which is GPU-microseconds: integers, and exact
for shares of a GPU as well.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

DAY_MS = 86_400_000
"""One day of UTC."""


class UsageInterval(Struct, frozen=True):
    """What one attempt held on one node; in a ledger, within one day of UTC.

    Attributes:
        begin_ms, end_ms: from and before when; they are equal where an attempt ended at once.
        queue: leaf queue that it is charged to.
        user: who submitted it.
        workload, gang: their ids.
        attempt: number of the attempt.
        kind: kind of the workload.
        flavor: of the node.
        node: its name.
        requested_milli: thousandths of GPUs of the pods that are wanted; those that were asked to
            leave are not.
        held_milli: thousandths of GPUs that all its pods there keep from others, at most 1000 of
            each device over all attempts.
        cpu_milli: thousandths of cores of all its pods there.
        memory_mib: host memory of all its pods there.
        begun: whether this is the first interval of the attempt: each attempt that was placed
            while the ledger was metered has one.
        devices: indexes of the GPUs that all its pods there have, as `0-3,6`; empty = none, or
            those of an attempt that an early version metered.
        ahead_of: id of the gang that the attempt started ahead of, see `GangPlaced`.
    """

    begin_ms: int
    end_ms: int
    queue: str
    user: str
    workload: str
    gang: str
    attempt: int
    kind: str
    flavor: str
    node: str
    requested_milli: int
    held_milli: int
    cpu_milli: int
    memory_mib: int
    begun: bool = False
    devices: str = ""
    ahead_of: str = ""


class SupplyInterval(Struct, frozen=True):
    """What one node had.

    Attributes:
        begin_ms, end_ms: from and before when.
        node: its name.
        flavor: kind of node.
        gpu_milli: thousandths of all of its GPUs, those included that are gone and still held.
        unavailable_milli: thousandths of GPUs that no attempt holds and none may start on: the
            node is cordoned or lost, or the GPU is sick or gone.
    """

    begin_ms: int
    end_ms: int
    node: str
    flavor: str
    gpu_milli: int
    unavailable_milli: int


class LostSpan(Struct, frozen=True):
    """Work of one attempt was thrown away: all that its GPUs did in its last part.

    What it held then, on which nodes and for whom, is what intervals of usage say. So no more is
    lost than was held, whatever is summed up.

    Attributes:
        begin_ms, end_ms: from and before when; an attempt has one such span at most.
        workload, gang, attempt: as of `UsageInterval`.
    """

    begin_ms: int
    end_ms: int
    workload: str
    gang: str
    attempt: int


def part_of(amount: int, span: tuple[int, int], period: tuple[int, int]) -> int:
    """What of an amount that came in a span of time lies in a period; begins and ends in ms.

    It grows evenly in whole numbers: by as much in every millisecond, by one more in the first
    ones. So parts add up, and an amount that is not larger is not larger in any part.
    """
    begin, end = span
    each, more = divmod(amount, end - begin)
    low, high = (min(max(at, begin), end) - begin for at in period)
    return each * (high - low) + min(high, more) - min(low, more) if high > low else 0


def ranges_of(devices: Iterable[int]) -> str:
    """Indexes of GPUs as text: `0-3,6`."""
    parts = list[list[int]]()
    for each in sorted(set(devices)):
        if parts and parts[-1][1] == each - 1:
            parts[-1][1] = each
        else:
            parts.append([each, each])
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in parts)


def devices_in(ranges: str) -> tuple[int, ...]:
    """The indexes of GPUs that `ranges_of` wrote."""
    found = list[int]()
    for part in filter(None, ranges.split(",")):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return tuple(found)


def by_day(interval: UsageInterval) -> Iterator[UsageInterval]:
    """Cut an interval at each midnight of UTC; only the first part has `begun`."""
    begin, begun = interval.begin_ms, interval.begun
    while (midnight := (begin // DAY_MS + 1) * DAY_MS) < interval.end_ms:
        yield replace(interval, begin_ms=begin, end_ms=midnight, begun=begun)
        begin, begun = midnight, False
    if begin == interval.begin_ms:
        yield interval
    else:
        yield replace(interval, begin_ms=begin, begun=False)
