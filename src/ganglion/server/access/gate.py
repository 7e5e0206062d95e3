"""Finds out who asks, and refuses what no role of theirs allows, before any route is looked at."""

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio
import anyio.lowlevel
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ganglion.lifecycle.clusters import place_of
from ganglion.model.errors import Forbidden, GanglionError, NotFound
from ganglion.model.workload import UnixAccount
from ganglion.server.access.caller import Caller
from ganglion.server.access.denials import Denials
from ganglion.server.access.operations import OPERATIONS, GrantPlace, Rule
from ganglion.server.access.permissions import BadPeer, BadSession, BadToken, Permissions, forged
from ganglion.server.access.veil import Veil
from ganglion.server.access.visible import Place, located, queues_of
from ganglion.server.rest.listening.connections import ACCOUNT
from ganglion.server.rest.listening.guard import OWNER, SESSION, TOKEN
from ganglion.server.rest.paths import WEBSOCKET, Paths
from ganglion.server.rest.problems import answer, problem
from ganglion.server.rest.request_id import serve_for

if TYPE_CHECKING:
    from ganglion.server.loop.service import Service

CALLER, OPERATION = "ganglion.caller", "ganglion.operation"
"""Keys in the state of a request's scope."""
ABOUT_CALLER = "who_am_i"
"""Operation whose answer repeats what the caller's own token is limited to."""
OWNERS = ("owner of the server",)
"""What allows requests of the owner."""
POLICY = 1008
"""Code of a WebSocket that is closed for want of rights."""
AGAIN_MS = 1_000
"""How long a long answer goes on before its caller's rights are looked at again."""


