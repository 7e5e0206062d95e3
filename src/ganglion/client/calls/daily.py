"""Daily verbs: what has ended, and events from now on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx2
import msgspec

from ganglion.api.events import ClusterDelivery, ClusterPage, EventView
from ganglion.api.money.usage import UsagePage
from ganglion.api.past.curves import CurvePage
from ganglion.api.queues import ReclaimPage
from ganglion.api.reasons import StartPage, StartView
from ganglion.api.use import NodeDetail, Report, UsePage
from ganglion.api.workloads import HistoryItem, HistoryPage
from ganglion.client.calls.paging import paged
from ganglion.client.errors import ended, fault_of
from ganglion.client.http import path_of

if TYPE_CHECKING:
    from ganglion.client.http import Http


class Daily:
    """Part of `Client`; every method raises what its methods raise.

    Args:
        http: the connection.
    """

    def __init__(self, http: "Http") -> None:
        self._http = http

    def clusters(self) -> tuple[ClusterDelivery, ...]:
        """List clusters whose schedulers deliver what they decide, and how far that has come."""
        return self._http.call("GET", "/clusters", ClusterPage).items

    def history(
        self,
        *,
        since_ms: int = 0,
        until_ms: int = 0,
        states: Sequence[str] = (),
        queue: str | None = None,
        user: str | None = None,
        kind: str | None = None,
        name: str | None = None,
        limit: int | None = None,
    ) -> list[HistoryItem]:
        """List workloads that have ended, the one that ended last first.

        Args:
            since_ms: they ended at this time or later.
            until_ms: they ended before this time; 0 = now.
            states: states that they ended in; empty = any.
            queue: only of this queue.
            user: only of this user.
            kind: only of this kind.
            name: pattern of their names: `*` is any text, `?` any character.
            limit: at most this number; None = all.
        """
        given = {"since": since_ms, "until": until_ms, "queue": queue, "user": user}
        given |= {"kind": kind, "name": name}

        def fetch(most: int, after: str | None) -> HistoryPage:
            params = {**given, "state": tuple(states) or None, "limit": most, "after": after}
            return self._http.call("GET", "/history", HistoryPage, params=params)

        return [each for page in paged(fetch, limit) for each in page]

    def starts(self, gangs: Sequence[str]) -> dict[str, StartView]:
        """Return when gangs are expected to start, by gang, of at most 100 that wait."""
        found = self._http.call("GET", "/order/starts", StartPage, params={"gang": tuple(gangs)})
        return {each.gang: each for each in found.items}

    def use(self) -> UsePage:
        """Return what gangs and GPUs use now; takes half a second if none asked before."""
        return self._http.call("GET", "/use", UsePage)

    def curves(self, ref: str, index: int = 0) -> CurvePage:
        """Return what the attempts of one gang of a workload used and reported over time."""
        path = path_of("/workloads", ref, "curves")
        return self._http.call("GET", path, CurvePage, params={"index": index})

    def usage(
        self,
        *,
        by: Sequence[str] = ("queue",),
        since: str | int = "7d",
        until: str | int = "",
        queues: Sequence[str] = (),
    ) -> UsagePage:
        """Sum up the GPU time that attempts held over a period, all groups at once.

        Args:
            by: what to group by: `queue`, `user`, `workload`, `flavor`, `day`.
            since: begin of the period: `7d` ago, a date and time, or ms.
            until: its end, written as `since`; empty = now.
            queues: only these and those below them; empty = all.
        """
        params = {"by": tuple(by), "since": str(since), "until": str(until) or None}
        params |= {"queue": tuple(queues) or None}
        return self._http.call("GET", "/usage", UsagePage, params=params)

    def report(
        self, *, since: str | int = "7d", until: str | int = "", queues: Sequence[str] = ()
    ) -> Report:
        """Return GPU utilisation, waiting times and scheduling overhead over a period.

        Args:
            since: begin of the period: `7d` ago, a date and time, or ms.
            until: its end, written as `since`; empty = now.
            queues: only these and those below them; empty = all.
        """
        params = {"since": str(since), "until": str(until) or None, "queue": tuple(queues) or None}
        return self._http.call("GET", "/report", Report, params=params)

    def reclaims(
        self, *, since: str | int = "7d", until: str | int = "", queues: Sequence[str] = ()
    ) -> ReclaimPage:
        """Say which queues took back from which in a period; arguments are as of `report`."""
        params = {"since": str(since), "until": str(until) or None, "queue": tuple(queues) or None}
        return self._http.call("GET", "/reclaims", ReclaimPage, params=params)

    def node(self, name: str) -> NodeDetail:
        """Return everything about a node."""
        return self._http.call("GET", f"/nodes/{quote(name, safe='')}", NodeDetail)

    @contextmanager
    def happening(self) -> Iterator[Iterator[EventView]]:
        """Open the stream of what happens from now on; it is open when the block begins.

        Raises:
            EnvironmentFault: the stream broke off, as the server shuts down.
        """
        with self._http.stream("/events", {"now": True}) as response:
            yield read_events(response, self._http.url)


def read_events(response: httpx2.Response, url: str) -> Iterator[EventView]:
    """Yield the events of an open stream.

    Raises:
        EnvironmentFault: the stream broke off.
    """
    try:
        for event in httpx2.EventSource(response):
            if event.event == "end":
                raise ended(event.data)
            if event.data:
                yield EventView(int(event.id), msgspec.json.decode(event.data))
    except httpx2.TransportError as error:
        raise fault_of(error, url) from error
