"""Pods whose own rules bear on others: anti-affinity, and what is preferred, work both ways."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from ganglion.worlds.kubernetes.feasibility.needs import (
    AffinityTerm,
    Needs,
    Resident,
    Words,
    meant,
    telling,
)

Where = Mapping[str, int]
"""Node -> how many."""


T = TypeVar("T", bound=AffinityTerm)


class Guards(Generic[T]):
    """Where pods with rules of one sort are, by the pods that these rules are about.

    Args:
        namespaces: labels of all namespaces.
        rules_in: the rules of that sort.
    """

    def __init__(
        self,
        namespaces: Mapping[str, Mapping[str, str]],
        rules_in: Callable[[Needs], Sequence[T]],
    ) -> None:
        self._namespaces, self._rules_in = namespaces, rules_in
        self._held: dict[T, dict[str, int]] = {}
        self._by_label: dict[tuple[str, str] | None, dict[T, None]] = defaultdict(dict)
        self._words: dict[tuple[str, str], int] = {}

    def add(self, one: Resident) -> None:
        """A pod came."""
        for term in self._rules_in(one.needs):
            if term.pattern.selector.nothing:
                continue
            held = self._held.get(term)
            if held is None:
                held = self._remember(term)
            held[one.node] = held.get(one.node, 0) + 1

    def remove(self, one: Resident) -> None:
        """A pod left."""
        for term in self._rules_in(one.needs):
            if term.pattern.selector.nothing:
                continue
            held = self._held[term]
            held[one.node] -= 1
            if not held[one.node]:
                del held[one.node]
            if not held:
                self._forget(term)

    def is_needed(self) -> bool:
        """Whether any pod has such a rule."""
        return bool(self._held)

    def words(self) -> Words | None:
        """The labels that such rules speak of; None = no pod has one."""
        return frozenset(self._words) if self._held else None

    def _remember(self, term: T) -> dict[str, int]:
        self._by_label[telling(term.pattern)][term] = None
        for word in term.pattern.words():
            self._words[word] = self._words.get(word, 0) + 1
        held = self._held[term] = {}
        return held

    def _forget(self, term: T) -> None:
        del self._held[term]
        for word in term.pattern.words():
            self._words[word] -= 1
            if not self._words[word]:
                del self._words[word]
        listed = self._by_label[telling(term.pattern)]
        del listed[term]
        if not listed:
            del self._by_label[telling(term.pattern)]

    def against(self, one: Resident) -> Iterator[tuple[T, Where]]:
        """Every rule that means a pod, and where pods with that rule are."""
        if not self._held:
            return
        for label in (None, *one.needs.labels):
            for term in self._by_label.get(label, ()):
                if meant((term.pattern,), one, self._namespaces):
                    yield term, self._held[term]
