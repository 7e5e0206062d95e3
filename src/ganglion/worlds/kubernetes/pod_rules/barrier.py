"""Domains that are closed to a pod, by the value of one node label."""

from collections.abc import Collection, Iterator

from msgspec import Struct

from ganglion.worlds.kubernetes.pod_index.fleet import Fleet, RuleNode


class Barrier(Struct, frozen=True):
    """Nodes that are closed to a pod for what runs in their domain.

    Attributes:
        key: node label whose values are the domains.
        values: the domains that are closed.
        why: what is wrong with such a domain.
        but: whether all domains but these are closed instead.
        lacking: whether nodes without the label are closed.
    """

    key: str
    values: Collection[str]
    why: str = ""
    but: bool = False
    lacking: bool = False

    def closes(self, view: RuleNode) -> bool:
        """Whether a node is closed."""
        value = view.labels.get(self.key)
        return self.lacking if value is None else (value in self.values) is not self.but

    def nodes(self, fleet: Fleet) -> Iterator[tuple[str, str]]:
        """Every node that is closed, and why."""
        if self.lacking:
            yield from ((node, f"no label {self.key}") for node in fleet.lacking(self.key))
        if not self.values and not self.but:
            return
        for value, nodes in fleet.by_value(self.key).items():
            if (value in self.values) is not self.but:
                said = f"{self.key} {value} {self.why}"
                yield from ((node, said) for node in nodes)
