"""Fleets fought over by several queues, in a world that carries orders out immediately."""

from random import Random

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import HOLDING, SETTLED, GangRecord
from ganglion.engine.state.effort import PER_CYCLE
from ganglion.model import events as ev
from ganglion.model.causes import CauseKind
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Policy
from tests.engine import random_fleets as make
from tests.engine.guarded import Guarded

ROUNDS = 40
"""Cycles within which everything must have come to rest, where none is out of work."""


class Watched(Guarded):
    """A state that checks every stop that the engine orders."""

    def apply(self, event: ev.Event) -> bool:
        if isinstance(event, ev.GangStopping):
            self.victims.append(event)
            record = self.gangs.records[event.gang]
            assert record.gang.preemptible, f"{event.gang} must not be stopped: {event.cause}"
            assert record.placed_at < event.at, f"{event.gang} is stopped as it starts"
            if event.cause.kind in (CauseKind.RECLAIMED, CauseKind.RECLAIMED_BORROWING):
                self.check_claim(record, event.cause.gang)
        return super().apply(event)

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.victims: list[ev.GangStopping] = []

    def check_claim(self, victim: GangRecord, asker: str) -> None:
        """Where the two queues part, the victim's uses more than its quota."""
        paths = [
            self.queues.shares.path(each.gang.queue)[::-1]
            for each in (victim, self.gangs.records[asker])
        ]
        theirs = next(a for a, b in zip(*paths, strict=False) if a != b)
        used, quota = self.queues.shares.usage[theirs], self.queues.by_name[theirs].quota
        over = [
            used[flavor].gpu_milli > (quota[flavor].gpu_milli or 0 if flavor in quota else 0)
            or used[flavor].cpu_milli > (quota[flavor].cpu_milli or 0 if flavor in quota else 0)
            for flavor in used
        ]
        assert any(over), f"{theirs} is within its quota and loses {victim.gang.id}"


