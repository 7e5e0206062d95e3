"""What the free part of a shared device is worth: how much of it will be filled.

A table looked up by device kind, CPU left on the node and thousandths free on the device.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ganglion.engine.plugins.protocols import Ints, NodeClass
from ganglion.engine.plugins.scores.target import NEVER, Side, TypicalTarget, need_on
from ganglion.model.resources import WHOLE

OFFERS = 20
"""Typical GPU pods that a device is offered, on average, before nothing more comes."""

UNIT = 64
"""Parts of a thousandth that worths are counted in, so that rounding does not add up."""


class Offers:
    """The worth of every device of R node states, for one target.

    The worth of a device with g thousandths free is what typical pods that take at most one device
    will have filled in the end, if they come one by one at random in their usual mix, `OFFERS` of
    them on average (geometrically distributed), and each that fits stays:

        worth(g) = sum of w x (need + worth(g - need)) x OFFERS / (all w + OFFERS x sum of w)

    over the pods that fit: into g and into the CPU that the node has left, which is taken to stay.

    Args:
        target: the typical pods.
        classes: all node classes, as for the target.
        width: devices per row.

    Attributes:
        levels: int64[L], free CPU from which a level applies.
        needs: by kind of device, what each form takes of one.
        kind_of: int64[C, D], kind of each device.
        tables: int64[K, L, 1001], worth by kind, level and thousandths free.
    """

    def __init__(self, target: TypicalTarget, classes: Sequence[NodeClass], width: int) -> None:
        single = target.count[target.form] == 1
        self.levels = np.unique(np.concatenate(([0], target.cpu[single])))
        self.kind_of = np.zeros((len(classes), width), dtype=np.int64)
        numbers: dict[tuple[int, ...], int] = {}
        for number, node in enumerate(classes):
            for index, (kind, memory, _, _) in enumerate(node.devices):
                needs = tuple(need_on(form, kind, memory) for form in target.forms)
                self.kind_of[number, index] = numbers.setdefault(needs, len(numbers))
        self.needs = list(numbers)
        tables = [self._table(target, np.array(each, dtype=np.int64)) for each in numbers]
        self.tables = np.stack(tables or [np.zeros((len(self.levels), WHOLE + 1), np.int64)])

    def worth(self, side: Side) -> Ints:
        """Thousandths x `UNIT` that will be filled on all devices of a node, int64[R]."""
        level = np.searchsorted(self.levels, side.cpu, side="right") - 1
        each: Ints = self.tables[self.kind_of[side.class_of], level[:, None], side.gpu]
        total: Ints = each.sum(axis=1)
        return total

    def _table(self, target: TypicalTarget, need: Ints) -> Ints:
        """int64[levels, 1001] for devices of which the forms need `need`."""
        of_pod = np.where(target.count == 1, need, NEVER)[target.form]
        sizes = np.unique(of_pod[of_pod < NEVER])
        fits = target.cpu <= self.levels[:, None]
        weights = [((of_pod == size) & fits) @ target.weight for size in sizes]
        everyone = int(target.weight.sum())
        worth = np.zeros((len(self.levels), WHOLE + 1), dtype=np.int64)
        for known, (low, high) in enumerate(pairwise([*sizes.tolist(), WHOLE + 1]), start=1):
            _fill(worth, sizes[:known], np.stack(weights[:known], axis=1), everyone, low, high)
        return worth


def _fill(worth: Ints, sizes: Ints, weight: Ints, everyone: int, low: int, high: int) -> None:
    """Columns low to high - 1, in which pods of exactly these sizes fit."""
    bound = everyone + OFFERS * weight.sum(axis=1)
    for free in range(low, high):
        filled = weight * (UNIT * sizes + worth[:, free - sizes])
        worth[:, free] = OFFERS * filled.sum(axis=1) // bound
