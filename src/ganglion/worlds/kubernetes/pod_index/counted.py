"""Amounts that are too fine for the engine to distinguish nodes by: local disk, huge pages."""

from collections.abc import Iterator

from ganglion.worlds.kubernetes.feasibility.needs import Needs, Resident
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet


class Counted:
    """How much pods hold of each resource, node by node."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, int]] = {}

    def add(self, one: Resident) -> None:
        """A pod came."""
        self._change(one, 1)

    def remove(self, one: Resident) -> None:
        """A pod left."""
        self._change(one, -1)

    def shortages(self, needs: Needs, fleet: Fleet) -> Iterator[tuple[str, str]]:
        """Nodes with too little left, and of what."""
        for name, amount in needs.extras:
            for node, view in fleet.views.items():
                if view.extras.get(name, 0) - self._held.get(node, {}).get(name, 0) < amount:
                    yield node, f"too little {name} left"

    def shortage(self, needs: Needs, fleet: Fleet, node: str) -> str:
        """What a node has too little of; empty = nothing."""
        there, held = fleet.views[node].extras, self._held.get(node, {})
        for name, amount in needs.extras:
            if there.get(name, 0) - held.get(name, 0) < amount:
                return f"too little {name} left"
        return ""

    def _change(self, one: Resident, sign: int) -> None:
        if not one.needs.extras:
            return
        held = self._held.setdefault(one.node, {})
        for name, amount in one.needs.extras:
            held[name] = held.get(name, 0) + sign * amount
            if not held[name]:
                del held[name]
        if not held:
            del self._held[one.node]
