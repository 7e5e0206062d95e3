"""The state as bytes, and back: what snapshots and copies of it are made of.

The format is pickle, read by a reader that knows a closed list of modules and makes only plain
objects of classes that these define: see docs/decisions/snapshots.md. Nothing in it is a promise
to later versions: `VERSION` names the code that wrote it, and other code replays events instead.
"""

import copyreg
import io
import pickle
import sys
import zlib
from collections import ChainMap, deque
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from msgspec import Struct

import ganglion
from ganglion.engine.conditions import Conditions
from ganglion.engine.indexes import Indexes
from ganglion.engine.plugins import NodeClass, Plugins, Typical
from ganglion.engine.totals import Totals
from ganglion.ledger.records import Flaw
from ganglion.model.errors import GanglionError
from ganglion.server.book import Book
from ganglion.server.draft import Mind

PACKAGES = ("ganglion.engine", "ganglion.model", "ganglion.lifecycle")
"""Packages without I/O, whose classes may be in an image."""
MODULES = tuple(
    f"ganglion.server.{name}"
    for name in ("book", "replicas", "spending", "standing", "sweeps_keeper")
)
LEVEL = 1
"""Of compression: the quickest."""

Memories = dict[str, Any]
"""What keepers remember, by their names."""


class Unusable(GanglionError):
    """An image that cannot be read by this code."""

    code = "image"


@cache
def version() -> str:
    """Names the code whose objects an image holds; changes with every change of it."""
    root, digest = Path(ganglion.__file__).parent, sha256(sys.version.encode())
    sources = [*(root / "server").glob("*.py")]
    for part in PACKAGES:
        sources += (root / part.rpartition(".")[2]).rglob("*.py")
    for path in sorted(sources):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def packed(mind: Mind, memories: Memories, *, live: bool) -> bytes:
    """Turn a state into bytes.

    Args:
        mind: between two turns.
        memories: of the keepers.
        live: whether the live workloads go along; else they are read from the ledger.
    """
    if live:
        return _dumped((mind.state, mind.book, memories))
    with mind.book.without_entries():
        return zlib.compress(_dumped((mind.state, mind.book, memories)), LEVEL)


def unpacked(body: bytes, plugins: Plugins, *, live: bool) -> tuple[Mind, Memories]:
    """Turn bytes into a state again.

    Args:
        body: of `packed` of this very code.
        plugins: those of the policy in force.
        live: as it was packed; bytes with live workloads never leave the process, and are not
            read by the closed list.

    Raises:
        Unusable: it cannot be read.
    """
    try:
        data = body if live else zlib.decompress(body)
        state, book, memories = _Reader(io.BytesIO(data), plugins, own=live).load()
        assert isinstance(book, Book)
        state.__dict__["_empty"] = None
        state.indexes = Indexes(state.table, state.tree)
        state.totals = Totals(state.table, state.tree)
    # Damaged bytes raise almost anything.
    except Exception as error:
        raise Unusable(f"{type(error).__name__}: {error}") from error
    return Mind(state, book), memories


def frozen(memories: Memories) -> bytes:
    """Copy what keepers remember."""
    return _dumped(memories)


def thawed(body: bytes) -> Memories:
    """What keepers remembered. Raises Unusable."""
    try:
        found: Memories = _Reader(io.BytesIO(body), None, own=True).load()
    # As above.
    except Exception as error:
        raise Unusable(f"{type(error).__name__}: {error}") from error
    return found


def _dumped(graph: object) -> bytes:
    out = io.BytesIO()
    pickler = pickle.Pickler(out, pickle.HIGHEST_PROTOCOL)
    # By type: a function that is asked about every object takes longer than all the rest.
    pickler.dispatch_table = _REDUCED
    pickler.dump(graph)
    return out.getvalue()


def _reduced(table: Conditions) -> tuple[Any, ...]:
    """The table of node conditions without what follows from it."""
    made = (table.plugins, table.typical, table.supply, table.yardstick)
    return _table, (*made, table.classes, table.known)


def _stand_in(name: str) -> object:
    """What takes the place of an object that is left out; a reader has its own."""
    raise pickle.UnpicklingError(f"nothing takes the place of {name}")


_REDUCED: ChainMap[type, Any] = ChainMap(
    {
        Conditions: _reduced,
        Plugins: lambda _plugins: (_stand_in, ("plugins",)),
        Indexes: lambda _indexes: (_stand_in, ("later",)),
        Totals: lambda _totals: (_stand_in, ("later",)),
    },
    copyreg.dispatch_table,
)


class _Reader(pickle.Unpickler):
    """Makes objects of known classes only.

    Args:
        file: the bytes.
        plugins: put where the image has those of its time.
        own: whether this process made the bytes and kept them in its memory; every class is
            known then.
    """

    def __init__(self, file: io.BytesIO, plugins: Plugins | None, *, own: bool) -> None:
        super().__init__(file)
        self._plugins, self._own = plugins, own

    def _stand_in(self, name: str) -> object:
        return {"plugins": self._plugins, "later": None}[name]

    def find_class(self, module_name: str, name: str) -> Any:  # noqa: ANN401 - of `pickle`
        """A class that may be in an image. Raises UnpicklingError for all else."""
        if (module_name, name) == (__name__, "_stand_in"):
            return self._stand_in
        known = _KNOWN.get((module_name, name))
        if known is not None or self._own:
            return known or super().find_class(module_name, name)
        if module_name in MODULES or module_name.startswith(tuple(f"{each}." for each in PACKAGES)):
            found = getattr(import_module(module_name), name, None)
            if isinstance(found, type) and found.__module__ == module_name:
                return found
        raise pickle.UnpicklingError(f"{module_name}.{name} may not be in an image")


def _table(
    plugins: Plugins,
    typical: Typical,
    supply: dict[str, int],
    yardstick: int,
    classes: list[NodeClass],
    known: list[Any],
) -> Conditions:
    table = Conditions(plugins)
    table.typical, table.supply, table.yardstick = typical, supply, yardstick
    for each in classes:
        table.class_id(each)
    for each in known:
        table.intern(each)
    return table


def _method(owner: object, name: str) -> Any:  # noqa: ANN401 - whatever method it is
    """A method of an object of a known class."""
    kind = type(owner)
    allowed = kind.__module__.startswith("ganglion.engine.")
    if not allowed or not isinstance(getattr(kind, name, None), FunctionType):
        raise pickle.UnpicklingError(f"{kind.__name__}.{name} may not be in an image")
    return getattr(owner, name)


def _struct(kind: type[Struct], fields: dict[str, Any]) -> Struct:
    """A struct whose fields are named."""
    if not issubclass(kind, Struct):
        raise pickle.UnpicklingError(f"{kind.__name__} is no struct")
    return kind(**fields)


_KNOWN: dict[tuple[str, str], Any] = {
    ("collections", "deque"): deque,
    ("ganglion.ledger.records", "Flaw"): Flaw,
    (__name__, "_table"): _table,
    ("builtins", "getattr"): _method,
    ("msgspec._utils", "rebuild"): _struct,
}
