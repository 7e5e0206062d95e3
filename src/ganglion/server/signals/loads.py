"""How much services have to do, by whatever source each of them names."""

from collections import deque
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.lifecycle.metrics.merge import Merged, Pages, merge
from ganglion.model.behaviour import Scaling, Signal
from ganglion.server.signals.prometheus import REMEMBERED, at_ms, job_of, of_answers
from ganglion.server.signals.router_link import Heard
from ganglion.server.signals.router_loads import RouterLoads
from ganglion.server.signals.scraper import Found, Scraper
from ganglion.server.state.registry import Entry

ROUTER = "router"
"""The source that is not polled: it reports by itself."""
COUNTS = (Signal.WAITING, Signal.REQUESTS)
"""Signals that what waits at the router belongs to."""
NOTHING = dict.fromkeys((*COUNTS, Signal.RUNNING, Signal.KV_CACHE, Signal.TOKENS), 0)
"""What no replicas have to do."""


class Load(Struct, frozen=True):
    """What is known of a service's load.

    Attributes:
        reading: as the scaler wants it; None = nothing new.
        lost: which sources say nothing, and why; empty = none.
        wrong: what cannot be true; empty = nothing.
    """

    reading: Reading | None = None
    lost: str = ""
    wrong: str = ""


class Loads:
    """The load of every service that scales.

    Args:
        scraper: asks replicas and Prometheus.
    """

    def __init__(self, scraper: Scraper) -> None:
        self._router, self._scraper = RouterLoads(), scraper
        self._pages: dict[str, deque[Pages]] = {}
        self._last: dict[str, tuple[float, Load]] = {}

    def follow(self, services: Sequence[Entry], endpoints: Mapping[str, str]) -> None:
        """Ask for the load of these services from now on, and of no others.

        Args:
            services: live ones, whether they scale or not.
            endpoints: gang id -> where it listens.
        """
        live = {each.id for each in services}
        self._router.keep(live)
        self._pages = {key: each for key, each in self._pages.items() if key in live}
        self._last = {key: each for key, each in self._last.items() if key in live}
        asked = [each for each in services if _is_asked(each)]
        where: dict[str, dict[str, str]] = {each.id: {} for each in asked}
        for gang, address in endpoints.items() if asked else ():
            where.get(gang.rpartition("/")[0], {})[gang] = address
        self._scraper.want(
            {each.id: job_of(each.workload.scaling or Scaling(), where[each.id]) for each in asked}
        )

    def look(self, entry: Entry, ready: set[str], heard: Heard, now: int) -> Load:
        """What is known of a service's load.

        Args:
            entry: the service; it scales.
            ready: replicas that answer requests.
            heard: the last report of the router.
            now: the time, in ms.
        """
        routed = self._router.reading(entry.id, entry.workload.name, heard, now)
        if not _is_asked(entry):
            return Load(routed)
        found = self._scraper.found(entry.id)
        if not ready and not (found and found.answers):
            return Load(routed and _at_router(routed))
        since, last = self._last.get(entry.id, (0.0, Load()))
        if found is None or since == found.since:
            return last
        waits = self._router.waiting(entry.workload.name, heard)
        arrived = routed.arrived if routed else -1
        router = Reading(at_ms(found, now), {Signal.WAITING: waits}, arrived)
        load = self._merged(entry.id, found, ready, router)
        # Without news the same doubts stand, but nothing is read twice.
        self._last[entry.id] = (found.since, Load(None, load.lost, load.wrong))
        return load

    def _merged(self, service: str, found: Found, ready: set[str], router: Reading) -> Load:
        """What replicas or Prometheus reported, and what waits at the router beside."""
        by_pages = bool(found.pages.pages or found.pages.silent)
        merged = self._of_pages(service, found, ready) if by_pages else of_answers(found)
        if merged.values is None:
            return Load(None, merged.lost, merged.wrong)
        values = (NOTHING if not ready else {}) | merged.values
        for signal in COUNTS:
            if signal in values:
                values[signal] += router.values[Signal.WAITING]
        return Load(Reading(router.at, values, router.arrived), merged.lost, merged.wrong)

    def _of_pages(self, service: str, found: Found, ready: set[str]) -> Merged:
        known = self._pages.setdefault(service, deque(maxlen=REMEMBERED))
        if not known or known[-1].at != found.pages.at:
            known.append(found.pages)
        merged = merge(found.pages, known[0] if len(known) > 1 else None, ready)
        if merged.values == {} and not merged.lost and not merged.wrong:
            return Merged(None, lost="its metrics page has no known signal")
        return merged


def _at_router(routed: Reading) -> Reading:
    """Where no replica reports anything, what waits at the router is all there is."""
    waiting = routed.values[Signal.WAITING]
    values = NOTHING | dict.fromkeys(COUNTS, waiting)
    return Reading(routed.at, values, arrived=routed.arrived)


def _scaling(entry: Entry) -> Scaling:
    return entry.workload.scaling or Scaling()


def _is_asked(entry: Entry) -> bool:
    scaling = entry.workload.scaling
    return scaling is not None and scaling.source != ROUTER
