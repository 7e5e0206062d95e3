"""Where workspaces are reached, and who opens one that sleeps."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import structlog

from ganglion.lifecycle.workspaces.idle_state import Ward
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import Conflict
from ganglion.model.plan import Phase
from ganglion.router.balancing.table import ReplicaEndpoint, RoutedService, RoutingState
from ganglion.server.commands.workspaces import resume
from ganglion.server.signals.access import access_of
from ganglion.server.signals.router_link import Heard
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Transaction

OWNER = "workspaces"
LOOK_MS = 500
"""How often it is asked whether a client waits for a workspace that sleeps, and where one that
has only just started is found."""
BASE = "JUPYTER_BASE_URL"
"""Variable with which a workspace says that it answers under its name."""

log = structlog.get_logger(__name__)


class Entrance(Protocol):
    """See `ganglion.server.signals.router_link.Door`."""

    def publish(self, owner: str, services: Sequence[RoutedService]) -> None:
        """Route these from now on."""

    def heard(self) -> Heard:
        """The last report of the router."""


class Reception:
    """Has workspaces routed, and wakes the one that a client opens.

    Args:
        door: leads to the router.
    """

    def __init__(self, door: Entrance) -> None:
        self._door = door

    def tend(self, draft: Transaction, wards: Iterable[Ward]) -> int | None:
        """Do what is due; returns when to ask again, in ms."""
        reached = [(each, entry) for each in wards if (entry := _reached(draft, each))]
        asleep = [(each, entry) for each, entry in reached if each.held]
        if asleep:
            heard = self._door.heard()
            for _, entry in asleep:
                found = heard.services.get(entry.workload.name)
                if heard.fresh and found and found.waiting:
                    _wake(draft, entry)
        table = [_routed(draft, ward, entry) for ward, entry in reached]
        draft.orders.append(lambda _world: self._door.publish(OWNER, table))
        unknown = any(ward.runs and not draft.endpoints.get(ward.gang.id) for ward, _ in reached)
        return draft.now + LOOK_MS if asleep or unknown else None


def _reached(draft: Transaction, ward: Ward) -> LiveWorkload | None:
    """The entry of a workspace that is reached from outside: one that says its port."""
    entry = draft.book.entries[ward.gang.workload]
    return entry if entry.workload.run.port else None


def _wake(draft: Transaction, entry: LiveWorkload) -> None:
    try:
        resume(draft, entry.id, Cause(CauseKind.ADDRESS_OPENED))
    except Conflict as error:  # its user has too many awake, and the client that opened it gets 503
        log.info("not woken", workload=entry.id, why=error.message)


def _routed(draft: Transaction, ward: Ward, entry: LiveWorkload) -> RoutedService:
    name, env = entry.workload.name, entry.workload.run.env
    return RoutedService(
        name,
        _endpoints(draft, ward),
        keep_prefix=env.get(BASE, "").strip("/") == name,
        sleeps=bool(ward.held),
        access=access_of(entry.workload, entry.id),
    )


def _endpoints(draft: Transaction, ward: Ward) -> tuple[ReplicaEndpoint, ...]:
    address = draft.endpoints.get(ward.gang.id)
    phase = draft.state.gangs.records[ward.gang.id].phase
    if not address or phase not in (Phase.RUNNING, Phase.STOPPING):
        return ()
    going = phase is Phase.STOPPING
    return (
        ReplicaEndpoint(
            ward.gang.id, address, RoutingState.DRAINING if going else RoutingState.STARTING
        ),
    )
