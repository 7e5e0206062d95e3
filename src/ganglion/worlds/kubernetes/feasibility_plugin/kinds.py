"""Which nodes are closed to which pods now, computed once for all pods that are alike.

Pods are alike if nothing that is asked for distinguishes them: of their labels and the values
of these only those count that their own rules, or the anti-affinity of pods that run, name.
So what ten thousand pods of a kind cost from turn to turn is what one of them costs.
"""

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.feasibility.labels import OTHER
from ganglion.worlds.kubernetes.feasibility.needs import Needs
from ganglion.worlds.kubernetes.pod_rules.barred import bar_id, barred

Seat = tuple[str, str]
"""(gang, pod set)."""


class _Kind(Struct):
    """Pods that the same nodes are closed to.

    Attributes:
        seats: whose pods they are, in the order in which they came.
        mark: of the nodes that are closed to them; empty = none.
        nodes: these nodes.
        stuck: gangs for which it has to be known; as long as there are none, nothing is.
        is_known: whether it has been computed.
    """

    seats: dict[Seat, None] = field(default_factory=dict)
    mark: str = ""
    nodes: frozenset[str] = frozenset()
    stuck: dict[str, None] = field(default_factory=dict)
    is_known: bool = False


class Kinds:
    """The kinds of pods of one cluster that look for a place.

    What is closed to a kind is computed from turn to turn only while some gang of it needs it.

    Args:
        site: the cluster.
    """

    def __init__(self, site: ClusterView) -> None:
        self._site = site
        self._needs: dict[str, dict[str, Needs]] = {}
        self._kind_of: dict[Seat, Needs] = {}
        self._kinds: dict[Needs, _Kind] = {}
        self._words = site.crowd.guards.words()

    def put(self, gang: str, needs: dict[str, Needs]) -> None:
        """A gang looks for a place: pod set -> needs."""
        if self._needs.get(gang) == needs:
            return
        self.drop(gang)
        self._needs[gang] = needs
        for pod_set, each in needs.items():
            self._place((gang, pod_set), each)

    def look(self, gang: str) -> bool:
        """It has to be known what is closed to a gang; returns whether more is than was known."""
        for pod_set in self._needs.get(gang, ()):
            needs = self._kind_of.get((gang, pod_set))
            if needs is not None:
                kind = self._kinds[needs]
                kind.stuck[gang] = None
                kind.is_known = kind.is_known or not self._closed(needs)
        return not self.is_looked_at(gang)

    def is_looked_at(self, gang: str) -> bool:
        """Whether it is known what is closed to a gang."""
        found = (self._kind_of.get((gang, each)) for each in self._needs.get(gang, ()))
        return all(needs is None or self._kinds[needs].is_known for needs in found)

    def drop(self, gang: str) -> None:
        """A gang looks for none any more."""
        for pod_set in self._needs.pop(gang, ()):
            self._leave((gang, pod_set))

    def mark(self, gang: str, pod_set: str) -> str:
        """The mark of the nodes that are closed to pods; empty = none."""
        needs = self._kind_of.get((gang, pod_set))
        return self._kinds[needs].mark if needs is not None else ""

    def closed(self) -> dict[str, frozenset[str]]:
        """Node -> marks of the sets of closed nodes that it is in."""
        found: dict[str, set[str]] = {}
        for mark, nodes in {kind.mark: kind.nodes for kind in self._kinds.values()}.items():
            for node in sorted(nodes):
                found.setdefault(node, set()).add(mark)
        return {node: frozenset(marks) for node, marks in found.items()}

    def ask_about_pods(self) -> bool:
        """Whether rules of some of them are about other pods."""
        return any(next(each.patterns(), None) for each in self._kinds)

    def renew(self, looks: Callable[[str], bool]) -> set[str]:
        """Find out anew what is closed to which pods.

        Args:
            looks: whether a gang still looks for a place.

        Returns:
            Gangs to which other nodes are closed than before.
        """
        changed = self._reread()
        for needs, kind in list(self._kinds.items()):
            self._forget_others(kind, looks)
            kind.stuck = {gang: None for gang in kind.stuck if looks(gang)}
            if not kind.seats:
                del self._kinds[needs]
            elif self._look(needs, kind):
                changed.update(gang for gang, _ in kind.seats)
        return changed

    def _reread(self) -> set[str]:
        """Pods that run name other labels than before: other pods may be alike."""
        words, self._words = self._words, self._site.crowd.guards.words()
        if words == self._words:
            return set()
        before = {seat: self.mark(*seat) for seat in self._kind_of}
        for gang, needs in self._needs.items():
            for pod_set, each in needs.items():
                if self._kind_of.get((gang, pod_set)) != self._plain(each):
                    self._leave((gang, pod_set))
                    self._place((gang, pod_set), each)
        seats = {*before, *self._kind_of}
        return {seat[0] for seat in seats if before.get(seat, "") != self.mark(*seat)}

    def _forget_others(self, kind: _Kind, looks: Callable[[str], bool]) -> None:
        """Leave out those that came first and found a place; one that looks is enough to go on."""
        for gang, _ in list(kind.seats):
            if looks(gang):
                return
            self.drop(gang)

    def _look(self, needs: Needs, kind: _Kind) -> bool:
        """Find out which nodes are closed to a kind; returns whether they are others."""
        before = kind.mark
        kind.nodes = frozenset(self._closed(needs) if kind.stuck else ())
        kind.is_known = bool(kind.stuck)
        kind.mark = bar_id(kind.nodes)
        return kind.mark != before

    def _closed(self, needs: Needs) -> dict[str, str]:
        return barred(needs, self._site.crowd, self._site.fleet)

    def _place(self, seat: Seat, needs: Needs) -> None:
        plain = self._plain(needs)
        if plain is None:
            return
        kind = self._kinds.get(plain)
        if kind is None:
            kind = self._kinds[plain] = _Kind()
        kind.seats[seat] = None
        self._kind_of[seat] = plain

    def _leave(self, seat: Seat) -> None:
        """The kind itself stays until the next look, so that its nodes keep their mark."""
        needs = self._kind_of.pop(seat, None)
        if needs is not None:
            self._kinds[needs].seats.pop(seat, None)

    def _plain(self, needs: Needs) -> Needs | None:
        """Needs without what no rule asks for; None = nothing is left to ask."""
        if needs.prefers():
            needs = replace(needs, wishes=(), soft=())  # they close no node
        if self._words is None and next(needs.patterns(), None) is None:
            return replace(needs, namespace="", labels=()) if needs.is_choosy() else None
        words = needs.words() | (self._words or frozenset())
        labels = tuple(
            (key, value if (key, value) in words else OTHER)
            for key, value in needs.labels
            if (key, "") in words
        )
        return needs if labels == needs.labels else replace(needs, labels=labels)
