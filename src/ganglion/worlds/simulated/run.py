"""The loop: time passes, the engine decides, the world carries it out."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from ganglion.engine.cycle import cycle
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import InvariantBroken
from ganglion.model.events import (
    Event,
    GangStopping,
    NodeAdded,
    QueueSet,
    TypicalPods,
)
from ganglion.model.plan import Phase, Plan, Stop
from ganglion.worlds.simulated.budgets import BudgetWarden
from ganglion.worlds.simulated.metrics.collector import Collector
from ganglion.worlds.simulated.metrics.fragmentation import CapacityUnit
from ganglion.worlds.simulated.metrics.typical import typical_pods
from ganglion.worlds.simulated.metrics.waits import Waits
from ganglion.worlds.simulated.scenario import SimulatedScenario
from ganglion.worlds.simulated.world import SimulatedWorld

PATIENCE = 64
"""Cycles in which waking up changed nothing, after which a run that is otherwise over ends."""


class Progress(Protocol):
    """Called with how far a run is."""

    def __call__(self, done: int, total: int, passed: int) -> None:
        """`done` of `total` jobs are over, `passed` ms after the first submission."""


class Warden(Protocol):
    """Manages the fleet between facts and decisions, as a server's keepers do."""

    def note(self, event: Event) -> None:
        """Something happened, or was decided."""

    def tend(self, state: ClusterState, now: int) -> list[Event]:
        """What is to be done, by the state before the newest facts; applied with them.

        A gang that it stops is stopped in the world.
        """

    def next_due(self, now: int) -> int | None:
        """When it wants to be asked again although nothing happens, in ms; None = need not."""


class FinishedRun(Struct):
    """A finished run.

    Attributes:
        scenario: what was simulated.
        ended: virtual time at which it ended, in ms.
        cycles: how often the engine was asked.
        collector: the figures.
        waits: why gangs waited.
        state: the engine's last state.
        never: why gangs can never start: gang id -> message.
    """

    scenario: SimulatedScenario
    ended: int
    cycles: int
    collector: Collector
    waits: Waits
    state: ClusterState
    never: dict[str, str]


def simulate(
    scenario: SimulatedScenario,
    *,
    plugins: Plugins | None = None,
    progress: Progress | None = None,
    check: bool = False,
    observe: Callable[[list[Event], Plan], None] | None = None,
    warden: Warden | None = None,
    state: ClusterState | None = None,
) -> FinishedRun:
    """Run a scenario to its end.

    The typical pods that fragmentation is scored against are those of the whole trace, as in
    FGD's published protocol. A gang that can never start is withdrawn as soon as the engine
    says so while the cluster is complete, as its user would do.

    Args:
        scenario: what to simulate.
        plugins: Filter, Score, Permit and Preempt plugins; None = those built in.
        progress: called with how far it is, after every cycle.
        check: verify every invariant of the engine's state after every cycle; slow.
        observe: called with what each cycle was given and decided.
        warden: manages the fleet; None = no warden.
        state: what the engine knows when the run begins: nodes, queues, policy and standing jobs
            of the scenario; changed. None = nothing.

    Raises:
        InvariantBroken: the engine refused a fact, or its state contradicts itself.
    """
    return _Loop(scenario, plugins, check, observe, warden, state).run(progress)


