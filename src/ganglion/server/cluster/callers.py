"""Asks who calls the views of a scheduler, and lets the API server of the cluster decide."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import parse_qs

import anyio
import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ganglion.model.errors import Conflict, Forbidden, GanglionError, NotFound
from ganglion.server.access.reviews import CallerReviews, ReviewedRight, ServiceAccount
from ganglion.server.cluster.readonly import ViewSource, find
from ganglion.server.rest.paths import Paths
from ganglion.server.rest.problems import answer

HEADER = "X-Ganglion-Token"
"""Header for a token; the API server's proxy passes no `Authorization` on."""
MOST_NAMESPACES = 10
"""Most namespaces of one list that are asked about one by one."""

VIEWS: Mapping[str, ReviewedRight] = MappingProxyType(
    {
        "list_workloads": ReviewedRight("list", "workloads"),
        "show_workload": ReviewedRight("get", "workloads"),
        "explain_workload": ReviewedRight("get", "workloads"),
        "list_order": ReviewedRight("list", "workloads"),
        "list_queues": ReviewedRight("list", "queues"),
        "list_nodes": ReviewedRight("list", "nodes"),
        "list_gpus": ReviewedRight("list", "nodes"),
        "rehearse_objects": ReviewedRight("create", "workloads"),
    }
)
"""Operation -> what its caller has to be allowed; in its namespace, if it is about one."""
BY_NAMESPACE = frozenset({"list_workloads", "rehearse_objects"})
"""Operations about the namespaces that `user` in their query names."""
OPEN = frozenset({"show_health", "show_readiness", "show_version", "show_metrics"})
"""Operations that ask for no token: probes, and metrics."""

log = structlog.get_logger(__name__)


class NotIdentified(GanglionError):
    """A caller without a token that counts here."""

    code = "auth"


class CallerGate:
    """Decides about every request for a view.

    Args:
        app: the views.
        paths: of them.
        source: keeps the state.
        reviews: makes what asks the API server, within the loop that serves.
    """

    def __init__(
        self, app: ASGIApp, paths: Paths, source: ViewSource, reviews: Callable[[], CallerReviews]
    ) -> None:
        self._app, self._paths, self._source, self._make = app, paths, source, reviews
        self._reviews: CallerReviews | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass the request on."""
        if scope["type"] == "http":
            operation, fits = self._paths.operation(scope["path"], scope["method"])
            if operation and operation not in OPEN:
                ref = (fits.groupdict() if fits else {}).get("ref", "")
                try:
                    await self._admit(scope, operation, ref)
                except NotIdentified as error:
                    headers = {"WWW-Authenticate": "Bearer"}
                    refusal = answer(error, HTTPStatus.UNAUTHORIZED, headers)
                    await refusal(scope, receive, send)
                    return
                except GanglionError as error:
                    await answer(error)(scope, receive, send)
                    return
        try:
            await self._app(scope, receive, send)
        finally:
            if scope["type"] == "lifespan" and self._reviews:
                await self._reviews.close()

    async def _admit(self, scope: Scope, operation: str, ref: str) -> None:
        """Raises GanglionError unless the caller may have a view."""
        if self._reviews is None:
            self._reviews = self._make()
        account = await self._reviews.account(_token(Headers(scope=scope)))
        if account is None:
            raise NotIdentified(
                "no token of a service account that counts here",
                f"send one for the scheduler's audience, as `Authorization: Bearer` or {HEADER}",
            )
        right = VIEWS[operation]
        spaces = _namespaces(scope) if operation in BY_NAMESPACE else ()
        rights = [ReviewedRight(right.verb, right.resource, each) for each in spaces] or [right]
        wrong = [each for each in rights if not await self._reviews.may(account, each)]
        if not wrong:
            return
        if ref and await self._may_see(account, right, ref):
            return
        log.info("a view was refused", account=account.username, right=str(wrong[0]))
        if ref:
            raise NotFound(f"there is no workload {ref!r}", "see `ganglion ps`")
        raise Forbidden(
            f"{account.username} may not {wrong[0]}",
            "workloads of one namespace: add ?user=NAMESPACE; else a role has to allow it",
        )

    async def _may_see(self, account: ServiceAccount, right: ReviewedRight, ref: str) -> bool:
        """Whether a workload is in a namespace where the account may see workloads."""
        assert self._reviews is not None
        space = await anyio.to_thread.run_sync(self._namespace, ref)
        asked = ReviewedRight(right.verb, right.resource, space)
        return bool(space) and await self._reviews.may(account, asked)

    def _namespace(self, ref: str) -> str:
        """The namespace of a workload; empty = there is none, or several fit."""
        with self._source.read() as mind:
            try:
                workload, _ = find(mind, ref)
            except (NotFound, Conflict):
                return ""
            return mind.book.entries[workload].workload.user


def _token(headers: Headers) -> str:
    """The token of a request; empty = it has none."""
    given = headers.get(HEADER, "")
    if given:
        return given.strip()
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    return bearer.strip() if kind.lower() == "bearer" else ""


def _namespaces(scope: Scope) -> tuple[str, ...]:
    """The namespaces that a list is limited to; empty = it is not, or to too many."""
    query = parse_qs(scope["query_string"].decode("ascii", "replace"))
    found = tuple(dict.fromkeys(query.get("user", ())))
    return found if len(found) <= MOST_NAMESPACES else ()
