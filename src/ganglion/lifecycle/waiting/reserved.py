"""Gangs that hold a promise: which gangs they wait for, and the reason that users see."""

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.timeline.nominations import blockers
from ganglion.model.plan import Phase
from ganglion.model.reasons import Reason, Token

MOST_NAMED = 3


def waits_for(state: ClusterState, gang: str) -> tuple[str, ...]:
    """Workloads whose pods still have to leave the place that a gang was promised."""
    found = blockers(state, state.gangs.record(gang))
    return tuple(dict.fromkeys(other.rpartition("/")[0] for other in found if other != gang))


def reason_of(state: ClusterState, gang: str) -> Reason | None:
    """Why a gang waits, promises included; None = it does not, or the reason is unknown yet."""
    if state.gangs.record(gang).phase is not Phase.RESERVED:
        return state.gangs.reason(gang)
    names = waits_for(state, gang)
    message = f"reserved: starts when {_listed(names)} stopped" if names else "reserved: starts now"
    return Reason(Token.DRAINING, message, evidence={"stopping": len(names)})


def _listed(names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return f"{names[0]} has"
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more have"
    return f"{', '.join(names[:-1])} and {names[-1]} have"
