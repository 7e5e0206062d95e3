"""Whether a whole gang may be put where it is meant to go, all members at once."""

from collections.abc import Callable, Iterable, Sequence

from ganglion.worlds.kubernetes.feasibility.needs import Needs, Resident
from ganglion.worlds.kubernetes.feasibility.reading import needs_of, resident
from ganglion.worlds.kubernetes.feasibility.rule import obstacle, rule_of
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.gang_affinity import lonely
from ganglion.worlds.kubernetes.pod_rules.pod_affinity import Distances
from ganglion.worlds.kubernetes.pod_rules.spread import Balance
from ganglion.worlds.kubernetes.types.pod import Pod

Trouble = tuple[str, str]
"""A node, and why a member may not go there."""


def check(
    members: Sequence[tuple[Pod, str]],
    crowd: PodIndex,
    fleet: Fleet,
    gone: Iterable[str] = (),
    needs: Callable[[Pod], Needs] = needs_of,
) -> Trouble | None:
    """Check all rules for pods that are placed together.

    Static rules are looked at once more, as each member may have claims of its own. In the
    dynamic rules members count for each other: ports, resources and claims add up, anti-affinity
    and spreading are judged with all of them in place, and affinity needs an order in which each
    member finds the pods that it has to be near, the first of its kind excepted.

    Args:
        members: pods, each with its node.
        crowd: the pods on the nodes; unchanged afterwards. Members in it are taken out first.
        fleet: the nodes.
        gone: uids of pods that will have left by then.
        needs: of one of the pods.

    Returns:
        The first trouble found, or None.
    """
    found = [
        resident(pod, node, _uid(pod, at), needs(pod)) for at, (pod, node) in enumerate(members)
    ]
    unknown = next((each.node for each in found if each.node not in fleet.views), None)
    if unknown is not None:
        return unknown, "the node is gone"
    trouble = _misplaced(members, crowd, fleet)
    if trouble:
        return trouble
    with crowd.supposing((*gone, *(each.uid for each in found))) as suppose:
        trouble = lonely(found, crowd, fleet)
        for each in found:
            trouble = trouble or _no_room(each, crowd, fleet)
            if trouble:
                return trouble
            suppose(each)
        return in_place(found, crowd, fleet)


def _misplaced(members: Sequence[tuple[Pod, str]], crowd: PodIndex, fleet: Fleet) -> Trouble | None:
    for pod, node in members:
        why = obstacle(rule_of(pod, crowd.volumes), fleet.views[node].asked)
        if why:
            return node, why
    return None


def _no_room(one: Resident, crowd: PodIndex, fleet: Fleet) -> Trouble | None:
    needs, node = one.needs, one.node
    why = (
        crowd.ports.clash(needs.ports, node)
        or crowd.counted.shortage(needs, fleet, node)
        or crowd.mounted.trouble(needs, node)
    )
    return (node, why) if why else None


def in_place(found: Sequence[Resident], crowd: PodIndex, fleet: Fleet) -> Trouble | None:
    """The first of some pods, all of them on nodes, that what runs there keeps away."""
    distances, balance = Distances(crowd, fleet), Balance(crowd, fleet)
    for each in found:
        why = distances.too_close(each) or balance.uneven(each)
        if why:
            return each.node, why
    return None


def _uid(pod: Pod, at: int) -> str:
    return pod.metadata.uid or f"member {at}"
