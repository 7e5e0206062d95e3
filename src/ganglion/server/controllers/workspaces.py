"""The local host of workspaces: observes those that run, and carries out what is decided."""

from ganglion.lifecycle.workspaces.idle_state import Ward, Wards
from ganglion.lifecycle.workspaces.look import Look
from ganglion.lifecycle.workspaces.reconciler import Action, Key, ObservedWorkspace, Workspaces
from ganglion.lifecycle.workspaces.rule import Act, LookPace, every_ms, may_suspend
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Event, GangUpdated, IdleWarned
from ganglion.model.workload import Workload
from ganglion.server.commands.workspaces import put_to_sleep
from ganglion.server.controllers.reception import Reception
from ganglion.server.state.eyes import Eyes
from ganglion.server.state.transaction import Order, Transaction
from ganglion.worlds.world import ServedWorld


class WorkspacesController:
    """See `ganglion.server.controllers.controller.Keeper`.

    Args:
        eyes: look at workspaces.
        pace: how long an observation holds.
        reception: has workspaces routed, and wakes those that are opened; None = neither is done.

    Attributes:
        wards: every live workspace.
    """

    name = "workspaces"

    def __init__(
        self, eyes: Eyes, pace: LookPace | None = None, reception: Reception | None = None
    ) -> None:
        self._eyes, self._reception = eyes, reception
        self.wards = Wards()
        self._reconciler = Workspaces(pace)

    def note(self, event: Event) -> None:
        """Remember what follows from events."""
        self.wards.note(event)

    def forget(self) -> None:
        """Every event comes again."""
        self.wards = Wards()

    def memory(self) -> object:
        """Every live workspace."""
        return self.wards

    def recall(self, memory: Wards) -> None:
        """These are they."""
        self.wards = memory

    def look_at(self, gang: str) -> Look | None:
        """The last look at a workspace; None = there was none. Safe from any thread."""
        ward = self.wards.get(gang)
        seen = self._eyes.seen((gang, ward.attempt)) if ward else None
        return seen.look if seen else None

    def use_of(self, gang: str) -> str:
        """Whether a workspace is used, and what shows it; empty = not watched. From any thread."""
        ward = self.wards.get(gang)
        return self._reconciler.finding((gang, ward.attempt)) if ward and ward.runs else ""

    def tend(self, draft: Transaction) -> int | None:
        """Reconcile all of them."""
        soonest = self._reception.tend(draft, self.wards) if self._reception else None
        watched: dict[Key, tuple[Ward, Workload]] = {}
        for ward in self.wards:
            if not ward.runs:
                continue
            workload = draft.book.entries[ward.gang.workload].workload
            if ward.returning:
                _have_own_priority(draft, ward, workload)
            if may_suspend(workload):
                watched[ward.gang.id, ward.attempt] = (ward, workload)
                again = draft.now + every_ms(workload, draft.now)
                soonest = min(again, soonest or again)
        self._eyes.keep(watched.keys())
        observed = self._observed(draft, watched)
        for key, action in self._reconciler.decide(observed, draft.now).items():
            _carry_out(draft, watched[key][0], action)
        return soonest

    def _observed(
        self, draft: Transaction, watched: dict[Key, tuple[Ward, Workload]]
    ) -> dict[Key, ObservedWorkspace]:
        """What is seen of each; those that are not observed yet are from now on."""
        found: dict[Key, ObservedWorkspace] = {}
        for key, (ward, workload) in watched.items():
            seen = self._eyes.seen(key)
            if seen:
                found[key] = ObservedWorkspace(workload, seen.required, seen.look, ward.warned)
            else:
                draft.orders.append(self._meeting(key, workload, every_ms(workload, draft.now)))
        return found

    def _meeting(self, key: Key, workload: Workload, every_ms: int) -> Order:
        def meet(world: ServedWorld) -> None:
            onlooker = world.onlooker(key[0], workload.idle)
            if onlooker:
                self._eyes.meet(key, onlooker, every_ms)

        return meet


def _have_own_priority(draft: Transaction, ward: Ward, workload: Workload) -> None:
    """It has started: from now on it may be stopped for others as before."""
    ward.returning = False
    cause = Cause(CauseKind.OWN_PRIORITY)
    draft.apply(GangUpdated(draft.now, ward.gang.id, workload.priority, cause=cause))


def _carry_out(draft: Transaction, ward: Ward, action: Action) -> None:
    gang, attempt, now = ward.gang.id, ward.attempt, draft.now
    if action.act is Act.SUSPEND:
        put_to_sleep(
            draft, draft.state.gangs.record(gang), Cause(CauseKind.IDLE, text=action.found)
        )
        return
    until = action.warned.suspend_at if action.warned else 0
    draft.record(IdleWarned(now, gang, attempt, until, action.message or action.found))
    draft.orders.append(_telling(gang, action.message))


def _telling(gang: str, message: str) -> Order:
    return lambda world: world.tell(gang, message)
