"""The protocol between the engine and everything that really runs."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ganglion.model.behaviour import Idle
from ganglion.model.causes import Cause
from ganglion.model.events import Event
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Plan, Resize, Start, Stop
from ganglion.model.workload import Workload
from ganglion.worlds.onlooker import Onlooker


class World(Protocol):
    """Carries plans out and reports facts.

    Both calls must be safe to repeat: a server may die between any two of them. An attempt
    is identified by (gang id, attempt number); starting one twice does nothing the second time.
    """

    def now(self) -> int:
        """The time in milliseconds by this world's clock."""

    def execute(self, plan: Plan, workloads: Mapping[str, Workload]) -> None:
        """Carry out starts, resizes and stops. `workloads` maps workload id to what was submitted.

        Never raises for a failed start: that is reported as `GangEnded(START_FAILED)`.
        """

    def observe(self) -> Sequence[Event]:
        """Facts since the last call, oldest first; `requeue` is left for lifecycle to set."""


class ServedWorld(World, Protocol):
    """A world whose jobs outlive the server. Its `now` never goes back."""

    def wall(self) -> int:
        """The wall clock in milliseconds, which may jump and go back; for dates alone."""

    def reconcile(
        self,
        *,
        placed: Mapping[str, Start],
        running: Mapping[str, int],
        stopping: Mapping[str, Stop],
        resized: Mapping[str, Resize],
        workloads: Mapping[str, Workload],
        nodes: Mapping[str, Node],
    ) -> object:
        """Bring what the ledger believes and what exists together; carries out what is due."""

    def stop(self, gang: str, attempt: int, cause: Cause, *, force: bool = False) -> None:
        """Stop an attempt, at once with `force`."""

    def set_time_limit(self, gang: str, time_limit_ms: int) -> None:
        """Change the time limit of a gang's live attempt."""

    def endpoint(self, gang: str) -> str | None:
        """Where a gang's service listens, as `address:port`."""

    def tidy(self, gang: str, attempt: int) -> None:
        """The end of an attempt is written: its records are not needed any more."""

    def tell(self, gang: str, message: str) -> None:
        """Warn the user of a workspace; an empty message takes that back."""

    def onlooker(self, gang: str, idle: Idle) -> Onlooker | None:
        """What observes whether a workspace is used; None = nothing can."""

    def close(self) -> None:
        """Let another server use this world; jobs run on."""
