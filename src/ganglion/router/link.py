"""A server's side of the router: keeps one running, sends it tables, reads its stats.

Nothing here blocks its caller: tables are sent and stats are fetched by threads of the link.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx2
import msgspec
import structlog

from ganglion.model.errors import EnvironmentFault, GanglionError
from ganglion.router import launch
from ganglion.router.balancing.stats import Stats
from ganglion.router.balancing.table import RoutedService, RoutingTable, check
from ganglion.router.decisions import AskedRole, RoleAnswer
from ganglion.router.record import RouterRecord
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.transport.http import Unproven
from ganglion.transport.tls.files import TlsFiles

PORT = 7078
"""Where routers listen by default."""
READ_S = 1.0
"""Largest age of stats while the router runs."""
PAUSE_S = 0.25
"""Between two attempts to reach a router."""
GIVE_UP_S = 5.0
"""How long to wait for a silent router before starting another one."""

RoleDecider = Callable[[Sequence[AskedRole]], Sequence[RoleAnswer]]
"""Answers questions about callers."""

log = structlog.get_logger(__name__)


class RouterReading(msgspec.Struct, frozen=True):
    """The newest report of the router.

    Attributes:
        stats: its last report.
        age_ms: its age; without any report, the age of the link.
    """

    stats: Stats
    age_ms: int


class RouterLink:
    """One router: kept running, and supplied with tables.

    Args:
        home: Ganglion's home directory; a router of an earlier server is taken over.
        host: address it listens on.
        port: 0 = any free one.
        news: called, in a thread of the link, when `Stats.news` or the router has changed.
        hosts: names that requests may address it by, beside those of loopback.
        clock: the steady one says how old a report is.
        tls: certificate and key that it shows callers; None = it speaks plain HTTP.
        session_cookie: name of the cookie of browsers that are signed in; empty = there are none.
    """

    def __init__(
        self,
        home: Path,
        host: str = "127.0.0.1",
        port: int = PORT,
        news: Callable[[], None] = lambda: None,
        hosts: Sequence[str] = (),
        clock: Clock = SYSTEM_CLOCK,
        tls: TlsFiles | None = None,
        session_cookie: str = "",
    ) -> None:
        self._clock, self._tls = clock, tls
        self._home, self._host, self._port, self._news = home, host, port, news
        self._hosts, self._session_cookie = tuple(hosts), session_cookie
        self._decide: RoleDecider | None = None
        self._record: RouterRecord | None = None
        self._stats, self._heard = Stats(), self._clock.monotonic()
        self._table = RoutingTable()
        self._changed = threading.Condition()
        self._leaving = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> str:
        """Find or start the router, begin to feed and read it; returns its URL.

        Raises:
            EnvironmentFault: no router runs, and none could be started.
        """
        self._record = self._found()
        # Versions go on from those of the server before.
        with launch.control(self._home, self._record) as client:
            self._hear(_fetch(client, 0, 0.0))
        # A home that asked for any port keeps the port that callers use already.
        self._port = self._record.port
        self._begin("router-feed", self._feed)
        self._begin("router-read", self._read)
        return self.url

    def blocked(self) -> str:
        """Why no router could be started; empty = one could be, or runs."""
        return launch.blocked(self._home, self._host, self._port)

    def decide_by(self, decide: RoleDecider) -> None:
        """Have callers decided about by `decide` from now on, in a thread of the link.

        Call it once, after `start`. Questions that it cannot decide, since it raises, are left
        without an answer.
        """
        self._decide = decide
        self._begin("router-decide", self._answer)

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self, *, router: bool = False) -> None:
        """End the link; with `router` also the router, once its requests are done."""
        self._leaving.set()
        with self._changed:
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        if router and self._record:
            launch.end(self._home, self._record)

    @property
    def url(self) -> str:
        """URL of services, as `http://127.0.0.1:7078`; empty before `start`."""
        return self._record.url if self._record else ""

    def publish(self, services: Sequence[RoutedService]) -> int:
        """Route these services from now on, and no others.

        Returns:
            The table's version; it is in force once `Stats.version` is no smaller.

        Raises:
            FieldError: see `table.check`; the table before stays in force.
        """
        with self._changed:
            if self._table.services == tuple(services) and self._table.version:
                return self._table.version
            newest = max(self._table.version, self._stats.version)
            table = RoutingTable(newest + 1, tuple(services), self._hosts, self._session_cookie)
            check(table)
            self._table = table
            self._changed.notify_all()
            return table.version

    def reading(self) -> RouterReading:
        """Return the newest report."""
        return RouterReading(self._stats, round((self._clock.monotonic() - self._heard) * 1000))

    def _feed(self) -> None:
        sent: tuple[str, int] = ("", 0)
        while not self._leaving.is_set():
            with self._changed:
                wanted, boot = self._table, self._stats.boot
                if not wanted.version or sent == (boot, wanted.version):
                    self._changed.wait(READ_S)
                    continue
            if self._send(wanted):
                sent = (boot, wanted.version)

    def _send(self, table: RoutingTable) -> bool:
        body = msgspec.json.encode(table)
        try:
            with self._client() as client:
                client.put("/table", content=body, timeout=READ_S * 5).raise_for_status()
        except (httpx2.HTTPError, Unproven) as error:
            log.warning("the router does not take a table", error=str(error))
            self._leaving.wait(PAUSE_S)
            return False
        return True

    def _read(self) -> None:
        while not self._leaving.is_set():
            try:
                with self._client() as client:
                    while not self._leaving.is_set():
                        self._hear(_fetch(client, self._stats.news, READ_S))
            except (httpx2.HTTPError, Unproven, msgspec.DecodeError) as error:
                self._silent(error)

    def _answer(self) -> None:
        """Take questions about callers and answer them, until the link ends."""
        while not self._leaving.is_set():
            try:
                with self._client() as client:
                    while not self._leaving.is_set():
                        self._answer_some(client)
            except (httpx2.HTTPError, Unproven, msgspec.DecodeError) as error:
                log.debug("no questions of the router", error=str(error))
            except GanglionError as error:
                log.warning("callers of the router are not decided about", error=error.message)
            self._leaving.wait(PAUSE_S)

    def _answer_some(self, client: httpx2.Client) -> None:
        assert self._decide is not None
        asked = {"wait_ms": round(READ_S * 1000)}
        found = client.get("/questions", params=asked, timeout=READ_S + launch.ANSWER_S)
        questions = msgspec.json.decode(
            found.raise_for_status().content, type=tuple[AskedRole, ...]
        )
        if questions:
            body = msgspec.json.encode(self._decide(questions))
            client.post("/answers", content=body, timeout=launch.ANSWER_S).raise_for_status()

    def _hear(self, stats: Stats) -> None:
        with self._changed:
            before, self._stats, self._heard = self._stats, stats, self._clock.monotonic()
            if before.boot != stats.boot:
                self._changed.notify_all()
        if (before.boot, before.news) != (stats.boot, stats.news):
            self._news()

    def _silent(self, error: Exception) -> None:
        """Wait before the next attempt; replace a router that is dead or stays silent."""
        if self._leaving.wait(PAUSE_S):
            return
        quiet_s = self._clock.monotonic() - self._heard
        if self._record and launch.answers(self._home, self._record) and quiet_s < GIVE_UP_S:
            return
        log.warning("the router is gone; another one is started", error=str(error))
        try:
            self._record = self._found()
        except EnvironmentFault as fault:
            log.error("no router", error=fault.message)
            self._leaving.wait(PAUSE_S)

    def _found(self) -> RouterRecord:
        """The router that runs, or a new one. Raises EnvironmentFault."""
        return launch.adopt_or_start(self._home, self._host, self._port, self._clock, self._tls)

    def _client(self) -> httpx2.Client:
        assert self._record is not None
        return launch.control(self._home, self._record)


def _fetch(client: httpx2.Client, news: int, wait_s: float) -> Stats:
    """Return the stats as soon as they are newer than `news`, at the latest after `wait_s`."""
    asked = {"news": news, "wait_ms": round(wait_s * 1000)}
    found = client.get("/stats", params=asked, timeout=wait_s + launch.ANSWER_S)
    return msgspec.json.decode(found.raise_for_status().content, type=Stats)
