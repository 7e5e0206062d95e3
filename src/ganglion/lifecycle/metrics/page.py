"""One replica's page of metrics."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite

from msgspec import Struct, field
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from ganglion.lifecycle.metrics.names import COUNTERS, GAUGES, HISTOGRAMS, PREFIXES, Name
from ganglion.model.behaviour import Signal

Buckets = dict[float, float]
"""Upper bound in seconds -> requests so far that took no longer; the last bound is infinite."""


class MetricsPage(Struct, frozen=True):
    """What a replica says of itself.

    Attributes:
        gauges: values as of now; shares for `kv_cache`, else requests.
        counters: values that only grow.
        histograms: times of all requests so far.
        trouble: what of it cannot be true; empty = nothing. Nothing of it is to be used then.
    """

    gauges: dict[Signal, float] = field(default_factory=dict)
    counters: dict[Signal, float] = field(default_factory=dict)
    histograms: dict[Signal, Buckets] = field(default_factory=dict)
    trouble: str = ""


def read(text: str) -> MetricsPage:
    """Read a page; what it says of other things is left out.

    Args:
        text: in Prometheus' text format.
    """
    lines = [line for line in text.splitlines() if line.startswith(PREFIXES)]
    try:
        series = _series("\n".join(lines) + "\n")
    except ValueError as error:
        return MetricsPage(trouble=f"the page cannot be read: {error}")
    gauges = _found(GAUGES, series)
    counters = _found(COUNTERS, series)
    trouble = _trouble(gauges, counters)
    if trouble:
        return MetricsPage(trouble=trouble)
    waiting, running = gauges.get(Signal.WAITING), gauges.get(Signal.RUNNING)
    if waiting is not None and running is not None:
        gauges[Signal.REQUESTS] = waiting + running
    return MetricsPage(gauges, counters, _histograms(series))


def _series(text: str) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


def _found(
    names: Mapping[Signal, Sequence[Name]], series: Mapping[str, list[Sample]]
) -> dict[Signal, float]:
    """Each signal by the first name that the page has; series of several engines add up."""
    values: dict[Signal, float] = {}
    for signal, known in names.items():
        samples = next((each for name in known if (each := _of(name, series))), None)
        if samples:
            total = sum(sample.value for sample in samples)
            values[signal] = total / len(samples) if signal is Signal.KV_CACHE else total
    return values


def _of(name: Name, series: Mapping[str, list[Sample]], suffix: str = "") -> list[Sample]:
    samples = series.get(name.name + suffix, [])
    return [each for each in samples if not name.label or each.labels.get(name.label) == name.value]


def _trouble(*groups: Mapping[Signal, float]) -> str:
    for group in groups:
        for signal, value in group.items():
            if not isfinite(value):
                return f"{signal.value} is {value}"
            if value < 0:
                return f"{signal.value} is negative"
    return ""


def _histograms(series: Mapping[str, list[Sample]]) -> dict[Signal, Buckets]:
    found: dict[Signal, Buckets] = {}
    for signal, known in HISTOGRAMS.items():
        for name in known:
            samples = _of(name, series, "_bucket")
            if samples:
                found[signal] = _buckets(samples, name.scale)
                break
    return found


def _buckets(samples: Iterable[Sample], scale: float) -> Buckets:
    buckets: Buckets = {}
    for sample in samples:
        bound = float(sample.labels.get("le", inf)) * scale
        buckets[bound] = buckets.get(bound, 0.0) + sample.value
    return dict(sorted(buckets.items()))
