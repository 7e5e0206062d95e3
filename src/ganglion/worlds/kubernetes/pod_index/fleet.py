"""The nodes as dynamic rules see them, by name and by the value of any label."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar, cast

from msgspec import Struct

from ganglion.worlds.kubernetes.feasibility.clauses import NODE_NAME
from ganglion.worlds.kubernetes.feasibility.labels import all_labels_of
from ganglion.worlds.kubernetes.feasibility.node_preferences import Static, Taste, is_worse
from ganglion.worlds.kubernetes.feasibility.taints import BARRING
from ganglion.worlds.kubernetes.gpu_resources import is_gpu_resource
from ganglion.worlds.kubernetes.types.node import Node, Taint
from ganglion.worlds.kubernetes.types.quantity import units

T = TypeVar("T")

_ENGINES = ("cpu", "memory", "pods")
"""Resources that the engine keeps count of itself."""

_QUESTIONS = 4096


class RuleNode(Struct, frozen=True):
    """What dynamic rules read of a node.

    Attributes:
        labels: its labels, and its name as one of them.
        asked: everything that static rules ask about, taints as labels.
        taints: those with an effect that bars pods.
        extras: allocatable amounts besides CPU, memory, pod slots and GPUs.
    """

    labels: dict[str, str]
    asked: dict[str, str]
    taints: tuple[Taint, ...]
    extras: dict[str, int]


class Fleet:
    """All nodes.

    Attributes:
        views: name -> node.
    """

    def __init__(self) -> None:
        self.views: dict[str, RuleNode] = {}
        self._memory: dict[Hashable, object] = {}

    def put(self, node: Node) -> None:
        """A node came or changed."""
        view = _view(node)
        if self.views.get(node.metadata.name) != view:
            self.views[node.metadata.name] = view
            self._memory.clear()

    def drop(self, name: str) -> None:
        """A node is gone."""
        if self.views.pop(name, None):
            self._memory.clear()

    def remembered(self, question: Hashable, answer: Callable[[], T]) -> T:
        """The answer to a question about nodes alone, computed again only when they change."""
        if question not in self._memory:
            if len(self._memory) >= _QUESTIONS:
                self._memory.clear()
            self._memory[question] = answer()
        return cast("T", self._memory[question])

    def by_value(self, key: str) -> Mapping[str, list[str]]:
        """Value of a label -> names of the nodes that have it."""
        return self.remembered(("value", key), lambda: self._by_value(key))

    def values_of(self, key: str) -> Mapping[str, str]:
        """Name of each node that has a label -> its value; the same object while nodes stay."""
        return self.remembered(("values", key), lambda: self._values_of(key))

    def lacking(self, key: str) -> list[str]:
        """Names of the nodes without a label."""
        return self.remembered(("lacking", key), lambda: self._lacking(key))

    def ranks(self, taste: Taste) -> Mapping[str, Static]:
        """Name of each node -> how well it suits a taste."""
        return self.remembered(
            taste, lambda: {name: taste.rank(view.asked) for name, view in self.views.items()}
        )

    def has_worse(self) -> bool:
        """Whether pods avoid any node for its taints."""
        return self.remembered(
            "worse", lambda: any(is_worse(view.asked) for view in self.views.values())
        )

    def domains(self, counts: Mapping[str, int], key: str) -> dict[str, int]:
        """Numbers by node added up by the value of a label; nodes without it do not count."""
        found: dict[str, int] = {}
        for name, count in counts.items():
            view = self.views.get(name)
            value = view.labels.get(key) if view else None
            if value is not None:
                found[value] = found.get(value, 0) + count
        return found

    def value(self, name: str, key: str) -> str | None:
        """The value of a label of a node."""
        view = self.views.get(name)
        return view.labels.get(key) if view else None

    def _by_value(self, key: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name, view in self.views.items():
            if key in view.labels:
                found[view.labels[key]].append(name)
        return dict(found)

    def _values_of(self, key: str) -> dict[str, str]:
        return {name: view.labels[key] for name, view in self.views.items() if key in view.labels}

    def _lacking(self, key: str) -> list[str]:
        return [name for name, view in self.views.items() if key not in view.labels]


def _view(node: Node) -> RuleNode:
    extras = {
        name: units(quantity)
        for name, quantity in node.status.allocatable.items()
        if name not in _ENGINES and not is_gpu_resource(name)
    }
    taints = tuple(Taint(t.key, t.value, t.effect) for t in node.spec.taints if t.effect in BARRING)
    labels = node.metadata.labels | {NODE_NAME: node.metadata.name}
    return RuleNode(labels, all_labels_of(node), taints, extras)
