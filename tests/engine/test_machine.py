"""The engine's guarantees over random fleets, gangs, events and faults."""

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ganglion.engine.cycle import cycle
from ganglion.engine.explain.explain import explain
from ganglion.engine.explain.foretell import foretell
from ganglion.engine.gangs.record import HOLDING, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.timeline.nominations import Pledges
from ganglion.model import events as ev
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Phase, Plan
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.reasons import Token
from ganglion.model.resources import Usage
from ganglion.model.workload import Gang, Topology
from tests.effort import examples
from tests.engine import random_fleets as make
from tests.engine.literal import fits_somewhere

seeds = st.integers(0, 2**32 - 1).map(Random)


class Engine(RuleBasedStateMachine):
    """Drives one state with facts as a world would report them, faults included."""

    isolate = False

    def __init__(self) -> None:
        super().__init__()
        self.state = ClusterState()
        self.twin = ClusterState()
        self.pledges = Pledges(self.state)
        self.log: list[ev.Event] = []
        self.now = 0
        self.submitted = 0
        self.ended: dict[str, int] = {}
        self.cards = False

    def run(self, *events: ev.Event) -> Plan:
        self.now += 1000
        plan = self.think(*events)
        self.decisions_come_to_rest()
        return plan

    def think(self, *events: ev.Event) -> Plan:
        plan = cycle(self.state, events, self.now, isolate=self.isolate)
        rejected = [each.event for each in plan.rejected]
        self.log += [event for event in events if event not in rejected] + plan.decisions
        for event in events:
            if event not in rejected:
                self.twin.apply(event)
        self.twin.again(self.now)
        for event in plan.decisions:
            self.twin.apply(event)
        return plan

    def node(self, rng: Random, name: str) -> Node:
        return make.node(rng, name, cards=self.cards)

    def gang(self, rng: Random, number: int) -> Gang:
        return make.gang(rng, number, self.now, cards=self.cards)

    def some(self, rng: Random, *phases: Phase) -> GangRecord | None:
        found = [each for each in self.state.gangs.records.values() if each.phase in phases]
        return rng.choice(found) if found else None

    @initialize(rng=seeds, count=st.integers(1, 8), cards=st.booleans())
    def begin(self, rng: Random, count: int, cards: bool = False) -> None:
        """With `cards`, nodes have and pods ask for resources that are only counted."""
        self.cards = cards
        self.run(*(ev.QueueSet(0, queue) for queue in make.queue_tree(rng)))
        self.run(*(ev.NodeAdded(0, self.node(rng, f"n{i}")) for i in range(count)))

    @rule(rng=seeds, count=st.integers(1, 4))
    def submit(self, rng: Random, count: int) -> None:
        fresh = [self.gang(rng, self.submitted + i) for i in range(count)]
        self.submitted += count
        self.run(*(ev.GangSubmitted(self.now, gang) for gang in fresh))

    @rule(rng=seeds)
    def start(self, rng: Random) -> None:
        record = self.some(rng, Phase.STARTING)
        if record:
            event = ev.GangStarted(self.now, record.gang.id, record.attempt)
            self.run(*([event] * rng.randint(1, 2)))

    @rule(rng=seeds, outcome=st.sampled_from(ev.Outcome), requeue=st.booleans())
    def end(self, rng: Random, outcome: ev.Outcome, requeue: bool) -> None:
        record = self.some(rng, *HOLDING)
        if record is None:
            return
        pause = rng.choice((0, 5000))
        event = ev.GangEnded(
            self.now,
            record.gang.id,
            record.attempt,
            outcome,
            requeue,
            not_before=self.now + pause if requeue and pause else 0,
        )
        self.ended[record.gang.id] = self.ended.get(record.gang.id, 0) + (not requeue)
        self.run(*([event] * rng.randint(1, 2)))

    @rule(rng=seeds)
    def news_of_an_old_attempt(self, rng: Random) -> None:
        record = self.some(rng, *Phase)
        if record and record.attempt:
            before = record.phase, record.placement
            stale = ev.GangEnded(
                self.now, record.gang.id, record.attempt - 1, ev.Outcome.FAILED, True
            )
            if record.attempt > 1:
                self.run(stale)
                assert before == (record.phase, record.placement) or before[1] is None

    @rule(rng=seeds)
    def stop(self, rng: Random) -> None:
        record = self.some(rng, Phase.RUNNING, Phase.STARTING)
        if record:
            self.run(
                ev.GangStopping(
                    self.now, record.gang.id, record.attempt, Cause(CauseKind.CANCELLED)
                )
            )

    @rule(rng=seeds)
    def cancel_waiting(self, rng: Random) -> None:
        record = self.some(rng, Phase.PENDING)
        if record:
            self.ended[record.gang.id] = self.ended.get(record.gang.id, 0) + 1
            self.run(ev.GangEnded(self.now, record.gang.id, record.attempt, ev.Outcome.CANCELLED))

    @rule(rng=seeds, priority=st.sampled_from((10, 90)), held=st.booleans())
    def update(self, rng: Random, priority: int, held: bool) -> None:
        record = self.some(rng, *Phase)
        if record:
            self.run(ev.GangUpdated(self.now, record.gang.id, priority=priority, held=held))

    @rule(rng=seeds, known=st.booleans())
    def node_appears(self, rng: Random, known: bool) -> None:
        names = sorted(self.state.fleet.nodes)
        name = rng.choice(names) if known and names else f"n{len(names)}"
        busy = any(
            pod.node == name
            for record in self.state.gangs.records.values()
            for place in (record.placement, record.promise)
            for pod in (*(place.pods if place else ()), *record.leaving)
        )
        if not busy:
            self.run(ev.NodeAdded(self.now, self.node(rng, name)))

    @rule(rng=seeds)
    def node_is_lost(self, rng: Random) -> None:
        names = sorted(self.state.fleet.nodes)
        if len(names) > 1:
            self.run(ev.NodeLost(self.now, rng.choice(names)))

    @rule(rng=seeds, reason=st.sampled_from(("", "maintenance")))
    def cordon(self, rng: Random, reason: str) -> None:
        names = sorted(self.state.fleet.nodes)
        if names:
            name = rng.choice(names)
            self.run(ev.NodeCordoned(self.now, name, reason))

    @rule(rng=seeds, healthy=st.booleans())
    def device_health(self, rng: Random, healthy: bool) -> None:
        found = [node for node in self.state.fleet.nodes.values() if node.devices]
        if found:
            node = rng.choice(found)
            device = rng.randrange(len(node.devices))
            self.run(ev.DeviceHealth(self.now, node.name, device, healthy))

    @rule(
        event=st.sampled_from(
            (
                ev.NodeLost(0, "nowhere"),
                ev.GangEnded(0, "nobody/0", 1, ev.Outcome.FAILED),
                ev.QueueRemoved(0, "nothing"),
            )
        )
    )
    def nonsense(self, event: ev.Event) -> None:
        assert [each.event for each in self.run(event).rejected] == [event]

    @rule(rng=seeds)
    def requota(self, rng: Random) -> None:
        self.run(*(ev.QueueSet(self.now, queue) for queue in make.queue_tree(rng)))

    @precondition(lambda self: self.submitted)
    @rule(rng=seeds)
    def ask_why(self, rng: Random) -> None:
        record = self.some(rng, Phase.PENDING)
        if record is None:
            return
        before = (
            list(self.state.fleet.tree.conditions),
            self.state.progress.freed,
            self.state.progress.turn,
        )
        told = explain(self.state, record.gang.id, self.now)
        assert before == (
            list(self.state.fleet.tree.conditions),
            self.state.progress.freed,
            self.state.progress.turn,
        )
        assert told.reason is not None
        assert sum(told.histogram.values()) == len(self.state.fleet.tree.nodes)

    @precondition(lambda self: self.submitted)
    @rule(rng=seeds)
    def ask_for_a_verdict(self, rng: Random) -> None:
        gang = self.gang(rng, 10_000)
        answer = foretell(self.state, gang, self.now).verdict
        assert (answer.placement is None) == (answer.reason is not None)
        if answer.reason and answer.reason.never:
            assert answer.placement is None

    @invariant()
    def every_invariant_holds(self) -> None:
        self.state.validate()

    @invariant()
    def what_is_promised_is_known_without_a_look_at_all_of_it(self) -> None:
        anew = Pledges(self.state)
        for each in (self.pledges, anew):
            each.sync()
        assert self.pledges.by_queue == anew.by_queue

    def decisions_come_to_rest(self) -> None:
        """With no news, cycles soon change nothing any more."""
        for _ in range(8):
            if not self.think().decisions:
                return
        raise AssertionError("every cycle decides something else")

    @invariant()
    def a_pod_that_waits_for_room_fits_nowhere(self) -> None:
        for record in self.state.gangs.records.values():
            (first, *others), gang = record.gang.pod_sets, record.gang
            reason = self.state.gangs.reason(gang.id) if record.phase is Phase.PENDING else None
            alone = not others and first.count == 1 and gang.topology == Topology()
            if reason and alone and reason.token in (Token.CAPACITY, Token.CONSTRAINT):
                assert not fits_somewhere(self.state, gang)

    @invariant()
    def limits_hold_at_every_start(self) -> None:
        for record in self.state.gangs.records.values():
            if record.phase is Phase.STARTING and record.placed_at == self.now:
                self.check_limits(record)

    def check_limits(self, record: GangRecord) -> None:
        """Every kind of resource that the gang uses stays within every limit above it."""
        state = self.state
        total = Usage()
        for _, usage in record.charged:
            total = total.plus(usage)
        for flavor, usage in (*record.charged, (ANY_FLAVOR, total)):
            for name in state.queues.shares.path(record.gang.queue):
                limit, used = (
                    state.queues.by_name[name].limit.get(flavor),
                    state.queues.shares.usage[name],
                )
                for kind in ("gpu_milli", "cpu_milli"):
                    most = limit and getattr(limit, kind)
                    if most is not None and getattr(usage, kind):
                        assert getattr(used[flavor], kind) <= most

    @invariant()
    def a_gang_ends_at_most_once(self) -> None:
        assert all(count <= 1 for count in self.ended.values())

    def teardown(self) -> None:
        """Replaying what happened gives the same state."""
        assert self.state.gangs.records == self.twin.gangs.records
        assert node_states(self.state) == node_states(self.twin)
        assert self.state.queues.shares.usage == self.twin.queues.shares.usage


