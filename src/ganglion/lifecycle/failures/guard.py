"""Manages the nodes of a fleet: shuts those that fail, keeps spares, hints at slow ones.

Everything it remembers follows from events. What it decides are events again: cordons, whose
reasons begin with the words below so that they differ from a person's, and alarms.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ganglion.engine.gangs.pending import PendingClass
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.failures.nodes import Watch
from ganglion.lifecycle.failures.spares import Host, plan
from ganglion.lifecycle.failures.stragglers import Stragglers
from ganglion.model import events as ev
from ganglion.model.causes import CordonKind
from ganglion.model.causes.former import cordon_of
from ganglion.model.fleet.levels import ABOVE_NODE
from ganglion.model.fleet.node import Node
from ganglion.model.policy import Failures

SPARE = "spare: kept free for gangs that lose a node"
SLOW, SICK = "node.slow", "gpu.sick"
"""Alarms about nodes."""


class FleetGuard:
    """The guard of one fleet.

    Args:
        settings: until an event says that the policy is another one.
    """

    def __init__(self, settings: Failures | None = None) -> None:
        self._settings = settings or Failures()
        self.forget()

    def forget(self) -> None:
        """Begin anew: every event comes again."""
        self._watch, self._hints = Watch(self._settings), Stragglers()
        self._cordons: dict[str, CordonKind | None] = {}
        self._alarms: dict[tuple[str, str], str] = {}
        self._faults: dict[str, dict[int, str]] = {}
        self._on: dict[str, frozenset[str]] = {}
        self._dirty = True

    def note(self, event: ev.Event) -> None:
        """Take in what happened, its own decisions too."""
        handler = _HANDLERS.get(type(event))
        if handler:
            handler(self, event)
        self._watch.note(event)

    def tend(self, state: ClusterState, now: int) -> list[ev.Event]:
        """What is to be done; each event is to be applied, and noted like any other."""
        found = [*self._shut(state, now), *self._reopened(state, now), *self._alarmed(now)]
        found = found or [*self._needed(state, now)]
        return found or self._spares(state, now)

    def next_due(self, now: int) -> int | None:
        """When it wants to be asked again although nothing happens, in ms; None = need not."""
        return self._watch.next_end(now)

    # --- what happened --------------------------------------------------------------------

    def _added(self, event: ev.NodeAdded) -> None:
        self._dirty = True
        self._cordons[event.node.name] = event.node.cordon
        self._hints.forget(event.node.name)
        self._faults.pop(event.node.name, None)

    def _touched(self, _event: ev.Event) -> None:
        self._dirty = True

    def _cordoned(self, event: ev.NodeCordoned) -> None:
        """A person who opens a quarantined node before its time vouches that it is well."""
        self._dirty = True
        before, self._cordons[event.name] = (
            self._cordons.get(event.name),
            cordon_of(event.reason, event.by),
        )
        if before is CordonKind.QUARANTINE and not event.reason:
            if event.name in self._watch.shut(event.at):
                self._watch.pardon(event.name)
            self._hints.forget(event.name)

    def _device(self, event: ev.DeviceHealth) -> None:
        self._dirty = True
        faults = self._faults.setdefault(event.node, {})
        if event.healthy:
            faults.pop(event.device, None)
        else:
            faults[event.device] = event.cause or "no reason given"

    def _placed(self, event: ev.GangPlaced | ev.GangResized) -> None:
        self._dirty = True
        nodes = frozenset(pod.node for pod in event.placement.pods)
        if self._on.get(event.gang) != nodes:
            self._on[event.gang] = nodes
            self._hints.started(event.gang, nodes)

    def _ended(self, event: ev.GangEnded) -> None:
        self._dirty = True
        self._on.pop(event.gang, None)
        if not event.requeue:
            self._hints.over(event.gang)

    def _step(self, event: ev.CheckpointCommitted | ev.MetricReported) -> None:
        self._hints.step(event.gang, event.step, event.at)

    def _alarm(self, event: ev.AlarmSet) -> None:
        self._alarms[event.subject, event.alarm] = event.message

    # --- what is to be done ---------------------------------------------------------------

    def _shut(self, state: ClusterState, now: int) -> Iterator[ev.Event]:
        for name, shut in self._watch.shut(now).items():
            if name in state.fleet.nodes and self._cordons.get(name) in (None, CordonKind.SPARE):
                until = datetime.fromtimestamp(shut.until / 1000, UTC)
                said = (
                    f"{shut.why}; until {until:%Y-%m-%d %H:%M} UTC, or `ganglion uncordon {name}`"
                )
                yield ev.NodeCordoned(now, name, said, CordonKind.QUARANTINE)

    def _reopened(self, state: ClusterState, now: int) -> Iterator[ev.Event]:
        shut = self._watch.shut(now)
        for name, by in self._cordons.items():
            if by is CordonKind.QUARANTINE and name not in shut and name in state.fleet.nodes:
                yield ev.NodeCordoned(now, name, "")

    def _needed(self, state: ClusterState, now: int) -> Iterator[ev.Event]:
        """Open quarantined nodes that a waiting gang cannot do without: a bad node beats none."""
        shut = [
            each
            for each in sorted(self._watch.shut(now).values(), key=lambda each: each.until)
            if self._cordons.get(each.node) is CordonKind.QUARANTINE
        ]
        if not shut:
            return
        missing = max((_least_gpus(state, lane) for lane in state.gangs.lanes), default=0)
        missing -= sum(
            _gpus(node) for node in state.fleet.nodes.values() if self._is_open(state, node)
        )
        for each in shut:
            node = state.fleet.nodes.get(each.node)
            if missing > 0 and node and not state.fleet.tree.is_gone(each.node):
                missing -= _gpus(node)
                yield ev.NodeCordoned(now, each.node, "")

    def _is_open(self, state: ClusterState, node: Node) -> bool:
        return not node.cordoned and not state.fleet.tree.is_gone(node.name)

    def _alarmed(self, now: int) -> Iterator[ev.Event]:
        """Alarms that are to be raised or taken back; an alarm that stands is left as it is."""
        wanted = {(node, SLOW): self._hints.hint(node) for node in self._hints.slow}
        for node, faults in self._faults.items():
            listed = "; ".join(f"GPU {index}: {why}" for index, why in sorted(faults.items()))
            wanted[node, SICK] = listed
        for key, message in wanted.items():
            told = self._alarms.get(key, "")
            if told != message and (key[1] == SICK or not told or not message):
                yield ev.AlarmSet(now, *key, message)
        for (node, alarm), told in self._alarms.items():
            if told and alarm in (SLOW, SICK) and (node, alarm) not in wanted:
                yield ev.AlarmSet(now, node, alarm, "")

    def _spares(self, state: ClusterState, now: int) -> list[ev.Event]:
        wanted = self._watch.settings.spares
        if not self._dirty or (not wanted and CordonKind.SPARE not in self._cordons.values()):
            return []
        self._dirty = False
        hosts = [
            self._host(state, node, now) for node in state.fleet.nodes.values() if node.devices
        ]
        found = plan(hosts, wanted)
        return [
            *(ev.NodeCordoned(now, name, "") for name in found.free),
            *(ev.NodeCordoned(now, name, SPARE, CordonKind.SPARE) for name in found.keep),
        ]

    def _host(self, state: ClusterState, node: Node, now: int) -> Host:
        by = self._cordons.get(node.name)
        gone = self._watch.lost_at(node.name)
        hurt = gone is not None or not all(device.healthy for device in node.devices)
        return Host(
            node.name,
            node.kind,
            tuple(node.domains[level] for level in ABOVE_NODE if level in node.domains),
            empty=not hurt and not state.holdings.present_on(node.name),
            spare=by is CordonKind.SPARE,
            missing=(hurt or by not in (None, CordonKind.SPARE))
            and not self._is_given_up(gone, now),
        )

    def _is_given_up(self, gone: int | None, now: int) -> bool:
        """Whether a node was lost so long ago that it is no longer expected back."""
        return gone is not None and now - gone > self._watch.settings.quarantine_ms


def _gpus(node: Node) -> int:
    return sum(device.healthy for device in node.devices)


def _least_gpus(state: ClusterState, lane: PendingClass) -> int:
    """GPUs that the first gang of a lane needs at least, shared ones counted as whole."""
    first = next(iter(lane.in_order()), None)
    if first is None:
        return 0
    gang = first[-1]
    return sum(
        each.least * each.request.gpu.count for each in state.gangs.records[gang].gang.pod_sets
    )


_HANDLERS: Mapping[type, Callable[[FleetGuard, Any], None]] = {
    ev.NodeAdded: FleetGuard._added,
    ev.NodeLost: FleetGuard._touched,
    ev.NodeCordoned: FleetGuard._cordoned,
    ev.DeviceHealth: FleetGuard._device,
    ev.GangPlaced: FleetGuard._placed,
    ev.GangResized: FleetGuard._placed,
    ev.GangEnded: FleetGuard._ended,
    ev.PodsLeft: FleetGuard._touched,
    ev.PolicySet: FleetGuard._touched,
    ev.CheckpointCommitted: FleetGuard._step,
    ev.MetricReported: FleetGuard._step,
    ev.AlarmSet: FleetGuard._alarm,
}
