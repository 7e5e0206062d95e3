"""The time ahead: from when on a gang can be placed, if those that run end as they must."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.placement.place import Demand, place, required_level, rules_of
from ganglion.engine.runtimes.occupants import Occupants, RunningTimes
from ganglion.engine.store.store import Store
from ganglion.engine.store.what_if import Sketch, shapes_by_set
from ganglion.engine.timeline.bookings import Bookings
from ganglion.engine.timeline.free_at import Room
from ganglion.engine.timeline.reservation import FOREVER, Reservation
from ganglion.engine.topology.pod_shape import Shape
from ganglion.model.fleet.levels import DEPTH, Level
from ganglion.model.placement import Placement, PodPlacement


class ProfileInput(NamedTuple):
    """What the time ahead is computed from.

    Attributes:
        state: the fleet.
        occupants: whose pods are where.
        clock: until when.
        bookings: which nodes are spoken for.
    """

    state: Store
    occupants: Occupants
    clock: RunningTimes
    bookings: Bookings

    def ends(self, now: int) -> list[tuple[int, str]]:
        """(latest end, gang) of all that hold pods, the first to end first."""
        end = self.clock.end
        return sorted((end(each, now), gang) for gang, each in self.occupants.records.items())

    def version(self) -> tuple[int, int, int]:
        """Grows with every decision of a cycle that changes where or when a gang can be placed."""
        return self.state.progress.freed, self.state.progress.turn, self.occupants.version

    def foresees(self, others: Iterable[Reservation], now: int) -> bool:
        """Whether any end to come is certain: a time limit, a reservation or a booking says it."""
        return (
            any(record.gang.time_limit_ms for record in self.occupants.records.values())
            or any(now < each.end_ms < FOREVER for each in others)
            or any(self.bookings.ends(now))
        )

    def is_vouched_for(self, placement: Placement, start: int, now: int) -> bool:
        """Whether all that must end before a start there have time limits."""
        nodes = dict.fromkeys(pod.node for pod in placement.pods)
        records = self.occupants.records
        beside = [records[gang] for node in nodes for gang in self.occupants.on(node)]
        return all(r.gang.time_limit_ms or self.clock.end(r, now) > start for r in beside)

    def room(self, node: str, at: int, now: int, others: Iterable[Reservation]) -> Room:
        """What is free on a node at a time ahead, with the places of `others` taken.

        Args:
            node: a node of the tree.
            at: the time.
            now: the present time.
            others: reservations that hold their places at that time.
        """
        tree = self.state.fleet.tree
        condition = tree.table.known[tree.conditions[tree.index[node]]]
        stays: list[tuple[PodPlacement, Shape]] = []
        gone: list[tuple[PodPlacement, Shape]] = []
        for gang, pods in self.occupants.on(node).items():
            record = self.occupants.records[gang]
            shapes = shapes_by_set(record)
            group = gone if self.clock.end(record, now) <= at else stays
            group += [(pod, shapes[pod.pod_set]) for pod in pods]
        room = Room(condition, [shape.tenancy for _, shape in stays])
        room.give(gone)
        for each in others:
            shapes = shapes_by_set(each.record)
            room.take((p, shapes[p.pod_set]) for p in each.placement.pods if p.node == node)
        return room


class StartSearch(NamedTuple):
    """One gang looks for its earliest start.

    Attributes:
        record: the gang.
        others: reservations that it must not touch.
        without: flavors that are out of quota.
        before: only starts before that time are of interest; None = any.
    """

    record: GangRecord
    others: Sequence[Reservation] = ()
    without: tuple[str, ...] = ()
    before: int | None = None


def earliest(ground: ProfileInput, search: StartSearch, now: int) -> tuple[int, Placement] | None:
    """The first time at which a gang can be placed, and where; the tree is left as it was.

    Running gangs leave in the order of their latest ends; at each such time the reservations
    and bookings that the gang would meet while it runs are in the way. Counters say whether a
    search for a place is worth while, and `place` proves it.

    Returns:
        (time in ms, placement); None when no place was found at any time.
    """
    state, record = ground.state, search.record
    demand = Demand(record.gang, record.shapes, search.without)
    with Sketch(state) as sketch:
        for at in _times(ground, search, sketch, now):
            if _may_fit(state, demand):
                found = place(
                    state.fleet.indexes, demand, state.config.policy.tries, state.progress.turn
                )
                if found:
                    return at, found
    return None


def _times(ground: ProfileInput, search: StartSearch, sketch: Sketch, now: int) -> Iterator[int]:
    """Every time at which something ends, with the tree as it is then."""
    gang, length = search.record.gang, ground.clock.length(search.record.gang)
    # Every end lies ahead, and those of many gangs without limits take long to estimate.
    ends = [] if search.before is not None and search.before <= now + 1 else ground.ends(now)
    others = [each for each in search.others if each.end_ms > now]
    stops = {
        now,
        *(end for end, _ in ends),
        *(each.end_ms for each in others if each.end_ms < FOREVER),
    }
    stops.update(ground.bookings.ends(now))
    done, present = 0, dict[str, Reservation]()
    for at in sorted(stops):
        if search.before is not None and at >= search.before:
            return
        while done < len(ends) and ends[done][0] <= at:
            left = ends[done][1]
            sketch.leave(ground.occupants.records[left], ground.occupants.pods(left))
            done += 1
        _meet(
            sketch, present, [r for r in others if r.keeps_off(gang, at + length) and r.end_ms > at]
        )
        sketch.shut(ground.bookings.closed(gang, at, ground.state.fleet.tree))
        yield at


def _meet(sketch: Sketch, present: dict[str, Reservation], wanted: list[Reservation]) -> None:
    """Let exactly these reservations take their places."""
    names = {each.record.gang.id for each in wanted}
    for name in [each for each in present if each not in names]:
        over = present.pop(name)
        sketch.leave(over.record, sketch.known(over.placement.pods))
    for each in wanted:
        if each.record.gang.id not in present:
            present[each.record.gang.id] = each
            sketch.come(each.record, each.placement.pods)


def _may_fit(state: Store, demand: Demand) -> bool:
    """Whether counters leave it open that there is a place."""
    level = required_level(demand.gang)
    narrow = level is not None and DEPTH[level] < DEPTH[Level.NODE] and level is not Level.FLEET
    for shape, pod_set in zip(demand.shapes, demand.sets, strict=True):
        rules = rules_of(demand.gang, pod_set, False, pod_set.least)
        if rules.inner:
            continue
        fits = state.fleet.indexes.fits(shape, rules)
        held = fits.most(level) if narrow and level else fits.values[0]
        if held < pod_set.least:
            return False
    return True