def node_states(state: ClusterState) -> dict[str, object]:
    state.fleet.tree.settle()
    found: dict[str, object] = {}
    for name, number in zip(state.fleet.tree.names, state.fleet.tree.conditions, strict=True):
        condition = state.fleet.table.known[number]
        found[name] = (state.fleet.table.classes[condition.node_class], condition[1:])
    return found


TestEngine = Engine.TestCase
TestEngine.settings = settings(
    max_examples=examples(60, nightly=3_000), stateful_step_count=40, deadline=None
)


def test_long_lives_of_random_fleets() -> None:
    """The same rules in uniformly random order: deeper than examples that shrink well."""
    for seed in range(examples(10, nightly=1200)):
        rng = Random(seed)
        engine = Engine()
        engine.begin(rng, rng.randint(1, 10), cards=seed % 2 == 1)
        for _ in range(60):
            step, arguments = random_step(rng)
            getattr(engine, step)(rng=rng, **arguments)
            engine.every_invariant_holds()
            engine.a_pod_that_waits_for_room_fits_nowhere()
            engine.limits_hold_at_every_start()
            engine.a_gang_ends_at_most_once()
        engine.teardown()


def random_step(rng: Random) -> tuple[str, dict[str, object]]:
    steps: dict[str, dict[str, object]] = {
        "submit": {"count": rng.randint(1, 4)},
        "start": {},
        "end": {"outcome": rng.choice(list(ev.Outcome)), "requeue": rng.random() < 0.4},
        "stop": {},
        "cancel_waiting": {},
        "update": {"priority": rng.choice((10, 90)), "held": rng.random() < 0.3},
        "node_appears": {"known": rng.random() < 0.5},
        "node_is_lost": {},
        "cordon": {"reason": rng.choice(("", "maintenance"))},
        "device_health": {"healthy": rng.random() < 0.6},
        "requota": {},
        "ask_why": {},
        "ask_for_a_verdict": {},
        "news_of_an_old_attempt": {},
    }
    often = [*steps, "submit", "submit", "submit", "start", "end", "end", "end", "node_appears"]
    name = rng.choice(often)
    return name, steps[name]
