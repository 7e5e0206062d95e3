"""Which nodes to distrust, by everything that happens to and on them.

What a node does itself counts by itself: it is lost, its GPU falls sick, it cannot start a
program (no disk, no memory, an I/O error). What programs do counts only by comparison with other
nodes (`comparison`): the exit codes of a program that does well nowhere say nothing about a node.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from ganglion.lifecycle.failures.causes import NODE
from ganglion.lifecycle.failures.comparison import Comparison, NodeFinding
from ganglion.lifecycle.failures.quarantine import Quarantine
from ganglion.model import events as ev
from ganglion.model.policy import Failures

CRASHES = 3
"""Programs that fail on a node alone weigh less than its own failures: this many count as one."""
LISTED = 8
"""Most failures that the reason of a quarantine lists."""
SAID = 100
"""Most characters of a failed start that a reason quotes."""

_WELL = (ev.Outcome.SUCCEEDED, ev.Outcome.TIMED_OUT)
"""Ends of programs that did work."""


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
        self._kinds: dict[str, str] = {}
        self._cordoned: set[str] = set()
        self._programs: dict[str, tuple[str, str]] = {}
        self._on: dict[str, tuple[str, ...]] = {}
        self._lost: dict[str, int] = {}

    def _made(self, settings: Failures) -> None:
        self.settings = settings
        enough, term, window = settings.quarantine_after, settings.quarantine_ms, settings.window_ms
        self._quarantine = Quarantine(enough, term, window)
        self._crashes = Quarantine(CRASHES, term, window)
        self._comparison = Comparison(window)

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
        self._kinds[event.node.name] = event.node.kind
        self._set_cordon(event.node.name, event.node.cordoned)
        self._lost.pop(event.node.name, None)

    def _cordon(self, event: ev.NodeCordoned) -> None:
        self._set_cordon(event.name, event.reason)

    def _set_cordon(self, node: str, reason: str) -> None:
        if reason:
            self._cordoned.add(node)
        else:
            self._cordoned.discard(node)

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

    def _submitted(self, event: ev.GangSubmitted) -> None:
        """Runs of one user under one name are runs of one program, as in run-time estimates."""
        gang = event.gang
        self._programs[gang.id] = (gang.user, gang.name or gang.workload)

    def _placed(self, event: ev.GangPlaced | ev.GangResized) -> None:
        self._on[event.gang] = tuple(dict.fromkeys(pod.node for pod in event.placement.pods))

    def _ended(self, event: ev.GangEnded) -> None:
        nodes, workload = self._on.pop(event.gang, ()), event.gang.rpartition("/")[0]
        known = self._programs.pop if not event.requeue else self._programs.get
        by = known(event.gang, ("", workload))
        if len(nodes) != 1:
            return  # which of several nodes is to blame is unknown
        node, failed = nodes[0], event.outcome in (ev.Outcome.FAILED, ev.Outcome.START_FAILED)
        if failed and event.cause == NODE:
            why = f"it could not start programs, the last time: {event.message[:SAID]}"
            self._strike(node, why, event.at, workload)
        elif (failed and not event.cause) or event.outcome in _WELL:
            for finding in self._comparison.ended(by, node, event.at, well=not failed):
                self._found(finding, event.at)

    def _found(self, finding: NodeFinding, at: int) -> None:
        """What programs show counts like a failure of the node once enough of them show it."""
        if finding.is_black_hole:
            why = "programs of several users failed there in a row that do well on other nodes"
            self._strike(finding.node, why, at)
        elif self._crashes.strike(finding.node, "", at, "/".join(finding.by)):
            why = "several programs failed there that did well on other nodes"
            self._strike(finding.node, why, at)

    def _strike(self, node: str, why: str, at: int, by: str = "") -> None:
        """Count it; neither the fleet nor the last node of a kind is shut because of it."""
        if not self.settings.quarantine_after:
            return
        most = max(len(self._nodes) * self.settings.most_permille // 1000, 1)
        others = {each for each in self._quarantine.shut_now(at) if each != node}
        kind = self._kinds.get(node)
        away = others | self._cordoned | self._lost.keys() | {node}
        left = any(each == kind and name not in away for name, each in self._kinds.items())
        if left and len(others) < most:
            shown = _told([*self._quarantine.recent(node, at), (at, by)])
            self._quarantine.strike(node, f"{why} ({shown})", at, by)

    def pardon(self, node: str) -> None:
        """A person says that a node is well."""
        self._quarantine.pardon(node)
        self._crashes.pardon(node)
        self._comparison.forget(node)

    def shut(self, now: int) -> dict[str, Shut]:
        """Nodes to leave alone, by name."""
        return {
            node: Shut(node, self._quarantine.until(node), self._quarantine.reason(node, now))
            for node in self._quarantine.shut_now(now)
        }

    def next_end(self, now: int) -> int | None:
        """When the next one may be used again, in ms; None = none is shut."""
        return min((each.until for each in self.shut(now).values()), default=None)


def _told(failures: Sequence[tuple[int, str]]) -> str:
    """The last failures of a node: when each was, and the workload that met it."""
    times = (
        f"{datetime.fromtimestamp(at / 1000, UTC):%m-%d %H:%M}{f' by {by}' if by else ''}"
        for at, by in failures[-LISTED:]
    )
    return f"{', '.join(times)} UTC"


_HANDLERS: Mapping[type, Callable[[Watch, Any], None]] = {
    ev.PolicySet: Watch._policy,
    ev.NodeAdded: Watch._added,
    ev.NodeLost: Watch._gone,
    ev.NodeCordoned: Watch._cordon,
    ev.DeviceHealth: Watch._device,
    ev.GangSubmitted: Watch._submitted,
    ev.GangPlaced: Watch._placed,
    ev.GangResized: Watch._placed,
    ev.GangEnded: Watch._ended,
}
