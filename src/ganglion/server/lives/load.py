"""What the pods of a cluster's services say of their load."""

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from msgspec import Struct

from ganglion.lifecycle.metrics.merge import Merged, Pages, merge
from ganglion.lifecycle.metrics.promql import query_of
from ganglion.lifecycle.scaling.reading import Reading
from ganglion.model.behaviour import Scaling
from ganglion.server.scraper import Found, Job

REMEMBERED = 30
"""Pages that rates and quantiles are taken over."""


class Load(Struct, frozen=True):
    """What is known of a service's load.

    Attributes:
        reading: as the scaler wants it; None = nothing new.
        wrong: what cannot be true; empty = nothing.
    """

    reading: Reading | None = None
    wrong: str = ""


class History(Struct):
    """What one service's pods said of late."""

    pages: deque[Pages]
    since: float = 0.0

    @classmethod
    def empty(cls) -> "History":
        """Nothing was said yet."""
        return cls(deque(maxlen=REMEMBERED))


def job_of(scaling: Scaling, port: int, addresses: Mapping[str, str]) -> Job:
    """What to ask: the pods themselves, or a Prometheus about them.

    Args:
        scaling: names the source; there is no router in a cluster, so pods are asked for it.
        port: that pods listen on.
        addresses: pod -> its IP address.
    """
    at = {pod: f"{_bracketed(address)}:{port}" for pod, address in sorted(addresses.items())}
    if not scaling.source.startswith("http"):
        return Job({pod: f"http://{each}{scaling.path}" for pod, each in at.items()})
    queries = {
        each.signal: query_of(each.signal, at.values(), scaling.query) for each in scaling.targets
    }
    return Job({}, scaling.source, {key: query for key, query in queries.items() if query})


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def load_of(found: Found | None, history: History, ready: Sequence[str], now: int) -> Load:
    """What was found out since the last time, as the scaler wants it.

    Args:
        found: by the scraper; None = nothing yet.
        history: what was found before; `found` is added.
        ready: pods that should say something.
        now: the time, in ms.
    """
    if found is None or found.since == history.since:
        return Load()
    history.since = found.since
    by_pages = bool(found.pages.pages or found.pages.silent)
    merged = _of_pages(found, history, ready) if by_pages else _of_answers(found)
    if merged.values is None:
        return Load(None, merged.wrong)
    at = now - round((time.monotonic() - found.since) * 1_000)
    return Load(Reading(at, merged.values), merged.wrong)


def _of_pages(found: Found, history: History, ready: Iterable[str]) -> Merged:
    history.pages.append(found.pages)
    before = history.pages[0] if len(history.pages) > 1 else None
    return merge(found.pages, before, ready)


def _of_answers(found: Found) -> Merged:
    wrong = [f"{key.value} is {each}" for key, each in found.answers.items() if not isfinite(each)]
    if wrong or not found.answers:
        return Merged(None, found.trouble, wrong[0] if wrong else "")
    values = {signal: round(value * 1_000) for signal, value in found.answers.items()}
    return Merged(values, found.trouble)
