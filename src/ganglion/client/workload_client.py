"""What commands on workloads ask of the server of a home and of a cluster alike."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, Self, Unpack

from ganglion.model.errors import EnvironmentFault, StateError

if TYPE_CHECKING:
    from ganglion.api.bulk import BulkAnswer
    from ganglion.api.events import EventView
    from ganglion.api.reasons import Verdict, Why
    from ganglion.api.workloads import Accepted, Suspension, WorkloadDetail, WorkloadPage
    from ganglion.client.calls.terminals import Terminals
    from ganglion.client.filters import Filters


class LocalOnly(StateError):
    """A cluster cannot do it: it takes the server of a home."""

    code = "state.local_only"


class NoScheduler(EnvironmentFault):
    """The scheduler of a cluster cannot be asked, and what depends on its answer is not done."""

    code = "environment.scheduler"


class Logs(Protocol):
    """What copies logs."""

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
    ) -> AbstractContextManager[Iterator[bytes]]:
        """Open a log as chunks of bytes; the arguments are those of `Client.logs`."""


class ManyWorkloads(Protocol):
    """Verbs for many workloads at once."""

    def cancel(
        self,
        refs: Sequence[str] = (),
        *,
        everything: bool = False,
        dry_run: bool = False,
        force: bool = False,
        **filters: Unpack["Filters"],
    ) -> "BulkAnswer":
        """Stop workloads: gently, or at once with `force`."""


class WorkloadClient(Logs, Protocol):
    """A connection to what runs workloads: `Client` to a server, `ClusterClient` to a cluster.

    Every method raises LocalOnly where the other end cannot do it at all, with what to do
    instead as its hint; else what the method of `Client` raises.
    """

    @property
    def bulk(self) -> ManyWorkloads:
        """Many workloads at once."""

    @property
    def terminals(self) -> "Terminals":
        """Commands in running pods, terminals, ports."""

    def __enter__(self) -> Self:
        """Return the connection."""

    def __exit__(self, *_: object) -> None:
        """Close it."""

    def submit(
        self,
        document: Mapping[str, Any],
        *,
        key: str = "",
        force: bool = False,
        if_plan: str = "",
    ) -> "Accepted":
        """Submit one workload; with `if_plan` only where a verdict's plan holds still."""

    def verdict(self, document: Mapping[str, Any]) -> "Verdict":
        """Say what would happen to a workload, without submitting it."""

    def workloads(
        self,
        *,
        ended: bool = False,
        limit: int | None = None,
        after: str | None = None,
        **filters: Unpack["Filters"],
    ) -> "WorkloadPage":
        """List workloads, newest first."""

    def workload(self, ref: str) -> "WorkloadDetail":
        """Return everything about a workload."""

    def why(self, ref: str) -> "Why":
        """Say why a workload waits."""

    def events(self, after: int = 0, *, follow: bool = True) -> Iterator["EventView"]:
        """Yield what happened after event number `after`."""

    def cancel(self, ref: str, *, force: bool = False) -> None:
        """Stop a workload: gently, or at once with `force`."""

    def suspend(self, ref: str, *, dry_run: bool = False) -> "Suspension":
        """Stop a workspace until it is resumed; with `dry_run` only say what would be lost."""

    def resume(self, ref: str) -> "WorkloadDetail":
        """Let a suspended workspace start again."""
