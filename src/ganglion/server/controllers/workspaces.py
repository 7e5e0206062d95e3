"""Reconciles workspaces: warns and suspends those that are idle, and returns their priority."""

from msgspec import Struct, field

from ganglion.lifecycle.workspaces.hours import allowed_ms
from ganglion.lifecycle.workspaces.idle_state import Ward, Wards
from ganglion.lifecycle.workspaces.look import Look
from ganglion.lifecycle.workspaces.observations import Memory
from ganglion.lifecycle.workspaces.rule import GAP_MS, Act, Pace, Step, every_ms, step
from ganglion.lifecycle.workspaces.verdict import Answer, Finding
from ganglion.lifecycle.workspaces.words import span
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Event, GangUpdated, IdleWarned
from ganglion.model.workload import Workload
from ganglion.server.commands.workspaces import loss_of, put_to_sleep
from ganglion.server.controllers.reception import Reception
from ganglion.server.state.eyes import Eyes, Key
from ganglion.server.state.transaction import Order, Transaction
from ganglion.worlds.world import ServedWorld


class _Watch(Struct):
    """What is remembered of one attempt; forgotten with the server."""

    memory: Memory = field(default_factory=Memory)
    at: int = 0
    found: Finding | None = None


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
        self, eyes: Eyes, pace: Pace | None = None, reception: Reception | None = None
    ) -> None:
        self._eyes, self._pace, self._reception = eyes, pace or Pace(), reception
        self.wards = Wards()
        self._watches: dict[Key, _Watch] = {}

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
        watch = self._watches.get((gang, ward.attempt)) if ward and ward.runs else None
        if watch is None or watch.found is None:
            return ""
        found = watch.found
        return found.message if found.answer is Answer.IDLE else f"{found.answer}: {found.message}"

    def tend(self, draft: Transaction) -> int | None:
        """Reconcile all of them."""
        wanted = set[Key]()
        soonest = self._reception.tend(draft, self.wards) if self._reception else None
        for ward in self.wards:
            if not ward.runs:
                continue
            workload = draft.book.entries[ward.gang.workload].workload
            if ward.returning:
                _have_own_priority(draft, ward, workload)
            if not allowed_ms(workload, draft.now) and workload.idle.hours is None:
                continue
            wanted.add((ward.gang.id, ward.attempt))
            self._watched(draft, ward, workload)
            again = draft.now + every_ms(workload, draft.now)
            soonest = min(again, soonest or again)
        self._eyes.keep(wanted)
        self._watches = {key: each for key, each in self._watches.items() if key in wanted}
        return soonest

    def _watched(self, draft: Transaction, ward: Ward, workload: Workload) -> None:
        key = (ward.gang.id, ward.attempt)
        seen = self._eyes.seen(key)
        if seen is None:
            draft.orders.append(self._meeting(key, workload, every_ms(workload, draft.now)))
            return
        watch = self._watches.setdefault(key, _Watch())
        look = seen.look
        if look and look.at > watch.at:
            watch.at = look.at
            for sight in look.sights:
                watch.memory.see(sight, GAP_MS)
        found = step(workload, watch.memory, seen.required, ward.warned, draft.now, self._pace)
        watch.found = found.finding
        _act(draft, ward, found, look)

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


def _act(draft: Transaction, ward: Ward, found: Step, look: Look | None) -> None:
    gang, attempt, now = ward.gang.id, ward.attempt, draft.now
    match found.act:
        case Act.WARN:
            left = span(found.suspend_at - now)
            said = f"{found.finding.message}: it is suspended in {left} unless it is used"
            message = f"{said}; {loss_of(look)}"
            draft.record(IdleWarned(now, gang, attempt, found.suspend_at, message))
            draft.orders.append(_telling(gang, message))
        case Act.TAKE_BACK:
            draft.record(IdleWarned(now, gang, attempt, 0, found.finding.message))
            draft.orders.append(_telling(gang, ""))
        case Act.SUSPEND:
            cause = Cause(CauseKind.IDLE, text=found.finding.message)
            put_to_sleep(draft, draft.state.record(gang), cause)
        case Act.NOTHING:
            pass


def _telling(gang: str, message: str) -> Order:
    return lambda world: world.tell(gang, message)
