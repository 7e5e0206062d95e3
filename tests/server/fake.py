"""A world in memory that keeps its promises: one start per attempt, jobs outlive servers."""

from collections.abc import Mapping
from typing import Any

from ganglion.model.behaviour import Idle
from ganglion.model.causes import Cause
from ganglion.model.events import Event, GangEnded, GangStarted, NodeAdded, Outcome
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Plan, Resize, Start, Stop
from ganglion.model.workload import Workload
from ganglion.worlds.causes import outcome_of

Key = tuple[str, int]


class Machine:
    """What really runs; outlives any server.

    Attributes:
        time: the time in ms.
        began: every attempt that was ever begun, in order.
        stops: every order to stop: (gang, attempt, cause, force).
        limits: gang -> time limit told.
        resizes: every order to run on other pods: (gang, attempt, number of pods).
        pods: the pods of every attempt that was begun.
        onlookers: who looks at workspaces, by gang.
        told: every warning: (gang, message).
        ahead_ms: by how much the wall clock is ahead of the time.
        lingering: whether stopped attempts take their time; `leave` ends it.
    """

    def __init__(self) -> None:
        self.time = 1_000
        self.began: list[Key] = []
        self.live: set[Key] = set()
        self.ended: dict[Key, tuple[Outcome, int]] = {}
        self.stops: list[tuple[str, int, Cause, bool]] = []
        self.limits: dict[str, int] = {}
        self.workloads: dict[str, Workload] = {}
        self.resizes: list[tuple[str, int, int]] = []
        self.pods: dict[Key, int] = {}
        self.onlookers: dict[str, Any] = {}
        self.told: list[tuple[str, str]] = []
        self.lingering = False
        self.ahead_ms = 0

    def end(self, gang: str, outcome: Outcome = Outcome.SUCCEEDED, code: int = 0) -> None:
        key = next(key for key in self.live if key[0] == gang)
        self.live.discard(key)
        self.ended[key] = (outcome, code)

    def leave(self) -> None:
        """Stopped attempts are gone."""
        for gang, attempt, cause, _ in self.stops:
            if (gang, attempt) in self.live:
                self.end(gang, outcome_of(cause), 143)


class FakeWorld:
    """One server's view of a machine.

    Args:
        machine: what really runs.
        nodes: as reported once.
    """

    def __init__(self, machine: Machine, nodes: tuple[Node, ...] = ()) -> None:
        self.machine, self.nodes = machine, nodes
        self.facts: list[Event] = []
        self.known: set[Key] = set()
        self.told: dict[Key, bool] = {}
        self.refuse: Exception | None = None

    def now(self) -> int:
        self.machine.time += 1
        return self.machine.time

    def tidy(self, gang: str, attempt: int) -> None:
        """It keeps no records."""

    def wall(self) -> int:
        return self.machine.time + self.machine.ahead_ms

    def execute(self, plan: Plan, workloads: Mapping[str, Workload]) -> None:
        if self.refuse:
            raise self.refuse
        for start in plan.starts:
            key = (start.gang.id, start.attempt)
            self.known.add(key)
            if key not in self.machine.began:
                assert start.gang.workload in workloads
                self.machine.workloads[start.gang.workload] = workloads[start.gang.workload]
                self.machine.began.append(key)
                self.machine.live.add(key)
                self.machine.pods[key] = len(start.placement.pods)
        for resize in plan.resizes:
            key, pods = (resize.gang.id, resize.attempt), len(resize.placement.pods)
            self.machine.resizes.append((*key, pods))
            if key in self.machine.live:
                self.machine.pods[key] = pods
        for stop in plan.stops:
            self.stop(stop.gang, stop.attempt, stop.cause)

    def stop(self, gang: str, attempt: int, cause: Cause, *, force: bool = False) -> None:
        self.machine.stops.append((gang, attempt, cause, force))
        if not self.machine.lingering:
            self.machine.leave()

    def set_time_limit(self, gang: str, time_limit_ms: int) -> None:
        self.machine.limits[gang] = time_limit_ms

    def endpoint(self, gang: str) -> str | None:
        return "127.0.0.1:9" if any(key[0] == gang for key in self.machine.live) else None

    def tell(self, gang: str, message: str) -> None:
        self.machine.told.append((gang, message))

    def onlooker(self, gang: str, idle: Idle) -> Any:
        return self.machine.onlookers.get(gang)

    def observe(self) -> list[Event]:
        found, self.facts = self.facts, []
        for key in sorted(self.known):
            if not self.told.get(key) and key in self.machine.began:
                found.append(GangStarted(self.now(), *key))
                self.told[key] = True
            if key in self.machine.ended:
                outcome, code = self.machine.ended[key]
                found.append(GangEnded(self.now(), *key, outcome, exit_code=code))
                self.known.discard(key)
        return found

    def reconcile(
        self,
        *,
        placed: Mapping[str, Start],
        running: Mapping[str, int],
        stopping: Mapping[str, Stop],
        resized: Mapping[str, Resize],
        workloads: Mapping[str, Workload],
        nodes: Mapping[str, Node],
    ) -> Any:
        self.known |= set(running.items()) | {(s.gang, s.attempt) for s in stopping.values()}
        self.told |= dict.fromkeys(running.items(), True)
        starts, stops, resizes = (list(each.values()) for each in (placed, stopping, resized))
        self.execute(Plan(0, starts, stops, resizes), workloads)
        self.facts = [
            NodeAdded(self.now(), node) for node in self.nodes if nodes.get(node.name) != node
        ]

    def close(self) -> None:
        pass