class AccessGate:
    """Decides about every request.

    Args:
        app: what is behind it.
        paths: of the application.
        service: owns the state.
        permissions: who may do what.
        check: raises NoAccount unless a caller may have programs run as the account of a workload.
    """

    def __init__(
        self,
        app: ASGIApp,
        paths: Paths,
        service: "Service",
        permissions: Permissions,
        check: Callable[[Caller, UnixAccount | None], None],
    ) -> None:
        self._app, self._paths, self._service = app, paths, service
        self._permissions, self._denials = permissions, Denials(service)
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass the request on with its caller."""
        state = scope.setdefault("state", {}) if scope["type"] != "lifespan" else {}
        if state.get(OWNER):
            caller, operation = self._permissions.owner(), self._asked(scope)[0]
            if operation and OPERATIONS[operation].where is not GrantPlace.ANYONE:
                caller.require(OPERATIONS[operation].verb, OPERATIONS[operation].kind)
            state[CALLER], state[OPERATION] = caller, operation
            serve_for(caller.subject.user, OWNERS, caller.glass)
            await self._app(scope, receive, send)
        elif TOKEN in state:
            known = partial(self._permissions.bearer, state[TOKEN])
            await self._of(known, known, scope, receive, send)
        elif SESSION in state:
            known = partial(self._permissions.session, state[SESSION])
            still = partial(self._permissions.session, state[SESSION], used=False)
            await self._of(known, still, scope, receive, send)
        elif ACCOUNT in state:
            known = partial(self._permissions.peer, state[ACCOUNT])
            await self._of(known, known, scope, receive, send)
        else:
            await self._app(scope, receive, send)  # the guard lets only open paths pass so

    async def _of(
        self,
        known: Callable[[], Caller],
        still: Callable[[], Caller],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Decide about a request of a token or session.

        Args:
            known: finds its user, or raises BadToken, BadSession or BadPeer.
            still: the same, while the answer goes on.
            scope: of the request.
            receive: where its body comes from.
            send: where the answer goes.
        """
        try:
            caller = await anyio.to_thread.run_sync(known)
        except (BadToken, BadSession, BadPeer) as error:
            headers = {"WWW-Authenticate": "Bearer"}
            await answer(error, HTTPStatus.UNAUTHORIZED, headers)(scope, receive, send)
            return
        forgery = self._forgery(scope, caller)
        if forgery:
            await problem(403, "http.csrf", forgery, "see docs/access.md")(scope, receive, send)
            return
        operation, _ = self._asked(scope)
        try:
            path = await anyio.to_thread.run_sync(self._decided, scope, caller, operation)
        except GanglionError as error:
            await self._denials.record(caller, operation)
            await answer(error)(scope, receive, send)  # it names nothing but what was asked for
            return
        scope["state"] |= {CALLER: caller, OPERATION: operation}
        serve_for(caller.subject.user, caller.grants, caller.glass, caller.personal_token)
        if path != scope["path"]:
            scope.update(path=path, raw_path=quote(path).encode())
        if not caller.sees_all:
            asked = _Asked(receive, scope)
            own = str(caller.subject.token_scope or "") if operation == ABOUT_CALLER else ""
            receive, send = asked.receive, self._veiled(caller, send, asked, own)
        with anyio.CancelScope() as bound:
            watch = _Watch(partial(self._still, still, dict(scope)), bound, self._service.now)
            await self._app(scope, watch.receiving(receive), watch.sending(send))
        if bound.cancelled_caught and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY})
        await self._denials.record(caller, operation)

    def _asked(self, scope: Scope) -> tuple[str, str]:
        """The operation that a request asks for, and what its path names; empty = none."""
        method = WEBSOCKET if scope["type"] == "websocket" else scope["method"]
        operation, fits = self._paths.operation(scope["path"], method)
        named = fits.groupdict() if fits else {}
        return operation, named.get("ref") or named.get("name") or ""

    def _decided(self, scope: Scope, caller: Caller, operation: str) -> str:
        """Decide about a request of a token, which may wait for a turn to end.

        Returns:
            the path, with the id of the workload that was decided about.

        Raises:
            Forbidden: no role of the caller allows it.
            NotFound: the caller may not see what it asks about, or there is no such thing.
        """
        path = str(scope["path"])
        _, named = self._asked(scope)
        if not operation:
            return path  # the application answers that there is no such thing
        rule = OPERATIONS[operation]
        if rule.where is GrantPlace.FLEET:
            caller.require(rule.verb, rule.kind)
        elif rule.where is GrantPlace.NARROWED:
            found = caller.somewhere(rule.verb, rule.kind)
            if not found.allowed:
                raise caller.refused(found.rule)
        elif rule.where is GrantPlace.QUEUE:
            _require_queue(caller, rule, named)
        elif rule.where is GrantPlace.CLUSTER:
            caller.require(rule.verb, rule.kind, place_of(named))
        elif rule.where is GrantPlace.WORKLOAD:
            ref, place = self._located(named, caller)
            caller.require(rule.verb, rule.kind, place.queue, place.user)
            if rule.runs_programs:
                self._check(caller, place.account)
            at = path.index("/workloads/") + len("/workloads/")
            path = path[:at] + ref + path[at + len(named) :]
        return path

    def _located(self, named: str, caller: Caller) -> tuple[str, Place]:
        """Find a workload that the caller may see; a hidden one is a denial to be recorded."""
        with self._service.read() as mind:
            try:
                return located(mind, self._service.ledger, named, caller)
            except NotFound:
                hidden = queues_of(mind, self._service.ledger, [named.partition("/")[0]])
                for queue in hidden.values():
                    caller.refused(f"no grant to view queue {queue}", queue)
                raise

    def _still(self, still: Callable[[], Caller], scope: Scope) -> None:
        """Raises GanglionError unless a request would still be allowed."""
        self._decided(scope, still(), str(scope["state"][OPERATION]))

    def _forgery(self, scope: Scope, caller: Caller) -> str:
        """Why a request with a cookie may be one of a foreign page; empty = it is none."""
        rules = self._permissions.sessions
        if not caller.csrf or rules is None:
            return ""
        method = WEBSOCKET if scope["type"] == "websocket" else str(scope["method"])
        origins = rules.origins or (_origin(scope),)
        return forged(Headers(scope=scope), method, caller.csrf, origins)

    def _veiled(self, caller: Caller, send: Send, asked: "_Asked", own: str) -> Send:
        """Send JSON without names that the caller may not see; other bodies as they are.

        A refusal repeats what the caller wrote, as it would about what does not exist. Names in
        `own` stay in sentences.
        """
        veil = Veil(caller, self._queues)
        head: Message | None = None
        body = b""

        async def veiling(message: Message) -> None:
            nonlocal head, body
            kind = message["type"]
            if kind == "http.response.start" and _is_json(message):
                head = message
                return
            if head is None or kind != "http.response.body":
                await send(message)
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            said = asked.text() if head["status"] >= HTTPStatus.BAD_REQUEST else own
            shown = await anyio.to_thread.run_sync(veil.over, body, said)
            kept = [each for each in head["headers"] if each[0].lower() != b"content-length"]
            length = (b"content-length", str(len(shown)).encode())
            await send({**head, "headers": [*kept, length]})
            await send({"type": "http.response.body", "body": shown})

        return veiling

    def _queues(self, ids: Any) -> dict[str, str]:  # noqa: ANN401 - a collection of ids
        with self._service.read() as mind:
            return queues_of(mind, self._service.ledger, ids)


