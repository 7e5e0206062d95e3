"""Has models fetched for gangs that wait with a place of their own, and says what nodes hold."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ganglion.engine.gangs.record import GangRecord
from ganglion.model.events import NodeAdded
from ganglion.model.fleet.node import Node
from ganglion.model.workload import ResolvedModel
from ganglion.server.models.cache.cache import ModelCache
from ganglion.server.models.cache.sources import is_fetched
from ganglion.server.state.transaction import Transaction

LOOK_MS = 1_000
"""How often it is looked what is wanted and there."""


class CacheKeeper:
    """Follows which gangs wait and run; see `Controller`. All it knows is in the state.

    Args:
        cache: fetches, in a thread of its own.
        nodes: this machine, each node with what a file says that it holds.
    """

    name = "kept-models"

    def __init__(self, cache: ModelCache, nodes: Sequence[Node] = ()) -> None:
        self._cache, self._due = cache, 0
        self._declared: Mapping[str, Mapping[str, int]] = {each.name: each.holds for each in nodes}

    def note(self, event: object) -> None:
        """The state notes everything."""

    def forget(self) -> None:
        """The state is made anew."""

    def memory(self) -> None:
        """The state remembers everything."""

    def recall(self, memory: None) -> None:
        """The state remembers everything."""

    def tend(self, draft: Transaction) -> int | None:
        """Say what is in use and what is wanted, and note what nodes hold."""
        if draft.now < self._due:
            return self._due
        self._due = draft.now + LOOK_MS
        if self._cache.settings is not None:
            self._cache.use([*_models(_running(draft))])
        waiting = (each for each in _waiting(draft) if self._is_let_in(draft, each))
        wanted = [each for each in _models(waiting) if is_fetched(each.uri)]
        self._cache.want(wanted)
        held = self._cache.holds()
        for node in draft.state.fleet.nodes.values():
            holds = {**self._declared.get(node.name, {}), **held}
            if node.holds != holds and not draft.state.fleet.tree.is_gone(node.name):
                draft.apply(NodeAdded(draft.now, replace(node, holds=holds)))
        return self._due if wanted else None

    def _is_let_in(self, draft: Transaction, record: GangRecord) -> bool:
        """Whether the programs of a gang may read what is kept, if anything is."""
        settings, entry = self._cache.settings, draft.book.entries.get(record.gang.workload)
        own = entry is not None and entry.workload.account is None
        return settings is not None and (settings.accounts or own)


def _models(records: Iterator[GangRecord]) -> Iterator[ResolvedModel]:
    return (each.gang.model for each in records if each.gang.model)


def _running(draft: Transaction) -> Iterator[GangRecord]:
    """Gangs with an attempt that is not over."""
    holdings, records = draft.state.holdings, draft.state.gangs.records
    yield from holdings.settled()
    for gangs in holdings.leaving.values():
        yield from (records[gang] for gang in gangs)


def _waiting(draft: Transaction) -> Iterator[GangRecord]:
    """Gangs that wait with a place of their own, those first whose place others leave already."""
    state = draft.state
    yield from (state.gangs.records[gang] for gang in state.holdings.promised)
    reserved = state.timeline.future.reservations()
    yield from (each.record for each in sorted(reserved, key=lambda each: each.start_ms))
