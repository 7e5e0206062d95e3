"""Scenarios in the words of our own files: a cluster, workloads, and where each of them ends.

What `running` lists is submitted first and has to start. An hour later, or `after`, what `submit`
lists comes, and cycles follow until nothing changes: a gang that is asked to stop has left by the
next cycle and waits again.
"""

from collections.abc import Iterator
from functools import partial
from typing import Literal

from msgspec import Struct, field

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import SETTLED
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.queue_rules import rules_to_come
from ganglion.lifecycle.expand import gangs_of
from ganglion.model import events as ev
from ganglion.model.errors import FieldError
from ganglion.model.plan import Phase, Plan
from ganglion.model.queue import Queue
from ganglion.model.reasons import Reason
from ganglion.model.workload import Workload
from ganglion.scenarios.model import Format, Result, Scenario
from ganglion.scenarios.source import part, typed, wrong
from ganglion.specs.cluster.cluster import Cluster, cluster_of
from ganglion.specs.grammar.times.durations import parse_duration
from ganglion.specs.policy.policy import PolicyFile
from ganglion.specs.reading.yaml import Data, Path
from ganglion.specs.wording import meant
from ganglion.specs.workload.convert import to_workload
from ganglion.specs.workload.workload import from_document

QUIET = 2
"""Cycles without a decision after which nothing changes any more."""
MOST_CYCLES = 50
CYCLE_MS = 1000
DEFAULT_QUEUE = "default"
SHARED = "cluster"
"""Key of the cluster, in a scenario or, for all that have none, at the top of the file."""


class WorkloadEnd(Struct, forbid_unknown_fields=True):
    """How a workload ends.

    Attributes:
        state: what all its gangs do.
        reason: token of the reason of a wait; empty = any.
        nodes: all nodes that it runs on, in any order; None = any.
        stopped: whether it was asked to stop on the way; None = either.
    """

    state: Literal["running", "waiting"]
    reason: str = ""
    nodes: list[str] | None = None
    stopped: bool | None = None


class Case(Struct, forbid_unknown_fields=True):
    """What a scenario may say.

    Attributes:
        submit: workloads, as in a workload file, in the order of their arrival.
        expect: name of a workload -> its state, or more about its end.
        running: workloads that were there before, as in a workload file.
        after: how long those have run when the others come.
        cluster: nodes, levels and queues, as in a cluster file.
    """

    id: str
    submit: list[Data]
    expect: dict[str, Literal["running", "waiting"] | WorkloadEnd]
    running: list[Data] = field(default_factory=list)
    after: str = "1h"
    cluster: Data | None = None
    title: str = ""
    tier: str = ""


def run(scenario: Scenario, given: PolicyFile) -> Result:
    """Run one scenario under a policy. Raises FieldError where its content makes no sense."""
    case = typed(Case, scenario.data, scenario.path, scenario.document)
    play = _Play(scenario, case, given)
    play.submit("running", case.running)
    play.settle()
    play.check_begun()
    play.wait(parse_duration(case.after))
    play.submit("submit", case.submit)
    settled = play.settle()
    found = [] if settled else [f"it does not settle within {MOST_CYCLES} cycles"]
    found += play.differences()
    return Result(scenario.id, scenario.tier, not found, "; ".join(found))


