"""The best way to place one pod on a node, judged by the Score plugins."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ganglion.engine.plugins.builtin import builtin_score
from ganglion.engine.plugins.protocols import Appraising, Ints, Rows, Score
from ganglion.engine.topology.devices import pick
from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.engine.topology.single_scoring import Singly
from ganglion.model.errors import PluginError
from ganglion.model.kinds import Weighted
from ganglion.model.resources import WHOLE

Scores = tuple[tuple[Score, int], ...]
Ways = tuple[Rows, Ints]
"""Rows, and for each the position, among the conditions asked about, that it belongs to."""


class Rating:
    """Scores conditions for shapes and remembers the answers in their `ShapeView`."""

    def __init__(self, table: NodeStateTable) -> None:
        self._table = table
        self._scores: dict[tuple[Weighted, ...], Scores] = {(): table.plugins.scores}
        self._singly: dict[tuple[Weighted, ...], Singly | None] = {}
        self._cacheable: dict[tuple[Weighted, ...], bool] = {}

    def is_cacheable(self, sight: ShapeView) -> bool:
        """Whether all scores of a shape may be remembered."""
        named = sight.shape.scores
        found = self._cacheable.get(named)
        if found is None:
            found = all(score.cacheable for score, _ in self._scores_of(sight))
            self._cacheable[named] = found
        return found

    def rate(self, sight: ShapeView, condition_ids: Iterable[int]) -> None:
        """Score the best way to place one pod, for all conditions not rated yet."""
        singly = self._singly_of(sight)
        if singly and singly.ready():
            singly.rate(sight, condition_ids)
            return
        table, scores, least = self._table, sight.scores, sight.least
        whole, fitting = table.whole, []
        for each in condition_ids:
            if each in scores:
                continue
            if whole[each] >= least and table.room(sight, each):
                fitting.append(each)
            else:
                scores[each] = None
        if fitting:
            self._rate(sight, fitting)

    def rate_nodes(
        self,
        sight: ShapeView,
        conditions: Sequence[int],
        turn: int,
        allows: Callable[[int], bool] | None = None,
    ) -> tuple[int, tuple[int, ...]] | None:
        """The best node by scores that may not be remembered.

        Args:
            sight: the shape.
            conditions: condition of every node, by rank.
            turn: number of this decision.
            allows: whether a node, by rank, may be used; None = all may.

        Returns:
            Rank of the node and the devices; None when the pod fits nowhere.
        """
        room = self._table.room
        nodes = [
            rank
            for rank, each in enumerate(conditions)
            if room(sight, each) and (allows is None or allows(rank))
        ]
        if not nodes:
            return None
        here = [conditions[rank] for rank in nodes]
        rows, at = self._ways(sight, here, np.array(nodes, dtype=np.int64))
        winner = int(np.argmax(self._total(sight, rows, turn)))
        index = int(at[winner])
        return nodes[index], self._devices(sight, here[index], int(rows.device[winner]))

    def way(self, sight: ShapeView, condition_id: int) -> tuple[int, ...]:
        """Devices of the best way to place one pod, which must fit."""
        found = sight.devices.get(condition_id)
        if found is not None:
            return found
        if sight.shape.shares_a_device:
            self.rate(sight, (condition_id,))
            return sight.devices[condition_id]
        return self._picked(sight, condition_id)

    def milli(self, sight: ShapeView, condition_id: int, devices: tuple[int, ...]) -> int:
        """Thousandths that a pod takes of each of its devices."""
        if not devices:
            return 0
        if sight.least:
            return WHOLE
        table = self._table
        return table.view(sight, table.known[condition_id].node_class).milli[devices[0]]

    def _rate(self, sight: ShapeView, fitting: list[int]) -> None:
        rows, at = self._ways(sight, fitting, np.full(len(fitting), -1, dtype=np.int64))
        scores = self._total(sight, rows, 0).tolist()
        for index, device, score in zip(at.tolist(), rows.device.tolist(), scores, strict=True):
            each = fitting[index]
            known = sight.scores.get(each)
            if known is None or score > known:
                sight.scores[each] = score
                sight.devices[each] = self._devices(sight, each, device)

    def _total(self, sight: ShapeView, rows: Rows, turn: int) -> Ints:
        total = np.zeros(len(rows.device), dtype=np.int64)
        for plugin, weight in self._scores_of(sight):
            part = plugin.score(sight.shape.request, rows, self._table.typical, turn)
            if part.shape != total.shape or part.dtype != np.int64:
                raise PluginError(
                    f"score {plugin.name} returned {part.dtype}{list(part.shape)}"
                    f" where int64{list(total.shape)} is due",
                    "return one int64 per row",
                )
            total += weight * part
        return total

    def _scores_of(self, sight: ShapeView) -> Scores:
        """The Score plugins that rate nodes for a shape, with their weights."""
        named = sight.shape.scores
        found = self._scores.get(named)
        if found is None:
            loaded = self._table.plugins.of_kinds
            found = self._scores[named] = tuple(
                (loaded.get(each.name) or builtin_score(each.name), each.weight) for each in named
            )
        return found

    def _singly_of(self, sight: ShapeView) -> Singly | None:
        """What rates conditions for a shape one at a time; None where its scores cannot."""
        named = sight.shape.scores
        if named not in self._singly:
            scores = self._scores_of(sight)
            self._singly[named] = None
            if len(scores) == 1:
                score, weight = scores[0]
                if score.cacheable and isinstance(score, Appraising):
                    self._singly[named] = Singly(self._table, score, weight, self._picked)
        return self._singly[named]

    def _ways(self, sight: ShapeView, here: list[int], nodes: Ints) -> Ways:
        """Every way to place one pod on nodes in these conditions, in all of which it fits."""
        table, request = self._table, sight.shape.request
        ids = np.array(here, dtype=np.int64)
        if sight.shape.shares_a_device:
            at, device, after = self._shares(sight, ids)
        else:
            at = np.arange(len(here))
            device = np.full(len(here), -1, dtype=np.int64)
            after = table.columns.gpu[ids]
            if request.gpu.count:
                taken = [(row, i) for row, c in enumerate(here) for i in self._picked(sight, c)]
                rows, indexes = zip(*taken, strict=True)
                after[rows, indexes] -= WHOLE
        rows_ = table.columns.rows(
            ids[at],
            after,
            request,
            node=nodes[at],
            device=device,
            classes=table.classes,
            supply=table.supply,
        )
        return rows_, at

    def _shares(self, sight: ShapeView, ids: Ints) -> tuple[Ints, Ints, Ints]:
        """(position, device, devices after) of every device that has room for a share."""
        columns = self._table.columns
        gpu = columns.gpu[ids]
        need = self._needs(sight, gpu.shape[1])[columns.fixed[ids, 0]]
        at, device = np.nonzero(gpu >= need)
        after = gpu[at]
        after[np.arange(len(at)), device] -= need[at, device]
        return at, device, after

    def _needs(self, sight: ShapeView, width: int) -> Ints:
        """int64[C, D]: what a share takes of each device; more than there is where it may not."""
        classes = self._table.classes
        if sight.needs.shape != (len(classes), width):
            needs = np.full((len(classes), width), WHOLE + 1, dtype=np.int64)
            for number in range(len(classes)):
                view = self._table.view(sight, number)
                for index in view.devices:
                    needs[number, index] = view.milli[index]
            sight.needs = needs
        return sight.needs

    def _devices(self, sight: ShapeView, condition_id: int, device: int) -> tuple[int, ...]:
        return self._picked(sight, condition_id) if device < 0 else (device,)

    def _picked(self, sight: ShapeView, condition_id: int) -> tuple[int, ...]:
        """The wholly free devices that a pod of whole GPUs gets."""
        found = sight.devices.get(condition_id)
        if found is None:
            table, request = self._table, sight.shape.request
            condition = table.known[condition_id]
            found = ()
            if request.gpu.count:
                kinds = table.classes[condition.node_class].devices
                usable = table.view(sight, condition.node_class).devices
                free, count = condition.usable, request.gpu.count
                found = pick(kinds, free, usable, count, request.together)
            sight.devices[condition_id] = found
        return found
