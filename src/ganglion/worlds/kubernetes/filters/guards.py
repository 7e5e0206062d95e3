"""Pods that keep others away from them: required anti-affinity works both ways."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ganglion.worlds.kubernetes.filters.needs import Resident, Term, Words, meant, telling

Where = Mapping[str, int]
"""Node -> how many."""


class Guards:
    """Where pods with anti-affinity are, by the pods that they keep away.

    Args:
        namespaces: labels of all namespaces.
    """

    def __init__(self, namespaces: Mapping[str, Mapping[str, str]]) -> None:
        self._namespaces = namespaces
        self._held: dict[Term, dict[str, int]] = {}
        self._by_label: dict[tuple[str, str] | None, dict[Term, None]] = defaultdict(dict)
        self._words: dict[tuple[str, str], int] = {}

    def add(self, one: Resident) -> None:
        """A pod came."""
        for term in one.needs.apart:
            if term.pattern.selector.nothing:
                continue
            held = self._held.get(term)
            if held is None:
                held = self._remember(term)
            held[one.node] = held.get(one.node, 0) + 1

    def remove(self, one: Resident) -> None:
        """A pod left."""
        for term in one.needs.apart:
            if term.pattern.selector.nothing:
                continue
            held = self._held[term]
            held[one.node] -= 1
            if not held[one.node]:
                del held[one.node]
            if not held:
                self._forget(term)

    def is_needed(self) -> bool:
        """Whether any pod keeps others away."""
        return bool(self._held)

    def words(self) -> Words | None:
        """The labels by which pods keep others away; None = no pod keeps others away."""
        return frozenset(self._words) if self._held else None

    def _remember(self, term: Term) -> dict[str, int]:
        self._by_label[telling(term.pattern)][term] = None
        for word in term.pattern.words():
            self._words[word] = self._words.get(word, 0) + 1
        held = self._held[term] = {}
        return held

    def _forget(self, term: Term) -> None:
        del self._held[term]
        for word in term.pattern.words():
            self._words[word] -= 1
            if not self._words[word]:
                del self._words[word]
        listed = self._by_label[telling(term.pattern)]
        del listed[term]
        if not listed:
            del self._by_label[telling(term.pattern)]

    def against(self, one: Resident) -> Iterator[tuple[Term, Where]]:
        """Every term that keeps a pod away, and where pods with that term are."""
        if not self._held:
            return
        for label in (None, *one.needs.labels):
            for term in self._by_label.get(label, ()):
                if meant((term.pattern,), one, self._namespaces):
                    yield term, self._held[term]
