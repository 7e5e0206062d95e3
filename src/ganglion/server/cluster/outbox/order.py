"""What a scheduler says of the order in which gangs wait: the first of them, when that changes.

What is said holds until the next time, without the gangs that wait no more, so that a queue that is
worked off from its head says nothing. However often the order changes, little is written of it.
"""

from collections.abc import Sequence

from ganglion.engine.ordering.order import waiting_in_order
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.waiting.reserved import reason_of
from ganglion.model.events import OrderedReason, WaitOrder

MOST = 100
"""Gangs that are named..."""
LEAST = 50
"""...and to how many these may shrink while more wait."""
LOOK_MS = 5_000
"""Least time between two looks at the order."""
ORDER_MS = 30_000
"""Least time between two times at which it is said."""
SENTENCES_MS = 300_000
"""The same, where only numbers of reasons have changed."""
LONGEST = 500
"""Characters of a reason."""

Sentence = tuple[str, str, bool]
"""Token of a reason, its message, and whether it holds for ever."""


class OrderReports:
    """Says which gangs are the first, and for what they wait."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._sentences: dict[str, Sentence] = {}
        self._due = self._spoken = 0

    def leaves(self, gang: str) -> None:
        """A gang waits no more."""
        if gang in self._sentences or gang in self._said:
            self._said = [each for each in self._said if each != gang]
            self._sentences.pop(gang, None)

    def lost(self) -> None:
        """Something that was said has not arrived."""
        self._said, self._sentences = [], {}

    def of(self, state: ClusterState, now: int) -> WaitOrder | None:
        """What is new after a turn at a time in ms; None = nothing, or it is not due."""
        if now < self._due:
            return None
        found = waiting_in_order(state, now, MOST)
        if not found and not self._said:
            return None
        self._due = now + LOOK_MS
        sentences = _sentences(state, found)
        if not self._is_news(found, sentences, now):
            return None
        self._due, self._spoken = now + ORDER_MS, now
        self._said, self._sentences = found, sentences
        return WaitOrder(now, tuple(found), _reasons(found, sentences))

    def _is_news(self, found: list[str], sentences: dict[str, Sentence], now: int) -> bool:
        said = self._said
        if found[: len(said)] != said or len(said) < min(len(found), LEAST):
            return True
        kinds = {each: sentences[each][0] for each in said if each in sentences}
        if any(kind != self._sentences.get(each, ("",))[0] for each, kind in kinds.items()):
            return True
        same = all(sentences[each] == self._sentences[each] for each in kinds)
        return not same and now - self._spoken >= SENTENCES_MS


def _sentences(state: ClusterState, gangs: Sequence[str]) -> dict[str, Sentence]:
    reasons = ((gang, reason_of(state, gang)) for gang in gangs)
    return {
        gang: (str(each.token), each.message[:LONGEST], each.never)
        for gang, each in reasons
        if each
    }


def _reasons(gangs: Sequence[str], sentences: dict[str, Sentence]) -> tuple[OrderedReason, ...]:
    found = dict[Sentence, list[int]]()
    for place, gang in enumerate(gangs, 1):
        if gang in sentences:
            found.setdefault(sentences[gang], []).append(place)
    return tuple(
        OrderedReason(token, message, tuple(places), never)
        for (token, message, never), places in found.items()
    )
