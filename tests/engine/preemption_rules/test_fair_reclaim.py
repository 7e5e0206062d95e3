"""Fair shares are taken back from gangs that ran long enough, and trades come to an end."""

from random import Random

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.preemption_cost import gpu_milli
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Policy
from ganglion.model.queue import Preemption, Queue
from ganglion.model.resources import Amount
from tests.engine.build import gang, node

MINUTE = 60_000
LEAST = 10 * MINUTE


def queue(name: str, gpus: int = 0, parent: str = "", **more: int) -> Queue:
    return Queue(name, parent, quota={"*": Amount(gpu_milli=gpus * 1000)} if gpus else {}, **more)


class Field:
    """A fleet whose world carries orders out immediately."""

    def __init__(self, *queues: Queue, nodes: int = 2, policy: Policy | None = None) -> None:
        self.state, self.now = ClusterState(policy), MINUTE
        self.stops: list[tuple[int, str, str]] = []
        self._count = 0
        fleet = (ev.NodeAdded(0, node(f"n{i}")) for i in range(nodes))
        self.run(*(ev.QueueSet(0, each) for each in queues), *fleet)

    def submit(self, team: str, *sizes: int, priority: int = 50) -> None:
        made = []
        for size in sizes:
            self._count += 1
            it = gang(f"{team}{self._count}", queue=team, gpus=size, priority=priority)
            made.append(ev.GangSubmitted(self.now, it))
        self.run(*made)
        self.settle()

    def run(self, *events: ev.Event) -> Plan:
        self.now += 1000
        plan = cycle(self.state, events, self.now)
        self.state.validate()
        self.stops += [(self.now, each.gang, str(each.cause).split()[0]) for each in plan.stops]
        return plan

    def settle(self) -> None:
        """Cycles until nothing is decided; fails if that does not happen."""
        for _ in range(60):
            done: list[ev.Event] = []
            for record in self.state.gangs.records.values():
                if record.phase is Phase.STARTING:
                    done.append(ev.GangStarted(self.now, record.gang.id, record.attempt))
                elif record.phase is Phase.STOPPING:
                    outcome = ev.Outcome.PREEMPTED
                    done.append(
                        ev.GangEnded(
                            self.now, record.gang.id, record.attempt, outcome, requeue=True
                        )
                    )
            if not self.run(*done).decisions and not done:
                return
        raise AssertionError(f"no rest: {self.stops[-8:]}")

    def wait(self, ms: int) -> None:
        """Time passes; the engine is asked whenever it wishes to be."""
        until = self.now + ms
        while (wake := self.state.next_wake()) is not None and wake <= until:
            self.now = max(self.now, wake)
            self.settle()
        self.now = until
        self.settle()

    def held(self, team: str) -> int:
        used = self.state.queues.shares.usage[team].get("*")
        return used.gpu_milli // 1000 if used else 0


def test_a_flood_gives_way_once_it_has_run_for_the_least_time() -> None:
    field = Field(queue("a"), queue("b"))
    field.submit("a", *[1] * 40)
    field.submit("b", *[2] * 8)
    assert (field.held("a"), field.held("b")) == (16, 0)

    field.wait(LEAST - 5 * MINUTE)
    assert field.held("b") == 0
    field.wait(LEAST)

    assert (field.held("a"), field.held("b")) == (8, 8)
    assert {cause for *_, cause in field.stops} == {"shared"}


@pytest.mark.parametrize("policy", [Policy(), Policy(preemption=Preemption())])
def test_the_quota_of_a_department_holds_for_leaves_without_one(policy: Policy) -> None:
    field = Field(queue("org", 8), queue("leaf", 0, "org"), queue("other"), policy=policy)
    field.submit("other", *[1] * 16)
    field.submit("leaf", *[2] * 4)
    assert (field.held("leaf"), field.held("other")) == (8, 8)


def test_a_gang_is_left_alone_where_its_own_queue_would_be_owed_what_it_returns() -> None:
    field = Field(queue("a"), queue("b"), nodes=1)
    field.submit("a", 5)
    field.submit("a", *[1] * 4)
    field.submit("b", *[1] * 8)
    field.wait(20 * LEAST)
    assert (field.held("a"), field.held("b")) == (5, 3)
    assert "a1/0" not in {name for _, name, _ in field.stops}


def test_a_gang_may_pass_the_share_by_what_its_queue_lacks_of_it() -> None:
    for size, expected in ((4, 4), (5, 0)):
        field = Field(queue("a"), queue("b"), nodes=1)
        field.submit("a", *[1] * 16)
        field.submit("b", 3, size)
        field.wait(2 * LEAST)
        assert field.held("b") - 3 in (expected, 0)


