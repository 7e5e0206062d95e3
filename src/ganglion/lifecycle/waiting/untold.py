"""Reasons that cycles have found and the ledger does not know yet.

A cycle names the lanes whose reasons changed. Their kinds are written at the beginning of a later
turn, once for all gangs of a lane: together with something else, or after a second. How many are
written is bounded over time, so that reasons that change to and fro fill no ledger; of each lane
the newest is written.
"""

from collections.abc import Callable, Hashable, Iterable

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import ReasonsChanged
from ganglion.model.plan import Wait

ALONE_MS = 1_000
"""How long a change waits for something else to be written with."""
BURST = 10_000
"""Changes that are written at once..."""
EACH_MS = 50
"""...and after them one per this time."""


class UntoldReasons:
    """What is to be written.

    Args:
        known: for what a gang waits as far as the ledger knows; empty = that is not known.
    """

    def __init__(self, known: Callable[[str], str]) -> None:
        self._known = known
        self._lanes: dict[Hashable, str] = {}
        self._found = self._since = self._paid = 0

    def found(self, state: ClusterState, waits: Iterable[Wait], at: int) -> None:
        """A cycle has found reasons at a time in ms."""
        for each in waits:
            record = state.gangs.records.get(each.first)
            if record is None or record.lane is None:
                continue
            kind = each.reason.token.value
            if self._known(each.first) == kind:
                self._lanes.pop(record.lane, None)
            else:
                self._since = self._since if self._lanes else at
                self._lanes[record.lane] = kind
                self._found = at

    def due(self, state: ClusterState, now: int, *, alone: bool) -> ReasonsChanged | None:
        """What is to be written now; None = nothing.

        Args:
            state: before anything of the turn was applied.
            now: the time in ms.
            alone: whether nothing else is written as far as is known.
        """
        if not self._lanes or (alone and now - self._since < ALONE_MS):
            return None
        paid = max(self._paid, now - BURST * EACH_MS)
        most = (now - paid) // EACH_MS
        found, keys = dict[str, list[str]](), list(self._lanes)[:most]
        for key in keys:
            kind, head = self._lanes.pop(key), state.gangs.lanes.first_of(key)
            if head and self._known(head) != kind:
                found.setdefault(kind, []).append(head)
                paid += EACH_MS
        self._paid, self._since = paid, now
        if not found:
            return None
        return ReasonsChanged(self._found, {kind: tuple(each) for kind, each in found.items()})
