"""Metrics of a router for Prometheus."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from ganglion.router.desk import Desk
from ganglion.router.switch import Switch
from ganglion.router.tally import BUCKETS_S, Times

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SERVICE = ("service",)


class Families(Collector):
    """Reads the tallies at each scrape, so that requests pay nothing for metrics.

    Args:
        switch: the services.
    """

    def __init__(self, switch: Switch) -> None:
        self._switch = switch

    def describe(self) -> Iterable[Metric]:
        """Return nothing: no metric must be known before the first scrape."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield everything as of now."""
        desks = list(self._switch.all())
        yield from _gauges(desks)
        yield from _counters(desks)
        yield from _histograms(desks)


def exposition(switch: Switch) -> bytes:
    """Everything in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Families(switch))
    return generate_latest(registry)


def _gauges(desks: list[Desk]) -> Iterator[Metric]:
    waiting = GaugeMetricFamily(
        "ganglion_router_waiting", "Requests that no replica has yet.", labels=SERVICE
    )
    running = GaugeMetricFamily(
        "ganglion_router_running", "Requests that a replica has.", labels=("service", "replica")
    )
    ready = GaugeMetricFamily(
        "ganglion_router_replicas_ready", "Replicas that get requests.", labels=SERVICE
    )
    for desk in desks:
        name = desk.service.name
        waiting.add_metric([name], desk.tally.waiting.value)
        ready.add_metric([name], sum(each.open for each in desk.replicas.values()))
        for replica in desk.replicas.values():
            running.add_metric([name, replica.name], replica.running)
    yield from (waiting, running, ready)


def _counters(desks: list[Desk]) -> Iterator[Metric]:
    requests = CounterMetricFamily(
        "ganglion_router_requests", "Requests by how they ended.", labels=("service", "outcome")
    )
    retries = CounterMetricFamily(
        "ganglion_router_retries", "Second and further tries.", labels=SERVICE
    )
    for desk in desks:
        name = desk.service.name
        for outcome, count in desk.tally.ended.items():
            requests.add_metric([name, outcome], count)
        retries.add_metric([name], desk.tally.retried)
    yield from (requests, retries)


def _histograms(desks: list[Desk]) -> Iterator[Metric]:
    first = HistogramMetricFamily(
        "ganglion_router_first_byte_seconds",
        "From a request's arrival to the first byte of the answer's body.",
        labels=SERVICE,
    )
    whole = HistogramMetricFamily(
        "ganglion_router_request_seconds",
        "From a request's arrival to the end of its answer.",
        labels=SERVICE,
    )
    for desk in desks:
        _add(first, desk.service.name, desk.tally.first)
        _add(whole, desk.service.name, desk.tally.whole)
    yield from (first, whole)


def _add(family: HistogramMetricFamily, service: str, times: Times) -> None:
    buckets, total = [], 0
    for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), times.buckets, strict=True):
        total += count
        buckets.append((bound, total))
    family.add_metric([service], buckets, times.sum_s)
