"""The default score from tables: `GanglionScore.score` for one way at a time.

A placement changes one node, so a shape that looks again finds few new node conditions, and numpy
costs more for few rows than the arithmetic itself. Here what is free of the devices is looked up
once per set of devices (`_Devices`), what is free of the CPU once per level at which one more
typical pod fits; a way then costs two look-ups and a few integers.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import partial
from operator import getitem, itemgetter
from typing import NamedTuple

import numpy as np

from ganglion.engine.plugins.protocols import Best, Choice, NodeClass
from ganglion.engine.plugins.scores.bestfit import CPU_SCALE, GPU_SCALE
from ganglion.engine.plugins.scores.offers import UNIT, Offers
from ganglion.engine.plugins.scores.scarcity import prices
from ganglion.engine.plugins.scores.target import NEVER, TypicalTarget
from ganglion.model.resources import WHOLE

Free = tuple[int, ...]
"""Thousandths free of each device."""

FIT_PART = 2 * CPU_SCALE // 100
"""CPU, and GPUs counted as CPU, that are one point of `bestfit.fit`."""

Rest = tuple[int, int, int]
"""Points but for the fit, how the devices fill the node, and position of the way."""

Row = list[list[int]]
"""By form and devices' slots: what copies of the form's pods fill."""


class Weights(NamedTuple):
    """The constants of the score: see `GanglionScore`."""

    offers: int
    step: int
    points: int


class _Devices:
    """What is free of the devices of a node.

    Attributes:
        node_class: its class.
        free: thousandths of each device.
        slots: by form, how many devices (or shares of one) its pods find.
        usable: by level of CPU, what `GanglionScore` calls usable.
    """

    __slots__ = ("free", "node_class", "slots", "usable")

    def __init__(self, node_class: int, free: Free, slots: Free) -> None:
        self.node_class, self.free, self.slots = node_class, free, slots
        self.usable: dict[int, int] = {}


class DevicePlacement:
    """One way to place a pod on devices.

    Attributes:
        after: the devices after it.
        paid: price of the devices taken less what is taken, counted as `GanglionScore` does.
        filled: by how much the devices fill the node, in CPU (see `bestfit.fit`).
        left: what the score loses for thousandths left on a shared device.
    """

    __slots__ = ("after", "filled", "left", "paid")

    def __init__(self, after: _Devices, paid: int, filled: int, left: int) -> None:
        self.after, self.paid, self.filled, self.left = after, paid, filled, left


class Ways:
    """All ways to place a pod on devices, in the order of the choices they were made of.

    Attributes:
        before: the devices before it.
        each: the ways.
        known: by level of CPU before and after: what was found.
    """

    __slots__ = ("before", "each", "known")

    def __init__(self, before: _Devices, each: Sequence[DevicePlacement]) -> None:
        self.before, self.each = before, each
        self.known: dict[tuple[int, int], list[Rest]] = {}


class Tables:
    """The tables for one target, none of whose pods asks for memory.

    Args:
        target: the typical pods.
        classes: all node classes.
        width: devices per node at most.
        supply: devices of the fleet by type.
        weights: the constants of the score.
    """

    def __init__(
        self,
        target: TypicalTarget,
        classes: Sequence[NodeClass],
        width: int,
        supply: Mapping[str, int],
        weights: Weights,
    ) -> None:
        self._target = target
        self._weight, self._step, self._points = weights
        offers = Offers(target, classes, width)
        levels = offers.levels.tolist()
        self._kinds: list[list[int]] = offers.kind_of.tolist()
        everyone = int(target.weight.sum())
        self._unit, self._offers = UNIT * everyone, self._weight * everyone
        price = prices(target, supply)
        self._price = [[price.get(kind, 0) for kind, *_ in each.devices] for each in classes]
        self._needs = offers.needs
        self._sizes = _sizes(target)
        self._most = _most(target)
        self._breaks = _breaks(target, levels, self._most)
        tables: list[list[list[int]]] = offers.tables.swapaxes(0, 1).tolist()
        # By level of CPU, kind of device and thousandths free on it: what offers will fill.
        self._worth = [tables[bisect_right(levels, cpu) - 1] for cpu in self._breaks]
        self._slots: dict[tuple[int, int], Free] = {}
        self._rows: dict[tuple[Free, int], Row] = {}
        self._known: dict[tuple[int, Free], _Devices] = {}

    @property
    def size(self) -> int:
        """Sets of devices remembered."""
        return len(self._known)

    def ways(self, node_class: int, free: Free, choices: Sequence[Choice]) -> Best:
        """The best of these choices: see `Appraisal`."""
        before = self._devices(node_class, free)
        return partial(self._best, Ways(before, [self._way(before, *each) for each in choices]))

    def _best(self, ways: Ways, cpu_free: int, cpu_after: int) -> tuple[int, int]:
        """(score, position) of the best way, the first of equals; CPU is in thousandths."""
        breaks = self._breaks
        free, after = cpu_free if cpu_free > 0 else 0, cpu_after if cpu_after > 0 else 0
        levels = (bisect_right(breaks, free) - 1, bisect_right(breaks, after) - 1)
        known = ways.known.get(levels)
        if known is None:
            known = ways.known[levels] = self._compared(ways, *levels)
        top, at = 0, -1
        for points, filled, position in known:
            score = 100 * ((2 * CPU_SCALE - cpu_after - filled) // FIT_PART) + points
            if at < 0 or score > top:
                top, at = score, position
        return top, at

    def _compared(self, ways: Ways, free: int, after: int) -> list[Rest]:
        """What is left of the score but the fit: the best of the ways that fit alike, in order."""
        before, unit = self._usable(ways.before, free), self._unit
        found: list[Rest] = []
        for position, way in enumerate(ways.each):
            lost = way.paid - (self._usable(way.after, after) - before) // unit
            points = self._points * (lost // -self._step) - way.left
            found.append((points, way.filled, position))
        if len(found) == 1:
            return found
        best: dict[int, Rest] = {}
        for rest in found:
            points, filled, _ = rest
            if filled not in best or points > best[filled][0]:
                best[filled] = rest
        return sorted(best.values(), key=itemgetter(2))

    def _way(self, before: _Devices, device: int, taken: Free, milli: int) -> DevicePlacement:
        free = list(before.free)
        price = 0
        kinds, prices_ = self._kinds[before.node_class], self._price[before.node_class]
        slots: Sequence[int] = before.slots
        for index in taken:
            old, new = free[index], free[index] - milli
            free[index] = new
            price += milli * prices_[index]
            gone, kept = self._slots_of(kinds[index], old), self._slots_of(kinds[index], new)
            slots = [n - less + more for n, less, more in zip(slots, gone, kept, strict=True)]
        key = (before.node_class, tuple(free))
        after = self._known.get(key)
        if after is None:
            after = self._known[key] = _Devices(*key, tuple(slots))
        paid = price // WHOLE - milli * len(taken) * (1 + self._weight)
        filled = sum(free) * (CPU_SCALE // GPU_SCALE)
        return DevicePlacement(after, paid, filled, free[device] // 10 if device >= 0 else 0)

    def _devices(self, node_class: int, free: Free) -> _Devices:
        key = (node_class, free)
        found = self._known.get(key)
        if found is None:
            each = zip(self._kinds[node_class], free, strict=False)
            of_each = [self._slots_of(kind, size) for kind, size in each]
            slots = tuple(map(sum, zip(*of_each, strict=True)))
            found = self._known[key] = _Devices(*key, slots or (0,) * len(self._target.forms))
        return found

    def _slots_of(self, kind: int, free: int) -> Free:
        """By form, how many of its shares fit into what is free of a device (0 or 1 for whole)."""
        found = self._slots.get((kind, free))
        if found is None:
            found = self._slots[kind, free] = tuple(free // need for need in self._needs[kind])
        return found

    def _usable(self, devices: _Devices, level: int) -> int:
        """What typical pods can fill with the CPU of a level; the unit is `GanglionScore`'s."""
        found = devices.usable.get(level)
        if found is None:
            sizes = self._sizes[devices.node_class]
            row = self._rows.get((sizes, level)) or self._row(sizes, level)
            worth = self._worth[level]
            kinds = self._kinds[devices.node_class]
            offers = sum([worth[k][g] for k, g in zip(kinds, devices.free, strict=False)])
            found = UNIT * sum(map(getitem, row, devices.slots))
            found += self._offers * offers
            devices.usable[level] = found
        return found

    def _row(self, sizes: Free, level: int) -> Row:
        """By form and slots: thousandths filled by copies of each of its pods, summed."""
        target, cpu = self._target, self._breaks[level]
        often = cpu // np.maximum(target.cpu, 1)
        often[target.cpu == 0] = self._most
        row: Row = []
        ends = [*target.starts.tolist()[1:], len(target.cpu)]
        for start, end, size, count in zip(
            target.starts.tolist(), ends, sizes, target.count.tolist(), strict=True
        ):
            pods = np.arange(self._most + 1)[:, None] // count
            filled = np.minimum(pods, often[start:end]) @ target.weight[start:end]
            row.append((filled * size).tolist())
        self._rows[sizes, level] = row
        return row


def _sizes(target: TypicalTarget) -> list[Free]:
    """By class and form: thousandths that a pod takes in all.

    Where a form may use no device, any size will do; that of another class makes the classes equal.
    """
    smallest = target.need.min(axis=2)
    usual = np.where(smallest < NEVER, smallest, 0).max(axis=0)
    sizes = target.count * np.where(smallest < NEVER, smallest, usual)
    return [tuple(each) for each in sizes.tolist()]


def _most(target: TypicalTarget) -> int:
    """Most devices, or shares of devices, that one form finds on a node."""
    return int((WHOLE // target.need).sum(axis=2).max())


def _breaks(target: TypicalTarget, levels: Sequence[int], most: int) -> list[int]:
    """Thousandths of a core from which one more typical pod finds CPU, ascending."""
    found = {0, *levels}
    for cpu in sorted(set(target.cpu.tolist()) - {0}):
        found.update(range(cpu, cpu * (most + 1), cpu))
    return sorted(found)
