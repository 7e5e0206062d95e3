"""What replicas or a Prometheus say of services, as readings of their load."""

from collections import deque
from collections.abc import Collection, Mapping

from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.lifecycle.autoscaling.reconciler import ServiceLoad
from ganglion.lifecycle.metrics.merge import Merged, Pages, merge
from ganglion.model.behaviour import Signal
from ganglion.server.signals.prometheus import REMEMBERED, of_answers
from ganglion.server.signals.scraper import Job, ScrapedRound, Scraper

COUNTS = (Signal.WAITING, Signal.REQUESTS)
"""Signals that what waits at a router belongs to."""
NOTHING = dict.fromkeys((*COUNTS, Signal.RUNNING, Signal.KV_CACHE, Signal.TOKENS), 0)
"""What no replicas have to do."""


class Polled:
    """The load of services whose replicas, or a Prometheus, are asked for it.

    Args:
        scraper: asks them.
    """

    def __init__(self, scraper: Scraper) -> None:
        self._scraper = scraper
        self._pages: dict[str, deque[Pages]] = {}
        self._last: dict[str, tuple[float, ServiceLoad]] = {}

    def follow(self, jobs: Mapping[str, Job]) -> None:
        """Ask about these services from now on, and about no others.

        Args:
            jobs: service -> what to ask.
        """
        self._pages = {key: each for key, each in self._pages.items() if key in jobs}
        self._last = {key: each for key, each in self._last.items() if key in jobs}
        self._scraper.want(jobs)

    def look(
        self, service: str, ready: Collection[str], now: int, waiting: int = 0, arrived: int = -1
    ) -> ServiceLoad | None:
        """What is known of a service's load.

        Args:
            service: its id.
            ready: replicas that answer requests.
            now: the time, in ms.
            waiting: requests that wait at a router before it, in thousandths.
            arrived: requests that came to that router so far; -1 = unknown.

        Returns:
            None when there is nothing to report it: no replica is ready, and no Prometheus answers.
        """
        found = self._scraper.found(service)
        if not ready and not (found and found.answers):
            return None
        since, last = self._last.get(service, (0.0, ServiceLoad()))
        if found is None or since == found.since:
            return last
        merged = self._merged(service, found, ready)
        load = ServiceLoad(None, merged.lost, merged.wrong)
        # Without news the same doubts stand, but nothing is read twice.
        self._last[service] = (found.since, load)
        if merged.values is None:
            return load
        values = (NOTHING if not ready else {}) | merged.values
        for signal in COUNTS:
            if signal in values:
                values[signal] += waiting
        at = now - self._scraper.age_ms(found)
        return ServiceLoad(Reading(at, values, arrived), merged.lost, merged.wrong)

    def _merged(self, service: str, found: ScrapedRound, ready: Collection[str]) -> Merged:
        if not (found.pages.pages or found.pages.silent):
            return of_answers(found)
        known = self._pages.setdefault(service, deque(maxlen=REMEMBERED))
        if not known or known[-1].at != found.pages.at:
            known.append(found.pages)
        merged = merge(found.pages, known[0] if len(known) > 1 else None, ready)
        if merged.values == {} and not merged.lost and not merged.wrong:
            return Merged(None, lost="its metrics page has no known signal")
        return merged
