"""One class with one typed method per route of the server."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self, Unpack
from uuid import uuid4

import httpx2

from ganglion.api.events import EventView
from ganglion.api.nodes import CapacityPage, DrainPage, DrainView, NodePage, NodeView
from ganglion.api.queues import QueuePage, QueueView
from ganglion.api.reasons import Verdict, Why
from ganglion.api.server import Health, Version
from ganglion.api.workloads import (
    Accepted,
    Opening,
    OrderItem,
    OrderPage,
    Suspension,
    WorkloadDetail,
    WorkloadPage,
)
from ganglion.client.calls.access import AccessClient
from ganglion.client.calls.again import Again
from ganglion.client.calls.bulk import Bulk
from ganglion.client.calls.daily import Daily, read_events
from ganglion.client.calls.models import Models
from ganglion.client.calls.money import Money
from ganglion.client.calls.placed import placed
from ganglion.client.calls.policies import Policies
from ganglion.client.calls.secrets import Secrets
from ganglion.client.calls.terminals import Terminals
from ganglion.client.calls.whatif import WhatIfs
from ganglion.client.filters import Filters, body_of
from ganglion.client.home import UNIX, home, read_token, server_of
from ganglion.client.http import UNIX_URL, Http, path_of
from ganglion.client.logins import chosen_login
from ganglion.model.errors import GanglionError
from ganglion.model.fleet.capacity import FlavorReport

Document = Mapping[str, Any]


class Client(Policies):
    """A connection to a Ganglion server.

    Args:
        url: where the server is, as `http://127.0.0.1:7077`.
        token: what the server wants to see, or what reads it: every start makes another one.
        timeout_s: longest silence of the server, in seconds.
        unix: socket of the server on this machine, in place of the URL and the token.
        transport: replaces the network, for tests.
        shared: whether the socket is one for other accounts than that of the server.

    Methods raise the `GanglionError` that the server answered, or `EnvironmentFault` without one.
    """

    def __init__(
        self,
        url: str,
        token: str | Callable[[], str] = "",
        *,
        timeout_s: float = 30.0,
        unix: Path | None = None,
        transport: httpx2.BaseTransport | None = None,
        shared: bool = False,
    ) -> None:
        super().__init__(Http(url, token, timeout_s, unix, transport, shared=shared))

    @classmethod
    def from_home(cls, *, timeout_s: float = 30.0) -> Self:
        """Connect to the server of this user, by its Unix socket where it has one.

        `$GANGLION_URL` and `$GANGLION_TOKEN` win over what the home directory says; a URL
        `unix:/run/…/api.sock` is a socket on which the kernel says whose account calls. Without a
        token, that of `ganglion login` at that URL is sent; without a URL, and where no server of
        this user runs, the last login names the server.

        Raises:
            EnvironmentFault: no server is running, or the logins cannot be trusted.
            FileError: the logins cannot be read.
        """
        url, token = os.environ.get("GANGLION_URL"), os.environ.get("GANGLION_TOKEN")
        login = chosen_login()
        if login:
            return cls(login.url, login.token, timeout_s=timeout_s)
        if url and url.startswith(UNIX):
            path = Path("/", url.removeprefix(UNIX).lstrip("/"))
            return cls(UNIX_URL, timeout_s=timeout_s, unix=path, shared=True)
        if not url:
            return cls.of_home(home(), timeout_s=timeout_s)
        return cls(url, token or partial(read_token, home()), timeout_s=timeout_s)

    @classmethod
    def of_home(cls, folder: Path, *, timeout_s: float = 30.0) -> Self:
        """Connect to the server of a home directory, as `from_home` does."""
        url, unix = server_of(folder)
        return cls(url, partial(read_token, folder), timeout_s=timeout_s, unix=unix)

    @property
    def access(self) -> AccessClient:
        """Who may do what: roles and personal tokens."""
        return AccessClient(self._http)

    @property
    def again(self) -> Again:
        """What is submitted anew: schedules, and what failed."""
        return Again(self._http)

    @property
    def money(self) -> Money:
        """Prices and budgets."""
        return Money(self._http)

    @property
    def models(self) -> Models:
        """Models that workloads have."""
        return Models(self._http)

    @property
    def what_ifs(self) -> WhatIfs:
        """Questions about a past that was otherwise."""
        return WhatIfs(self._http)

    @property
    def daily(self) -> Daily:
        """What has ended, and what is used now."""
        return Daily(self._http)

    @property
    def terminals(self) -> Terminals:
        """Commands in running pods, terminals, ports."""
        return Terminals(self._http)

    @property
    def bulk(self) -> Bulk:
        """Many workloads at once."""
        return Bulk(self._http)

    @property
    def secrets(self) -> Secrets:
        """Secrets that are kept by name."""
        return Secrets(self._http)

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._http.url

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def health(self) -> Health:
        """Return whether the server works."""
        return self._http.call("GET", "//healthz", Health, but=503)

    def readiness(self) -> Health:
        """Return whether requests are accepted, and what needs a person."""
        return self._http.call("GET", "//readyz", Health, but=503)

    def healthy(self) -> bool:
        """Whether the server works. Never raises for a server that does not answer."""
        try:
            return self.health().status == "ok"
        except GanglionError:
            return False

    def version(self) -> Version:
        """Return the server's version."""
        return self._http.call("GET", "//version", Version)

    def shutdown(self, *, cancel: bool = False) -> None:
        """Stop the server; jobs go on unless `cancel` is set."""
        self._http.call("POST", "/shutdown", Any, body={"cancel": cancel})

    def submit(
        self, document: Document, *, key: str = "", force: bool = False, if_plan: str = ""
    ) -> Accepted:
        """Submit one workload.

        Args:
            document: keys as in a workload file. Without `workdir` and image it runs in the
                directory of the caller.
            key: idempotency key; the same key never submits twice. Made up when empty.
            force: submit it although it could never start as things are.
            if_plan: `plan` of a verdict: raise PlanChanged unless it holds still.
        """
        return self._http.call(
            "POST",
            "/workloads",
            Accepted,
            params={"force": force or None, "if_plan": if_plan or None},
            body=placed(document),
            key=key or uuid4().hex,
        )

    def verdict(self, document: Document) -> Verdict:
        """Say what would happen to a workload, without submitting it."""
        return self._http.call(
            "POST", "/workloads", Verdict, params={"dry_run": True}, body=placed(document)
        )

    def workloads(
        self,
        *,
        ended: bool = False,
        limit: int | None = None,
        after: str | None = None,
        **filters: Unpack[Filters],
    ) -> WorkloadPage:
        """List workloads, newest first; live ones only unless `ended` is set.

        Args:
            ended: also those that ended.
            limit: most rows.
            after: `next` of the page before.
            filters: what they have to be.
        """
        # Servers before cursors know `after`, and would send the first page again and again.
        params = {"all": ended or None, **body_of(filters), "limit": limit, "after": after}
        return self._http.call("GET", "/workloads", WorkloadPage, params=params)

    def workload(self, ref: str) -> WorkloadDetail:
        """Return everything about a workload. `ref` is an id, a unique prefix, or a name."""
        return self._http.call("GET", path_of("/workloads", ref), WorkloadDetail)

    def why(self, ref: str) -> Why:
        """Say why a workload waits."""
        return self._http.call("GET", path_of("/workloads", ref, "why"), Why)

    def update(
        self,
        ref: str,
        *,
        priority: int | None = None,
        queue: str | None = None,
        time_limit: str | None = None,
        deadline: str | None = None,
        held: bool | None = None,
    ) -> WorkloadDetail:
        """Change a live workload; None leaves a property as it is.

        Args:
            ref: id, unique prefix or name.
            priority: 0..100.
            queue: name of a leaf queue.
            time_limit: as in a workload file, as `24h`.
            deadline: as in a workload file, as `12h` after the submit; `0` lifts it.
            held: whether it is kept from starting.
        """
        given = {"priority": priority, "queue": queue, "time_limit": time_limit}
        given |= {"deadline": deadline, "held": held}
        body = {name: value for name, value in given.items() if value is not None}
        return self._http.call("PATCH", path_of("/workloads", ref), WorkloadDetail, body=body)

    def cancel(self, ref: str, *, force: bool = False) -> None:
        """Stop a workload: gently, or at once with `force`."""
        self._http.call("POST", path_of("/workloads", ref, "cancel"), Any, body={"force": force})

    def suspend(self, ref: str, *, dry_run: bool = False) -> Suspension:
        """Stop a workspace until it is resumed; with `dry_run` only say what would be lost."""
        path, params = path_of("/workloads", ref, "suspend"), {"dry_run": dry_run or None}
        return self._http.call("POST", path, Suspension, params=params)

    def open(self, ref: str) -> Opening:
        """Return an address that lets one browser in to a service or workspace, and its token."""
        return self._http.call("POST", path_of("/workloads", ref, "open"), Opening)

    def scale(self, ref: str, replicas: int | str) -> WorkloadDetail:
        """Give a service a number of replicas, or a floor and a ceiling, as `2..8`."""
        body = {"replicas": replicas}
        return self._http.call(
            "POST", path_of("/workloads", ref, "scale"), WorkloadDetail, body=body
        )

    def resume(self, ref: str) -> WorkloadDetail:
        """Let a suspended workspace start again."""
        return self._http.call("POST", path_of("/workloads", ref, "resume"), WorkloadDetail)

    @contextmanager
    def logs(
        self,
        ref: str,
        *,
        index: int | None = None,
        rank: int = 0,
        tail: int | None = None,
        since: str | None = None,
        follow: bool = False,
        previous: bool = False,
    ) -> Iterator[Iterator[bytes]]:
        """Open a log as chunks of bytes; with `follow` it ends when the gang ends.

        Args:
            ref: id, unique prefix or name.
            index: which gang of the workload; None = the first that has not ended.
            rank: which process of the gang.
            tail: only that many last lines.
            since: only what was written within that time, as `10m`.
            follow: wait for more.
            previous: of the attempt before.
        """
        params = {
            "index": index,
            "rank": rank,
            "tail": tail,
            "since": since,
            "follow": follow or None,
            "previous": previous or None,
        }
        with self._http.stream(path_of("/workloads", ref, "logs"), params) as response:
            yield response.iter_bytes()

    # Cluster

    def order(self, **filters: Unpack[Filters]) -> tuple[OrderItem, ...]:
        """Return everything that waits, in order; `filters` narrow it down."""
        return self.order_page(**filters).items

    def order_page(
        self, *, limit: int | None = None, after: str | None = None, **filters: Unpack[Filters]
    ) -> OrderPage:
        """Return a page of what waits; `limit` and `after` as of `workloads`."""
        params = {**body_of(filters), "limit": limit, "cursor": after}
        return self._http.call("GET", "/order", OrderPage, params=params)

    def queues(self) -> tuple[QueueView, ...]:
        """List queues."""
        return self._http.call("GET", "/queues", QueuePage).items

    def set_queue(self, name: str, document: Document, *, etag: str | None = None) -> None:
        """Make a queue or change it; Stale is raised where its rules are not those of `etag`.

        Args:
            name: unique in the tree.
            document: has the keys of the cluster file's queues.
            etag: of the rules it has; empty = there is no such queue; None = whatever it has.
        """
        self._http.call("PUT", path_of("/queues", name), Any, body=dict(document), etag=etag)

    def delete_queue(self, name: str) -> None:
        """Delete a queue without workloads and children."""
        self._http.call("DELETE", path_of("/queues", name), Any)

    def nodes(self) -> tuple[NodeView, ...]:
        """List nodes."""
        return self._http.call("GET", "/nodes", NodePage).items

    def cordon(self, node: str, reason: str) -> None:
        """Start nothing new on a node."""
        self._http.call("POST", path_of("/nodes", node, "cordon"), Any, body={"reason": reason})

    def uncordon(self, node: str) -> None:
        """Let a node take work again."""
        self._http.call("POST", path_of("/nodes", node, "uncordon"), Any)

    def drain(self, what: str, by_ms: int, reason: str, *, dry_run: bool = False) -> DrainView:
        """Empty a node or domain (`LEVEL=NAME`, or its name), or only say what has to leave."""
        body, asked = {"by": by_ms, "reason": reason}, {"dry_run": dry_run or None}
        path = path_of("/drains", what)
        return self._http.call("PUT", path, DrainView, params=asked, body=body)

    def undrain(self, what: str) -> None:
        """Let the nodes of a drain take work again."""
        self._http.call("DELETE", path_of("/drains", what), Any)

    def drains(self) -> tuple[DrainView, ...]:
        """List what drains."""
        return self._http.call("GET", "/drains", DrainPage).items

    def gpus(self) -> tuple[FlavorReport, ...]:
        """Return total, used and free GPUs by flavor."""
        return self._http.call("GET", "/gpus", CapacityPage).items

    def events(self, after: int = 0, *, follow: bool = True) -> Iterator[EventView]:
        """Yield what happened after event number `after`, then what happens, without end.

        Args:
            after: number of an event; 0 = from the beginning.
            follow: False = end after all events so far.

        Raises:
            EnvironmentFault: the stream broke off, as the server shuts down; go on after the
                last number seen.
        """
        params = {"after": after, "follow": follow}
        with self._http.stream("/events", params) as response:
            yield from read_events(response, self.url)
