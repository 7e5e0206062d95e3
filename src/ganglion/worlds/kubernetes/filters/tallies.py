"""How many pods of a pattern are on which node.

A tally is made once, from lists of pods by label, and from then on follows a log of what came
and went. Pods cost the same however many patterns there are, and a question costs only what has
changed since it was last asked.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ganglion.worlds.kubernetes.filters.needs import Pattern, Resident, meant

Patterns = tuple[Pattern, ...]

_LOG = 4096
_TALLIES = 4096


class Tally(Struct):
    """Counts by node as of a place in the log."""

    at: int
    counts: dict[str, int]


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
        self._tallies: dict[Patterns, Tally] = {}

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
        tally = self._tallies.get(patterns)
        if tally is None:
            tally = self._made(patterns)
        elif tally.at < len(self._log):
            self._catch_up(patterns, tally)
        return tally.counts

    def _made(self, patterns: Patterns) -> Tally:
        if len(self._tallies) >= _TALLIES:
            self.forget()
        tally = self._tallies[patterns] = Tally(len(self._log), {})
        for one in self._candidates(patterns):
            self._count(patterns, tally.counts, 1, one)
        return tally

    def _catch_up(self, patterns: Patterns, tally: Tally) -> None:
        for sign, one in self._log[tally.at :]:
            self._count(patterns, tally.counts, sign, one)
        tally.at = len(self._log)

    def _count(self, patterns: Patterns, counts: dict[str, int], sign: int, one: Resident) -> None:
        if meant(patterns, one, self._namespaces):
            now = counts.get(one.node, 0) + sign
            if now:
                counts[one.node] = now
            else:
                del counts[one.node]

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
        """Start a new log; tallies that nobody has asked for in a while are dropped."""
        for patterns, tally in list(self._tallies.items()):
            if len(self._log) - tally.at > _LOG // 2:
                del self._tallies[patterns]
            else:
                self._catch_up(patterns, tally)
                tally.at = 0
        self._log.clear()
