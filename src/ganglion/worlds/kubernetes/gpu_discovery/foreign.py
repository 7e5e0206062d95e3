"""What pods that are not ours take of a node."""

from collections.abc import Iterable
from functools import reduce

from msgspec import Struct

from ganglion.worlds.kubernetes.requests import Ask, plus


class ForeignUse(Struct, frozen=True):
    """What pods of other schedulers, daemon sets and static pods take of one node.

    Attributes:
        ask: all that they ask for together.
        pods: how many there are.
    """

    ask: Ask = Ask()
    pods: int = 0

    def gpus(self) -> dict[str, int]:
        """GPUs that they hold, by resource."""
        return self.ask.gpus_by_resource()


def held_of(asks: Iterable[Ask]) -> ForeignUse:
    """What pods take together.

    Args:
        asks: of every pod that is bound to the node, is not over, and is not ours.
    """
    each = tuple(asks)
    return ForeignUse(reduce(plus, each, Ask()), len(each))
