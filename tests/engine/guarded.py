"""A state that looks on while the engine decides: floors hold, and so do contracts of recall."""

from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.causes import MOVES, CauseKind, sentence
from ganglion.model.plan import Phase

OURS = (
    *(CauseKind.PREEMPTED, CauseKind.RECLAIMED, CauseKind.RECLAIMED_BORROWING, CauseKind.SHARED),
    *(*MOVES, CauseKind.YIELDED, CauseKind.RECALLED),
)
"""Causes for which the engine stops gangs for the sake of others."""

DECISIONS = (ev.GangPlaced, ev.GangReserved, ev.GangResized, ev.GangStopping, ev.PlaceKept)


TERMS = (CauseKind.OTHER_TERMS, CauseKind.BEYOND_MEANS, CauseKind.NODES_BOOKED)
"""Causes for which places are given back that could still be had."""


class Guarded(ClusterState):
    """Asserts at every decision that no floor and no contract is broken by it."""

    def apply(self, event: ev.Event) -> bool:
        if isinstance(event, ev.GangStopping) and event.cause.kind in OURS:
            self.check_floor(self.gangs.records[event.gang], sentence(event.cause))
        if not isinstance(event, DECISIONS) or not self.timeline.kept:
            return super().apply(event)
        sound = {
            each.record.gang.id for each in self.timeline.kept if self.timeline.kept.is_sound(each)
        }
        if isinstance(event, ev.PlaceKept) and not event.placement:
            kind = event.cause and event.cause.kind
            assert event.gang not in sound or kind in TERMS, f"given back in vain: {event}"
        changed = super().apply(event)
        for each in self.timeline.kept:
            gang = each.record.gang.id
            assert gang not in sound or self.timeline.kept.is_sound(each), (
                f"{gang} loses its place: {event}"
            )
        lost = sound - {each.record.gang.id for each in self.timeline.kept}
        assert lost <= {event.gang}, f"places of {lost} are gone: {event}"
        return changed

    def check_floor(self, victim: GangRecord, cause: str) -> None:
        """Enough siblings are left in the phase of the victim, or further."""
        gang = victim.gang
        phases = (Phase.RUNNING,) if victim.phase is Phase.RUNNING else SETTLED
        siblings = [
            each for each in self.gangs.records.values() if each.gang.workload == gang.workload
        ]
        left = [each for each in siblings if each.phase in phases and each is not victim]
        assert victim.phase not in SETTLED or len(left) >= gang.floor, (
            f"{gang.id} is stopped, {len(left)} of at least {gang.floor} are left: {cause}"
        )
