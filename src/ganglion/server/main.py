"""Starting and ending a server."""

import gc
import getpass
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import structlog
from starlette.types import ASGIApp

from ganglion.collector import relax
from ganglion.ledger.chain import Progress
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.lock import FileLock
from ganglion.model.fleet.node import Node
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.seams.clock import Clock
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.server.access.tries.passwords import Passwords
from ganglion.server.accounts.asking import HelperWatch
from ganglion.server.accounts.settings import SharedHost
from ganglion.server.app import guarded, make_app
from ganglion.server.audit.signing import Signing
from ganglion.server.commands import live, policies
from ganglion.server.commands.secrets import SecretsKeeper
from ganglion.server.controllers.reception import Reception
from ganglion.server.controllers.workspace_metrics import WorkspaceFigures
from ganglion.server.controllers.workspaces import WorkspacesController
from ganglion.server.login.exchange.watching import ReviewWatch
from ganglion.server.login.settings import LoginSettings, read_login
from ganglion.server.loop.service import Service
from ganglion.server.models.cache.keeper import CacheKeeper
from ganglion.server.notify.notices import Recipients
from ganglion.server.notify.notifier import Notifier
from ganglion.server.parts import called_by_accounts, keepers_of, local_world, models_of, published
from ganglion.server.portal.files import PortalFiles, PortalMissing, read_portal
from ganglion.server.recovery.executor import hold, resign
from ganglion.server.recovery.retention import LedgerRetention
from ganglion.server.requests.context import ServerContext, dry_runs
from ganglion.server.requests.pod_sessions import close_all
from ganglion.server.rest.listening.address import check_host, sockets, url_of
from ganglion.server.rest.listening.home import SOCKET, Home, ServerRecord
from ganglion.server.rest.listening.listen import MOST_CALLERS, HttpListener
from ganglion.server.signals.access import Keys
from ganglion.server.signals.router_loads import load_view
from ganglion.server.signals.router_place import RouterPlace, door_of, unreached
from ganglion.server.state.eyes import Eyes
from ganglion.server.state.feed import Feed
from ganglion.server.state.set_apart import isolates, told_flaws
from ganglion.server.state.transaction import Transaction
from ganglion.server.telemetry.activity import GpuActivity
from ganglion.server.telemetry.curves import AttemptCurves
from ganglion.server.telemetry.metrics import Metrics
from ganglion.server.telemetry.server_log import close_journal, open_journal
from ganglion.server.whatif.questions import WhatIfQuestions
from ganglion.specs.policy.policy import PolicyFile
from ganglion.transport.egress import Egress
from ganglion.transport.hosts import Hosts, is_loopback
from ganglion.transport.limits import raise_file_limit
from ganglion.transport.tls.files import TlsFiles
from ganglion.transport.tls.own_certificate import served
from ganglion.worlds.local.run_files.secret_store import SecretStore
from ganglion.worlds.world import ServedWorld

PORT = 7077
"""Where servers listen by default."""

PROGRESS_S = 1.0
"""How often a long start says how far it is."""

UMASK = 0o077

log = structlog.get_logger(__name__)


class _Background(Protocol):
    """Goes on in a thread of its own."""

    def start(self) -> None:
        """Begin."""

    def close(self) -> None:
        """End."""


Background = TypeVar("Background", bound=_Background)


