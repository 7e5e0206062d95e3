"""How much the services of a home have to do, by whatever source each of them names."""

from collections.abc import Mapping, Sequence

from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.lifecycle.autoscaling.reconciler import ServiceLoad
from ganglion.model.behaviour import Scaling, Signal
from ganglion.server.signals.polled import COUNTS, NOTHING, Polled
from ganglion.server.signals.prometheus import job_of
from ganglion.server.signals.router_link import Heard
from ganglion.server.signals.router_loads import RouterLoads
from ganglion.server.signals.scraper import Scraper
from ganglion.server.state.registry import LiveWorkload

ROUTER = "router"
"""The source that is not polled: it reports by itself."""


class Loads:
    """The load of every service that scales.

    Args:
        scraper: asks replicas and Prometheus.
    """

    def __init__(self, scraper: Scraper) -> None:
        self._router, self._polled = RouterLoads(), Polled(scraper)

    def follow(self, services: Sequence[LiveWorkload], endpoints: Mapping[str, str]) -> None:
        """Ask for the load of these services from now on, and of no others.

        Args:
            services: live ones, whether they scale or not.
            endpoints: gang id -> where it listens.
        """
        self._router.keep({each.id for each in services})
        asked = [each for each in services if _is_asked(each)]
        where: dict[str, dict[str, str]] = {each.id: {} for each in asked}
        for gang, address in endpoints.items() if asked else ():
            where.get(gang.rpartition("/")[0], {})[gang] = address
        self._polled.follow(
            {each.id: job_of(each.workload.scaling or Scaling(), where[each.id]) for each in asked}
        )

    def look(self, entry: LiveWorkload, ready: set[str], heard: Heard, now: int) -> ServiceLoad:
        """What is known of a service's load.

        Args:
            entry: the service; it scales.
            ready: replicas that answer requests.
            heard: the last report of the router.
            now: the time, in ms.
        """
        routed = self._router.reading(entry.id, entry.workload.name, heard, now)
        if not _is_asked(entry):
            return ServiceLoad(routed)
        waits = self._router.waiting(entry.workload.name, heard)
        arrived = routed.arrived if routed else -1
        found = self._polled.look(entry.id, ready, now, waits, arrived)
        return ServiceLoad(routed and _at_router(routed)) if found is None else found


def _at_router(routed: Reading) -> Reading:
    """Where no replica reports anything, what waits at the router is all there is."""
    waiting = routed.values[Signal.WAITING]
    values = NOTHING | dict.fromkeys(COUNTS, waiting)
    return Reading(routed.at, values, arrived=routed.arrived)


def _is_asked(entry: LiveWorkload) -> bool:
    scaling = entry.workload.scaling
    return scaling is not None and scaling.source != ROUTER
