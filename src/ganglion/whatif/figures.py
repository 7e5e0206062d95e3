"""Figures over the fates of gangs: what people compare policies by. Integers all through."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from ganglion.metering.rating import HeldIn, Rates, held_in, rounded
from ganglion.pricing.book import PriceBook, PriceTable
from ganglion.whatif.fates import Fates, GangFate

SLOWDOWN_FLOOR_MS = 10_000
"""Jobs shorter than this count as this long in the slowdown (Feitelson, JSSPP'97)."""
GPU_HOUR_US = 3_600_000_000
SIZES = ((0, "no GPU"), (1_000, "1 GPU"), (7_000, "2-7 GPUs"), (8_000, "8 GPUs"))
LARGER = ((63_000, "9-63 GPUs"), (1 << 60, "64 or more GPUs"))


class Measure(StrEnum):
    """What is compared."""

    WAIT_P50 = "wait_p50_ms"
    WAIT_P95 = "wait_p95_ms"
    LOST = "lost_gpu_ms"
    HELD = "held_gpu_ms"
    FAIRNESS = "fairness_permille"
    SPEND = "spend_micro"


RESOLUTION: Mapping[Measure, int] = {
    Measure.WAIT_P50: 1_000,
    Measure.WAIT_P95: 1_000,
    Measure.LOST: 1_000,
    Measure.HELD: 1_000,
    Measure.FAIRNESS: 1,
    Measure.SPEND: 10_000,
}
"""Differences that are no larger than this say nothing, however small the error is."""


class GroupedBy(StrEnum):
    """What figures are grouped by."""

    ALL = "all"
    QUEUE = "queue"
    SIZE = "size"
    CLASS = "class"
    OTHERS = "others"


Own = Collection[str] | None
"""Queues that the user who asks may see; None = all there are."""
Key = tuple[GroupedBy, str]
"""How it is grouped, and the name of the group."""


class Figures(Struct, frozen=True):
    """Figures of one group.

    Attributes:
        jobs: gangs whose wait is one of the period.
        waiting: of these, those that had not started at its end.
        values: by measure; those that the group has none of are left out.
    """

    jobs: int
    waiting: int
    values: dict[Measure, int]


def size_of(fate: GangFate) -> str:
    """The class of size of a gang, by its GPUs in all."""
    milli = sum(
        pods.count * pods.request.gpu.count * pods.request.gpu.milli for pods in fate.gang.pod_sets
    )
    return next(name for most, name in (*SIZES, *LARGER) if milli <= most)


def keys_of(fate: GangFate, own: Own = None) -> tuple[Key, ...]:
    """The groups that a gang belongs to."""
    others = ((GroupedBy.OTHERS, ""),) if own is not None and fate.gang.queue not in own else ()
    return (
        *others,
        (GroupedBy.ALL, ""),
        (GroupedBy.QUEUE, fate.gang.queue),
        (GroupedBy.SIZE, size_of(fate)),
        (GroupedBy.CLASS, fate.gang.kind.value),
    )


def measured(
    fates: Fates, until: int, prices: PriceBook | None = None, own: Own = None
) -> dict[Key, Figures]:
    """Figures of every group.

    Args:
        fates: of a period.
        until: its end in ms.
        prices: what it is rated by; None = nothing is.
        own: work of other queues is a group, too.
    """
    groups: dict[Key, list[GangFate]] = {}
    for fate in fates.of.values():
        for key in keys_of(fate, own):
            groups.setdefault(key, []).append(fate)
    found = {key: _group(members, until) for key, members in groups.items()}
    held, spend = _usage(fates, until, prices, own)
    for key, gpu_us in held.items():
        if key in found:
            found[key].values[Measure.HELD] = gpu_us // 1000
    for key, micro in spend.items():
        if key in found:
            found[key].values[Measure.SPEND] = micro
    every = found.get((GroupedBy.ALL, ""))
    queues = [members for (by, _), members in groups.items() if by is GroupedBy.QUEUE]
    fair = fairness_permille([_slowdown_permille(each, until) for each in queues])
    if every and fair is not None:
        every.values[Measure.FAIRNESS] = fair
    return found


def _group(members: Sequence[GangFate], until: int) -> Figures:
    waits = sorted(wait for each in members if (wait := each.wait_ms(until)) is not None)
    waiting = sum(each.started is None and each.ended is None for each in members)
    values = {Measure.LOST: sum(each.lost_gpu_ms for each in members)}
    if waits:
        values |= {Measure.WAIT_P50: nearest(waits, 50), Measure.WAIT_P95: nearest(waits, 95)}
    return Figures(len(waits), waiting, values)


def nearest(ordered: Sequence[int], percent: int) -> int:
    """The smallest value that `percent` % of the values do not exceed."""
    return ordered[max(-(-len(ordered) * percent // 100) - 1, 0)]


def _slowdown_permille(members: Iterable[GangFate], until: int) -> int | None:
    """Mean bounded slowdown of those that have run, in thousandths; None = none has."""
    found = list[int]()
    for each in members:
        wait = each.wait_ms(until)
        if wait is not None and each.started is not None:
            ran = max((each.ended or until) - each.started, SLOWDOWN_FLOOR_MS)
            found.append(1000 * (wait + ran) // ran)
    return sum(found) // len(found) if found else None


def fairness_permille(values: Iterable[int | None]) -> int | None:
    """Jain's index of the queues' slowdowns, in thousandths: 1000 = all wait alike.

    None where fewer than two queues ran anything.
    """
    found = [each for each in values if each is not None]
    squares = len(found) * sum(each * each for each in found)
    if len(found) < 2 or not squares:
        return None
    return 1000 * sum(found) ** 2 // squares


def _usage(
    fates: Fates, until: int, prices: PriceBook | None, own: Own
) -> tuple[dict[Key, int], dict[Key, int]]:
    """GPU-microseconds that were held, and what they cost in millionths, by group."""
    usage, _ = fates.meter.drain()
    table = PriceTable(prices, fates.begin, until) if prices and prices.records else None
    held: dict[Key, int] = {}
    rated: dict[tuple[Key, str, str], HeldIn] = {}
    for each in (*usage, *fates.meter.open_usage(until)):
        lasts = min(each.end_ms, until) - max(each.begin_ms, fates.begin)
        if lasts <= 0:
            continue
        fate = fates.of[each.gang]
        for key in keys_of(fate, own):
            held[key] = held.get(key, 0) + lasts * each.held_milli
            if table:
                into = rated.setdefault((key, each.flavor, each.kind), {})
                held_in(table, each, each.held_milli, into)
    spend: dict[Key, int] = {}
    rates = Rates(prices or PriceBook())
    for (key, flavor, kind), into in rated.items():
        spend[key] = spend.get(key, 0) + rates.charged(into, flavor, kind).cost
    return held, {key: rounded((cost,))[0] for key, cost in spend.items()}
