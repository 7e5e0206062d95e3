"""Where callers reach services: one router for all of them, from when the first one needs it."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import structlog
from msgspec import Struct

from ganglion.model.errors import GanglionError
from ganglion.router.balancing.stats import ServiceStats
from ganglion.router.balancing.table import ReplicaEndpoint, RoutedService, RoutingState

if TYPE_CHECKING:
    from ganglion.router.link import RoleDecider, RouterReading

STALE_MS = 5_000
"""Age beyond which what a router reported says nothing about now."""
RETRY_S = 10.0
"""Pause between two attempts to start a router."""

log = structlog.get_logger(__name__)


class Heard(Struct, frozen=True):
    """The last report of a router.

    Attributes:
        boot: which process of the router sent it; empty = none ever did.
        age_ms: how long ago.
        settled: whether it routes by the newest table.
        services: by name, those that it routes since they are in the table: what it says of an
            earlier service of the same name is left out.
        table: replica -> what the newest table says of it, by service and replica.
    """

    boot: str = ""
    age_ms: int = 0
    settled: bool = False
    services: Mapping[str, ServiceStats] = {}
    table: Mapping[tuple[str, str], ReplicaEndpoint] = {}

    @property
    def fresh(self) -> bool:
        """Whether it is a report about now."""
        return bool(self.boot) and self.age_ms < STALE_MS

    def ready(self, service: str) -> set[str]:
        """Replicas that requests are sent to."""
        found = self.services.get(service)
        return {each.replica for each in found.replicas if each.ready} if found else set()

    def busy(self, service: str, replica: str) -> bool | None:
        """Whether a replica that drains has, or may still get, requests; None = not known."""
        told = self.table.get((service, replica))
        if not self.fresh or not self.settled or (told and told.state is not RoutingState.DRAINING):
            return None
        found = self.services.get(service)
        running = {each.replica: each.running for each in found.replicas} if found else {}
        return running.get(replica, 0) > 0


class Link(Protocol):
    """A server's side of a router: see `ganglion.router.link.RouterLink`."""

    @property
    def url(self) -> str:
        """Where services are reached."""

    def blocked(self) -> str:
        """Why no router could be started; empty = one could be, or runs."""

    def start(self) -> str:
        """Find or start the router."""

    def stop(self, *, router: bool = False) -> None:
        """End the link, or the router too."""

    def publish(self, services: Sequence[RoutedService]) -> int:
        """Route these services and no others."""

    def reading(self) -> "RouterReading":
        """The last report."""

    def decide_by(self, decide: "RoleDecider") -> None:
        """Have callers decided about by their roles."""


class Door:
    """The services that are reached from outside, of all keepers together.

    Nothing blocks: a router is started by a thread of the door, once a service needs it.

    Args:
        link: makes the link to a router.
        sealed: puts the key of a service in: see `ganglion.server.signals.access.Keys`.

    Attributes:
        trouble: why there is no router; empty = there is one, or none is needed yet.
    """

    def __init__(
        self,
        link: Callable[[], Link],
        sealed: Callable[[RoutedService], RoutedService] = lambda each: each,
    ) -> None:
        self._make, self._sealed = link, sealed
        self._link: Link | None = None
        self._wanted: dict[str, tuple[RoutedService, ...]] = {}
        self._table: dict[tuple[str, str], ReplicaEndpoint] = {}
        self._version = 0
        self._entered: dict[str, int] = {}
        self._lock = threading.Lock()
        self._decide: RoleDecider | None = None
        self._leaving = threading.Event()
        self._thread: threading.Thread | None = None
        self.trouble = ""

    def blocked(self) -> str:
        """Why there is no router, or could be none; empty = there is one, or could be.

        Until a service needs one, the port is tried.
        """
        return self.trouble if self._thread else self._make().blocked()

    @property
    def url(self) -> str:
        """Where services are reached, as `http://127.0.0.1:7078`; empty = nowhere yet."""
        return self._link.url if self._link else ""

    def publish(self, owner: str, services: Sequence[RoutedService]) -> None:
        """Have the services of one keeper routed from now on, beside those of others.

        Args:
            owner: whose they are; replaces what the same owner gave before.
            services: with their replicas.
        """
        with self._lock:
            if self._wanted.get(owner, ()) == tuple(services):
                return
            self._wanted[owner] = tuple(services)
            self._send()
            if self._thread is None and services:
                self._thread = threading.Thread(target=self._start, name="door", daemon=True)
                self._thread.start()

    def decide_by(self, decide: "RoleDecider") -> None:
        """Have callers of the router decided about by their roles; call it once."""
        with self._lock:
            self._decide = decide
            if self._link:
                self._link.decide_by(decide)

    def heard(self) -> Heard:
        """The last report of the router."""
        with self._lock:
            if self._link is None:
                return Heard()
            reading = self._link.reading()
            stats, routed = reading.stats, self._entered
            return Heard(
                stats.boot,
                reading.age_ms,
                0 < self._version <= stats.version,
                {
                    each.name: each
                    for each in stats.services
                    if each.name in routed and routed[each.name] <= stats.version
                },
                self._table,
            )

    def close(self) -> None:
        """Leave the router to the next server; it ends when nothing is left to be reached."""
        self._leaving.set()
        if self._thread:
            self._thread.join()
        if self._link:
            self._link.stop(router=not any(self._wanted.values()))

    def _send(self) -> None:
        """Send the router its table; the lock is held."""
        services = [self._sealed(each) for owned in self._wanted.values() for each in owned]
        self._table = {(s.name, each.replica): each for s in services for each in s.endpoints}
        if self._link:
            self._version = self._link.publish(services)
            self._entered = {
                each.name: self._entered.get(each.name, self._version) for each in services
            }

    def _start(self) -> None:
        logged = ""
        while not self._leaving.is_set():
            link = self._make()
            self.trouble = self.trouble or link.blocked()  # to start one takes a while
            try:
                link.start()
            except GanglionError as error:
                self.trouble = link.blocked() or error.message
                if self.trouble != logged:
                    log.error("no router", error=error.message, hint=error.hint)
                    logged = self.trouble
                self._leaving.wait(RETRY_S)
                continue
            with self._lock:
                self._link, self.trouble = link, ""
                if self._decide:
                    link.decide_by(self._decide)
                self._send()
            return
