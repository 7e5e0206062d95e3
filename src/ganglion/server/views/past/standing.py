"""What bounds a queue, and what its past use does to it."""

from ganglion.api.queues import BoundView, PastUseView
from ganglion.engine.ordering.past_use import PastComparison
from ganglion.engine.state.cluster_state import ClusterState


class QueueStandings:
    """Bounds and past use of queues as they are at one moment.

    Args:
        state: of the engine.
        now: the time in ms.
    """

    def __init__(self, state: ClusterState, now: int) -> None:
        self._state, self._past = state, PastComparison(state, now)

    def bounds(self, name: str) -> tuple[BoundView, ...]:
        """What bounds a queue, of its own rules and of those above it, its own first."""
        made = [
            BoundView(each.queue, each.rule, each.flavor, each.kind, each.most, each.used)
            for each in self._state.queues.shares.bounds(name)
        ]
        least: dict[tuple[str, str, str], BoundView] = {}
        for each in made:
            key = each.rule, each.flavor, each.resource
            known = least.setdefault(key, each)
            if each.most - each.used < known.most - known.used:
                least[key] = each
        for each in least.values():
            each.binds = True
        return tuple(made)

    def past(self, name: str, *, alone: bool) -> PastUseView | None:
        """What a queue has used; `alone` leaves out how the queues beside it compare."""
        found = self._past.of(name)
        if found is None:
            return None
        half_life = self._state.queues.past.half_life_ms
        own = PastUseView(half_life, found.mean_milli, found.deserved_without_milli)
        if not alone:
            own.used_permille, own.weight_permille = found.used_permille, found.weight_permille
            own.place, own.place_without = found.place, found.place_without
            own.beside = found.beside
        return own
