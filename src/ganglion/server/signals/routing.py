"""A service as the router gets it."""

from collections.abc import Sequence

from ganglion.lifecycle.services import Part, Replica
from ganglion.model.plan import Phase
from ganglion.router.balancing.table import ReplicaEndpoint, RoutedService, RoutingState
from ganglion.server.signals.access import access_of
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Transaction

GOING = (Part.DRAINING, Part.LEAVING)
"""Replicas that finish what they have and get nothing new."""


def routed(draft: Transaction, entry: LiveWorkload, replicas: Sequence[Replica]) -> RoutedService:
    """What the router gets about a service.

    Args:
        draft: the open turn.
        entry: the service.
        replicas: all that are remembered.
    """
    scaling = entry.workload.scaling
    endpoints = tuple(found for each in replicas if (found := _endpoint(draft, each)))
    return RoutedService(
        entry.workload.name,
        endpoints,
        affinity=scaling.affinity if scaling else "",
        late_ms=scaling.start_within_ms if scaling else 0,
        wakes=scaling is not None or any(each.part is Part.ACTIVE for each in replicas),
        access=access_of(entry.workload, entry.id),
    )


def _endpoint(draft: Transaction, replica: Replica) -> ReplicaEndpoint | None:
    phase = draft.state.gangs.records[replica.gang].phase
    address = draft.endpoints.get(replica.gang)
    if not address or phase not in (Phase.RUNNING, Phase.STOPPING):
        return None
    going = replica.part in GOING or phase is Phase.STOPPING
    return ReplicaEndpoint(
        replica.gang, address, RoutingState.DRAINING if going else RoutingState.STARTING
    )
