"""Which nodes to distrust, by everything that happens to and on them.

What a node does itself (it is lost, its GPU falls sick) counts by itself. What ends on it
(starts that fail, programs that crash) counts once per workload: a job that crashes
everywhere says nothing about any node.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ganglion.lifecycle.failures.quarantine import Quarantine
from ganglion.model import events as ev
from ganglion.model.policy import Failures

CRASHES = 3
"""Crashes of programs weigh less than what a node does itself: so many count as one."""


class Shut(Struct, frozen=True):
    """A node to leave alone until a time in ms, and why."""

    node: str
    until: int
    why: str


class Watch:
    """Distrust, as it follows from events; the same events give the same distrust.

    Args:
        settings: when a node is left alone, and for how long.
    """

    def __init__(self, settings: Failures) -> None:
        self._made(settings)
        self._nodes: dict[str, frozenset[str]] = {}
        self._on: dict[str, tuple[str, ...]] = {}
        self._lost: dict[str, int] = {}

    def _made(self, settings: Failures) -> None:
        self.settings = settings
        enough, term, window = settings.quarantine_after, settings.quarantine_ms, settings.window_ms
        self._quarantine = Quarantine(enough, term, window)
        self._crashes = Quarantine(CRASHES, term, window)

    def lost_at(self, node: str) -> int | None:
        """When a node that is away was lost, in ms; None = it is there."""
        return self._lost.get(node)

    def note(self, event: ev.Event) -> None:
        """Take in what happened."""
        handler = _HANDLERS.get(type(event))
        if handler:
            handler(self, event)

    def _policy(self, event: ev.PolicySet) -> None:
        if event.policy.failures != self.settings:
            self._made(event.policy.failures)

    def _added(self, event: ev.NodeAdded) -> None:
        healthy = frozenset(
            str(index) for index, device in enumerate(event.node.devices) if device.healthy
        )
        self._nodes[event.node.name] = healthy
        self._lost.pop(event.node.name, None)

    def _gone(self, event: ev.NodeLost) -> None:
        if event.name in self._nodes and event.name not in self._lost:
            self._lost[event.name] = event.at
            self._strike(event.name, "it was lost again and again", event.at)

    def _device(self, event: ev.DeviceHealth) -> None:
        known, name = self._nodes.get(event.node), str(event.device)
        if known is None:
            return
        if not event.healthy and name in known:
            why = f"its GPUs fall sick, the last one: {event.cause or 'no reason given'}"
            self._strike(event.node, why, event.at)
        self._nodes[event.node] = known | {name} if event.healthy else known - {name}

    def _placed(self, event: ev.GangPlaced | ev.GangResized) -> None:
        self._on[event.gang] = tuple(dict.fromkeys(pod.node for pod in event.placement.pods))

    def _ended(self, event: ev.GangEnded) -> None:
        nodes = self._on.pop(event.gang, ())
        if len(nodes) != 1 or event.cause:
            return  # which of several nodes is to blame cannot be told
        workload = event.gang.rpartition("/")[0]
        if event.outcome is ev.Outcome.START_FAILED:
            self._strike(nodes[0], "starts of several workloads failed there", event.at, workload)
        elif event.outcome is ev.Outcome.FAILED and self._crashes.strike(
            nodes[0], "", event.at, workload
        ):
            why = "programs of several workloads failed there"
            self._strike(nodes[0], why, event.at)

    def _strike(self, node: str, why: str, at: int, by: str = "") -> None:
        """Count it; the fleet is never shut because of it."""
        if not self.settings.quarantine_after:
            return
        most = max(len(self._nodes) * self.settings.most_permille // 1000, 1)
        others = [each for each in self._quarantine.shut_now(at) if each != node]
        if len(others) >= min(most, len(self._nodes) - 1):
            return
        self._quarantine.strike(node, why, at, by)

    def pardon(self, node: str) -> None:
        """A person says that a node is well."""
        self._quarantine.pardon(node)
        self._crashes.pardon(node)

    def shut(self, now: int) -> dict[str, Shut]:
        """Nodes to leave alone, by name."""
        return {
            node: Shut(node, self._quarantine.until(node), self._quarantine.reason(node, now))
            for node in self._quarantine.shut_now(now)
        }

    def next_end(self, now: int) -> int | None:
        """When the next one may be used again, in ms; None = none is shut."""
        return min((each.until for each in self.shut(now).values()), default=None)


_HANDLERS: Mapping[type, Callable[[Watch, Any], None]] = {
    ev.PolicySet: Watch._policy,
    ev.NodeAdded: Watch._added,
    ev.NodeLost: Watch._gone,
    ev.DeviceHealth: Watch._device,
    ev.GangPlaced: Watch._placed,
    ev.GangResized: Watch._placed,
    ev.GangEnded: Watch._ended,
}