def serve(
    home: Path,
    *,
    nodes: Sequence[Node],
    queues: Sequence[Queue] = (),
    policy: PolicyFile | None = None,
    port: int = PORT,
    services_port: int | None = None,
    host: str = "127.0.0.1",
    behind_proxy: bool = False,
    host_names: Sequence[str] = (),
    tls: TlsFiles | None = None,
    service_keys: bool = True,
    max_connections: int = MOST_CALLERS,
    most_dry_runs: int | None = None,
    allowed_urls: Sequence[str] = (),
    database_url: str = "",
    login_folder: Path | None = None,
    world: Callable[[Home], ServedWorld] | None = None,
    ready: Callable[[str], None] = lambda _url: None,
    take_over: bool = False,
    warn: Callable[[str], None] = lambda _line: None,
    progress: Callable[[str], None] = lambda _line: None,
    say: Callable[[str], None] = lambda _text: None,
    effects: Effects = SYSTEM,
) -> None:
    """Serve until SIGTERM, SIGINT or a request to shut down; jobs run on.

    Order: lock of the home, log, port, ledger (migrated, checked), state by replay, world,
    reconciliation, queues, first turn, then requests; `server.json` is written when clients
    can connect and removed at the end.

    Args:
        home: Ganglion's home directory.
        nodes: this machine as nodes.
        queues: queue tree, until a policy says what it is; `default` is made when there is none.
        policy: set unless the server was last started with the same; None = the one in force.
        port: 0 = any free one.
        services_port: where services are reached, all of them; None = the port after `port`.
        host: address to listen on.
        behind_proxy: whether a proxy in front of it speaks TLS, so that it need not.
        host_names: names that requests may address the server by, beside those of loopback.
        tls: certificate and key of what listens on TCP, the router too; None = plain HTTP.
        service_keys: whether keys of services and workspaces let callers in at the router.
        max_connections: callers over TCP at once; one address may have half of them.
        most_dry_runs: of one user, in a minute; None = 60.
        allowed_urls: hosts, addresses and networks that URLs of workload files may name although
            they are private.
        database_url: where the ledger lies instead of the home.
        login_folder: where `login.yaml` lies; None = in the home.
        world: carries plans out instead of this machine.
        ready: called with the URL once clients can connect.
        take_over: execute a ledger that another home executed, once what that one runs has ended.
        say: called with what the take-over waited for.
        warn: called with every event of the ledger that was set apart, and what needs a person.
        progress: called with how far a long start is, at most every second.
        effects: what all parts ask of the machine.

    Raises:
        InputError: an address that needs TLS, a wrong URL, a certificate that cannot be used.
        NotExecutor: another home executes the ledger.
        Superseded: another home took the ledger over; what ran here has ended.
        EnvironmentFault: another server uses the home, the port is taken, the disk refuses.
    """
    check_host(host, tls=tls is not None, behind_proxy=behind_proxy)
    with ExitStack() as stack:
        stack.callback(gc.set_threshold, *relax())
        # Whatever is made from here on is for its owner only; jobs get back what users set.
        umask, most_files = stack.enter_context(_umasked()), raise_file_limit()
        place, processes, user = _locked(stack, home, effects), effects.processes, _user()
        stack.callback(close_journal, open_journal(place.root / "server.log"))
        taken = sockets(stack, host, port, place.root / SOCKET, effects, tls=tls is not None)
        shown, accounts = (
            served(tls, place.root, (host, *host_names), effects),
            SharedHost(place.root, effects.files, owner=user),
        )
        shared, unhelped = (
            called_by_accounts(stack, accounts, effects.files),
            HelperWatch(accounts, effects.clock).trouble,
        )
        secrets, egress = SecretStore(place.root), Egress(allowed_urls)
        watch, cache = models_of(stack, place, partial(secrets.value, user), effects, accounts)
        target, step = database_url or place.ledger, _each_second(progress, effects.clock)
        if world:
            ledger, made, term = Ledger.open(target, step, effects), world(place), None
            stack.callback(ledger.close)
        else:
            held = hold(
                target, place.root, take_over=take_over, say=say, progress=step, effects=effects
            )
            ledger, term = held.ledger, held.term
            stack.callback(ledger.close)
            stack.callback(resign, held, place.root, effects)
            made = local_world(
                held, place, nodes, umask, most_files, accounts, effects, cache.path_of
            )
        stack.callback(made.close)
        feed, metrics, keys = (
            Feed(ledger),
            Metrics(effects.clock),
            Keys(place.root, effects, by_key=service_keys),
        )
        login = read_login(
            login_folder or place.root, effects.files, tls=shown is not None, owner=user
        )
        at = RouterPlace(place.root, host, port, services_port, tuple(host_names))
        door = door_of(
            *(at, keys, shown.pair if shown else None), login.session_cookie if login else ""
        )
        stack.callback(door.close)
        eyes = stack.enter_context(Eyes(clock=effects.clock).open())
        workspaces = WorkspacesController(eyes, reception=Reception(door))
        metrics.registry.register(WorkspaceFigures(workspaces, made.now))
        reach = Recipients(egress, secrets.value, effects, user)
        notifier, reviews, models, curves = (
            _started(stack, Notifier(place.root, ledger, made.now, reach)),
            _started(stack, ReviewWatch(login_folder or place.root, login)),
            _started(stack, watch),
            _started(stack, AttemptCurves(place.root, made.now, effects.clock)),
        )
        service = Service(
            ledger,
            made,
            Policy(),
            published(feed, notifier, curves),
            metrics,
            [
                workspaces,
                *keepers_of(stack, door, egress, effects.clock, metrics.ready, models),
                CacheKeeper(_started(stack, cache), nodes),
                SecretsKeeper(secrets),
            ],
            secrets=secrets,
            isolate=isolates(),
            progress=step,
            clock=effects.clock,
        )
        stack.enter_context(
            _running(
                *(service, lambda d: _brought(d, policy, tuple(queues), user), warn),
                *((unhelped(), reviews.trouble(), unreached(at, door, processes)), curves.activity),
            )
        )
        retention = _started(
            stack, LedgerRetention(place.root, ledger, service.ask, service.now, effects)
        )
        signing = _started(stack, Signing(place.root, ledger, service.now, effects))
        context = ServerContext(
            service,
            place,
            feed,
            metrics,
            user,
            url=lambda: door.url,
            door_trouble=door.blocked,
            keys=keys,
            decide_by=door.decide_by,
            look_at=workspaces.look_at,
            use_of=workspaces.use_of,
            curves=curves,
            load_of=lambda name: load_view(door.heard(), name),
            unsent=notifier.failures,
            notices=notifier.choices,
            attend=notifier.attend,
            uncut=lambda: retention.trouble,
            sign=signing.at_once,
            unsigned=signing.missing,
            reached=signing.reached,
            dry_runs=dry_runs(most_dry_runs),
            passwords=Passwords(effects),
            certificate=shown,
            unhelped=unhelped,
            unproven=reviews.trouble,
            host=accounts,
            effects=effects,
            questions=_started(stack, WhatIfQuestions(place.root, target, effects)),
            find_model=models.resolve,
            model_now=models.found,
            model_kept=cache.reading,
            model_store=cache.store,
        )
        app = _guarded(context, host, host_names, login, _portal(context))
        record = ServerRecord(
            *(processes.own(), url_of(taken[0], host, tls=shown is not None), made.now()),
            *(SOCKET if taken[1:] else "", host),
        )
        listener = HttpListener(
            *(app, partial(_announce, place, record, ready), feed.close, max_connections, shown),
            shared=shared[0].getsockname() if shared else "",
        )
        context.halt = service.superseded = listener.halt
        if term and term.begun is None:
            ledger.executors.begun(term.generation, made.now())
        stack.callback(place.withdraw)
        log.info("serving", url=record.url, events=ledger.head, pid=processes.own())
        listener.serve_until_told(*taken, *shared)
        log.info("ended", events=ledger.head)
        if service.successor:
            raise service.successor