class Contention:
    """Gangs come, go and are stopped for each other; after every step all comes to rest.

    With `cards`, nodes have and pods ask for resources that are only counted.
    """

    def __init__(
        self,
        rng: Random,
        policy: Policy,
        effort: int = PER_CYCLE,
        rounds: int = ROUNDS,
        *,
        cards: bool = False,
    ) -> None:
        self.rng, self.now, self.submitted, self.rounds = rng, 0, 0, rounds
        self.cards = cards
        self.state = Watched(policy)
        self.state.agenda.effort.per_cycle = effort
        self.run(*(ev.QueueSet(0, queue) for queue in make.queue_tree(rng)))
        self.run(*(ev.NodeAdded(0, self.node(f"n{i}")) for i in range(rng.randint(1, 6))))

    def step(self) -> None:
        """Something happens, then everything comes to rest."""
        chance = self.rng.random()
        if chance < 0.5:
            self.submit()
        elif chance < 0.85:
            self.end()
        elif chance < 0.9:
            self.now += self.rng.choice((60_000, 3_600_000))
            self.run(*(ev.QueueSet(self.now, each) for each in make.queue_tree(self.rng)))
        elif chance < 0.95:
            self.lose()
        else:
            name = f"n{self.rng.randrange(8)}"
            if not self.in_use(name):
                self.run(ev.NodeAdded(self.now, self.node(name)))
        self.settle()

    def node(self, name: str) -> Node:
        return make.node(self.rng, name, cards=self.cards)

    def submit(self) -> None:
        count = self.rng.randint(1, 3)
        gangs = [
            make.gang(self.rng, self.submitted + i, self.now, cards=self.cards)
            for i in range(count)
        ]
        self.submitted += count
        self.run(*(ev.GangSubmitted(self.now, gang) for gang in gangs))

    def end(self) -> None:
        running = [each for each in self.state.gangs.records.values() if each.phase in HOLDING]
        if running:
            record = self.rng.choice(running)
            self.now += self.rng.choice((1000, 600_000))
            outcome = ev.Outcome.SUCCEEDED
            self.run(ev.GangEnded(self.now, record.gang.id, record.attempt, outcome))

    def lose(self) -> None:
        names = sorted(self.state.fleet.nodes)
        if len(names) > 1:
            name = self.rng.choice(names)
            ends = [
                ev.GangEnded(self.now, each.gang.id, each.attempt, ev.Outcome.NODE_LOST, True)
                for each in self.state.gangs.records.values()
                if each.placement and any(pod.node == name for pod in each.placement.pods)
            ]
            self.run(ev.NodeLost(self.now, name), *ends)

    def in_use(self, name: str) -> bool:
        return any(
            pod.node == name
            for record in self.state.gangs.records.values()
            for place in (record.placement, record.promise)
            for pod in (*(place.pods if place else ()), *record.leaving)
        )

    def run(self, *events: ev.Event) -> Plan:
        self.now += 1000
        self.state.victims.clear()
        plan = cycle(self.state, events, self.now)
        assert not plan.rejected
        self.state.validate()
        for victim in self.state.victims:
            self.helped(victim, plan)
        return plan

    def helped(self, victim: ev.GangStopping, plan: Plan) -> None:
        """The gang it was stopped for was promised a place in the same cycle, or may grow."""
        asker = victim.cause.gang
        if victim.cause.kind is CauseKind.MOVED and asker in self.state.holdings.short:
            record = self.state.gangs.records[victim.gang]
            assert record.promise, f"{victim.gang} is moved nowhere"
            return
        given = {each.gang for each in plan.decisions if isinstance(each, ev.GangReserved)}
        given |= {each.gang for each in plan.decisions if isinstance(each, ev.GangPlaced)}
        assert asker in given, f"{victim.gang} was stopped in vain: {victim.cause}"

    def settle(self) -> None:
        """Cycles until nothing is decided any more; stopped gangs leave immediately."""
        stops: list[str] = []
        for _ in range(self.rounds):
            plan = self.run(*self.obey())
            stops += [f"{each.gang}: {each.cause}" for each in plan.stops]
            if not plan.decisions and not self.obey() and self.state.agenda.again_at is None:
                return
        raise AssertionError(f"no rest after {self.rounds} cycles: {stops[-12:]}")

    def obey(self) -> list[ev.Event]:
        """What a world reports that does everything at once."""
        done: list[ev.Event] = []
        for record in self.state.gangs.records.values():
            gang, attempt = record.gang.id, record.attempt
            if record.phase is Phase.STARTING:
                done.append(ev.GangStarted(self.now, gang, attempt))
            if record.phase is Phase.STOPPING:
                done.append(ev.GangEnded(self.now, gang, attempt, ev.Outcome.PREEMPTED, True))
            elif record.leaving and record.phase in SETTLED:
                done.append(ev.PodsLeft(self.now, gang, attempt))
        return done


class Lending(Contention):
    """Services with floors, gangs that sleep and gangs that borrow their places."""

    def submit(self) -> None:
        chance = self.rng.random()
        if chance < 0.4:
            gangs = make.service(self.rng, self.submitted, self.now)
        elif chance < 0.8:
            gangs = [make.saver(self.rng, self.submitted, self.now)]
        else:
            gangs = [make.gang(self.rng, self.submitted, self.now)]
        self.submitted += 1
        self.run(*(ev.GangSubmitted(self.now, gang) for gang in gangs))
        self.turn_over()

    def turn_over(self) -> None:
        """A gang wakes, or goes to sleep."""
        asleep = [each.record.gang.id for each in self.state.timeline.kept]
        awake = [
            each.gang.id
            for each in self.state.gangs.records.values()
            if each.gang.floor and each.phase is Phase.PENDING and not each.gang.recall_ms
        ]
        if asleep and self.rng.random() < 0.6:
            self.settle()
            event = ev.GangUpdated(self.now, self.rng.choice(asleep), recall_ms=0)
            self.run(event)
            self.has_its_place(event.gang)
        elif awake:
            self.run(ev.GangUpdated(self.now, self.rng.choice(awake), recall_ms=60_000))

    def has_its_place(self, gang: str) -> None:
        """A gang that woke starts, or does so when others have left."""
        record = self.state.gangs.records[gang]
        assert record.phase in (Phase.RESERVED, *HOLDING), f"{gang} woke and is {record.phase}"
