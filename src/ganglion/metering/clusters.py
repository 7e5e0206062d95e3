"""What clusters have and what their gangs hold, from what their schedulers deliver.

A scheduler that starts says again what it finds: nodes, and what runs where. Records may be
missing, so that an event may be about what was never named.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.metering.activity import ActivityInterval
from ganglion.metering.activity import by_day as active_by_day
from ganglion.metering.attempts import HeldPlace, MeteredAttempt
from ganglion.metering.intervals import DAY_MS, LostSpan, SupplyInterval, UsageInterval
from ganglion.metering.lending import LentInterval
from ganglion.metering.meter import UNKNOWN, HasGang, Meter
from ganglion.metering.supply import MeteredNode
from ganglion.model import events as ev
from ganglion.model.placement import Placement, same_place
from ganglion.model.queue import CLUSTER_SIGN

Closed = tuple[
    list[UsageInterval],
    list[SupplyInterval],
    list[ActivityInterval],
    list[LentInterval],
    list[LostSpan],
]
"""Intervals of usage, of supply, of what GPUs did, of what queues lent and of lost work."""


class MeteredGang(HasGang, Protocol):
    """What a book of a cluster knows of a gang that lives."""

    @property
    def placement(self) -> Placement | None:
        """Where it runs or ran last."""

    @property
    def holds(self) -> bool:
        """Whether it holds that place."""

    @property
    def attempts(self) -> int:
        """How many were placed."""

    @property
    def number(self) -> int:
        """Number of its attempt, as its scheduler counts."""


class MeteredCluster(Protocol):
    """What the book of a cluster knows."""

    @property
    def scheduler(self) -> str:
        """Id of the newest scheduler that began."""

    @property
    def gangs(self) -> Mapping[str, MeteredGang]:
        """The gangs that live, by id."""


class ClusterMeter(Struct):
    """Meters one cluster, by its own names.

    Attributes:
        meter: of what it has and holds; it begins when a scheduler does, which names all of that.
        unnamed: nodes that the newest scheduler has not named yet.
        sampled: what GPUs did, as far as it was not asked for.
        lent: what queues lent and borrowed, likewise.
        lent_until: until when that is known, in ms.
    """

    meter: Meter = field(default_factory=Meter)
    unnamed: dict[str, None] = field(default_factory=dict)
    sampled: list[ActivityInterval] = field(default_factory=list)
    lent: list[LentInterval] = field(default_factory=list)
    lent_until: int = 0

    def note(self, event: ev.DeliveredEvent, book: MeteredCluster | None) -> None:
        """Take in an event of the cluster.

        Args:
            event: the next one; no clock of a scheduler is ahead of when it came.
            book: as it was before the event; None = it is the first one of the cluster.
        """
        newest = book.scheduler if book else ""
        said, at = event.event, min(event.event.at, event.at)
        if isinstance(said, ev.SchedulerStarted):
            if event.scheduler > newest:
                self._begin(at)
        elif event.scheduler == newest and book and self.meter.since is not None:
            self._take(said, at, book)

    def held(self, place: Placement) -> dict[str, int]:
        """Thousandths of GPUs at a place, by flavor, as they are metered."""
        nodes, milli = self.meter.nodes, dict[str, int]()
        for pod in place.pods:
            node = nodes.get(pod.node) or MeteredNode(pod.node, UNKNOWN)
            milli[node.flavor] = milli.get(node.flavor, 0) + node.held(pod)
        return milli

    def _begin(self, at: int) -> None:
        if self.meter.since is None:
            self.meter.begin(at, {}, (), ())
        self.unnamed = dict.fromkeys(
            name for name, node in self.meter.nodes.items() if not node.lost
        )

    def _take(self, said: ev.Delivered, at: int, book: MeteredCluster) -> None:
        match said:
            case ev.NodeAdded(node=node):
                self.unnamed.pop(node.name, None)
                self._note(said, at)
            case ev.SchedulerSettled():
                for name in self.unnamed:
                    self._note(ev.NodeLost(at, name), at)
                self.unnamed = {}
            case ev.NodeLost(name=name) | ev.NodeCordoned(name=name):
                if name in self.meter.nodes:
                    self._note(said, at)
            case ev.DeviceHealth(node=name, device=device):
                if name in self.meter.nodes and device < len(self.meter.nodes[name].healthy):
                    self._note(said, at)
            case ev.GangPlaced() if said.gang in book.gangs:
                self._placed(said, at, book.gangs[said.gang])
            case ev.GangResized() | ev.PodsLeft() | ev.GangStopping() | ev.GangEnded():
                self._changed(said, at, book.gangs.get(said.gang))
            case ev.GpusSampled():
                for each in said.attempts:
                    self._sampled(each, at, book.gangs.get(each.gang))
            case ev.QueuesLent():
                self._lent(said, at)

    def _note(self, event: ev.Event, at: int, gang: HasGang | None = None) -> None:
        def record(_: str) -> HasGang:
            assert gang is not None  # only placements ask
            return gang

        self.meter.note(replace(event, at=at), record)

    def _placed(self, said: ev.GangPlaced, at: int, gang: MeteredGang) -> None:
        self._know(said.placement, at)
        if not (gang.holds and same_place(gang.placement, said.placement)):
            self._note(replace(said, attempt=gang.attempts + 1), at, gang)
        elif said.gang not in self.meter.attempts:  # it was placed before metering began
            place = HeldPlace(gang.gang, gang.attempts, said.placement.pods, ())
            self.meter.found(at, place)

    def _changed(
        self,
        said: ev.GangResized | ev.PodsLeft | ev.GangStopping | ev.GangEnded,
        at: int,
        gang: MeteredGang | None,
    ) -> None:
        held = self.meter.attempts.get(said.gang)
        if held and gang and said.attempt == gang.number:
            if isinstance(said, ev.GangResized):
                self._know(said.placement, at)
            self._note(replace(said, attempt=held.attempt), at)

    def _sampled(self, said: ev.SampledAttempt, at: int, gang: MeteredGang | None) -> None:
        """Take in what GPUs did while they were held, and which no interval says yet."""
        held = self.meter.attempts.get(said.gang)
        place = held.open.get(said.node) if held else None
        if not (held and place and gang and said.attempt == gang.number):
            return
        found = _active(held, place.share.flavor, said)
        part = found.within(max(place.since, place.sampled), at)
        used = held.interval(said.node, place, part.end_ms) if part else None
        parts = [*active_by_day(part)] if part and used else []
        if used and parts and not any(each.contradiction((used,)) for each in parts):
            self.sampled += parts
            place.sampled = parts[-1].end_ms
            # It was held until then, whatever time the next event has.
            self.meter.now = max(self.meter.now, place.sampled)

    def _lent(self, said: ev.QueuesLent, at: int) -> None:
        """Take in what queues lent: all of it or nothing, so that it is what others borrowed.

        What a clock that is ahead says is about the time before the record came.
        """
        end = said.end_ms - max(said.at - at, 0)
        begin = max(end - (said.end_ms - said.begin_ms), self.lent_until, _day_of(end))
        amounts = [(each.lent_gpu_us, each.borrowed_gpu_us) for each in said.queues]
        is_even = sum(lent for lent, _ in amounts) == sum(borrowed for _, borrowed in amounts)
        if begin >= end or not is_even or min(map(min, amounts), default=0) < 0:
            return
        self.lent_until = end
        self.lent += (
            LentInterval(begin, end, each.queue, each.lent_gpu_us, each.borrowed_gpu_us)
            for each in said.queues
        )

    def _know(self, place: Placement, at: int) -> None:
        """What names these nodes may be missing."""
        for pod in place.pods:
            if pod.node not in self.meter.nodes:
                self.meter.guess(at, pod.node)


class ClusterMeters(Struct):
    """Meters the clusters that deliver, each by its own clock.

    Attributes:
        since: when that began, in ms; None = it has not.
        of: the meter of each cluster, by its name.
    """

    since: int | None = None
    of: dict[str, ClusterMeter] = field(default_factory=dict)

    def note(self, event: ev.Event, books: Mapping[str, MeteredCluster]) -> None:
        """Take in an event, if it is one of a cluster, or begins all of this.

        Args:
            event: the next one.
            books: of each cluster, by its name, as they were before the event.
        """
        if isinstance(event, ev.ServerStarted) and event.meters_clusters and self.since is None:
            self.since = event.at
        if isinstance(event, ev.DeliveredEvent) and self.since is not None:
            meter = self.of.setdefault(event.cluster, ClusterMeter())
            meter.note(event, books.get(event.cluster))

    def begun(self) -> list[int]:
        """When metering of each cluster began, in ms."""
        return [each.meter.since for each in self.of.values() if each.meter.since is not None]

    def guessed(self) -> tuple[str, ...]:
        """Flavors with devices that count as whole GPUs, as their part of one is unknown."""
        nodes = (node for each in self.of.values() for node in each.meter.nodes.values())
        return tuple(sorted({node.flavor for node in nodes if node.guessed}))

    def drain(self) -> Closed:
        """The intervals that were closed since this was asked last; then none are."""
        usage, supply = list[UsageInterval](), list[SupplyInterval]()
        activity, lent = list[ActivityInterval](), list[LentInterval]()
        lost = list[LostSpan]()
        for cluster, found in self.of.items():
            used, supplied = found.meter.drain()
            usage += (_used(cluster, each) for each in used)
            supply += (_supplied(cluster, each) for each in supplied)
            activity += (_named(cluster, each) for each in found.sampled)
            lent += (replace(e, queue=metered_name(cluster, e.queue)) for e in found.lent)
            lost += (_lost(cluster, each) for each in found.meter.drain_lost())
            found.sampled, found.lent = [], []
        return usage, supply, activity, lent, lost

    def skip(self, used: Mapping[tuple[str, int, str], int], supplied: Mapping[str, int]) -> None:
        """Leave out what was closed already by events that cannot be read; see `Meter.skip`."""
        for cluster, found in self.of.items():
            before = metered_name(cluster, "")
            found.meter.skip(
                {
                    (gang.removeprefix(before), attempt, node.removeprefix(before)): end
                    for (gang, attempt, node), end in used.items()
                    if gang.startswith(before)
                },
                {
                    name.removeprefix(before): end
                    for name, end in supplied.items()
                    if name.startswith(before)
                },
            )

    def open_usage(
        self, until: int, gangs: Collection[str] | None = None
    ) -> Iterator[UsageInterval]:
        """What attempts hold, as if it ended then; see `Meter.open_usage`.

        Args:
            until: that time in ms.
            gangs: names in usage of those whose attempts count; None = all.
        """
        for cluster, found in self.of.items():
            chosen, before = None, metered_name(cluster, "")
            if gangs is not None:
                chosen = [e.removeprefix(before) for e in gangs if e.startswith(before)]
            for each in found.meter.open_usage(until, chosen):
                yield _used(cluster, each)

    def open_supply(self, until: int) -> Iterator[SupplyInterval]:
        """The same for what nodes have."""
        for cluster, found in self.of.items():
            for each in found.meter.open_supply(until):
                yield _supplied(cluster, each)


def metered_name(cluster: str, name: str) -> str:
    """How usage names a queue, gang or node of a cluster; each gang is a workload there."""
    return f"{cluster}{CLUSTER_SIGN}{name}"


def _day_of(end: int) -> int:
    """The begin of the day in which something that ends before a time lies."""
    return (end - 1) // DAY_MS * DAY_MS


def _used(cluster: str, found: UsageInterval) -> UsageInterval:
    ahead_of = found.ahead_of and metered_name(cluster, found.ahead_of)
    return replace(_named(cluster, found), ahead_of=ahead_of)


Metered = TypeVar("Metered", UsageInterval, ActivityInterval)


def _named(cluster: str, found: Metered) -> Metered:
    return replace(
        found,
        queue=metered_name(cluster, found.queue),
        workload=metered_name(cluster, found.gang),
        gang=metered_name(cluster, found.gang),
        node=metered_name(cluster, found.node),
    )


def _supplied(cluster: str, found: SupplyInterval) -> SupplyInterval:
    return replace(found, node=metered_name(cluster, found.node))


def _lost(cluster: str, found: LostSpan) -> LostSpan:
    name = metered_name(cluster, found.gang)
    return replace(found, workload=name, gang=name)


def _active(held: MeteredAttempt, flavor: str, said: ev.SampledAttempt) -> ActivityInterval:
    return ActivityInterval(
        begin_ms=said.begin_ms,
        end_ms=said.end_ms,
        queue=held.queue,
        user=held.user,
        workload=held.workload,
        gang=held.gang,
        attempt=held.attempt,
        kind=held.kind,
        flavor=flavor,
        node=said.node,
        source=said.source,
        sampled_gpu_us=said.sampled_gpu_us,
        active_gpu_us=said.active_gpu_us,
        energy_gpu_us=said.energy_gpu_us,
        energy_mj=said.energy_mj,
        energy_source=said.energy_source,
    )
