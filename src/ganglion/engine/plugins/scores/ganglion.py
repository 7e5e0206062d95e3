"""The default score: keep the free GPUs usable."""

from collections.abc import Mapping, Sequence

import numpy as np

from ganglion.engine.plugins.protocols import Ints, NodeClass, Rows, Typical
from ganglion.engine.plugins.scores.bestfit import fit, left_on_device
from ganglion.engine.plugins.scores.offers import UNIT, Offers
from ganglion.engine.plugins.scores.scarcity import Scarcity
from ganglion.engine.plugins.scores.tables import Tables, Weights
from ganglion.engine.plugins.scores.target import Latest, Side, TypicalTarget, before_and_after
from ganglion.model.resources import PodRequest

OFFERS_WEIGHT = 2
"""How much what random arrivals will fill counts beside what copies of one pod can fill."""

STEP = 5
"""Thousandths of a GPU; smaller differences are left to best fit."""

POINTS = 10_000
"""For every step; best fit, from 0 to 100, counts 100 times, the device 100 at most."""


class GanglionScore:
    """Place where the least usable GPU capacity is lost, then by best fit.

    Usable is what typical pods could still fill, measured in two ways that correct each other:
    by copies of one typical pod on the whole node, which sees CPU, memory, device types and pods of
    many GPUs (`copies`); and by typical pods that come one by one to a device, which sees what
    shares fill up together (`Offers`). Devices that others ask for by name cost extra
    (`Scarcity`). See docs/decisions/scoring.md.
    """

    name = "ganglion"
    cacheable = True

    def __init__(self) -> None:
        self._latest = Latest()
        self._worth: _Worth | None = None

    def score(self, pod: PodRequest, rows: Rows, typical: Typical, turn: int) -> Ints:
        """Return int64[R]: -`POINTS` for every `STEP` lost, then best fit, of node and device."""
        del pod, turn
        target = self._latest.of(typical, rows)
        if self._worth is None or not self._worth.holds(target, rows.supply):
            self._worth = _Worth(target, rows)
        lost = -(self._worth.lost(rows) // -STEP)
        return 100 * fit(rows) - POINTS * lost - left_on_device(rows) // 10

    def appraisal(
        self, typical: Typical, classes: Sequence[NodeClass], supply: Mapping[str, int]
    ) -> Tables | None:
        """The same score from tables; None where typical pods ask for memory."""
        width = max((len(each.devices) for each in classes), default=0)
        target = TypicalTarget(typical, classes, max(width, 1))
        if target.memory_on.any():
            return None
        weights = Weights(OFFERS_WEIGHT, STEP, POINTS)
        return Tables(target, classes, max(width, 1), supply, weights)


class _Worth:
    """The measures, made ready for one target."""

    def __init__(self, target: TypicalTarget, rows: Rows) -> None:
        width = rows.gpu_free.shape[1]
        self._target, self._supply = target, rows.supply
        self._offers = Offers(target, rows.classes, width)
        self._scarcity = Scarcity(target, rows.classes, width, rows.supply)
        self._everyone = int(target.weight.sum())

    def holds(self, target: TypicalTarget, supply: Mapping[str, int]) -> bool:
        """Whether it still is what it was made for."""
        return self._target is target and self._supply is supply

    def lost(self, rows: Rows) -> Ints:
        """Thousandths made unusable beyond what the pod takes, and the price of those, int64[R]."""
        sides = before_and_after(rows)
        # Pods keep what a node that came back smaller no longer has: nothing is free there.
        sides.cpu, sides.memory = np.maximum(sides.cpu, 0), np.maximum(sides.memory, 0)
        both = self._usable(sides)
        count = len(rows.device)
        taken = (rows.gpu_free - rows.gpu_after).sum(axis=1) * (1 + OFFERS_WEIGHT)
        drop = -((both[count:] - both[:count]) // (UNIT * self._everyone))
        lost: Ints = drop - taken + self._scarcity.of(rows)
        return lost

    def _usable(self, side: Side) -> Ints:
        """Both measures, in thousandths x UNIT x typical GPU pods, int64[2R]."""
        worth = self._everyone * self._offers.worth(side)
        return UNIT * copies(self._target, side) + OFFERS_WEIGHT * worth


def copies(target: TypicalTarget, side: Side) -> Ints:
    """GPU thousandths filled by as many copies of a typical pod as fit, summed over all of them.

    Returns:
        int64[R], thousandths x number of typical GPU pods.
    """
    need = target.need[side.class_of]
    free = side.gpu[:, None, :]
    slots = (free // need).sum(axis=2) // target.count
    size = target.count * need.min(axis=2)
    room = slots[:, target.form]
    room = np.minimum(room, _times(side.cpu, target.cpu_on[side.class_of]))
    if target.memory_on.any():
        room = np.minimum(room, _times(side.memory, target.memory_on[side.class_of]))
    filled: Ints = np.add.reduceat(room * target.weight, target.starts, axis=1)
    total: Ints = (filled * size).sum(axis=1)
    return total


def _times(free: Ints, each: Ints) -> Ints:
    """How often `each` goes into `free`; without bound where nothing is asked. int64[R, M]."""
    often: Ints = free[:, None] // np.maximum(each, 1)
    return np.where(each, often, np.iinfo(np.int64).max)
