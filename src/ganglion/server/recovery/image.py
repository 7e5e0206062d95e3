"""Copies of the state within a process: what a server goes back to.

A copy is made through pickle, and its bytes never leave the memory of the process; what is
kept for later processes is a checkpoint (see `checkpoint`).
"""

import copyreg
import io
import pickle
from collections import ChainMap
from typing import Any

from ganglion.engine.plugins.protocols import NodeClass, Plugins, Typical
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.engine.topology.totals import Totals
from ganglion.server.recovery.checkpoint import Memories
from ganglion.server.state.transaction import Mind


def copied(mind: Mind) -> Mind:
    """Copy a state between two turns; plugins are shared."""
    body = _dumped((mind.state, mind.book))
    state, book = _Reader(io.BytesIO(body), mind.state.config.plugins).load()
    state.fleet.copied()
    return Mind(state, book)


def frozen(memories: Memories) -> bytes:
    """Copy what keepers remember."""
    return _dumped(memories)


def thawed(body: bytes) -> Memories:
    """What keepers remembered."""
    found: Memories = _Reader(io.BytesIO(body), None).load()
    return found


def _dumped(graph: object) -> bytes:
    out = io.BytesIO()
    pickler = pickle.Pickler(out, pickle.HIGHEST_PROTOCOL)
    # By type: a function that is asked about every object takes longer than all the rest.
    pickler.dispatch_table = _REDUCED
    pickler.dump(graph)
    return out.getvalue()


def _reduced(table: NodeStateTable) -> tuple[Any, ...]:
    """The table of node conditions without what follows from it."""
    made = (table.plugins, table.typical, table.supply, table.yardstick)
    return _table, (*made, table.classes, table.known)


def _stand_in(name: str) -> object:
    """What takes the place of an object that is left out; a reader has its own."""
    raise pickle.UnpicklingError(f"nothing takes the place of {name}")


_REDUCED: ChainMap[type, Any] = ChainMap(
    {
        NodeStateTable: _reduced,
        Plugins: lambda _plugins: (_stand_in, ("plugins",)),
        Indexes: lambda _indexes: (_stand_in, ("later",)),
        Totals: lambda _totals: (_stand_in, ("later",)),
    },
    copyreg.dispatch_table,
)


class _Reader(pickle.Unpickler):
    """Puts other objects where the bytes have stand-ins.

    Args:
        file: the bytes, which this process made.
        plugins: of the state.
    """

    def __init__(self, file: io.BytesIO, plugins: Plugins | None) -> None:
        super().__init__(file)
        self._plugins = plugins

    def _stand_in(self, name: str) -> object:
        return {"plugins": self._plugins, "later": None}[name]

    def find_class(self, module_name: str, name: str) -> Any:  # noqa: ANN401 - of `pickle`
        """A class or function by its name."""
        if (module_name, name) == (__name__, "_stand_in"):
            return self._stand_in
        return super().find_class(module_name, name)


def _table(
    plugins: Plugins,
    typical: Typical,
    supply: dict[str, int],
    yardstick: int,
    classes: list[NodeClass],
    known: list[Any],
) -> NodeStateTable:
    table = NodeStateTable(plugins)
    table.typical, table.supply, table.yardstick = typical, supply, yardstick
    for each in classes:
        table.class_id(each)
    for each in known:
        table.intern(each)
    return table
