"""A copy of the state on which a cycle can be tried, while the state stays as it is.

What never changes is shared: everything of the model, shapes, plugins, and the table of node
conditions, to which both add and from which neither takes (see `NodeStateTable.fork`). What
else can be reached is copied, each object once. Indexes over the tree are built anew when used.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from copy import copy
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

from ganglion.engine.gangs.pending import Unwatched
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.topology.pod_shape import Shape

T = TypeVar("T")

_ATOMS = (int, str, bytes, float, Enum, type, type(None), frozenset, range)
_SHARED = (Shape, Plugins, FunctionType, BuiltinFunctionType)
_MODEL = "ganglion.model."

Copy = Callable[[Any], Any]


def fork(state: ClusterState) -> ClusterState:
    """Copy the state.

    Args:
        state: left as it is, but for what it remembers of node conditions.

    Returns:
        A state that decides as the given one would, and shares nothing with it that changes.
    """
    table = state.fleet.table.fork()
    copier = _Copier()
    copier.keep(state.fleet.table, table)
    copier.keep(state.gangs.watcher, Unwatched())
    for each in (*state.fleet.followers(), *state.config.plugins.every()):
        copier.keep(each, each)
    found = copier.copy(state)
    found.fleet.index_anew()
    return found


class _Copier:
    """Copies objects, each of them once."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}
        self._ways: dict[type, Copy | None] = {}
        self._constant: set[type] = set()

    def keep(self, old: object, new: object) -> None:
        """Let a copy be taken for the copy of an object."""
        self._known[id(old)] = new

    def copy(self, value: T) -> T:
        """The copy of a value; the value itself where it never changes."""
        kind = type(value)
        try:
            way = self._ways[kind]
        except KeyError:
            way = self._ways[kind] = self._way(kind)
            if way is None:
                self._constant.add(kind)
        if way is None:
            return value
        known: T | None = self._known.get(id(value))
        return way(value) if known is None else known

    def _way(self, kind: type) -> Copy | None:
        """How values of a type are copied; None = they never change."""
        if issubclass(kind, _ATOMS + _SHARED):
            return None
        for family, way in (
            (dict, self._dict),
            (list, self._list),
            (deque, self._list),
            (set, self._set),
            (tuple, self._tuple),
            (GangRecord, self._flat),
            (MethodType, self._method),
        ):
            if issubclass(kind, family):
                return way
        if not issubclass(kind, Struct):
            return self._object
        frozen = kind.__struct_config__.frozen
        return None if frozen and kind.__module__.startswith(_MODEL) else self._struct

    def _dict(self, value: dict[Hashable, Any]) -> object:
        made = self._known[id(value)] = copy(value)
        if not self._never_change(value.values()):
            made.update({key: self.copy(each) for key, each in value.items()})
        return made

    def _list(self, value: list[Any] | deque[Any]) -> object:
        made = self._known[id(value)] = copy(value)
        if not self._never_change(value):
            made.clear()
            made.extend(map(self.copy, value))
        return made

    def _set(self, value: set[Any]) -> object:
        made = self._known[id(value)] = set(value)  # what can be in a set does not change
        return made

    def _tuple(self, value: tuple[Any, ...]) -> object:
        if self._is_fixed(value):
            return value
        found = [self.copy(each) for each in value]
        same = all(a is b for a, b in zip(found, value, strict=True))
        made = value if same else getattr(type(value), "_make", type(value))(found)
        self._known[id(value)] = made
        return made

    def _never_change(self, values: Iterable[Any]) -> bool:
        """Whether all of these are of types whose values never change."""
        return all(map(self._constant.__contains__, map(type, values)))

    def _is_fixed(self, values: tuple[Any, ...]) -> bool:
        """Whether a tuple never changes, as far as its types are known: most are keys of gangs."""
        constant = self._constant
        for each in values:
            if type(each) not in constant and not (
                isinstance(each, tuple) and self._is_fixed(each)
            ):
                return False
        return True

    def _flat(self, value: GangRecord) -> object:
        """A record: what its fields hold never changes."""
        made = self._known[id(value)] = copy(value)
        return made

    def _struct(self, value: Struct) -> object:
        made = self._known[id(value)] = copy(value)
        for name in value.__struct_fields__:
            field = getattr(value, name)
            copied = field if type(field) in self._constant else self.copy(field)
            if copied is not field:
                force_setattr(made, name, copied)
        return made

    def _method(self, value: MethodType) -> object:
        return MethodType(value.__func__, self.copy(value.__self__))

    def _object(self, value: object) -> object:
        kind = type(value)
        made = self._known[id(value)] = object.__new__(kind)
        slots = [name for each in kind.__mro__ for name in getattr(each, "__slots__", ())]
        for name in slots:
            if hasattr(value, name):
                setattr(made, name, self.copy(getattr(value, name)))
        for name, each in getattr(value, "__dict__", {}).items():
            made.__dict__[name] = self.copy(each)
        return made
