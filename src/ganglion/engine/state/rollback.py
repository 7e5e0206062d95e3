"""Going back to the state before an event, however far the event has got.

An `Image` holds what an event may change by its own: records, a node, queues, reservations and
the like. Everything else follows from those and is made anew by `ClusterState.rebuild`. That is
slow, and happens only where the engine has failed. What was learnt from the event (run times,
usual pods, how bands held) stays learnt.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import fields, replace

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.state.components import Components
from ganglion.engine.store.journal import Undo
from ganglion.model import events as ev
from ganglion.model.workload import Gang

Restore = Callable[[Components], None]

_FIELDS = tuple(each.name for each in fields(GangRecord))


class Image:
    """What one event may change, as it was before.

    Args:
        state: before the event.
        event: not yet applied.
    """

    __slots__ = (
        "_backlog",
        "_held",
        "_kept",
        "_mark",
        "_named",
        "_promised",
        "_records",
        "_restore",
        "_state",
        "event",
    )

    def __init__(self, state: Components, event: ev.Event) -> None:
        self.event, self._state = event, state
        self._restore: Restore | None = None
        named = getattr(event, "gang", None)
        gang = named.id if isinstance(named, Gang) else named
        self._backlog = state.forecast.backlog.image(gang) if gang else None
        self._held, self._promised = state.timeline.future.held(), tuple(state.holdings.promised)
        records = [state.gangs.records[gang]] if gang in state.gangs.records else []
        wide = gang is None or state.timeline.kept.get(gang) or isinstance(event, ev.PlaceKept)
        self._kept = tuple(state.timeline.kept) if wide else None
        if gang is None:
            records = _others(state, event)
            self._restore = _rare(state, event)
        elif about := records[0].gang if records else named if isinstance(named, Gang) else None:
            self._restore = _of_gang(state, about, known=bool(records))
        self._records = [(each, replace(each)) for each in records]
        self._named, self._mark = gang is not None, _mark(state)

    def holds(self) -> bool:
        """Whether an event that was refused has changed nothing, as far as is easily seen."""
        state = self._state
        return (
            self._named
            and self._mark == _mark(state)
            and self._held == state.timeline.future.held()
            and all(live == before for live, before in self._records)
        )

    def restore(self) -> None:
        """Put it back; what follows from it has to be made anew."""
        state = self._state
        for live, before in self._records:
            for name in _FIELDS:
                setattr(live, name, getattr(before, name))
        if self._restore:
            self._restore(state)
        if self._backlog:
            state.forecast.backlog.restore(self._backlog)
        state.holdings.list_promised(self._promised)
        state.timeline.future.restore(self._held)
        if self._kept is not None:
            state.timeline.kept.list_only(self._kept)


def roll_back(state: Components, images: Sequence[Undo]) -> None:
    """Be as before some events, which were applied in this order."""
    for each in reversed(images):
        each.restore()
    state.rebuild()


def _mark(state: Components) -> tuple[object, ...]:
    """Grows with every change of what follows from records, queues and nodes."""
    tree = state.fleet.tree
    return (
        state.holdings.occupants.version,
        state.gangs.lanes.changes,
        state.queues.shares.version,
        state.timeline.kept.version,
        state.progress.freed,
        len(state.gangs.records),
        tree.version,
        tree.descriptions,
    )


def _of_gang(state: Components, gang: Gang, *, known: bool) -> Restore:
    """Puts back what is counted of a gang's workload, queue and user, but for its record."""
    tally, submissions, past = state.gangs.gates.image(gang.workload), state.gangs.submissions, None
    if state.queues.past.half_life_ms and gang.queue in state.queues.by_name:
        past = state.queues.past.image(state.queues.shares.path(gang.queue), gang.user)

    def restore(state: Components) -> None:
        if not known and gang.id in state.gangs.records:
            state.gangs.withdraw(gang, submissions)
        state.gangs.gates.restore(gang.workload, tally)
        if past:
            state.queues.past.restore(past)

    return restore


def _others(state: Components, event: ev.Event) -> list[GangRecord]:
    """Gangs that an event touches which is about none of them."""
    if isinstance(event, ev.PolicySet):
        return list(state.gangs.records.values())
    found = {gang: state.gangs.records[gang] for gang in state.holdings.promised}
    if isinstance(event, ev.NodeAdded):
        found |= {each.gang.id: each for each in state.holdings.on_node(event.node.name)}
    return list(found.values())


def _rare(state: Components, event: ev.Event) -> Restore:
    """Puts back what is no gang's: a node, the queues, bookings, the policy."""
    if isinstance(event, ev.NodeAdded | ev.NodeLost | ev.NodeCordoned | ev.DeviceHealth):
        return _node(state, _name(event))
    if isinstance(event, ev.QueueSet | ev.QueueRemoved):
        queues, order = dict(state.queues.by_name), dict(state.queues.shares.tree.order)
        return lambda state: state.queues.shares.tree.list_only(queues, order)
    if isinstance(event, ev.BookingSet | ev.BookingRemoved):
        bookings = state.timeline.bookings.all()
        return lambda state: state.timeline.bookings.restore(bookings)
    if isinstance(
        event, ev.BudgetSet | ev.BudgetRemoved | ev.BudgetRaised | ev.PriceSet | ev.TokenCreated
    ):
        budgets = state.queues.budgets.image()
        return lambda state: state.queues.budgets.restore(budgets)
    policy, typical = state.config.policy, state.fleet.table.typical

    def restore(state: Components) -> None:
        state.config.policy = policy
        state.queues.past.half_life_ms = policy.usage.half_life_ms
        state.fleet.table.typical = typical

    return restore


def _name(event: ev.NodeAdded | ev.NodeLost | ev.NodeCordoned | ev.DeviceHealth) -> str:
    if isinstance(event, ev.NodeAdded):
        return event.node.name
    return event.node if isinstance(event, ev.DeviceHealth) else event.name


def _node(state: Components, name: str) -> Restore:
    node, gone = state.fleet.tree.known(name), state.fleet.tree.is_gone(name)
    return lambda state: state.fleet.tree.list_as(name, node, gone)