def _require_queue(caller: Caller, rule: Rule, name: str) -> None:
    """Raises NotFound where the caller may not see a queue, as where there is none."""
    if caller.may(rule.verb, rule.kind, name).allowed and name in caller.rules.tree:
        return
    if name in caller.rules.tree:
        caller.refused(f"no grant to view queue {name}", name)
    raise NotFound(f"there is no queue {name!r}", "see `ganglion queues`")


def _origin(scope: Scope) -> str:
    """The origin of pages that have the same host as a request, as browsers name it."""
    secure = scope["scheme"] in ("https", "wss")
    host = Headers(scope=scope).get("host", "").lower()
    return f"{'https' if secure else 'http'}://{host}"


def _is_json(message: Message) -> bool:
    kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
    return any(b"json" in each for each in kinds)


class _Asked:
    """Keeps what a caller wrote: the target and the body of its request.

    Args:
        receive: where the body comes from.
        scope: of the request.
    """

    def __init__(self, receive: Receive, scope: Scope) -> None:
        self._receive = receive
        self._parts = [str(scope["path"]).encode(), scope.get("query_string", b"")]

    async def receive(self) -> Message:
        """Pass on a message."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._parts.append(message.get("body", b""))
        return message

    def text(self) -> str:
        """All of it."""
        return b" ".join(self._parts).decode("utf-8", "replace")


class _Watch:
    """Ends a long answer whose caller has lost the right to it.

    Args:
        still: raises GanglionError once it has; may wait for a turn to end.
        bound: around the answer.
        now: the time in ms.
    """

    def __init__(
        self, still: Callable[[], None], bound: anyio.CancelScope, now: Callable[[], int]
    ) -> None:
        self._still, self._bound, self._now, self._seen = still, bound, now, now()

    def sending(self, send: Send) -> Send:
        """Look before a message is sent."""
        return partial(self._first, send)

    def receiving(self, receive: Receive) -> Receive:
        """Look before a message is handed on."""

        async def received() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                await self._look()
            return message

        return received

    async def _first(self, send: Callable[[Message], Awaitable[None]], message: Message) -> None:
        if message["type"] in ("http.response.body", "websocket.send"):
            await self._look()
        await send(message)

    async def _look(self) -> None:
        if self._now() - self._seen < AGAIN_MS:
            return
        try:
            await anyio.to_thread.run_sync(self._still)
        except GanglionError:
            self._bound.cancel()
            await anyio.lowlevel.checkpoint()
        self._seen = self._now()


async def as_decided(connection: HTTPConnection) -> None:
    """Refuse a request whose route is another operation than the one that was decided about.

    Raises:
        Forbidden: the gate and the router understand its path differently.
    """
    state, route = connection.scope.get("state", {}), connection.scope.get("route")
    if CALLER in state and state[OPERATION] != getattr(route, "name", ""):
        raise Forbidden("the path is ambiguous", "write it without escapes")
