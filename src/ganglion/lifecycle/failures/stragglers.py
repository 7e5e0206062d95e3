"""Hints at nodes that are slow though they work: no gang is stopped for them.

A gang goes at the pace of its slowest rank. When several gangs get on clearly slower with a
node than they did without it, the node is worth a look.
"""

from collections.abc import Iterable

from msgspec import Struct, field

SLOWER_PERMILLE = 1_300
"""A step that takes this part of its usual time, in thousandths, is slow."""

LEAST_STEPS = 20
"""Steps over which a pace is measured."""

ENOUGH = 2
"""Workloads that have to be slow on a node."""


class AttemptPace(Struct):
    """How fast one attempt gets on.

    Attributes:
        nodes: where it runs.
        first, last: (ms, step) of its first and its last report.
    """

    nodes: frozenset[str]
    first: tuple[int, int] | None = None
    last: tuple[int, int] | None = None

    @property
    def us_per_step(self) -> int | None:
        """Microseconds per step; None = too few steps were reported."""
        if self.first is None or self.last is None:
            return None
        steps = self.last[1] - self.first[1]
        return 1000 * (self.last[0] - self.first[0]) // steps if steps >= LEAST_STEPS else None


class Stragglers(Struct):
    """Compares attempts of gangs with each other.

    Attributes:
        paces: gang -> its present attempt.
        best: gang -> fastest finished pace (us per step), and the nodes it was reached on.
        slow: node -> workload -> how slow it was there, in thousandths of its best.
    """

    paces: dict[str, AttemptPace] = field(default_factory=dict)
    best: dict[str, tuple[int, frozenset[str]]] = field(default_factory=dict)
    slow: dict[str, dict[str, int]] = field(default_factory=dict)

    def started(self, gang: str, nodes: Iterable[str]) -> None:
        """An attempt begins there."""
        self._finish(gang)
        self.paces[gang] = AttemptPace(frozenset(nodes))

    def step(self, gang: str, step: int, now: int) -> None:
        """An attempt has come so far."""
        pace = self.paces.get(gang)
        if pace is None or step <= 0 or (pace.last and step <= pace.last[1]):
            return
        pace.first = pace.first or (now, step)
        pace.last = (now, step)
        self._compare(gang, pace)

    def over(self, gang: str) -> None:
        """A gang is no more."""
        self._finish(gang)
        self.best.pop(gang, None)

    def forget(self, node: str) -> None:
        """A node was mended or is gone."""
        self.slow.pop(node, None)

    def hint(self, node: str) -> str:
        """What to report of a node; empty = nothing."""
        found = self.slow.get(node, {})
        if len(found) < ENOUGH:
            return ""
        worst = max(found.values())
        return (
            f"{len(found)} workloads get on slower with it than without,"
            f" by up to {worst / 1000:.1f} times"
        )

    def _compare(self, gang: str, pace: AttemptPace) -> None:
        known, now = self.best.get(gang), pace.us_per_step
        if known is None or not now:
            return
        usual, nodes = known
        permille, workload = 1000 * now // max(usual, 1), gang.rpartition("/")[0]
        for node in sorted(pace.nodes - nodes):
            if permille >= SLOWER_PERMILLE:
                self.slow.setdefault(node, {})[workload] = permille
            else:
                self.slow.get(node, {}).pop(workload, None)

    def _finish(self, gang: str) -> None:
        pace = self.paces.pop(gang, None)
        speed = pace.us_per_step if pace else None
        if pace and speed and (gang not in self.best or speed < self.best[gang][0]):
            self.best[gang] = (speed, pace.nodes)