class _Loop:
    def __init__(
        self,
        scenario: SimulatedScenario,
        plugins: Plugins | None,
        check: bool,
        observe: Callable[[list[Event], Plan], None] | None,
        warden: Warden | None,
        state: ClusterState | None,
    ) -> None:
        self.scenario, self.check, self.observe = scenario, check, observe
        self.known = state is not None
        self.state = state or ClusterState(scenario.policy, plugins)
        self.budgets = BudgetWarden(self.state, scenario.spent_since)
        self.wardens: tuple[Warden, ...] = (self.budgets, *((warden,) if warden else ()))
        start = scenario.start
        gpus = any(node.devices for node in scenario.nodes)
        self.collector = Collector(
            typical_pods(scenario.every_job, gpu_only=gpus),
            start,
            CapacityUnit.GPU if gpus else CapacityUnit.CPU,
        )
        self.world = SimulatedWorld(
            scenario.nodes,
            scenario.jobs,
            self.collector,
            scenario.timing,
            scenario.faults,
            start,
            scenario.facts,
        )
        self._facts = frozenset(map(id, scenario.facts))
        self.waits = Waits()
        self.never: dict[str, str] = {}
        self.cycles = 0
        self.wake: tuple[int | None, bool] = (None, True)
        self.fruitless = 0

    def run(self, progress: Progress | None) -> FinishedRun:
        scenario, world = self.scenario, self.world
        self.collector.begin(scenario.nodes)
        opening = self._opening()
        for fact in scenario.facts:
            if fact.at <= scenario.start:
                world.happens(fact)
        self._cycle([*opening, *world.observe()])
        until = None if scenario.horizon_ms is None else scenario.start + scenario.horizon_ms
        while world.advance(until):
            self._cycle(world.observe())
            if progress:
                progress(self.collector.done, len(scenario.jobs), world.now() - scenario.start)
        self._leftovers()
        return FinishedRun(
            scenario,
            world.now(),
            self.cycles,
            self.collector,
            self.waits,
            self.state,
            self.never,
        )

    def _opening(self) -> list[Event]:
        """What the engine does not know when the run begins."""
        at = self.scenario.start
        if self.known:
            for each in self.scenario.standing:
                self.world.stands(each, known=True)
            return []
        events: list[Event] = [NodeAdded(at, node) for node in self.scenario.nodes]
        events.extend(QueueSet(at, queue) for queue in self.scenario.queues)
        events.append(TypicalPods(at, typical_pods(self.scenario.every_job)))
        for each in self.scenario.standing:
            events += self.world.stands(each, known=False)
        return events

    def _cycle(self, events: list[Event]) -> None:
        state, now = self.state, self.world.now()
        tended = self._tended(events, now)
        events = [*events, *tended]
        plan = cycle(state, events, now)
        for first in plan.rejected:
            if id(first.event) in self._facts:
                continue
            raise InvariantBroken(
                f"the engine refused {first.event}: {first.message}", "please report this"
            )
        if self.check:
            state.validate()
        self.cycles += 1
        self._note(plan, now)
        idle = self.world.still and not (plan.starts or plan.stops or plan.resizes)
        self.fruitless = self.fruitless + 1 if idle else 0
        stops = [Stop(e.gang, e.attempt, e.cause) for e in tended if isinstance(e, GangStopping)]
        self.world.execute(Plan(now, stops=stops), {})
        self.world.execute(plan, {})
        self._withdraw(plan)
        for warden in self.wardens:
            for event in plan.decisions:
                warden.note(event)
        self._plan_wake(now)
        if self.observe:
            self.observe(events, plan)

    def _tended(self, events: list[Event], now: int) -> list[Event]:
        """What the wardens do about the newest facts."""
        found: list[Event] = []
        for warden in self.wardens:
            for event in (*events, *found):
                warden.note(event)
            while more := warden.tend(self.state, now):
                for event in more:
                    warden.note(event)
                found += more
        return found

    def _note(self, plan: Plan, now: int) -> None:
        self.waits.learn(self.state, plan)
        for start in plan.starts:
            if start.attempt == 1 and now > start.gang.submitted:
                record = self.state.gangs.records[start.gang.id]
                self.waits.over(record, now - start.gang.submitted)

    def _withdraw(self, plan: Plan) -> None:
        """Take back gangs that can never start, unless what they need may come back."""
        if not self.world.whole or not self.scenario.withdraws:
            return
        for wait in plan.waits:
            lane = self.state.gangs.lanes.of(wait.first) if wait.reason.never else None
            for *_, gang in lane.in_order() if lane else ():
                self.never[gang] = wait.reason.message
                self.world.withdraw(gang, wait.reason.message)

    def _plan_wake(self, now: int) -> None:
        """Ask again when the time alone may change something.

        A run is over although gangs would wake up without end: when no gang waits and no budget
        will be spent, or when all that still happened for long was that they woke up.
        """
        spent, *others = (each.next_due(now) for each in self.wardens)
        wakes = (self.state.next_wake(), spent, *others)
        wake = min((each for each in wakes if each is not None), default=None)
        due = wake if wake is not None and wake > now else None
        waits = self.collector.waiting.value or spent is not None
        over = not waits or self.fruitless > PATIENCE
        planned = (due, over)
        if planned != self.wake:
            self.wake = planned
            self.world.wake_at(due, background=over)

    def _leftovers(self) -> None:
        """What still waits: why, and whether it could ever have started."""
        now = self.world.now()
        for record in self.state.gangs.records.values():
            if record.phase not in (Phase.PENDING, Phase.RESERVED):
                continue
            reason = self.state.gangs.reason(record.gang.id)
            self.waits.still(record, reason, now - record.gang.submitted)
            if reason and reason.never and self.world.whole:
                self.never[record.gang.id] = reason.message
