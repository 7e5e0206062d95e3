"""Rating conditions one at a time, by a score that can."""

from collections.abc import Callable, Iterable

from ganglion.engine.plugins.protocols import Appraisal, Appraising, Best, Choice
from ganglion.engine.topology.node_state import ShapeView, room_by_extras
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.model.fleet.levels import Level
from ganglion.model.resources import WHOLE, GpuRequest

REMEMBERED = 1 << 15
"""Sets of devices that an appraisal may know before it starts anew."""

Devices = tuple[int, tuple[int, ...]]
"""Node class, and thousandths free of each device."""

Family = tuple[GpuRequest, Level | None]
"""What of a shape decides which devices it may take: shapes of a family share their ways."""

Ways = tuple[Best | None, tuple[tuple[int, ...], ...]]
"""The best of the choices, and the devices of each; None where no pod fits."""


class Singly:
    """Rates conditions by one Score, as long as its `Appraisal` can.

    Args:
        table: the conditions.
        score: the score.
        weight: of its points.
        picked: the devices that a pod of whole GPUs gets in a condition where it fits.
    """

    def __init__(
        self,
        table: NodeStateTable,
        score: Appraising,
        weight: int,
        picked: Callable[[ShapeView, int], tuple[int, ...]],
    ) -> None:
        self._table, self._score, self._weight, self._picked = table, score, weight, picked
        self._made_for = (-1, -1)
        self._appraisal: Appraisal | None = None
        self._ways: dict[Family, dict[Devices, Ways]] = {}

    def ready(self) -> bool:
        """Whether the score can be had for the workload and the fleet as they are."""
        table = self._table
        now = (table.yardstick, len(table.classes))
        full = self._appraisal is not None and self._appraisal.size > REMEMBERED
        if now != self._made_for or full:
            self._made_for, self._ways = now, {}
            self._appraisal = self._score.appraisal(table.typical, table.classes, table.supply)
        return self._appraisal is not None

    def rate(self, sight: ShapeView, condition_ids: Iterable[int]) -> None:
        """Score the best way to place one pod, for all conditions not rated yet."""
        table, shape, scores = self._table, sight.shape, sight.scores
        known, request = table.known, shape.request
        cpu, memory, extras = request.cpu_milli, request.memory_mib, request.extras
        weight = self._weight
        family = self._ways.setdefault((request.gpu, request.together), {})
        views, tenancy = sight.views, shape.tenancy
        if len(views) < len(table.classes):
            table.view(sight, len(table.classes) - 1)
        for each in condition_ids:
            if each in scores:
                continue
            scores[each] = None
            condition = known[each]
            free = condition.cpu
            if (
                (cpu and free < cpu)
                or (memory and condition.memory < memory)
                or condition.slots < 1
                or not condition.open
                or condition.tenancy not in ("", tenancy)
                or views[condition.node_class].obstacle
                or (extras and room_by_extras(condition.extras, extras, 1) < 1)
            ):
                continue
            devices = (condition.node_class, condition.usable if condition.sick else condition.gpu)
            found = family.get(devices)
            if found is None:
                found = family[devices] = self._find(sight, each, devices)
            if found[0]:
                score, at = found[0](free, free - cpu)
                scores[each] = weight * score
                sight.devices[each] = found[1][at]

    def _find(self, sight: ShapeView, condition_id: int, devices: Devices) -> Ways:
        choices = self._choices(sight, condition_id, devices)
        if not choices:
            return None, ()
        assert self._appraisal
        return self._appraisal.ways(*devices, choices), tuple(taken for _, taken, _ in choices)

    def _choices(self, sight: ShapeView, condition_id: int, devices: Devices) -> list[Choice]:
        """Every way to take devices; of equal devices the first."""
        shape, (node_class, free) = sight.shape, devices
        if not shape.request.gpu.count:
            return [(-1, (), 0)]
        if not shape.shares_a_device:
            picked = self._picked(sight, condition_id)
            return [(-1, picked, WHOLE)] if picked else []
        view, kinds = self._table.view(sight, node_class), self._table.classes[node_class].devices
        first: dict[tuple[object, int], Choice] = {}
        for index in view.devices:
            milli = view.milli[index]
            if free[index] >= milli:
                first.setdefault((kinds[index], free[index]), (index, (index,), milli))
        return list(first.values())
