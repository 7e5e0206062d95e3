"""How many pods of a pattern are on which node.

A tally is made once, from lists of pods by label, and from then on follows a log of what came
and went. Pods cost the same however many patterns there are, and a question costs only what has
changed since it was last asked.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping

from msgspec import Struct, field

from ganglion.worlds.kubernetes.feasibility.needs import Pattern, Resident, meant, telling

Patterns = tuple[Pattern, ...]

_LOG = 4096
_TALLIES = 4096
_AREAS = 16


class _Area(Struct):
    """Counts by domain.

    Attributes:
        nodes: node -> its domain; nodes that do not count are left out.
        counts: domain -> pods; domains without any are left out.
    """

    nodes: Mapping[str, str]
    counts: dict[str, int]


class PodTally(Struct):
    """Counts as of a place in the log.

    Attributes:
        at: how much of the log has been read.
        counts: node -> pods; nodes without any are left out.
        label: one that all pods which are meant have; None = there is no such label.
        areas: the same by domain, by what the domains are.
    """

    at: int
    counts: dict[str, int]
    label: tuple[str, str] | None
    areas: dict[Hashable, _Area] = field(default_factory=dict)


class Tallies:
    """Counts of pods by pattern and node.

    Args:
        namespaces: labels of all namespaces; `forget` when they change.
    """

    def __init__(self, namespaces: Mapping[str, Mapping[str, str]]) -> None:
        self._namespaces = namespaces
        self._by_label: dict[tuple[str, str], dict[str, Resident]] = defaultdict(dict)
        self._all: dict[str, Resident] = {}
        self._log: list[tuple[int, Resident]] = []
        self._tallies: dict[Patterns, PodTally] = {}

    def add(self, one: Resident) -> None:
        """A pod came."""
        self._all[one.uid] = one
        for label in one.needs.labels:
            self._by_label[label][one.uid] = one
        self._write(1, one)

    def remove(self, one: Resident) -> None:
        """A pod left."""
        del self._all[one.uid]
        for label in one.needs.labels:
            listed = self._by_label[label]
            del listed[one.uid]
            if not listed:
                del self._by_label[label]
        self._write(-1, one)

    def forget(self) -> None:
        """Count everything anew when asked next."""
        self._tallies.clear()
        self._log.clear()

    def where(self, patterns: Patterns) -> Mapping[str, int]:
        """Node -> pods there that all patterns mean; nodes without any are left out."""
        return self._tally(patterns).counts

    def domains(
        self, patterns: Patterns, kind: Hashable, nodes: Mapping[str, str]
    ) -> Mapping[str, int]:
        """Domain -> pods there that all patterns mean; domains without any are left out.

        Kept up to date pod by pod for as long as it is asked with the same object.

        Args:
            patterns: which pods.
            kind: separates the domains from others.
            nodes: node -> its domain; nodes that do not count are left out.
        """
        tally = self._tally(patterns)
        area = tally.areas.get(kind)
        if area is None or area.nodes is not nodes:
            if len(tally.areas) >= _AREAS:
                tally.areas.clear()
            area = tally.areas[kind] = _Area(nodes, {})
            for node, many in tally.counts.items():
                _add(area.counts, nodes.get(node), many)
        return area.counts

    def _tally(self, patterns: Patterns) -> PodTally:
        tally = self._tallies.get(patterns)
        if tally is None:
            return self._made(patterns)
        if tally.at < len(self._log):
            self._catch_up(patterns, tally)
        return tally

    def _made(self, patterns: Patterns) -> PodTally:
        if len(self._tallies) >= _TALLIES:
            self.forget()
        label = next(filter(None, map(telling, patterns)), None)
        tally = self._tallies[patterns] = PodTally(len(self._log), {}, label)
        for one in self._candidates(patterns):
            if meant(patterns, one, self._namespaces):
                _count(tally, one.node, 1)
        return tally

    def _catch_up(self, patterns: Patterns, tally: PodTally) -> None:
        key, value = tally.label or ("", None)
        for sign, one in self._log[tally.at :]:
            if key and one.labels.get(key) != value:
                continue
            if meant(patterns, one, self._namespaces):
                _count(tally, one.node, sign)
        tally.at = len(self._log)

    def _candidates(self, patterns: Patterns) -> Iterable[Resident]:
        """The shortest list of pods that has all that are meant."""
        best: list[dict[str, Resident]] | None = None
        fewest = len(self._all)
        for each in patterns:
            if each.selector.nothing:
                return ()
            for wanted in each.selector.requirements:
                if wanted.operator == "In":
                    labels = ((wanted.key, value) for value in wanted.values)
                    listed = [self._by_label[label] for label in labels if label in self._by_label]
                    many = sum(map(len, listed))
                    if many < fewest:
                        best, fewest = listed, many
        if best is None:
            return self._all.values()
        return (one for listed in best for one in listed.values())

    def _write(self, sign: int, one: Resident) -> None:
        self._log.append((sign, one))
        if len(self._log) >= _LOG:
            self._trim()

    def _trim(self) -> None:
        """Start a new log; tallies not asked for in a while are dropped."""
        for patterns, tally in list(self._tallies.items()):
            if len(self._log) - tally.at > _LOG // 2:
                del self._tallies[patterns]
            else:
                self._catch_up(patterns, tally)
                tally.at = 0
        self._log.clear()


def _count(tally: PodTally, node: str, many: int) -> None:
    _add(tally.counts, node, many)
    for area in tally.areas.values():
        _add(area.counts, area.nodes.get(node), many)


def _add(counts: dict[str, int], key: str | None, many: int) -> None:
    if key is None:
        return
    now = counts.get(key, 0) + many
    if now:
        counts[key] = now
    else:
        del counts[key]
