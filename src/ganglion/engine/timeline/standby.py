"""Places that are kept for gangs that sleep, and lent meanwhile.

The contract: at any time all of them could wake, and each would have its whole place after the
time that it gives borrowers to save and leave (`recall_ms`). So what is on such a place, or
uses the CPU or memory that goes with it, may be stopped, has a checkpoint contract with no
longer a grace, and belongs to no workload with a floor. No other gang starts there, whatever its
priority: a kept place ends with its gang, when it is woken, or with the nodes it lies on.

Nothing here costs anything while no gang sleeps.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ganglion.engine.gangs.equivalence import leaves_within
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.store import Store
from ganglion.engine.store.what_if import Sketch, shapes_by_set
from ganglion.engine.timeline.free_at import Room
from ganglion.engine.timeline.nominations import condition_of
from ganglion.engine.timeline.reservation import FOREVER, Reservation
from ganglion.engine.topology.pod_shape import Shape
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.policy import StandbyCharge
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.reasons import Reason, Token
from ganglion.model.resources import Usage, decimal
from ganglion.model.workload import Gang

Coming = tuple[GangRecord, Sequence[PodPlacement]]
"""A gang, and pods of it that come."""


class KeptPlace(Struct, frozen=True):
    """The place of a gang that sleeps.

    Attributes:
        held: the gang and its place, as a reservation without an end.
        recall_ms: how long borrowers may take to leave.
        charged: what its queue is charged for it, by flavor.
    """

    held: Reservation
    recall_ms: int
    charged: tuple[tuple[str, Usage], ...]

    @property
    def record(self) -> GangRecord:
        """The gang's record."""
        return self.held.record

    @property
    def placement(self) -> Placement:
        """The place."""
        return self.held.placement


