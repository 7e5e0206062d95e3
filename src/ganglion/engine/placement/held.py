"""What nodes hold already of what the pods of a gang load, in seconds.

It decides among places that are equal otherwise: nodes of one score, domains that are equally
tight. It never weighs against topology, packing or who goes first.
"""

from msgspec.structs import replace

from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.savings import NONE, Savings
from ganglion.engine.topology.tree import Tree
from ganglion.model.placement import HeldItem, Placement
from ganglion.model.workload import Gang


def loads(gang: Gang) -> dict[str, str]:
    """What nodes may hold of what the pods of a gang load -> what people call it."""
    model = {gang.model.digest: gang.model.uri} if gang.model and gang.model.digest else {}
    return model | {each: each for each in gang.images}


def savings_of(indexes: Indexes, gang: Gang, mib_per_s: int) -> Savings:
    """What each node saves a gang, at a rate of MiB per second."""
    if not (gang.model or gang.images):
        return NONE
    return indexes.savings.of(tuple(loads(gang)), mib_per_s)


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
