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

from ganglion.router.balancing.balancer import Balancer
from ganglion.router.balancing.counters import BUCKETS_S, DurationCounter
from ganglion.router.balancing.registry import ServiceRegistry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SERVICE = ("service",)


class Families(Collector):
    """Reads the tallies at each scrape, so that requests pay nothing for metrics.

    Args:
        services: all services of the router.
    """

    def __init__(self, services: ServiceRegistry) -> None:
        self._services = services

    def describe(self) -> Iterable[Metric]:
        """Return nothing: no metric must be known before the first scrape."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield everything as of now."""
        balancers = list(self._services.all())
        yield from _gauges(balancers)
        yield from _counters(balancers)
        yield from _histograms(balancers)


def exposition(services: ServiceRegistry) -> bytes:
    """Everything in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Families(services))
    return generate_latest(registry)


def _gauges(balancers: list[Balancer]) -> Iterator[Metric]:
    waiting = GaugeMetricFamily(
        "ganglion_router_waiting", "Requests that no replica has yet.", labels=SERVICE
    )
    running = GaugeMetricFamily(
        "ganglion_router_running", "Requests that a replica has.", labels=("service", "replica")
    )
    ready = GaugeMetricFamily(
        "ganglion_router_replicas_ready", "Replicas that get requests.", labels=SERVICE
    )
    for balancer in balancers:
        name = balancer.service.name
        waiting.add_metric([name], balancer.counters.waiting.value)
        ready.add_metric([name], sum(each.open for each in balancer.replicas.values()))
        for replica in balancer.replicas.values():
            running.add_metric([name, replica.name], replica.running)
    yield from (waiting, running, ready)


def _counters(balancers: list[Balancer]) -> Iterator[Metric]:
    requests = CounterMetricFamily(
        "ganglion_router_requests", "Requests by how they ended.", labels=("service", "outcome")
    )
    retries = CounterMetricFamily(
        "ganglion_router_retries", "Second and further tries.", labels=SERVICE
    )
    for balancer in balancers:
        name = balancer.service.name
        for outcome, count in balancer.counters.ended.items():
            requests.add_metric([name, outcome], count)
        retries.add_metric([name], balancer.counters.retried)
    yield from (requests, retries)


def _histograms(balancers: list[Balancer]) -> Iterator[Metric]:
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
    for balancer in balancers:
        _add(first, balancer.service.name, balancer.counters.first)
        _add(whole, balancer.service.name, balancer.counters.whole)
    yield from (first, whole)


def _add(family: HistogramMetricFamily, service: str, times: DurationCounter) -> None:
    buckets, total = [], 0
    for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), times.buckets, strict=True):
        total += count
        buckets.append((bound, total))
    family.add_metric([service], buckets, times.sum_s)
