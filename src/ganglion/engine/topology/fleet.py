"""The nodes: their states, the topology over them, what is computed of both; what has changed."""

from collections import Counter

from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.engine.topology.totals import GpuParts, Totals
from ganglion.engine.topology.tree import Tree
from ganglion.model.errors import InvariantBroken
from ganglion.model.fleet.node import Node
from ganglion.model.queue import ANY_FLAVOR

REMEMBERED = 100_000
"""Node states and shapes kept before those not in use are forgotten."""


class EngineProgress:
    """The time of the state, and what has changed so far, counted.

    What was found out holds until a counter grows, so every change that can make something
    possible is reported by `changed`.

    Invariant: nothing in the state happened after the clock's time.

    Attributes:
        clock: time of the latest event, in ms.
        freed: grows whenever something became possible that was not before.
        turn: placements made so far.
    """

    def __init__(self) -> None:
        self.clock = self.freed = self.turn = 0

    def changed(self, times: int = 1) -> None:
        """Something became possible that was not before; 0 = nothing did."""
        self.freed += times

    def check(self, latest: int) -> None:
        """Check the invariant. Raises InvariantBroken.

        Args:
            latest: the latest time that anything in the state holds, in ms.
        """
        if latest > self.clock:
            raise InvariantBroken(f"something happened {latest - self.clock} ms after the clock")


class NodeFleet:
    """The nodes with what is free on them.

    Invariant: counts, indexes and totals agree with the nodes' states.

    Args:
        plugins: by which nodes are compared.
        progress: notified of nodes that come, go or change.

    Attributes:
        table: node states.
        tree: the topology with the state of each node.
        indexes: what fits where.
        totals: what is free, summed up.
        parts: what devices count as where usage is metered.
        version: grows whenever nodes come, go or change.
    """

    def __init__(self, plugins: Plugins, progress: EngineProgress) -> None:
        self._plugins, self._progress = plugins, progress
        self.version = 0
        self.table = NodeStateTable(plugins)
        self.tree = Tree(self.table)
        self._empty: tuple[int, Indexes] | None = None
        self.index_anew()

    @property
    def nodes(self) -> dict[str, Node]:
        """All nodes by name, lost ones that still hold pods included."""
        self.tree.settle()
        return dict(zip(self.tree.names, self.tree.nodes, strict=True))

    def settle(self) -> None:
        """Take in new nodes, and keep what is remembered in proportion to the fleet."""
        self.tree.settle()
        if self.table.size > max(REMEMBERED, 8 * len(self.tree.nodes)):
            self.tree.compact()
            self.indexes = Indexes(self.table, self.tree)
            self._empty = None

    def changed(self) -> None:
        """Nodes came, went or changed: what is known of the empty fleet is stale."""
        self.version += 1
        self._progress.changed()

    def empty(self) -> Indexes:
        """The fleet as it would be without pods, cordons and sick devices; do not change it."""
        if self._empty is None or self._empty[0] != self.version:
            self._empty = (self.version, Indexes(self.table, self.tree.emptied()))
        return self._empty[1]

    def followers(self) -> list[object]:
        """What follows from table and tree: no copy of the fleet has to copy it."""
        return [self.indexes, self.totals, self.parts, *([self._empty] if self._empty else ())]

    def index_anew(self) -> None:
        """Compute what follows from table and tree anew."""
        self.indexes = Indexes(self.table, self.tree)
        self.totals = Totals(self.table, self.tree)
        self.parts = GpuParts(self.table, self.tree)

    def copied(self) -> None:
        """Replace what was left out of this copy of a fleet."""
        self._empty = None
        self.index_anew()

    def rebuild(self) -> None:
        """Describe every node anew, without pods."""
        known, typical = self.tree, self.table.typical
        self.table = NodeStateTable(self._plugins)
        self.table.measure_by(typical, {})
        self.tree = Tree(self.table)
        for node in known.described().values():
            self.tree.put(node)
        self.tree.settle()
        for name in sorted(known.gone() & known.described().keys()):
            self.tree.drop(name)
        self.index_anew()
        self.changed()

    def check(self) -> None:
        """Check the invariant. Raises InvariantBroken."""
        if Counter(self.tree.conditions) != self.tree.counts:
            raise InvariantBroken("the tree miscounts its conditions")
        if self.tree.counted_devices() != self.table.supply:
            raise InvariantBroken("the table miscounts the devices")
        for fits in self.indexes.all_fits():
            fits.sync()
            for rank, room in enumerate(fits.rooms):
                if room != fits.fresh_room(rank):
                    raise InvariantBroken(f"an index is stale at {self.tree.names[rank]}")
        fresh = Totals(self.table, self.tree)
        for flavor in (ANY_FLAVOR, *self.totals.flavors()):
            if self.totals.free_gpu(flavor) != fresh.free_gpu(flavor):
                raise InvariantBroken(f"free GPUs of {flavor} are miscounted")
