"""What to ask a Prometheus for each signal."""

import re
from collections.abc import Iterable, Sequence

from ganglion.lifecycle.metrics.merge import QUANTILE
from ganglion.lifecycle.metrics.names import COUNTERS, GAUGES, HISTOGRAMS, Name
from ganglion.model.behaviour import Signal

RANGE = "1m"
"""Rates and quantiles are taken over this time."""


def query_of(signal: Signal, addresses: Iterable[str], own: str = "") -> str:
    """The query for a signal; empty = there is none.

    Replicas are distinguished by the label `instance`, which holds their address where Prometheus
    scrapes them itself.

    Args:
        signal: what is to be known.
        addresses: where the replicas listen, as `host:port`.
        own: the query that the service's owner wrote, for the signal `query`.
    """
    if signal is Signal.QUERY:
        return own
    where = f'instance=~"{"|".join(re.escape(each) for each in sorted(addresses))}"'
    # Backslashes are escaped once more within a string of PromQL.
    where = where.replace("\\", "\\\\")
    if signal is Signal.REQUESTS:
        return f"{_sum(Signal.WAITING, where)} + {_sum(Signal.RUNNING, where)}"
    if signal in GAUGES:
        return _mean(where) if signal is Signal.KV_CACHE else _sum(signal, where)
    if signal in COUNTERS:
        return f"sum(rate({_series(COUNTERS[signal], where)}[{RANGE}]))"
    buckets = _series(HISTOGRAMS[signal], where, "_bucket")
    return f"histogram_quantile({QUANTILE}, sum by (le) (rate({buckets}[{RANGE}])))"


def _sum(signal: Signal, where: str) -> str:
    return f"sum({_series(GAUGES[signal], where)})"


def _mean(where: str) -> str:
    return f"avg({_series(GAUGES[Signal.KV_CACHE], where)})"


def _series(names: Sequence[Name], where: str, suffix: str = "") -> str:
    # Names with a label or a unit of their own would need a query each.
    plain = [each.name + suffix for each in names if not each.label and each.scale == 1]
    return f'{{__name__=~"{"|".join(plain)}",{where}}}'
