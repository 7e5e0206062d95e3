"""From the events of a ledger to intervals of usage and supply."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from ganglion.metering.attempts import HeldPlace, MeteredAttempt, NodeShare, OpenUsage
from ganglion.metering.intervals import (
    LostSpan,
    SupplyInterval,
    UsageInterval,
    by_day,
    ranges_of,
)
from ganglion.metering.supply import MeteredNode
from ganglion.model import events as ev
from ganglion.model.fleet.node import Node
from ganglion.model.placement import PodPlacement
from ganglion.model.workload import Gang

UNKNOWN = "unknown"
"""Flavor of a node whose description is missing."""


class HasGang(Protocol):
    """What knows a gang, as a record of the engine does."""

    @property
    def gang(self) -> Gang:
        """The gang."""


class Meter:
    """Takes in every event that the engine's state accepted, in order.

    Its time is the latest of those of events that concern it, so that a clock that is put back
    makes no interval negative and charges no time twice.

    Attributes:
        since: when metering began, in ms; None = it has not, and no event is taken in.
        now: its time in ms.
        nodes: by name; lost ones stay.
        attempts: by gang, those that hold something.
        losses_since: since when lost work counts, here and in clusters, in ms; None = it does not.
    """

    def __init__(self) -> None:
        self.since: int | None = None
        self.now = 0
        self.losses_since: int | None = None
        self.nodes: dict[str, MeteredNode] = {}
        self.attempts: dict[str, MeteredAttempt] = {}
        self._usage: list[UsageInterval] = []
        self._supply: list[SupplyInterval] = []
        self._lost: list[LostSpan] = []

    def begin(
        self, at: int, nodes: Mapping[str, Node], lost: Iterable[str], held: Iterable[HeldPlace]
    ) -> None:
        """Begin to meter, with what there is at a time.

        Args:
            at: that time in ms.
            nodes: all nodes by name, lost ones included.
            lost: names of those that are lost.
            held: attempts that hold a place.
        """
        self.since = self.now = at
        for node in nodes.values():
            self._describe(node)
        for name in lost:
            self.nodes[name].lost = True
        for place in held:
            self.found(at, place)
        for metered in self.nodes.values():
            metered.shrunk = metered.holds_what_is_gone()
            self._resupply(metered)

    def found(self, at: int, place: HeldPlace) -> None:
        """Know an attempt that was placed before metering began."""
        self.now = max(self.now, at)
        attempt = self._enter(place.gang, place.attempt)
        attempt.begun = True
        self._move(attempt, place.wanted, place.leaving)

    def guess(self, at: int, name: str) -> None:
        """Know a node of which nothing is known but what is held there."""
        self.now = max(self.now, at)
        self.nodes[name] = MeteredNode(name, UNKNOWN, shrunk=True, since=self.now)

    def note(self, event: ev.Event, record: Callable[[str], HasGang]) -> None:
        """Take in an event.

        Args:
            event: the next one.
            record: gives what is known of a live gang, by its id.
        """
        handler = _HANDLERS.get(type(event))
        if handler is None or self.since is None:
            return
        self.now = max(self.now, event.at)
        if isinstance(event, ev.GangPlaced):
            self._placed(event, record(event.gang).gang)
        else:
            handler(self, event)

    def skip(self, used: Mapping[tuple[str, int, str], int], supplied: Mapping[str, int]) -> None:
        """Leave out what was closed already by events that cannot be read any more.

        Args:
            used: gang, attempt and node -> end of the last interval there, in ms.
            supplied: node -> the same.
        """
        self.now = max(self.now, *used.values(), *supplied.values(), 0)
        for attempt in self.attempts.values():
            for node, found in attempt.open.items():
                end = used.get((attempt.gang, attempt.attempt, node))
                if end is not None:
                    found.since, found.begun = max(found.since, end), False
        for name, metered in self.nodes.items():
            metered.since = max(metered.since, supplied.get(name, 0))

    def drain(self) -> tuple[list[UsageInterval], list[SupplyInterval]]:
        """The intervals that were closed since it was asked last, in order; then none are."""
        usage, supply = self._usage, self._supply
        self._usage, self._supply = [], []
        return usage, supply

    def drain_lost(self) -> list[LostSpan]:
        """Work that was thrown away with attempts that ended since it was asked last."""
        lost, self._lost = self._lost, []
        return lost

    def pending_usage(self) -> tuple[UsageInterval, ...]:
        """What was closed and not drained yet."""
        return tuple(self._usage)

    def open_usage(self, until: int, gangs: Iterable[str] | None = None) -> Iterator[UsageInterval]:
        """What attempts hold, as if it ended then, or at the meter's time where that is later.

        Args:
            until: that time in ms.
            gangs: those whose attempts count; None = all.
        """
        end = max(until, self.now)
        chosen = self.attempts if gangs is None else filter(self.attempts.__contains__, gangs)
        for attempt in map(self.attempts.__getitem__, chosen):
            for node, found in attempt.open.items():
                interval = attempt.interval(node, found, end)
                if interval:
                    yield interval

    def open_supply(self, until: int) -> Iterator[SupplyInterval]:
        """The same for what nodes have."""
        end = max(until, self.now)
        for metered in self.nodes.values():
            interval = metered.interval(end)
            if interval:
                yield interval

    def _describe(self, node: Node) -> MeteredNode:
        """Know a node, or that it is another one now."""
        metered = self.nodes.get(node.name)
        if metered is None:
            metered = self.nodes[node.name] = MeteredNode(node.name, node.kind, since=self.now)
        metered.describe(node)
        return metered

    def _enter(self, gang: Gang, number: int) -> MeteredAttempt:
        pods = {s.name: (s.request.cpu_milli, s.request.memory_mib) for s in gang.pod_sets}
        named = (gang.id, gang.workload, gang.queue, gang.user, gang.kind.value)
        made = self.attempts[gang.id] = MeteredAttempt(*named, number, pods)
        return made

    def _placed(self, event: ev.GangPlaced, gang: Gang) -> None:
        before = self.attempts.get(event.gang)
        if before:  # its end was lost with a damaged row of the ledger
            self._move(before, (), ())
        attempt = self._enter(gang, event.attempt)
        attempt.ahead_of, attempt.placed = event.ahead_of, self.now
        attempt.gpu_milli = event.placement.gpu_milli
        self._move(attempt, event.placement.pods, ())

    def _resized(self, event: ev.GangResized) -> None:
        attempt = self._attempt(event.gang, event.attempt)
        if attempt:
            after = set(event.placement.pods)
            dropped = tuple(pod for pod in attempt.wanted if pod not in after)
            attempt.gpu_milli = event.placement.gpu_milli
            self._move(attempt, event.placement.pods, attempt.leaving + dropped)

    def _pods_left(self, event: ev.PodsLeft) -> None:
        attempt = self._attempt(event.gang, event.attempt)
        if attempt and attempt.wanted:
            self._move(attempt, attempt.wanted, ())

    def _stopping(self, event: ev.GangStopping) -> None:
        attempt = self._attempt(event.gang, event.attempt)
        if attempt:
            self._move(attempt, (), attempt.leaving + attempt.wanted)

    def _ended(self, event: ev.GangEnded) -> None:
        attempt = self._attempt(event.gang, event.attempt)
        if attempt:
            lost = attempt.lost(event, self.now)
            self._lost += [lost] if lost else ()
            self._move(attempt, (), ())
            del self.attempts[event.gang]

    def _attempt(self, gang: str, number: int) -> MeteredAttempt | None:
        found = self.attempts.get(gang)
        return found if found and found.attempt == number else None

    def _move(
        self,
        attempt: MeteredAttempt,
        wanted: tuple[PodPlacement, ...],
        leaving: tuple[PodPlacement, ...],
    ) -> None:
        """An attempt has these pods from now on."""
        attempt.wanted, attempt.leaving = wanted, leaving
        there: dict[str, list[PodPlacement]] = {}
        for pod in (*wanted, *leaving):
            there.setdefault(pod.node, []).append(pod)
        touched = {**attempt.open, **there}
        for name in touched:
            if name in there:
                self.nodes[name].pods[attempt.gang] = tuple(there[name])
            else:
                del self.nodes[name].pods[attempt.gang]
        self._share(attempt)
        for name in touched:
            self._resupply(self.nodes[name])

    def _share(self, attempt: MeteredAttempt) -> None:
        """Close what an attempt holds no more, and open what it holds now."""
        shares = self._shares(attempt)
        for name, found in list(attempt.open.items()):
            if shares.get(name) != found.share:
                self._close(attempt, name, attempt.open.pop(name))
        for name, share in shares.items():
            if name not in attempt.open:
                pods = self.nodes[name].pods[attempt.gang]
                devices = ranges_of(device for pod in pods for device in pod.devices)
                begun = not attempt.begun
                attempt.open[name] = OpenUsage(self.now, share, begun=begun, devices=devices)
                attempt.begun = True

    def _shares(self, attempt: MeteredAttempt) -> dict[str, NodeShare]:
        """Node -> what an attempt holds there."""
        sums: dict[str, list[int]] = {}
        for pods, wanted in ((attempt.wanted, 1), (attempt.leaving, 0)):
            for pod in pods:
                total = sums.setdefault(pod.node, [0, 0, 0, 0])
                milli = self.nodes[pod.node].held(pod)
                cpu_milli, memory_mib = attempt.pods.get(pod.pod_set, (0, 0))
                total[0] += milli * wanted
                total[1] += milli
                total[2] += cpu_milli
                total[3] += memory_mib
        return {name: NodeShare(self.nodes[name].flavor, *total) for name, total in sums.items()}

    def _close(self, attempt: MeteredAttempt, node: str, found: OpenUsage) -> None:
        interval = attempt.interval(node, found, self.now)
        if interval:
            self._usage += by_day(interval)

    def _resupply(self, metered: MeteredNode, flavor: str = "") -> None:
        """Close what a node has no more; `flavor`: what it had so far, where that changed."""
        terms = metered.terms()
        if terms == (metered.gpu_milli, metered.unavailable_milli) and not flavor:
            return
        now, metered.flavor = metered.flavor, flavor or metered.flavor
        interval = metered.interval(self.now)
        if interval:
            self._supply.append(interval)
        metered.since, metered.flavor = self.now, now
        metered.gpu_milli, metered.unavailable_milli = terms

    def _node_added(self, event: ev.NodeAdded) -> None:
        known = self.nodes.get(event.node.name)
        before, parts = (known.flavor, known.parts) if known else ("", ())
        metered = self._describe(event.node)
        other = before if before and before != metered.flavor else ""
        for gang in metered.pods if other or metered.parts != parts else ():
            self._share(self.attempts[gang])
        self._resupply(metered, other)

    def _node_lost(self, event: ev.NodeLost) -> None:
        metered = self.nodes[event.name]
        metered.lost = True
        self._resupply(metered)

    def _node_cordoned(self, event: ev.NodeCordoned) -> None:
        metered = self.nodes[event.name]
        metered.cordoned = bool(event.reason)
        self._resupply(metered)

    def _device_health(self, event: ev.DeviceHealth) -> None:
        metered, healthy = self.nodes[event.node], list(self.nodes[event.node].healthy)
        healthy[event.device] = event.healthy
        metered.healthy = tuple(healthy)
        self._resupply(metered)


_HANDLERS: Mapping[type, Callable[..., None]] = {
    ev.NodeAdded: Meter._node_added,
    ev.NodeLost: Meter._node_lost,
    ev.NodeCordoned: Meter._node_cordoned,
    ev.DeviceHealth: Meter._device_health,
    ev.GangPlaced: Meter._placed,
    ev.GangResized: Meter._resized,
    ev.PodsLeft: Meter._pods_left,
    ev.GangStopping: Meter._stopping,
    ev.GangEnded: Meter._ended,
}
"""Events that change what is held or supplied."""
