"""A router's process: its sockets, its record, its end."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import structlog
from aiohttp import web

from ganglion import __version__
from ganglion.model.errors import EnvironmentFault
from ganglion.repeats import Repeats
from ganglion.router import record
from ganglion.router.balancing.registry import ServiceRegistry
from ganglion.router.control import Control
from ganglion.router.decisions import RoleDecisions
from ganglion.router.port import bind
from ganglion.router.proxy.connections import CallerLimits, CallerProtocols
from ganglion.router.proxy.front import Front
from ganglion.router.proxy.probe import Prober
from ganglion.router.record import RouterRecord
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.transport import limits, unix
from ganglion.transport.accepting import listening
from ganglion.transport.hosts import LOOPBACK, is_loopback, reached_at
from ganglion.transport.limits import CallerLimit
from ganglion.transport.tls.files import TlsFiles

IDLE_S = 1.5
"""Connections to replicas that are idle for longer are closed: before servers do, so that no
request is sent into a connection that is just being closed."""
LONGEST_HEADER = 32 << 10
FINISH_S = 60.0
"""Time for requests to finish after the order to end."""
LOOK_S = 2.0
"""Interval at which it checks whether its record still names it."""
ALONE_S = 300.0
"""After so long without a word of a server, a router of which no replica answers ends."""
MOST_CALLERS = 10_000
"""Most simultaneous connections of callers; each may need another one to a replica."""

log = structlog.get_logger(__name__)


@asynccontextmanager
async def connections() -> AsyncIterator[aiohttp.ClientSession]:
    """Connections to replicas, without a limit; bodies stay as they are."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=None),
        skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        max_line_size=LONGEST_HEADER,
        max_field_size=LONGEST_HEADER,
    )
    async with session:
        yield session


@asynccontextmanager
async def serving(
    front: Front,
    taken: socket.socket,
    finish_s: float = FINISH_S,
    bounds: CallerLimits | None = None,
) -> AsyncIterator[web.SockSite]:
    """Answer callers; at the end wait `finish_s` for open requests."""
    server = CallerProtocols(
        front.handle,
        bounds or _bounds(),
        handler_cancellation=True,
        auto_decompress=False,
        access_log=None,
        max_line_size=LONGEST_HEADER,
        max_field_size=LONGEST_HEADER,
        keepalive_timeout=limits.IDLE_S,
    )
    runner = web.ServerRunner(server, shutdown_timeout=finish_s)
    await runner.setup()
    site = web.SockSite(runner, taken, backlog=limits.BACKLOG)
    await site.start()
    try:
        yield site
    finally:
        await runner.cleanup()