def _locked(stack: ExitStack, home: Path, effects: Effects) -> Home:
    """The home, of which no other server can be started until the stack ends."""
    made = Home(home, effects)
    lock = FileLock(made.root / "server.lock", str(made.root), effects.files, effects.processes)
    stack.callback(lock.release)
    return made


def _started(stack: ExitStack, made: Background) -> Background:
    """It goes on in a thread of its own; ends with the stack."""
    stack.callback(made.close)
    made.start()
    return made


def _each_second(progress: Callable[[str], None], clock: Clock) -> Progress:
    """Print its progress, at most every second."""
    due = clock.monotonic() + PROGRESS_S

    def step(what: str, done: int, of: int) -> None:
        nonlocal due
        if clock.monotonic() >= due:
            due = clock.monotonic() + PROGRESS_S
            progress(f"{what} {done:,}" + (f" of {of:,}" if of else ""))

    return step


@contextmanager
def _umasked() -> Iterator[int]:
    """What is made meanwhile is for its owner only; yields the umask that was."""
    before = os.umask(UMASK)
    try:
        yield before
    finally:
        os.umask(before)


def _portal(context: ServerContext) -> PortalFiles | None:
    """The files of the portal; None = it cannot be served, and the log and clients learn why."""
    try:
        return read_portal(files=context.effects.files)
    except PortalMissing as error:
        context.portal_trouble = f"{error.message}; {error.hint}"
        log.warning("no portal", reason=error.message)
        return None


def _guarded(
    context: ServerContext,
    host: str,
    names: Sequence[str],
    login: LoginSettings | None,
    shown: PortalFiles | None,
) -> ASGIApp:
    """The application, behind a token of its own."""
    token, loopback = context.home.new_token(), is_loopback(host)
    known = Hosts([*names, *login.authorities] if login else names)
    return guarded(make_app(context), token, known, loopback=loopback, login=login, shown=shown)


@contextmanager
def _running(
    service: Service,
    first: Callable[[Transaction], None],
    warn: Callable[[str], None],
    troubles: Sequence[str],
    activity: GpuActivity,
) -> Iterator[None]:
    """The service's thread, from a state that agrees with the world, after a first command."""
    with service.read() as mind:
        for line in filter(None, (*told_flaws(mind.book.flaws), *troubles)):
            warn(line)
    service.begin()
    service.start()
    try:
        service.ask(first, timeout_s=120)
        yield
    finally:
        activity.flush(partial(service.ask, timeout_s=5), everything=True)
        service.stop()


def _brought(
    draft: Transaction, policy: PolicyFile | None, queues: tuple[Queue, ...], user: str
) -> None:
    """Take in what the server was started with, and end what a killed one has left open."""
    draft.began()
    close_all(draft)
    if policy:
        policies.keep(draft, policy, user)
    live.keep_queues(draft, () if policies.owns_queues(draft.mind) else queues)


def _announce(home: Home, record: ServerRecord, ready: Callable[[str], None]) -> None:
    home.announce(record)
    ready(record.url)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return f"uid-{os.getuid()}"
