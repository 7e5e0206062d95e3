"""What is asked about a service's load, and what Prometheus' answers amount to."""

from collections.abc import Mapping
from math import isfinite

from ganglion.lifecycle.metrics.merge import Merged
from ganglion.lifecycle.metrics.promql import query_of
from ganglion.model.behaviour import Scaling
from ganglion.server.signals.scraper import Job, ScrapedRound

REMEMBERED = 30
"""Pages that rates and quantiles are taken over; about as many seconds."""


def job_of(scaling: Scaling, addresses: Mapping[str, str]) -> Job:
    """What to ask: the replicas themselves, or a Prometheus about them.

    Args:
        scaling: names the source.
        addresses: replica -> `host:port` where it listens.
    """
    if not scaling.source.startswith("http"):
        return Job({name: f"http://{at}{scaling.path}" for name, at in addresses.items()})
    queries = {
        each.signal: query_of(each.signal, addresses.values(), scaling.query)
        for each in scaling.targets
    }
    return Job({}, scaling.source, {key: query for key, query in queries.items() if query})


def of_answers(found: ScrapedRound) -> Merged:
    """What Prometheus answered."""
    wrong = [f"{key.value} is {each}" for key, each in found.answers.items() if not isfinite(each)]
    if wrong or not found.answers:
        lost = found.trouble or "Prometheus has no data of it"
        return Merged(None, "" if wrong else lost, wrong[0] if wrong else "")
    values = {signal: round(value * 1_000) for signal, value in found.answers.items()}
    return Merged(values, found.trouble)
