"""Whose gang goes next: ours and KAI's comparison of queues."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.ordering.ranking import KaiStanding, ShareStanding
from ganglion.engine.queues.decayed_usage import PastUse
from ganglion.engine.queues.fair_share import Deserved
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import GangSubmitted
from ganglion.model.policy import Order, Policy
from ganglion.model.policy import UsageDecay as Decay
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, Usage
from ganglion.model.workload import Gang
from tests.engine.build import gang, node, state_of

HOUR = 3_600_000


def gpus(count: int) -> dict[str, Amount]:
    return {"*": Amount(gpu_milli=count * 1000)}


def fleet(*queues: Queue, policy: Policy | None = None) -> ClusterState:
    return state_of(node("n0"), node("n1"), queues=queues, policy=policy)


def hold(state: ClusterState, queue: str, count: int) -> None:
    state.queues.shares.charge(queue, "H100", Usage(count * 1000), preemptible=True, sign=1)


def wait(state: ClusterState, *gangs: Gang) -> None:
    for each in gangs:
        state.apply(GangSubmitted(0, each))


def ours(state: ClusterState, names: Sequence[str], past: PastUse | None = None) -> list[str]:
    past = past or PastUse()
    standing = ShareStanding(state, Deserved(state, past), past, 100 * HOUR)
    return sorted(names, key=lambda name: standing.rank(state.gangs.record(f"{name}/0")))


def kai(state: ClusterState, names: Sequence[str]) -> list[str]:
    standing = KaiStanding(state, Deserved(state))
    return sorted(names, key=lambda name: standing.rank(state.gangs.record(f"{name}/0")))


def test_whoever_stays_within_what_it_deserves_goes_first() -> None:
    state = fleet(Queue("a", quota=gpus(4)), Queue("b", quota=gpus(12)))
    hold(state, "a", 4)
    wait(state, gang("urgent", queue="a", priority=90), gang("owed", queue="b", gpus=8))
    wait(state, gang("more", queue="b", gpus=4))

    assert ours(state, ["urgent", "owed"]) == ["owed", "urgent"]


def test_priority_decides_among_those_within_what_they_deserve() -> None:
    state = fleet(Queue("a", quota=gpus(8)), Queue("b", quota=gpus(8)))
    hold(state, "a", 4)
    wait(state, gang("calm", queue="b", gpus=2), gang("urgent", queue="a", priority=90))

    assert ours(state, ["calm", "urgent"]) == ["urgent", "calm"]


def test_the_smaller_part_of_what_is_deserved_decides_among_equals() -> None:
    state = fleet(Queue("a", quota=gpus(4)), Queue("b", quota=gpus(8)))
    hold(state, "a", 2)
    hold(state, "b", 3)
    wait(state, gang("of_a", queue="a"), gang("of_b", queue="b"))

    assert ours(state, ["of_a", "of_b"]) == ["of_b", "of_a"]


def test_shallow_and_deep_queues_compare() -> None:
    state = fleet(Queue("org", quota=gpus(8)), Queue("deep", "org", quota=gpus(8)), Queue("flat"))
    hold(state, "deep", 2)
    wait(state, gang("d", queue="deep", priority=10), gang("f", queue="flat", priority=60))

    assert ours(state, ["d", "f"]) == ["f", "d"]


def test_without_quota_weights_say_who_stays_within_what_it_deserves() -> None:
    state = fleet(Queue("a", over_quota_weight=2), Queue("b"), Queue("c"))
    for queue, used in (("a", 7), ("b", 4), ("c", 1)):
        hold(state, queue, used)
        wait(state, gang(f"rest_of_{queue}", queue=queue, gpus=8, priority=10))
    names = ["of_a", "of_b", "of_c", "urgent"]
    wait(state, *(gang(f"of_{queue}", queue=queue) for queue in "abc"))
    wait(state, gang("urgent", queue="b", priority=60))

    assert ours(state, names) == ["of_c", "of_a", "urgent", "of_b"]


@pytest.mark.parametrize("order", [Order.FIFO, Order.SHORTEST, Order.SMALLEST])
def test_other_orders_compare_priority_only(order: Order) -> None:
    state = fleet(Queue("a", quota=gpus(1)), Queue("b"), policy=Policy(order=order))
    hold(state, "a", 8)
    wait(state, gang("of_a", queue="a"), gang("of_b", queue="b"))
    standing = ShareStanding(state, Deserved(state), PastUse(), 0)

    assert (
        standing.rank(state.gangs.record("of_a/0"))
        == standing.rank(state.gangs.record("of_b/0"))
        == (0, -50)
    )


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), min_size=2, max_size=5),
    st.data(),
)
def test_without_quota_no_priority_overtakes_who_stays_within_what_it_deserves(
    queues: list[tuple[int, int]], data: st.DataObject
) -> None:
    tree = [Queue(f"q{i}", over_quota_weight=weight) for i, (weight, _) in enumerate(queues)]
    state = fleet(*tree)
    names = [f"g{i}" for i in range(len(queues))]
    for i, (_, used) in enumerate(queues):
        hold(state, f"q{i}", used)
        wait(state, gang(f"g{i}", queue=f"q{i}", priority=data.draw(st.integers(0, 3))))
    deserved = Deserved(state)

    over = [deserved.is_over(f"q{name[1:]}", extra_milli=1000) for name in ours(state, names)]
    assert over == sorted(over)


def test_past_use_counts_like_present_use() -> None:
    policy = Policy(usage=Decay(half_life_ms=HOUR))
    state = fleet(Queue("a", quota=gpus(8)), Queue("b", quota=gpus(8)), policy=policy)
    past = PastUse(HOUR)
    past.charge(("b",), "", 4000, 1, 0)
    past.charge(("b",), "", 4000, -1, 100 * HOUR)
    hold(state, "a", 3)
    wait(state, gang("of_a", queue="a"), gang("of_b", queue="b"))

    assert ours(state, ["of_b", "of_a"]) == ["of_b", "of_a"]
    assert ours(state, ["of_b", "of_a"], past) == ["of_a", "of_b"]


def test_users_are_compared_by_what_they_hold_and_held() -> None:
    policy = Policy(usage=Decay(half_life_ms=HOUR, levels=("user",)))
    state = fleet(Queue("a"), policy=policy)
    past = PastUse(HOUR)
    past.charge(("a",), "ada", 8000, 1, 0)
    past.charge(("a",), "ada", 8000, -1, HOUR)
    state.queues.shares.charge("a", "H100", Usage(3000), preemptible=True, sign=1, user="bob")
    wait(state, *(gang(user, queue="a", user=user) for user in ("ada", "bob", "cy")))
    standing = ShareStanding(state, Deserved(state, past), past, HOUR)

    uses = {
        user: standing.of_user(state.gangs.record(f"{user}/0")) for user in ("ada", "bob", "cy")
    }

    assert uses["cy"] == 0
    assert uses["bob"] == 3000
    assert 3990 <= uses["ada"] <= 4000


def test_kai_compares_quota_before_queue_priority_and_that_before_gangs() -> None:
    state = fleet(
        Queue("poor", quota=gpus(1), priority=200),
        Queue("low", quota=gpus(8), priority=50),
        Queue("high", quota=gpus(8), priority=100),
    )
    wait(
        state,
        gang("beyond", queue="poor", gpus=2, priority=90),
        gang("of_low", queue="low", priority=80),
        gang("of_high", queue="high", priority=10),
    )

    assert kai(state, ["beyond", "of_low", "of_high"]) == ["of_high", "of_low", "beyond"]


def test_kai_prefers_the_smaller_dominant_share_and_then_the_older_queue() -> None:
    state = fleet(*(Queue(name, quota=gpus(4)) for name in ("young", "old", "busy")))
    hold(state, "busy", 1)
    wait(state, *(gang(f"of_{name}", queue=name) for name in ("old", "young", "busy")))

    assert kai(state, ["of_old", "of_busy", "of_young"]) == ["of_young", "of_old", "of_busy"]


def test_kai_counts_a_queue_as_above_its_share_only_when_it_is_in_everything() -> None:
    everything = {"*": Amount(4000, 1000, 1)}
    state = fleet(Queue("a", quota=everything, priority=200), Queue("b", quota=gpus(4)))
    state.queues.shares.charge("a", "H100", Usage(14_000, 2000, 1), preemptible=True, sign=1)
    wait(state, gang("of_a", queue="a"), gang("of_b", queue="b", gpus=8))
    assert kai(state, ["of_b", "of_a"]) == ["of_a", "of_b"]

    state.queues.shares.charge("a", "H100", Usage(0, 0, 1), preemptible=True, sign=1)
    assert kai(state, ["of_a", "of_b"]) == ["of_b", "of_a"]


def test_kai_lets_every_queue_be_represented_by_its_own_first_gang() -> None:
    state = fleet(
        Queue("x", quota=gpus(4)),
        Queue("y", quota=gpus(4)),
        Queue("x1", "x", quota=gpus(8)),
        Queue("x2", "x", quota=gpus(1)),
        Queue("y1", "y", quota=gpus(4)),
    )
    # x1 goes before x2 inside x, but with its gang x passes its quota, which y does not.
    wait(
        state,
        gang("large", queue="x1", gpus=8),
        gang("two", queue="x2", gpus=2),
        gang("three", queue="y1", gpus=3),
    )
    standing = KaiStanding(state, Deserved(state))
    records = [state.gangs.record(f"{name}/0") for name in ("large", "two", "three")]

    assert kai(state, ["large", "two", "three"])[0] == "two"
    assert standing.choose(records).gang.workload == "three"
