"""A server with a service keeper whose router and scraper are as a test says."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ganglion.lifecycle.metrics.merge import Pages
from ganglion.lifecycle.metrics.page import MetricsPage
from ganglion.model.behaviour import Signal
from ganglion.model.events import AlarmSet, ServiceScaled
from ganglion.router.balancing.stats import Quantiles, ReplicaStats, ServiceStats
from ganglion.router.balancing.table import ReplicaEndpoint, RoutedService, RoutingState
from ganglion.server.controllers.services import ServicesController
from ganglion.server.signals.loads import Loads
from ganglion.server.signals.router_link import Door, Heard
from ganglion.server.signals.scraper import Job, ScrapedRound, Scraper
from tests.server.conftest import Rig

BRISK = {"window": "4s", "panic_window": "1s", "up": "any", "down": "any", "hold_down": "2s"}
"""A service that follows its load at once."""


class FakeDoor:
    """A router that answers as told: every replica in its table is ready.

    Attributes:
        load: service -> (requests that wait, requests that run).
        held: replicas that have requests.
        unready: replicas that do not answer yet.
        asked: how often it was read.
        silent: whether nothing is heard of it.
    """

    url = "http://door"

    def __init__(self) -> None:
        self.table: dict[str, RoutedService] = {}
        self.load: dict[str, tuple[int, int]] = {}
        self.held: set[str] = set()
        self.unready: set[str] = set()
        self.silent, self.trouble, self.boot = False, "", "one"
        self.asked = 0
        self._spent: dict[str, tuple[int, int]] = {}

    def publish(self, owner: str, services: Sequence[RoutedService]) -> None:
        assert owner == "services"
        self.table = {each.name: each for each in services}

    def endpoints(self, name: str) -> dict[str, RoutingState]:
        return {each.replica: each.state for each in self.table[name].endpoints}

    def heard(self) -> Heard:
        self.asked += 1
        if self.silent:
            return Heard()
        stats = {name: self._stats(name) for name in {*self.table, *self.load}}
        table = {(s.name, each.replica): each for s in self.table.values() for each in s.endpoints}
        return Heard(self.boot, 0, bool(self.table), stats, table)

    def _stats(self, name: str) -> ServiceStats:
        endpoints = self.table[name].endpoints if name in self.table else ()
        waiting, running = self.load.get(name, (0, 0))
        return ServiceStats(
            name,
            waiting=waiting,
            running=running,
            first=Quantiles(),
            replicas=tuple(self._replica(each) for each in endpoints),
        )

    def _replica(self, endpoint: ReplicaEndpoint) -> ReplicaStats:
        open_ = endpoint.state is not RoutingState.DRAINING and endpoint.replica not in self.unready
        return ReplicaStats(endpoint.replica, open_, int(endpoint.replica in self.held))


class FakeScraper:
    """Finds what a test says."""

    def __init__(self) -> None:
        self.jobs: Mapping[str, Job] = {}
        self.says: dict[str, ScrapedRound] = {}

    def want(self, jobs: Mapping[str, Job]) -> None:
        self.jobs = jobs

    def found(self, service: str) -> ScrapedRound | None:
        return self.says.get(service)

    def age_ms(self, found: ScrapedRound) -> int:
        return round((time.monotonic() - found.since) * 1_000)


class Parlour:
    """The server and whom its keeper talks to; both outlive crashes of the server."""

    def __init__(self, folder: Path) -> None:
        self.door, self.scraper = FakeDoor(), FakeScraper()
        self.rig = Rig(folder, self._keepers)

    def _keepers(self) -> tuple[ServicesController]:
        loads = Loads(cast("Scraper", self.scraper))
        self.keeper = ServicesController(cast("Door", self.door), loads)
        return (self.keeper,)

    def submit(self, name: str = "chat", **document: Any) -> str:
        """Submit a service of one CPU per replica; returns its id."""
        given = {"kind": "service", "port": 8000, "resources": {"cpus": 1}, **document}
        job = self.rig.submit(name, **given)
        self.pass_(0.5)
        return job

    def pass_(self, seconds: float) -> None:
        """Time goes by, a turn every 100 ms."""
        for _ in range(round(seconds * 10)):
            self.rig.machine.time += 100
            self.rig.turn()

    def load(self, waiting: int, running: int, seconds: float, name: str = "chat") -> None:
        """This number of requests for this time."""
        self.door.load[name] = (waiting, running)
        for _ in range(round(seconds * 10)):
            self.door.boot += "'"  # each reading is by its gauges
            self.pass_(0.1)

    def told(self, what: Callable[[], ScrapedRound], seconds: float) -> None:
        """The scraper finds this for so long."""
        for _ in range(round(seconds * 10)):
            self.scraper.says["chat-1"] = what()
            self.load(*self.door.load.get("chat", (0, 0)), 0.1)

    def running(self) -> list[str]:
        """Gangs that run."""
        return sorted(gang for gang, _ in self.rig.machine.live)

    def alarms(self) -> dict[str, str]:
        with self.rig.service.read() as mind:
            return {alarm: each.message for (_, alarm), each in mind.book.alarms.items()}

    def scalings(self) -> list[tuple[int, int]]:
        """Every change of the number of replicas that is written."""
        found = (each for each in self.rig.ledger.replay() if isinstance(each, ServiceScaled))
        return [(each.before, each.after) for each in found]

    def raised(self) -> list[tuple[str, bool]]:
        """Every alarm that is written, and whether it was raised or taken back."""
        found = (each for each in self.rig.ledger.replay() if isinstance(each, AlarmSet))
        return [(each.alarm, bool(each.message)) for each in found]


def pages(*said: str | MetricsPage) -> ScrapedRound:
    """What replicas 0, 1 and so on of `chat` said just now; a text = why they said nothing."""
    now = time.monotonic()
    both = {f"chat-1/{index}": each for index, each in enumerate(said)}
    spoke = {key: each for key, each in both.items() if isinstance(each, MetricsPage)}
    silent = {key: each for key, each in both.items() if isinstance(each, str)}
    return ScrapedRound(now, Pages(round(now * 1_000), spoke, silent))


def answers(value: float | None, trouble: str = "") -> ScrapedRound:
    """What Prometheus said just now of the service's own query."""
    found = {} if value is None else {Signal.QUERY: value}
    return ScrapedRound(time.monotonic(), Pages(0), found, trouble)