class Router:
    """One router.

    Args:
        home: Ganglion's home directory.
        host: address to listen on.
        port: 0 = any free one.
        alone_s: see `ALONE_S`.
        effects: what it asks of the machine.
        tls: certificate and key that callers are shown; None = they speak plain HTTP.
    """

    def __init__(
        self,
        home: Path,
        host: str,
        port: int,
        alone_s: float = ALONE_S,
        effects: Effects = SYSTEM,
        tls: TlsFiles | None = None,
    ) -> None:
        self._effects, self._tls = effects, tls
        self._home, self._host, self._port, self._alone_s = home, host, port, alone_s
        self._left = asyncio.Event()
        self._site: web.SockSite | None = None

    async def run(self) -> None:
        """Serve until a signal, an order to leave, or a record of another router.

        Raises:
            EnvironmentFault: the port is taken, the home cannot be written.
            FieldError: the certificate cannot be used.
        """
        bounds = _bounds(self._tls, self._effects)
        taken, own = bind(self._host, self._port), _private(self._home)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._left.set)
        async with connections() as session:
            clock = self._effects.clock
            prober = Prober(session, clock=clock)
            services = ServiceRegistry(prober.watch, effects=self._effects)
            open_here = is_loopback(self._host)
            decisions = RoleDecisions(clock)
            front = Front(services, session, prober, decisions, metrics=open_here, clock=clock)
            token = self._effects.randomness.token_urlsafe(32)
            control = Control(services, token, self._leave, decisions, clock)
            async with (
                controlled(control, own),
                serving(front, taken, bounds=bounds) as self._site,
                watching(decisions),
            ):
                found = self._announce(taken, own, token)
                log.info("routing", url=found.url, pid=found.pid)
                await self._until_unwanted(found, control, lambda: prober.reaches(services.all()))
                await self._leave()
            await prober.close()

    async def _leave(self) -> None:
        """Stop listening, so that another router can; finish open requests."""
        record.withdraw(self._home, self._effects.processes.own(), self._effects.files)
        site, self._site = self._site, None
        if site:
            await site.stop()
        self._left.set()

    def _announce(self, taken: socket.socket, own: socket.socket, token: str) -> RouterRecord:
        host, port = self._host, taken.getsockname()[1]
        found = RouterRecord(
            pid=self._effects.processes.own(),
            version=__version__,
            host=host,
            port=port,
            url=f"http{'s' if self._tls else ''}://{reached_at(host)}:{port}",
            control=_name_of(own),
            token=token,
            cert=self._tls.cert if self._tls else "",
            key=self._tls.key if self._tls else "",
        )
        try:
            record.write(self._home, found, self._effects.files)
        except OSError as error:
            raise EnvironmentFault(f"cannot write {self._home}: {error.strerror}") from error
        return found

    async def _until_unwanted(
        self, own: RouterRecord, control: Control, reaches: Callable[[], Awaitable[bool]]
    ) -> None:
        """Wait until the router is to end, its record is gone or another's, or it has no use.

        Args:
            own: what this router has announced.
            control: has the time at which a server was last heard.
            reaches: whether any replica answers.
        """
        clock, files = self._effects.clock, self._effects.files
        used = clock.monotonic()
        while not self._left.is_set() and record.read(self._home, files) == own:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(LOOK_S, self._alone_s)):
                    await self._left.wait()
            used = max(used, control.heard)
            if clock.monotonic() - used > self._alone_s:
                if not await reaches():
                    log.info("no server and no replica: the router ends")
                    return
                used = clock.monotonic()


@asynccontextmanager
async def watching(decisions: RoleDecisions) -> AsyncIterator[None]:
    """Look again and again whether requests that were let in by role still may go on."""
    task = asyncio.create_task(decisions.watch())
    try:
        yield
    finally:
        task.cancel()


@asynccontextmanager
async def controlled(control: Control, own: socket.socket) -> AsyncIterator[None]:
    """Serve the control endpoint."""
    runner = web.AppRunner(control.app(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.SockSite(runner, own).start()
    try:
        yield
    finally:
        await runner.cleanup()


def _bounds(tls: TlsFiles | None = None, effects: Effects = SYSTEM) -> CallerLimits:
    """Limits of callers, and what they are shown. Raises FieldError."""
    gate = CallerLimit(limits.affordable(2 * MOST_CALLERS) // 2)
    if tls is None:
        return CallerLimits(gate)
    from ganglion.transport.tls.certificate import ServedCertificate  # noqa: PLC0415 - it is slow

    return CallerLimits(gate, certificate=ServedCertificate(tls, effects))


def _private(home: Path) -> socket.socket:
    """The control listener: a Unix socket, or a port where the system has none."""
    if unix.SUPPORTED:
        try:
            return listening(unix.bind(home / record.SOCKET))
        except OSError as error:
            log.warning("no Unix socket: the control side has a port", error=str(error))
    return bind(LOOPBACK, 0)


def _name_of(own: socket.socket) -> str:
    if own.family == socket.AF_UNIX:
        return record.SOCKET
    return f"http://{LOOPBACK}:{own.getsockname()[1]}"


def prepare() -> None:
    """Settings of a process that only routes."""
    limits.raise_file_limit()
    gc.collect()
    gc.freeze()
    # Malformed HTTP is answered 400; a traceback of each would fill the disk.
    # Faults of the router's own are logged where requests are served.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    # Repeated messages are counted, as those of asyncio when files run out.
    logging.basicConfig(level=logging.INFO, handlers=[Repeats(_out())])
    structlog.configure(
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        processors=[
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
    )


def _out() -> logging.Handler:
    """Lines of the router's log, which its starter opened as the standard output."""
    made = logging.StreamHandler(sys.stdout)
    made.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ]
        )
    )
    return made
