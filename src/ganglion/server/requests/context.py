"""What the routes work with."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pydantic_core
from fastapi import Depends, Request
from msgspec import Struct, field
from msgspec.structs import replace
from starlette.requests import HTTPConnection
from starlette.types import Scope

from ganglion.api.reasons import ModelKept
from ganglion.api.use import ModelStore, RoutedLoad
from ganglion.audit.anchors import Anchor, AnchorReached
from ganglion.lifecycle.clusters import place_of
from ganglion.lifecycle.workspaces.look import Look
from ganglion.model.errors import InputError, RateLimited
from ganglion.model.events import SignedIn
from ganglion.model.workload import ResolvedModel, UnixAccount
from ganglion.router.link import RoleDecider
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.server.access.caller import Caller, Denial
from ganglion.server.access.checks import account_of, check_account
from ganglion.server.access.gate import CALLER
from ganglion.server.access.tries.limits import RateLimit, Tries
from ganglion.server.access.tries.passwords import Passwords
from ganglion.server.accounts.asking import check
from ganglion.server.accounts.settings import SharedHost
from ganglion.server.delivered.contacts import SchedulerContacts
from ganglion.server.delivered.desk import QuestionDesk
from ganglion.server.delivered.living import ClusterWord, word_of
from ganglion.server.loop.service import Service
from ganglion.server.models.resolver import no_registry
from ganglion.server.models.watch import ModelReading
from ganglion.server.notify.choices import NoticeChoices
from ganglion.server.notify.waits import WaitsOf
from ganglion.server.portal.links import PortalLinks
from ganglion.server.requests.starts import KnownStarts
from ganglion.server.rest.listening.home import Home
from ganglion.server.signals.access import Keys
from ganglion.server.state.feed import Feed
from ganglion.server.state.transaction import Mind
from ganglion.server.telemetry.curves import AttemptCurves
from ganglion.server.telemetry.metrics import Metrics
from ganglion.server.whatif.questions import WhatIfQuestions
from ganglion.transport.tls.certificate import ServedCertificate
from ganglion.worlds.dcgm import DcgmCounters
from ganglion.worlds.local.machine.gpu_use import NvmlCounters
from ganglion.worlds.local.machine.use import UseReader
from ganglion.worlds.local.workspaces.onlooker import counters_of

DRY_RUNS = 60
"""Dry runs that one user may have in a minute, by default."""
DRY_RUN_S = 0.1
"""A dry run that takes longer counts as several, since decisions wait meanwhile."""
DRY = "too many dry runs within a minute"
"""The rule by which dry runs are refused."""


def dry_runs(most: int | None = None) -> Tries:
    """Count dry runs by user.

    Args:
        most: of one user, in a minute; None = `DRY_RUNS`.
    """
    return Tries(RateLimit(most or DRY_RUNS, 60.0))


ModelReader = Callable[[ResolvedModel, UnixAccount | None], ModelKept | None]


class ServerContext(Struct):
    """Everything that one server consists of.

    Attributes:
        service: owns the state.
        home: where logs lie.
        feed: the stream of events.
        metrics: what Prometheus asks for.
        owner: who the holder of the server's token is.
        halt: called to end the server.
        url: where services are reached; empty = nowhere yet.
        door_trouble: why services cannot be reached; empty = they can, or there are none.
        look_at: what a workspace was last seen to hold, by its gang.
        use_of: whether a workspace is used, for people, by its gang.
        load_of: what the router says of a service, by its name; None = nothing.
        keys: of services, for the router.
        decide_by: takes what decides about callers of the router by their roles.
        unsent: notices about a workload that could not be sent, by its id; empty = nothing.
        notices: what users chose to be notified of.
        attend: takes what says which workloads wait, for notices of long waits.
        uncut: why events do not leave the ledger although they should; empty = they do.
        unsigned: what is wrong with signing, or with copies of what was signed; empty = nothing.
        sign: has what is new signed at once.
        reached: how far an anchor of what is signed is.
        unhelped: what is wrong with the helper, or what it does not enforce; empty = nothing.
        unproven: why tokens of service accounts cannot be exchanged; empty = they can.
        certificate: what callers over TCP are shown; None = they speak plain HTTP.
        dry_runs: of each user; decisions wait meanwhile.
        starts: when gangs that wait are expected to start, as it was last computed.
        passwords: of local users.
        pages_at: URL of the pages of signing in; empty = there are none.
        sessions: those of browsers that count, each with the time of its last request in ms.
        portal_links: by which the owner opens the portal.
        portal_trouble: why there is no portal; empty = there is one.
        uses: reads what this machine uses.
        counters: reads what GPUs did.
        curves: what attempts used and reported over their time.
        tasks: what goes on after the answer.
        contacts: when schedulers of clusters asked last.
        desk: takes questions to schedulers of clusters.
        ending: sessions in pods whose end is being recorded.
        effects: what routes ask of the machine.
        shares_account: whether programs of users without an account run as that of the server,
            and so could do all that the server can.
        host: accounts of users, and the helper that starts programs as them; None = none are.
        questions: about a past that was otherwise; None = none are answered.
        find_model: what a reference to a model means now; raises what is wrong with it.
        model_now: what a reference that is watched meant last; None = nothing is known.
        model_kept: whether a model lies on this machine for programs of an account, or of the
            server's; None = none are kept.
        model_store: the folder in which models are kept; None = none are.
        verifying: held while the audit trail is verified, which one caller at a time may ask for.
        made_by: who makes the request that this is for; None = it is for none.
    """

    service: Service
    home: Home
    feed: Feed
    metrics: Metrics
    owner: str
    halt: Callable[[], None] = lambda: None
    url: Callable[[], str] = lambda: ""
    door_trouble: Callable[[], str] = lambda: ""
    look_at: Callable[[str], Look | None] = lambda _gang: None
    use_of: Callable[[str], str] = lambda _gang: ""
    load_of: Callable[[str], RoutedLoad | None] = lambda _service: None
    keys: Keys = field(default_factory=Keys)
    decide_by: Callable[[RoleDecider], None] = lambda _decide: None
    unsent: Callable[[str], str] = lambda _workload: ""
    notices: NoticeChoices = field(default_factory=lambda: NoticeChoices(Path("/nonexistent")))
    attend: Callable[[WaitsOf], None] = lambda _waiting: None
    uncut: Callable[[], str] = lambda: ""
    unsigned: Callable[[], str] = lambda: ""
    sign: Callable[[], None] = lambda: None
    reached: Callable[[Anchor], AnchorReached] = lambda _anchor: AnchorReached()
    unhelped: Callable[[], str] = lambda: ""
    unproven: Callable[[], str] = lambda: ""
    certificate: ServedCertificate | None = None
    dry_runs: Tries = field(default_factory=dry_runs)
    starts: KnownStarts = field(default_factory=KnownStarts)
    passwords: Passwords = field(default_factory=Passwords)
    pages_at: str = ""
    sessions: Callable[[], list[tuple[SignedIn, int]]] = list
    portal_links: PortalLinks = field(default_factory=lambda: PortalLinks(SYSTEM.randomness))
    portal_trouble: str = ""
    uses: UseReader = field(default_factory=UseReader)
    counters: DcgmCounters | NvmlCounters = field(default_factory=counters_of)
    curves: AttemptCurves = field(default_factory=lambda: AttemptCurves(Path("/nonexistent"), int))
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    contacts: SchedulerContacts = field(default_factory=SchedulerContacts)
    desk: QuestionDesk = field(default_factory=QuestionDesk)
    ending: set[asyncio.Task[None]] = field(default_factory=set)
    effects: Effects = SYSTEM
    shares_account: bool = True
    host: SharedHost | None = None
    questions: WhatIfQuestions | None = None
    find_model: Callable[[str], Awaitable[ResolvedModel]] = no_registry
    model_now: Callable[[str], ModelReading | None] = lambda _reference: None
    model_kept: ModelReader = lambda _model, _account: None
    model_store: Callable[[], ModelStore | None] = lambda: None
    verifying: threading.Lock = field(default_factory=threading.Lock)
    made_by: Caller | None = None

    @property
    def caller(self) -> Caller:
        """Who makes the request. Raises LookupError where this is for none."""
        if self.made_by is None:
            raise LookupError("the request has not passed the gate")
        return self.made_by

    @property
    def user(self) -> str:
        """Name of the user who makes the request. Raises LookupError where this is for none."""
        return self.caller.subject.user

    def words(self, mind: Mind) -> dict[str, ClusterWord]:
        """What the schedulers of clusters said last, as the caller may read it, by cluster."""
        now, found = self.service.now(), dict[str, ClusterWord]()
        for name, book in mind.book.clusters.of.items():
            silent = self.contacts.silent_since(name, book, now)
            found[name] = word_of(book, silent, whole=self.caller.sees(place_of(name)))
        return found

    def account(self) -> UnixAccount | None:
        """The account that programs of the caller run as; None = that of the server.

        Raises:
            NoAccount: it has none, or the helper starts no programs of it.
            HelperGone: none are started at present.
        """
        if not self.shares_account:
            return None
        found = account_of(self.caller, self.host)
        if found and self.host:
            check(self.host, found)
        return found

    def check_account(self, caller: Caller, account: UnixAccount | None) -> None:
        """Raises NoAccount unless a caller may have programs run as the account of a workload."""
        if self.shares_account:
            check_account(caller, self.host, account)

    def take_dry_run(self) -> None:
        """Count a dry run of the user who makes the request.

        Raises:
            RateLimited: there were too many within a minute.
        """
        self._require(self.dry_runs.wait_s)

    @contextmanager
    def dry_run(self) -> Iterator[Mind]:
        """The state, for a dry run that was counted; what it takes is counted too.

        Raises:
            RateLimited: those of the same user that came before took too long.
        """
        clock = self.effects.clock
        with self.service.read() as mind:
            self._require(self.dry_runs.debt_s)
            began_s = clock.monotonic()
            try:
                yield mind
            finally:
                now_s = clock.monotonic()
                more = max(0.0, (now_s - began_s) / DRY_RUN_S - 1)
                self.dry_runs.spend(self.user, more, now_s)

    def _require(self, wait_s: Callable[[str, float], int]) -> None:
        """Raises RateLimited if the user has to wait."""
        found = wait_s(self.user, self.effects.clock.monotonic())
        if found:
            self.caller.denials.append(Denial("", DRY))
            raise RateLimited.after(found, f"{self.user} asks for {DRY}")


def context_of(connection: HTTPConnection) -> ServerContext:
    """The server, for one request or WebSocket."""
    found = connection.app.state.context
    assert isinstance(found, ServerContext)
    return bound(found, connection.scope)


def bound(context: ServerContext, scope: Scope) -> ServerContext:
    """The server, for the request of a scope."""
    return replace(context, made_by=scope.get("state", {}).get(CALLER))


async def _context(
    request: Request,
) -> ServerContext:  # a coroutine for the reason of `known_query`
    return context_of(request)


Here = Annotated[ServerContext, Depends(_context)]
"""The server, for routes."""


class Body(Struct):
    """A JSON object and the bytes it came as."""

    data: dict[str, Any]
    raw: bytes


async def _body(request: Request) -> Body:
    return body_of(await request.body())


def body_of(raw: bytes) -> Body:
    """Read a JSON object without running into its depth.

    Raises:
        InputError: it is none.
    """
    try:
        data = pydantic_core.from_json(raw, allow_inf_nan=False, cache_strings="none")
    except ValueError as error:
        raise InputError(f"the body is no JSON: {error}", "send one JSON object") from error
    if not isinstance(data, dict):
        raise InputError("the body is no JSON object", "send one workload as a JSON object")
    return Body(data, raw)


Document = Annotated[Body, Depends(_body)]
"""A JSON object whose keys are checked later, with words of their own."""


def document_body(model: str) -> dict[str, Any]:
    """The OpenAPI description of a route that takes a `Document`."""
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
