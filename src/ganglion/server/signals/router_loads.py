"""What the router says of services, as readings of their load."""

from ganglion.api.use import RoutedLoad
from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.model.behaviour import Signal
from ganglion.router.balancing.stats import ServiceStats
from ganglion.server.signals.router_link import Heard


class RouterLoads:
    """Readings by service.

    Numbers of requests are means over the time since the reading before, from counters of time
    spent: a service of short requests would look idle half of the time otherwise.
    """

    def __init__(self) -> None:
        self._before: dict[str, tuple[str, int, ServiceStats]] = {}

    def reading(self, service: str, name: str, heard: Heard, now: int) -> Reading | None:
        """What is known of a service; None = nothing new since the last call.

        Args:
            service: its id; another one of the same name counts anew.
            name: the service's name.
            heard: the last report of the router.
            now: the time, in ms.
        """
        stats, at = heard.services.get(name), now - heard.age_ms
        if stats is None or not heard.fresh:
            return None
        boot, then, known = self._before.get(service, ("", 0, None))
        before = known if boot == heard.boot else None
        if before and at <= then:
            return None
        self._before[service] = (heard.boot, at, stats)
        waiting, running = _means(stats, before, at - then)
        return Reading(at, _values(stats, waiting, running), arrived=stats.arrived, late=stats.late)

    def waiting(self, name: str, heard: Heard) -> int:
        """Requests that wait at the router, in thousandths; 0 where unknown."""
        stats = heard.services.get(name) if heard.fresh else None
        return stats.waiting * 1_000 if stats else 0

    def keep(self, services: set[str]) -> None:
        """Forget all other services."""
        self._before = {key: each for key, each in self._before.items() if key in services}


def _means(stats: ServiceStats, before: ServiceStats | None, ms: int) -> tuple[int, int]:
    """Thousandths of requests that waited and ran; those that wait now count whatever the mean."""
    if before is None:
        return stats.waiting * 1_000, stats.running * 1_000
    waiting = (stats.waiting_ms - before.waiting_ms) * 1_000 // ms
    running = (stats.running_ms - before.running_ms) * 1_000 // ms
    return waiting or stats.waiting * 1_000, running


def _values(stats: ServiceStats, waiting: int, running: int) -> dict[Signal, int]:
    values = {
        Signal.WAITING: waiting,
        Signal.RUNNING: running,
        Signal.REQUESTS: waiting + running,
    }
    if stats.first.count:
        values[Signal.TTFT] = stats.first.p90_ms
    if stats.whole.count:
        values[Signal.LATENCY] = stats.whole.p90_ms
    return values


def load_view(heard: Heard, name: str) -> RoutedLoad | None:
    """What the router said last of a service, for people; None = it said nothing of now."""
    stats = heard.services.get(name)
    if stats is None or not heard.fresh:
        return None
    first, whole = stats.first, stats.whole
    return RoutedLoad(
        age_ms=heard.age_ms,
        ready=sum(each.ready for each in stats.replicas),
        waiting=stats.waiting,
        running=stats.running,
        first_p50_ms=first.p50_ms if first.count else None,
        first_p90_ms=first.p90_ms if first.count else None,
        whole_p50_ms=whole.p50_ms if whole.count else None,
        whole_p90_ms=whole.p90_ms if whole.count else None,
        minute=whole.count,
        failed=stats.refused + stats.unserved + stats.broken,
        replicas={each.replica: each.running for each in stats.replicas},
    )
