"""What nodes hold already of what the pods of a gang load, in seconds.

It decides among places that are equal otherwise: nodes of one score, domains that are equally
tight. It never weighs against topology, packing or who goes first.
"""

from msgspec.structs import replace

from ganglion.engine.topology.indexes import NOTHING, Indexes, Saved
from ganglion.engine.topology.tree import Tree
from ganglion.model.placement import HeldItem, Placement
from ganglion.model.workload import Gang


def loads(gang: Gang) -> dict[str, str]:
    """What nodes may hold of what the pods of a gang load -> what people call it."""
    model = {gang.model.digest: gang.model.uri} if gang.model and gang.model.digest else {}
    return model | {each: each for each in gang.images}


def saved_for(indexes: Indexes, gang: Gang, mib_per_s: int) -> Saved:
    """What each node saves a gang, by rank; nodes that save less than a second are left out.

    Args:
        indexes: the nodes.
        gang: whose pods load something.
        mib_per_s: how fast nodes fetch; 0 = nothing is saved.
    """
    if not mib_per_s:
        return NOTHING
    holders, held = indexes.holders(), dict[int, int]()
    for item in loads(gang):
        for rank, mib in holders.get(item, NOTHING).items():
            held[rank] = held.get(rank, 0) + mib
    return {rank: mib // mib_per_s for rank, mib in held.items() if mib >= mib_per_s}


def around(tree: Tree, saved: Saved) -> Saved:
    """Domain -> what its nodes save together."""
    found = dict[int, int]()
    for rank, seconds in saved.items():
        for domain in tree.ancestors(rank):
            found[domain] = found.get(domain, 0) + seconds
    return found


def with_held(tree: Tree, gang: Gang, placement: Placement, mib_per_s: int) -> Placement:
    """A placement with what its nodes hold of what the gang loads, node by node."""
    if not (mib_per_s and (gang.model or gang.images)):
        return placement
    held = tuple(
        HeldItem(node, name, mib // mib_per_s)
        for node in dict.fromkeys(pod.node for pod in placement.pods)
        for item, name in loads(gang).items()
        if (mib := tree.node(node).holds.get(item, 0)) >= mib_per_s
    )
    return replace(placement, held=held)
