"""Pages of all replicas into what a whole service has to do."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import isfinite

from msgspec import Struct, field

from ganglion.lifecycle.metrics.page import Buckets, MetricsPage
from ganglion.model.behaviour import Signal

QUANTILE = 0.9
"""Latencies are reported as their p90."""

QUORUM = 2
"""One in this many ready replicas must answer; the others are taken to be like them."""

MEANS = (Signal.KV_CACHE,)
"""Signals of which the mean is reported; of the others the sum."""


class Pages(Struct, frozen=True):
    """What the replicas of a service reported at one time.

    Attributes:
        at: when, in ms.
        pages: replica -> its page.
        silent: replica -> why it reported nothing.
    """

    at: int
    pages: dict[str, MetricsPage] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)


class Merged(Struct, frozen=True):
    """What is known of a whole service.

    Attributes:
        values: signal -> thousandths of its unit; None = too little is known.
        lost: which replicas report nothing, and why; empty = none.
        wrong: what cannot be true; empty = nothing.
    """

    values: dict[Signal, int] | None
    lost: str = ""
    wrong: str = ""


def merge(now: Pages, before: Pages | None, ready: Iterable[str]) -> Merged:
    """What the pages say of the whole service.

    Replicas that say nothing, or what cannot be true, count as the mean of the others; when they
    are more than the others, nothing is known.

    Args:
        now: the last pages.
        before: pages of a while ago, for what has grown since; None = there are none.
        ready: replicas that should say something.
    """
    wanted = sorted(ready)
    good = {each: now.pages[each] for each in wanted if _is_good(now.pages.get(each))}
    wrong = _said(wanted, {key: page.trouble for key, page in now.pages.items() if page.trouble})
    lost = _said(wanted, now.silent)
    if len(good) * QUORUM < len(wanted):
        return Merged(None, lost, wrong)
    values = _gauges(good, len(wanted)) | _grown(good, now, before, len(wanted))
    return Merged(values, lost, wrong)


def _is_good(page: MetricsPage | None) -> bool:
    return page is not None and not page.trouble


def _said(wanted: list[str], said: Mapping[str, str]) -> str:
    found = [f"{each}: {said[each]}" for each in wanted if each in said]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return found[0] + more if found else ""


def _gauges(good: Mapping[str, MetricsPage], replicas: int) -> dict[Signal, int]:
    signals = {signal for page in good.values() for signal in page.gauges}
    values: dict[Signal, int] = {}
    for signal in sorted(signals):
        known = [page.gauges[signal] for page in good.values() if signal in page.gauges]
        mean = sum(known) / len(known)
        values[signal] = round(mean * (1 if signal in MEANS else replicas) * 1_000)
    return values


def _grown(
    good: Mapping[str, MetricsPage], now: Pages, before: Pages | None, replicas: int
) -> dict[Signal, int]:
    """Rates and quantiles, by those replicas that were there before and not started anew since."""
    if before is None or now.at <= before.at:
        return {}
    pairs = [(before.pages[key], page) for key, page in good.items() if key in before.pages]
    seconds = (now.at - before.at) / 1_000
    values: dict[Signal, int] = {}
    for signal in sorted({signal for page in good.values() for signal in page.counters}):
        grown = [_growth(old.counters, new.counters, signal) for old, new in pairs]
        known = [each for each in grown if each is not None]
        if known:
            values[signal] = round(sum(known) / len(known) * replicas / seconds * 1_000)
    for signal in sorted({signal for page in good.values() for signal in page.histograms}):
        found = quantile(_added(old.histograms, new.histograms, signal) for old, new in pairs)
        if found is not None:
            values[signal] = round(found * 1_000)
    return values


def _growth(
    old: Mapping[Signal, float], new: Mapping[Signal, float], signal: Signal
) -> float | None:
    if signal not in old or signal not in new or new[signal] < old[signal]:
        return None
    return new[signal] - old[signal]


def _added(old: Mapping[Signal, Buckets], new: Mapping[Signal, Buckets], signal: Signal) -> Buckets:
    """Requests that came since; none where the counters began anew or mean something else."""
    then, latest = old.get(signal, {}), new.get(signal, {})
    if then.keys() != latest.keys() or any(latest[each] < then[each] for each in latest):
        return {}
    return {bound: latest[bound] - then[bound] for bound in latest}


def quantile(histograms: Iterable[Buckets], share: float = QUANTILE) -> float | None:
    """A quantile of several histograms together, linear within a bucket; None without requests.

    As `histogram_quantile` of Prometheus does it: beyond the last finite bound it is that bound.
    """
    total: Buckets = {}
    for each in histograms:
        for bound, count in each.items():
            total[bound] = total.get(bound, 0.0) + count
    bounds = sorted(total)
    if not bounds or not total[bounds[-1]]:
        return None
    rank = share * total[bounds[-1]]
    for low, high in pairwise([0.0, *bounds]):
        below = total.get(low, 0.0)
        if total[high] >= rank:
            if not isfinite(high):
                return low
            return low + (high - low) * (rank - below) / (total[high] - below or 1.0)
    return bounds[-1]
