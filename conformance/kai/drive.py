"""Drives the engine through a scenario in KAI's words, cycle by cycle.

Between cycles, gangs that were asked to stop leave and wait again with the age they had.
"""

from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from conformance.kai import schema as kai
from conformance.kai.fleet import levels_of, node_of, queues_of
from conformance.kai.jobs import STUCK, Jobs, TaskAt, jobs_of
from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.extensions import load
from ganglion.model.events import (
    Event,
    GangEnded,
    GangStarted,
    GangSubmitted,
    NodeAdded,
    Outcome,
    PodsLeft,
    QueueSet,
)
from ganglion.model.kinds import Weighted
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Policy
from ganglion.model.queue import Preemption, Victims

STEP_MS = 60_000
"""Time between cycles."""

BEGIN = 365 * 86_400_000
"""Time at which scenarios begin: late enough for every age."""


class Sight(Struct, frozen=True):
    """How one task stands.

    Attributes:
        status: one of `kai_schema.Status`.
        node: where it is, or is to be; empty = nowhere.
    """

    status: str
    node: str = ""


class Drive:
    """One scenario on the engine.

    Args:
        case: the scenario.
        policy: how to decide.
    """

    def __init__(self, case: kai.Case, policy: Policy) -> None:
        self.case, self.now = case, BEGIN
        policy = _only(_placing(policy, case.config), case.action_under_test)
        self.state = ClusterState(policy, load(policy))
        levels = levels_of(case)
        self.jobs: Jobs = jobs_of(case, levels, BEGIN)
        events: list[Event] = [QueueSet(BEGIN, each) for each in queues_of(case, policy.preemption)]
        events += (NodeAdded(BEGIN, node_of(each, case, levels)) for each in case.nodes)
        for event in (*events, *self.jobs.events):
            self.state.apply(event)
        # Tasks that run although their gang is below its minimum: it must start as a whole.
        self._broken = {
            each.name: each.task.node or ""
            for each in self.jobs.tasks
            if each.task.state == "running" and not self._node(each)
        }
        self._new: set[tuple[str, str, int]] = set()

    def cycle(self) -> Plan:
        """Run one cycle and check every invariant. Raises InvariantBroken."""
        self.now += STEP_MS
        before = {each.name: self._node(each) for each in self.jobs.tasks}
        plan = cycle(self.state, [], self.now)
        self.state.validate()
        self._new = {
            (each.gang, each.pod_set, each.index)
            for each in self.jobs.tasks
            if not before[each.name] and self._node(each)
        }
        return plan

    def between(self) -> None:
        """Carry out what the last cycle decided. Raises InvariantBroken."""
        for event in list(self._reports()):
            self.state.apply(event)
        self._new, self._broken = set(), {}
        self.state.validate()

    def sights(self) -> dict[str, Sight]:
        """How every task stands now, by name."""
        return {each.name: self._sight(each) for each in self.jobs.tasks}

    def running_milli(self) -> int:
        """Thousandths of GPUs of tasks that run."""
        return sum(each.milli for each in self.jobs.tasks if self._node(each))

    def submit_like(self, gang: str, name: str) -> None:
        """Submit another gang like one that is there, of the present age."""
        like = self.state.gangs.records[gang].gang
        copy = replace(like, id=name, workload=name, name=name, submitted=self.now)
        self.state.apply(GangSubmitted(self.now, copy))

    def _reports(self) -> Iterator[Event]:
        for gang, record in self.state.gangs.records.items():
            if record.phase is Phase.STOPPING:
                done = Outcome.PREEMPTED
                yield GangEnded(self.now, gang, record.attempt, done, requeue=True)
            elif record.phase in SETTLED:
                if record.leaving:
                    yield PodsLeft(self.now, gang, record.attempt)
                if record.phase is Phase.STARTING:
                    yield GangStarted(self.now, gang, record.attempt)

    def _sight(self, task: TaskAt) -> Sight:
        if not task.gang:
            return Sight(STUCK, task.task.node or "")
        record = self.state.gangs.records[task.gang]
        node, leaving = self._node(task), self._leaving(task, record)
        promised = self._promised(task, record)
        if old := self._broken.get(task.name):
            return Sight("running", old) if old in (node, promised) else Sight("evicting", old)
        if node and leaving:
            return Sight("moving", node)
        if node:
            is_new = (task.gang, task.pod_set, task.index) in self._new
            return Sight("started" if is_new else "running", node)
        if leaving:
            return Sight("moving", promised) if promised else Sight("evicting", leaving)
        return Sight("reserved", promised) if promised else Sight("pending")

    def _node(self, task: TaskAt) -> str:
        if not task.gang:
            return ""
        record = self.state.gangs.records[task.gang]
        if record.phase not in SETTLED or not record.placement:
            return ""
        pods = record.placement.pods
        return next((p.node for p in pods if (p.pod_set, p.index) == _key(task)), "")

    def _leaving(self, task: TaskAt, record: GangRecord) -> str:
        return next((p.node for p in record.leaving if (p.pod_set, p.index) == _key(task)), "")

    def _promised(self, task: TaskAt, record: GangRecord) -> str:
        pods = record.promise.pods if record.promise else ()
        return next((p.node for p in pods if (p.pod_set, p.index) == _key(task)), "")


def _key(task: TaskAt) -> tuple[str, int]:
    return (task.pod_set, task.index)


def _placing(policy: Policy, config: kai.Config) -> Policy:
    """Where pods go; a policy that spreads them does not consolidate."""
    if config.node_placement != "spread":
        return policy
    repack = replace(policy.repack, consolidate=False)
    return replace(policy, scores=(Weighted("spread"),), repack=repack)


def _only(policy: Policy, action: str | None) -> Policy:
    """The policy with one of KAI's actions only; None = all of them."""
    if action is None:
        return policy
    rights = policy.preemption
    never = Victims.NEVER
    reclaim = action == "reclaim"
    rights = Preemption(
        preempt=rights.preempt if action == "preempt" else never,
        reclaim=rights.reclaim if reclaim else never,
        borrowing=rights.borrowing if reclaim else never,
    )
    consolidate = policy.repack.consolidate and action == "consolidation"
    return replace(
        policy,
        preemption=rights,
        evict=replace(policy.evict, enabled=policy.evict.enabled and action != "allocate"),
        repack=replace(policy.repack, consolidate=consolidate),
    )


class History(Struct):
    """What happened in a run of cycles.

    Attributes:
        evicted: tasks asked to stop, cycle by cycle.
        moved: tasks that were moved, cycle by cycle.
    """

    evicted: list[list[str]] = field(default_factory=list)
    moved: list[list[str]] = field(default_factory=list)

    def note(self, before: dict[str, Sight], after: dict[str, Sight]) -> None:
        """Take one cycle in, by how tasks stood before and in it."""
        stopped = {
            name: sight.status
            for name, sight in after.items()
            if sight.status in ("evicting", "moving") and before[name].status == "running"
        }
        self.evicted.append([name for name, status in stopped.items() if status == "evicting"])
        self.moved.append([name for name, status in stopped.items() if status == "moving"])
