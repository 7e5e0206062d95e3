"""Events about gangs: one for each gang, on the object that answers for it."""

from collections.abc import Sequence

from ganglion.worlds.kubernetes.cluster_view.orders import Note
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.write_rules.series import About

NAMED = 3
"""Nodes that are named; the rest is counted."""


def note(
    scene: ControllerState,
    gang: str,
    reason: str,
    action: str,
    message: str,
    *,
    warning: bool = False,
) -> None:
    """Record an event about a gang's owner, or its first pod."""
    found, site = scene.gangs.founds.get(gang), scene.site_of(gang)
    if found and found.owner:
        owner = found.owner
        about = About(owner.api_version, owner.kind, owner.namespace, owner.name, owner.uid)
    elif found and found.members:
        meta = found.members[0].pod.metadata
        about = About("v1", "Pod", meta.namespace, meta.name, meta.uid)
    else:
        return
    scene.orders.append(Note(site.name, about, reason, action, message, warning))


def spread_over(nodes: Sequence[str]) -> str:
    """Where the pods of a gang are, for people: `4 pods on n0, n1`."""
    names = sorted(set(nodes))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    pods = "1 pod" if len(nodes) == 1 else f"{len(nodes)} pods"
    return f"{pods} on {', '.join(names[:NAMED])}{more}"
