"""What queues deserve: of the open fleet, by account, for what they hold and wait for."""

from ganglion.engine.queues.decayed_usage import PastUse
from ganglion.engine.queues.fair_share import Deserved
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.policy import Policy
from ganglion.model.policy import UsageDecay as Decay
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, Usage
from tests.engine.build import gang, node, state_of, submit

HOUR = 3_600_000


def gpus(**counts: int) -> dict[str, Amount]:
    return {
        "*" if name == "any" else name: Amount(gpu_milli=n * 1000) for name, n in counts.items()
    }


def fleet(*queues: Queue, policy: Policy | None = None) -> ClusterState:
    """8 H100 and 8 T4."""
    return state_of(node("n0"), node("n1", kind="T4"), queues=queues, policy=policy)


def wait(state: ClusterState, queue: str, count: int, *types: str) -> None:
    state.gangs.lanes.demand.setdefault(queue, {})[types] = count * 1000


def hold(state: ClusterState, queue: str, count: int, flavor: str = "H100") -> None:
    state.queues.shares.charge(queue, flavor, Usage(count * 1000), preemptible=True, sign=1)


def whole(deserved: Deserved, *queues: str, flavor: str = "*") -> list[int]:
    return [deserved.milli(queue, flavor) // 1000 for queue in queues]


def test_quota_is_deserved_first_and_the_rest_by_weight() -> None:
    state = fleet(
        Queue("org"),
        Queue("a", "org", quota=gpus(any=4), over_quota_weight=2),
        Queue("b", "org", over_quota_weight=1),
    )
    wait(state, "a", 50)
    wait(state, "b", 50)

    assert whole(Deserved(state), "org", "a", "b") == [16, 12, 4]


def test_what_runs_counts_as_asked_for() -> None:
    state = fleet(Queue("a"), Queue("b"))
    hold(state, "a", 12)
    wait(state, "b", 50)

    deserved = Deserved(state)

    assert whole(deserved, "a", "b") == [8, 8]
    assert deserved.is_over("a")
    assert not deserved.is_over("b", extra_milli=8000)
    assert deserved.is_over("b", extra_milli=9000)


def test_whoever_asks_for_nothing_leaves_its_part_to_the_others() -> None:
    state = fleet(Queue("a", quota=gpus(any=8)), Queue("b"))
    wait(state, "b", 50)

    deserved = Deserved(state)

    assert whole(deserved, "a", "b") == [0, 16]
    assert not deserved.is_over("a", extra_milli=8000)


def test_flavors_with_quota_are_divided_separately() -> None:
    state = fleet(Queue("a", quota=gpus(H100=6)), Queue("b", quota=gpus(H100=2)))
    wait(state, "a", 50, "H100")
    wait(state, "b", 50)

    deserved = Deserved(state)

    assert whole(deserved, "a", "b", flavor="H100") == [6, 2]
    assert whole(deserved, "a", "b", flavor="T4") == [0, 8]
    assert whole(deserved, "a", "b") == [6, 10]


def test_quota_in_all_flavors_together_covers_each_of_them() -> None:
    state = fleet(Queue("a", quota=gpus(any=4)), Queue("b"))
    hold(state, "b", 8, "T4")
    hold(state, "b", 8, "H100")
    wait(state, "a", 4, "H100")

    deserved = Deserved(state)

    assert whole(deserved, "a", "b", flavor="H100") == [4, 12]
    assert deserved.is_over("b", "H100")
    assert not deserved.is_over("a", "H100", 4000)


def test_cordoned_nodes_and_sick_devices_are_not_divided() -> None:
    state = state_of(node("n0"), node("n1", cordoned="repair"), queues=(Queue("a"), Queue("b")))
    wait(state, "a", 50)
    wait(state, "b", 50)

    assert whole(Deserved(state), "a", "b") == [4, 4]


def test_deserved_stays_within_a_cycle_and_follows_at_the_next() -> None:
    state = fleet(Queue("a"), Queue("b"))
    wait(state, "a", 16)
    deserved = Deserved(state)
    assert whole(deserved, "a") == [16]

    wait(state, "b", 16)
    assert whole(deserved, "a") == [16]
    deserved.refresh(1)
    assert whole(deserved, "a", "b") == [8, 8]


def test_what_has_started_and_what_still_waits_counts_alike() -> None:
    state = fleet(Queue("a", quota=gpus(any=2)), Queue("b"))
    gangs = (gang(f"{q}{i}", queue=q, gpus=4) for q in "ab" for i in range(3))

    plan = submit(state, *gangs)

    assert len(plan.starts) == 4
    assert whole(Deserved(state), "a", "b") == [9, 7]


def test_past_use_moves_what_nobody_is_guaranteed() -> None:
    policy = Policy(usage=Decay(half_life_ms=HOUR, correction_permille=1000))
    state = fleet(Queue("a"), Queue("b"), policy=policy)
    past = PastUse(HOUR)
    past.charge(("a",), "", 8000, 1, 0)
    for name in "ab":
        wait(state, name, 50)
    deserved = Deserved(state, past)

    deserved.refresh(100 * HOUR)

    assert whole(deserved, "a", "b") == [5, 11]