def test_a_leaf_within_quota_under_a_parent_without_share_uses_what_no_other_asks_for() -> None:
    field = Field(
        queue("org", 0, over_quota_weight=0), queue("leaf", 8, "org"), queue("other"), nodes=1
    )
    field.submit("other", 2)
    field.submit("leaf", 2, priority=10)
    field.submit("leaf", 6, priority=90)
    assert (field.held("other"), field.held("leaf")) == (2, 6)


def test_a_promise_yields_before_a_running_gang_of_its_queue_is_stopped() -> None:
    field = Field(queue("a", 4), queue("b", 4), queue("c"), nodes=1)
    field.submit("c", *[1] * 4)
    field.submit("a", 4)
    field.wait(LEAST)
    wider, owed = gang("wider", queue="a", gpus=2), gang("owed", queue="b", gpus=4)
    field.run(ev.GangSubmitted(field.now, wider))
    promised = field.state.gangs.records[wider.id]
    assert promised.phase is Phase.RESERVED

    plan = field.run(ev.GangSubmitted(field.now, owed))

    assert {field.state.gangs.records[each.gang].gang.queue for each in plan.stops} == {"c"}
    assert promised.phase is Phase.PENDING
    field.settle()
    assert (field.held("a"), field.held("b"), field.held("c")) == (4, 4, 0)


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_come_to_rest_and_no_gang_is_stopped_too_often(seed: int) -> None:
    rng = Random(seed)
    field = Field(*_tree(rng), nodes=rng.randint(1, 3))
    leaves = [
        name for name in field.state.queues.by_name if field.state.queues.shares.is_leaf(name)
    ]
    begun = field.now
    for _ in range(12):
        team = rng.choice(leaves)
        field.submit(team, *rng.choices((1, 1, 2, 4, 8), k=rng.choice((1, 2, 24))))
        field.wait(rng.choice((MINUTE, LEAST, 6 * LEAST)))
        running = [
            each for each in field.state.gangs.records.values() if each.phase is Phase.RUNNING
        ]
        for record in rng.sample(running, k=len(running) // 6):
            ended = ev.Outcome.SUCCEEDED
            field.run(ev.GangEnded(field.now, record.gang.id, record.attempt, ended))
            field.settle()
    _stopped_seldom(field, begun)
    field.wait(200 * LEAST)
    quiet = len(field.stops)
    field.wait(200 * LEAST)
    assert len(field.stops) == quiet
    _nothing_takeable(field)


def _tree(rng: Random) -> list[Queue]:
    found = []
    for top in ("x", "y", "z")[: rng.randint(2, 3)]:
        quota = rng.choice((0, 0, 4, 8))
        found.append(queue(top, quota, over_quota_weight=rng.randint(1, 3)))
        for leaf in range(rng.randint(0, 3)):
            own = rng.choice((0, 0, 0, quota // 2))
            found.append(queue(f"{top}{leaf}", own, top, over_quota_weight=rng.randint(1, 2)))
    return found


def _stopped_seldom(field: Field, begun: int) -> None:
    """Fairness stops a gang again only after twice the time before."""
    last: dict[str, tuple[int, int]] = {}
    for at, name, cause in field.stops:
        before, times = last.get(name, (begun, 0))
        if cause == "shared":
            assert at - before >= LEAST << min(times, 6), f"{name} is stopped again"
        last[name] = (at, times + 1)


def _nothing_takeable(field: Field) -> None:
    """No single gang above its queue's share stands in the way of one below its own."""
    state = field.state
    waiting = [each for each in state.gangs.records.values() if each.phase is Phase.PENDING]
    roots = [name for name, each in state.queues.by_name.items() if not each.parent]
    share = {name: state.deserved.milli(name) for name in roots}
    used = {name: 1000 * field.held(name) for name in roots}
    for asker in waiting:
        size = sum(each.count * each.request.gpu.count for each in asker.gang.pod_sets) * 1000
        mine = state.queues.shares.path(asker.gang.queue)[-1]
        leaf = asker.gang.queue
        if used[mine] + size > share[mine]:
            continue
        if 1000 * field.held(leaf) + size > state.deserved.milli(leaf):
            continue
        for victim in state.holdings.settled():
            theirs = state.queues.shares.path(victim.gang.queue)[-1]
            frees = _milli(victim)
            spares = used[theirs] - frees >= share[theirs]
            inside = 1000 * field.held(victim.gang.queue) - frees
            spares = spares and inside >= state.deserved.milli(victim.gang.queue)
            if theirs != mine and spares and frees >= size:
                raise AssertionError(f"{asker.gang.id} waits beside {victim.gang.id}")


def _milli(record: GangRecord) -> int:
    return gpu_milli(record.placement.pods) if record.placement else 0