class _Play:
    """The engine with one scenario.

    Args:
        scenario: what is played.
        case: the same, checked.
        given: to decide by; its queues take the place of the cluster's.
    """

    def __init__(self, scenario: Scenario, case: Case, given: PolicyFile) -> None:
        self._scenario, self._case = scenario, case
        self._now = 0
        self._news: list[ev.Event] = []
        self._gangs: dict[str, list[str]] = {}
        self._stopped = set[str]()
        self._state = ClusterState(given.policy)
        cluster = _cluster(scenario, case)
        queues = given.queues or cluster.queues or (Queue(DEFAULT_QUEUE),)
        for node in cluster.nodes:
            self._state.apply(ev.NodeAdded(0, node))
        for queue in queues:
            self._state.apply(ev.QueueSet(0, queue))
        parents = {each.parent for each in queues}
        self._leaves = [each.name for each in queues if each.name not in parents]

    def submit(self, key: str, workloads: list[Data]) -> None:
        """Add workloads to what the next cycle receives."""
        for number in range(len(workloads)):
            where = (*self._scenario.path, key, number)
            self._now += 1
            for gang in gangs_of(*self._workload(where), self._now):
                if gang.queue not in self._leaves:
                    hint = meant(gang.queue, self._leaves)
                    raise self._wrong(f"no queue {gang.queue!r} takes workloads", where, hint)
                self._gangs.setdefault(gang.workload, []).append(gang.id)
                self._news.append(ev.GangSubmitted(self._now, gang))

    def settle(self) -> bool:
        """Run cycles until nothing changes; False = `MOST_CYCLES` are not enough."""
        quiet = 0
        for _ in range(MOST_CYCLES):
            self.wait(CYCLE_MS)
            plan = cycle(self._state, self._news, self._now)
            self._state.validate()
            self._news = list(self._left())
            quiet = 0 if self._noted(plan) or self._news else quiet + 1
            if quiet >= QUIET:
                return True
        return False

    def wait(self, span_ms: int) -> None:
        """Let time pass."""
        self._now += span_ms

    def check_begun(self) -> None:
        """Raise FieldError where a workload of `running` does not run."""
        for number, name in enumerate(self._gangs):
            if self._state_of(name) != "running":
                where = (*self._scenario.path, "running", number)
                raise self._wrong(f"{name} does not start: {self._why(name)}", where)

    def differences(self) -> Iterator[str]:
        """What is not as expected, a sentence each."""
        for name, end in self._case.expect.items():
            if name not in self._gangs:
                where = (*self._scenario.path, "expect", name)
                raise self._wrong(f"no workload is called {name}", where, meant(name, self._gangs))
            yield from self._differs(
                name, end if isinstance(end, WorkloadEnd) else WorkloadEnd(end)
            )

    def _workload(self, where: Path) -> tuple[str, Workload]:
        found = to_workload(
            from_document(part(self._scenario.document, where)),
            user="",
            default_queue=self._leaves[0],
            classes=self._state.config.policy.priorities,
            rules=partial(rules_to_come, self._state),
        )
        if found.name in self._gangs:
            raise self._wrong(f"a second workload is called {found.name}", where)
        return found.name, found

    def _wrong(self, problem: str, where: Path, hint: str = "") -> FieldError:
        return wrong(problem, where, self._scenario.document, hint)

    def _left(self) -> Iterator[ev.Event]:
        for gang, record in self._state.gangs.records.items():
            if record.phase is Phase.STOPPING:
                self._stopped.add(record.gang.workload)
                outcome = ev.Outcome.PREEMPTED
                yield ev.GangEnded(self._now, gang, record.attempt, outcome, requeue=True)
            elif record.phase in SETTLED and record.leaving:
                yield ev.PodsLeft(self._now, gang, record.attempt)

    def _noted(self, plan: Plan) -> bool:
        """Whether a plan changes anything; what it starts runs from now on."""
        for each in plan.rejected:
            raise self._wrong(each.message, (*self._scenario.path, "submit"))
        for start in plan.starts:
            record = self._state.gangs.records[start.gang.id]
            self._news.append(ev.GangStarted(self._now, start.gang.id, record.attempt))
        return bool(plan.decisions or plan.waits)

    def _state_of(self, name: str) -> str:
        runs = [self._state.gangs.records[gang].phase in SETTLED for gang in self._gangs[name]]
        if all(runs):
            return "running"
        return "partly running" if any(runs) else "waiting"

    def _differs(self, name: str, end: WorkloadEnd) -> Iterator[str]:
        state = self._state_of(name)
        if state != end.state:
            why = f" ({self._why(name)})" if state != "running" else ""
            yield f"{name} is {state}, not {end.state}{why}"
            return
        reasons = {str(each.token) for each in self._reasons(name)}
        if end.reason and reasons != {end.reason}:
            yield f"{name} waits for {', '.join(sorted(reasons))}, not {end.reason}"
        nodes = self._nodes(name)
        if end.nodes is not None and nodes != sorted(set(end.nodes)):
            yield f"{name} is on {', '.join(nodes)}, not {', '.join(sorted(set(end.nodes)))}"
        if end.stopped is not None and end.stopped is not (name in self._stopped):
            yield f"{name} was {'not ' if end.stopped else ''}asked to stop"

    def _reasons(self, name: str) -> Iterator[Reason]:
        for gang in self._gangs[name]:
            if reason := self._state.gangs.reason(gang):
                yield reason

    def _why(self, name: str) -> str:
        return next((each.message for each in self._reasons(name)), "no reason is known")

    def _nodes(self, name: str) -> list[str]:
        records = (self._state.gangs.records[gang] for gang in self._gangs[name])
        places = (each.placement for each in records if each.placement)
        return sorted({pod.node for place in places for pod in place.pods})


def _cluster(scenario: Scenario, case: Case) -> Cluster:
    document = scenario.document
    path: Path = (*scenario.path, SHARED)
    data: object = case.cluster
    if data is None:
        data, path = document.data.get(SHARED), (SHARED,)
    if not isinstance(data, dict):
        raise wrong("the scenario has no cluster", scenario.path, document, "add `cluster:`")
    if "policy" in data:
        raise wrong("the policy is that of --policy", (*path, "policy"), document)
    return cluster_of(part(document, path))


FORMAT = Format("ganglion", "submit", run)
