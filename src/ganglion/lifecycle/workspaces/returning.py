"""The rights of a workspace that comes back, and how much one person may have awake."""

from collections.abc import Iterable

from ganglion.lifecycle.workspaces.idle_state import Ward
from ganglion.model.policy import Policy
from ganglion.model.workload import Workload

RETURNING = "returning"
"""Priority class of workspaces that were resumed, until they start."""
RETURNING_VALUE = 90
"""Its value where the policy does not name it."""


def returning_priority(workload: Workload, policy: Policy) -> int:
    """Priority of a resumed workspace until it starts; afterwards it has its own again.

    It is first to start, and has no more right than before to keep its place.

    Args:
        workload: the workspace.
        policy: may name the class.
    """
    named = policy.priorities.get(RETURNING)
    return max(workload.priority, named.value if named else RETURNING_VALUE)


def awake(wards: Iterable[Ward], user: str) -> list[str]:
    """Ids of the workspaces of a user that are not suspended, oldest first."""
    return [each.gang.workload for each in wards if each.gang.user == user and not each.held]