class StandbyPlaces:
    """All kept places by gang, in the order in which they were given.

    Args:
        state: the fleet.

    Attributes:
        version: grows with every change.
        tried: gang that sleeps -> the state's `freed` counter when there was no place for it.
        checked: the same counter when all were last found to be within the bounds of queues.
    """

    def __init__(self, state: Store) -> None:
        self._state, self._occupants = state, state.holdings.occupants
        self._all: dict[str, KeptPlace] = {}
        self._on: dict[str, dict[str, KeptPlace]] = {}
        self.version = 0
        self.tried: dict[str, int] = {}
        self.checked = -1

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[KeptPlace]:
        return iter(tuple(self._all.values()))

    def get(self, gang: str) -> KeptPlace | None:
        """The place that is kept for a gang."""
        return self._all.get(gang)

    def put(self, record: GangRecord, placement: Placement) -> None:
        """Keep a place for a gang that sleeps, instead of what was kept before. Raises NotFound."""
        for pod in placement.pods:
            self._state.fleet.tree.rank(pod.node)
        self.drop(record.gang.id)
        self._keep(self._made(record, placement))

    def list_only(self, kept: Iterable[KeptPlace]) -> None:
        """Iterate over exactly these; the rest is made anew then."""
        self._all = {each.record.gang.id: each for each in kept}

    def take_over(self, others: "StandbyPlaces") -> None:
        """Keep the places that others list, as they were charged."""
        for each in others:
            self._keep(each)

    def _keep(self, kept: KeptPlace) -> None:
        gang = kept.record.gang.id
        self._all[gang] = kept
        for node in _nodes(kept.placement):
            self._on.setdefault(node, {})[gang] = kept
        self._changed(kept, 1)

    def _made(self, record: GangRecord, placement: Placement) -> KeptPlace:
        charged: tuple[tuple[str, Usage], ...] = ()
        if self._state.config.policy.sleeping is StandbyCharge.QUOTA:
            charged = tuple(self._state.holdings.usage_of(record, placement).items())
        held = Reservation(record, placement, 0, FOREVER)
        return KeptPlace(held, record.gang.recall_ms, charged)

    def drop(self, gang: str) -> bool:
        """Keep nothing for a gang any more; whether there was anything."""
        self.tried.pop(gang, None)
        kept = self._all.pop(gang, None)
        if kept is None:
            return False
        for node in _nodes(kept.placement):
            del self._on[node][gang]
            if not self._on[node]:
                del self._on[node]
        self._changed(kept, -1)
        return True

    def _changed(self, kept: KeptPlace, sign: int) -> None:
        self._charge(kept, sign)
        self.version += 1
        self._state.progress.changed()

    def _charge(self, kept: KeptPlace, sign: int) -> None:
        """A right that cannot be taken back is charged like work that may not be preempted."""
        gang = kept.record.gang
        for flavor, usage in kept.charged:
            self._state.queues.shares.charge(gang.queue, flavor, usage, False, sign, gang.user)

    def is_within_bounds(self, kept: KeptPlace) -> bool:
        """Whether a queue, and all above it, may have what it is charged for a kept place."""
        self._charge(kept, -1)
        within = self._may_have(kept)
        self._charge(kept, 1)
        return within

    def _may_have(self, kept: KeptPlace) -> bool:
        gang, total = kept.record.gang, Usage()
        for _, usage in kept.charged:
            total = total.plus(usage)
        beyond = self._state.queues.shares.beyond
        return not any(
            beyond(gang.queue, flavor, usage, gang.user)
            for flavor, usage in (*kept.charged, (ANY_FLAVOR, total))
        )

    def binding(self, gang: Gang) -> list[Reservation]:
        """Kept places that a gang must respect, as reservations."""
        others = (each for name, each in self._all.items() if name != gang.id)
        return [each.held for each in others if not self._agrees(each.record, gang, each.recall_ms)]

    def beside(self, gang: Gang) -> Sketch:
        """The tree with all places taken that are not lent to a gang; a context manager."""
        sketch = Sketch(self._state)
        for held in self.binding(gang) if self._all else ():
            sketch.come(held.record, held.placement.pods)
        return sketch

    def refusal(self, record: GangRecord, placement: Placement) -> Reason | None:
        """Why a gang may not start there; None = no kept place is in the way."""
        if not self._on:
            return None
        for node in _nodes(placement):
            here = self._here(node, record)
            if here and not self._holds(node, here, _coming(record, placement, node)):
                return _refusal(here[0])
        return None

    def is_sound(self, kept: KeptPlace) -> bool:
        """Whether a gang that sleeps would have its place in time, as would all beside it."""
        return all(self._holds(node, self._here(node)) for node in _nodes(kept.placement))

    def is_possible(self, record: GangRecord, placement: Placement) -> bool:
        """Whether a place can be kept for a gang that sleeps, and its queue may have it."""
        fresh = self._made(record, placement)
        return self._may_have(fresh) and all(
            self._holds(node, [*self._here(node), fresh]) for node in _nodes(placement)
        )

    def would_lend(self, record: GangRecord, gang: Gang) -> bool:
        """Whether a gang may be where a place is to be kept for one that sleeps."""
        return self._agrees(record, gang, record.gang.recall_ms)

    def is_clear(self, kept: KeptPlace, node: str, gone: Sequence[GangRecord]) -> bool:
        """Whether a gang that wakes would have its place on a node once some have left."""
        record = kept.record
        room, own = self._without(node, gone), _on_node(kept.placement, node)
        room.take(_shaped(record, own))
        if not room.holds(device for pod in own for device in pod.devices):
            return False
        coming = _coming(record, kept.placement, node)
        return self._holds(node, self._here(node, record), coming, gone)

    def borrowers(self, kept: KeptPlace, node: str) -> list[tuple[bool, GangRecord]]:
        """Gangs on a node that would leave for one that wakes; whether they use its devices."""
        own = {d for pod in _on_node(kept.placement, node) for d in pod.devices}
        return [
            (any(d in own for pod in pods for d in pod.devices), record)
            for gang, pods in self._occupants.on(node).items()
            if self._leaves((record := self._occupants.records[gang]).gang, kept.recall_ms)
        ]

    def pods_on(self, node: str, record: GangRecord) -> Sequence[PodPlacement]:
        """The pods of a gang on a node, promised ones included."""
        return self._occupants.on(node)[record.gang.id]

    def _here(self, node: str, record: GangRecord | None = None) -> list[KeptPlace]:
        """Places kept on a node, but for that of one gang."""
        here = self._on.get(node, {}).values()
        return [each for each in here if record is None or each.record.gang.id != record.gang.id]

    def _holds(
        self,
        node: str,
        here: Sequence[KeptPlace],
        coming: Coming | None = None,
        gone: Sequence[GangRecord] = (),
    ) -> bool:
        """Whether these places on a node are free or lent to gangs that leave in time.

        When time is up for some, all that give borrowers at most as much must have their places.

        Args:
            node: a node.
            here: places that are kept there.
            coming: more pods of a gang.
            gone: gangs that leave anyway.
        """
        if here and node not in self._state.fleet.tree.index:
            return False
        for limit in sorted({each.recall_ms for each in here}):
            stays = coming and not all(
                self._agrees(each.record, coming[0].gang, limit) for each in here
            )
            room, devices = self._without(node, gone, limit), set[int]()
            if coming and stays:
                room.take(_shaped(*coming))
            for each in here:
                if each.recall_ms <= limit:
                    own = _on_node(each.placement, node)
                    room.take(_shaped(each.record, own))
                    devices.update(device for pod in own for device in pod.devices)
            if not room.holds(devices):
                return False
        return True

    def _without(self, node: str, gone: Sequence[GangRecord], limit: int = -1) -> Room:
        """What is free on a node once some have left, and all that do so within a time."""
        names = {each.gang.id for each in gone}
        leaving: list[tuple[PodPlacement, Shape]] = []
        tenancies: list[str] = []
        for gang, pods in self._occupants.on(node).items():
            record = self._occupants.records[gang]
            shaped = _shaped(record, pods)
            if gang in names or self._leaves(record.gang, limit):
                leaving += shaped
            else:
                tenancies += [shape.tenancy for _, shape in shaped]
        room = Room(condition_of(self._state, node), tenancies)
        room.give(leaving)
        return room

    def _agrees(self, record: GangRecord, gang: Gang, limit: int) -> bool:
        """Whether a gang leaves within a time for one that sleeps, for all that plugins say."""
        if not self._leaves(gang, limit):
            return False
        now, vetoes = self._state.progress.clock, self._state.config.plugins.preempts
        return all(each.may_stop(gang, record.gang, now) for each in vetoes)

    def _leaves(self, gang: Gang, limit: int) -> bool:
        return self._state.config.policy.evict.enabled and 0 <= leaves_within(gang) <= limit


def _nodes(placement: Placement) -> dict[str, None]:
    return dict.fromkeys(pod.node for pod in placement.pods)


def _on_node(placement: Placement, node: str) -> list[PodPlacement]:
    return [pod for pod in placement.pods if pod.node == node]


def _coming(record: GangRecord, placement: Placement, node: str) -> Coming:
    return record, _on_node(placement, node)


def _shaped(record: GangRecord, pods: Iterable[PodPlacement]) -> list[tuple[PodPlacement, Shape]]:
    shapes = shapes_by_set(record)
    return [(pod, shapes[pod.pod_set]) for pod in pods]


def _refusal(kept: KeptPlace) -> Reason:
    gang = kept.record.gang
    return Reason(
        Token.ORDER,
        f"there is a place kept for {gang.id}, which sleeps; it is lent to gangs that save and"
        f" leave within {decimal(kept.recall_ms)} s",
        evidence={"recall_ms": kept.recall_ms},
    )
