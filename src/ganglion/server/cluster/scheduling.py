"""Starting and ending a scheduler of clusters: the lead, its views over HTTP, its end."""

import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack

import structlog
from msgspec import Struct

from ganglion.collector import relax
from ganglion.extensions import load
from ganglion.seams.processes import SYSTEM_PROCESSES
from ganglion.server.cluster.activity.sampler import GpuSampler
from ganglion.server.cluster.outbox.figures import OutboxFigures
from ganglion.server.cluster.outbox.outbox import Outbox, OutboxWish
from ganglion.server.rest.listening.address import bind, url_of
from ganglion.server.state.audience import Audience, Show
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.controller import ClusterController
from ganglion.worlds.kubernetes.leader_election.lead import Lead
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint

SWITCH_S = 0.0003
"""Longest time that a thread that decides keeps one that writes waiting: the interpreter's own
5 ms leave the API server idle while a crowd is decided."""
VIEWS_S = 10.0
"""Most that views and probes wait for pods that were there when the scheduler started."""

log = structlog.get_logger(__name__)


class SchedulerRun(Struct, frozen=True):
    """How a scheduler is to be run.

    Attributes:
        namespace: of the Lease.
        lease: name of the Lease; empty = no other process schedules, so none is needed.
        identity: of this process.
        host, port: where its views are served; port 0 = any free one.
        policy: name of the `Policy` object that decides.
        settings: of the controller.
        tokens_for: audience of the tokens that callers of views need; empty = they need none.
        outbox: where it reports to; None = nowhere.
    """

    namespace: str
    lease: str
    identity: str
    host: str = "127.0.0.1"
    port: int = 8080
    policy: str = "default"
    settings: Settings = Settings()
    tokens_for: str = ""
    outbox: OutboxWish | None = None


def schedule(
    endpoints: Mapping[str, ApiEndpoint],
    wish: SchedulerRun,
    ready: Callable[[str], None] = lambda _url: None,
) -> None:
    """Schedule until SIGTERM or SIGINT; pods run on.

    A process that loses the lead ends at once: another one decides by then, and what
    starts anew finds in the cluster whatever was begun. It ends in good order when the policy
    names other plugins.

    Args:
        endpoints: clusters by name; the Lease is in the first.
        wish: the options of the scheduler.
        ready: called with the URL once clients can connect.

    Raises:
        InputError: no address of this machine.
        EnvironmentFault: the port is taken.
    """
    relax()
    sys.setswitchinterval(SWITCH_S)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until views are served
    audience = Audience()
    told = threading.Event()
    with ExitStack() as stack:
        outbox, unreported = _outbox(wish)
        lead = _lead(next(iter(endpoints.values())), wish)
        scheduler = Scheduler(
            endpoints,
            wish.identity,
            may=lead.holds if lead else _always,
            load=load,
            settings=wish.settings,
            turned=audience.turned,
            policy_name=wish.policy,
            decided=outbox.decided if outbox else _unreported,
            money=(lambda: outbox.money.latest) if outbox else _unpriced,
            outdated=told.set,
        )
        taken = stack.enter_context(bind(wish.host, wish.port))
        if lead:
            stack.callback(lead.stop)
            lead.start()
        if outbox:
            outbox.start()
            stack.callback(outbox.stop)
        scheduler.start()
        stack.callback(scheduler.stop)
        if outbox:
            sampler = GpuSampler(scheduler, outbox.sums)
            stack.callback(sampler.stop)
            sampler.start()
        url = url_of(taken, wish.host)
        log.info("scheduling", clusters=list(endpoints), url=url, pid=SYSTEM_PROCESSES.own())
        # Loading the web framework takes a second of the interpreter that decides, too.
        scheduler.calm.wait(VIEWS_S)
        from ganglion.server.cluster.questions.answering import answering  # noqa: PLC0415 - see above
        from ganglion.server.cluster.showing import show  # noqa: PLC0415 - see above

        if outbox and wish.outbox:
            questions = answering(scheduler, endpoints, outbox.scheduler, wish.outbox)
            stack.callback(questions.stop)
            questions.start()
        what = Show(
            scheduler,
            audience,
            _leader(lead),
            told,
            lambda: ready(url),
            endpoints,
            wish.identity,
            wish.tokens_for,
            (OutboxFigures(outbox),) if outbox else (),
            (lambda: outbox.trouble) if outbox else (lambda: unreported),
        )
        show(what, taken)


def _outbox(wish: SchedulerRun) -> tuple[Outbox | None, str]:
    """What the scheduler reports by; a disk that refuses keeps no scheduler from its work.

    Returns:
        the outbox, and why there is none although there should be.

    Raises:
        InputError: the URL of the server is none.
    """
    if wish.outbox is None:
        return None, ""
    try:
        return Outbox(wish.outbox, wish.identity), ""
    except OSError as error:
        why = f"nothing is reported: the outbox {wish.outbox.folder} cannot be used: {error}"
        log.error("no outbox", error=str(error), folder=str(wish.outbox.folder))
        return None, why


def _unreported(_controller: ClusterController, _now: int) -> None:
    """The scheduler has no outbox."""


def _unpriced() -> None:
    """No server says what anything costs."""


def _leader(lead: Lead | None) -> Callable[[], str]:
    """Names the process that leads; empty = not known."""
    return lambda: lead.holder if lead else ""


def _lead(endpoint: ApiEndpoint, wish: SchedulerRun) -> Lead | None:
    if not wish.lease:
        return None
    return Lead(endpoint, wish.namespace, wish.lease, wish.identity, on_lost=_die)


def _die() -> None:
    """Another scheduler decides by now: nothing more may be written, not even in good order."""
    log.error("the lead was lost")
    SYSTEM_PROCESSES.exit(1)


def _always() -> bool:
    return True
