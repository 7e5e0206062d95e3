"""Quota and limits at every level of the queue tree, and the order they give."""

import pytest

from ganglion.engine.queues.usage import Shares
from ganglion.model.errors import Conflict, NotFound
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, GpuRequest, PodRequest, Usage
from tests.engine.build import end, gang, node, started, state_of, submit


def gpus(count: int) -> Amount:
    return Amount(gpu_milli=count * 1000)


def tree(**of_team: object) -> tuple[Queue, ...]:
    return (Queue("org"), Queue("team", "org", **of_team), Queue("other", "org"))  # type: ignore[arg-type]


def test_a_limit_bounds_a_queue_though_the_fleet_has_room() -> None:
    state = state_of(node("n0"), queues=tree(limit={"*": gpus(2)}))

    plan = submit(state, *(gang(f"g{i}") for i in range(3)))

    assert started(plan) == ["g0", "g1"]
    assert state.gangs.reason("g2/0").message == (
        "queue team uses 2 of its limit of 2 GPUs; 1 more would pass it"
    )


def test_a_limit_above_binds_all_queues_below() -> None:
    queues = (Queue("org", limit={"*": gpus(3)}), Queue("team", "org"), Queue("other", "org"))
    state = state_of(node("n0"), queues=queues)

    plan = submit(state, gang("a", gpus=2), gang("b", gpus=2, queue="other"))

    assert started(plan) == ["a"]
    assert state.gangs.reason("b/0").token == "quota"


def test_what_ends_is_given_back_to_every_level() -> None:
    queues = (Queue("org", limit={"*": gpus(2)}), Queue("team", "org"), Queue("other", "org"))
    state = state_of(node("n0"), queues=queues)
    submit(state, gang("a", gpus=2), gang("b", gpus=2, queue="other"))

    assert started(end(state, "a")) == ["b"]


def test_a_limit_of_one_flavor_sends_the_gang_to_another() -> None:
    state = state_of(
        node("n0"), node("n1", kind="T4"), queues=tree(limit={"H100": gpus(0), "T4": gpus(8)})
    )

    plan = submit(state, gang("a"))

    assert plan.starts[0].placement.pods[0].node == "n1"


def test_a_gang_larger_than_a_limit_never_starts_and_says_so() -> None:
    state = state_of(node("n0"), queues=tree(limit={"*": gpus(2)}))

    submit(state, gang("a", gpus=4))

    assert state.gangs.reason("a/0").never


def test_work_that_nobody_may_stop_stays_within_quota() -> None:
    state = state_of(node("n0"), queues=tree(quota={"*": gpus(2)}))

    plan = submit(state, gang("a", gpus=4, preemptible=False), gang("b", gpus=4))

    assert started(plan) == ["b"]
    assert "quota" in state.gangs.reason("a/0").message


def test_what_a_queue_does_not_lend_stays_free_for_it() -> None:
    queues = (
        Queue("org"),
        Queue("team", "org"),
        Queue("other", "org", quota={"*": gpus(4)}, lend_limit={"*": gpus(1)}),
    )
    state = state_of(node("n0"), queues=queues)

    plan = submit(state, gang("a", gpus=4), gang("b", gpus=4))

    assert started(plan) == ["a"]
    assert state.gangs.reason("b/0").message.startswith("3 free GPUs are kept back")
    assert started(submit(state, gang("c", gpus=4, queue="other"))) == ["c"]


def test_elastic_gangs_grow_only_to_the_limit() -> None:
    state = state_of(node("n0"), queues=tree(limit={"*": gpus(3)}))

    plan = submit(state, gang("a", pods=6, pod={"min_count": 1}))

    assert len(plan.starts[0].placement.pods) == 3


def test_a_share_given_in_memory_counts_against_the_limit() -> None:
    state = state_of(node("n0"), queues=tree(limit={"*": Amount(gpu_milli=400)}))
    request = PodRequest(gpu=GpuRequest(1, share_mib=40 * 1024))

    assert started(submit(state, gang("a", request=request))) == []
    assert state.gangs.reason("a/0").token == "quota"


def test_the_queue_that_uses_least_of_its_quota_goes_first() -> None:
    queues = (
        Queue("org"),
        Queue("team", "org", quota={"*": gpus(6)}),
        Queue("other", "org", quota={"*": gpus(2)}),
    )
    state = state_of(node("n0"), queues=queues)

    plan = submit(
        state, *(gang(f"o{i}", queue="other") for i in range(4)), *(gang(f"t{i}") for i in range(6))
    )

    assert started(plan) == ["o0", "t0", "t1", "t2", "o1", "t3", "t4", "t5"]


def test_priority_goes_before_shares_and_age() -> None:
    state = state_of(node("n0", gpus=1), queues=tree())

    plan = submit(state, gang("old", submitted=0), gang("urgent", priority=90, submitted=5))

    assert started(plan) == ["urgent"]


@pytest.mark.parametrize(
    ("queue", "error"),
    [(Queue("a", "nowhere"), NotFound), (Queue("org", "team"), Conflict)],
)
def test_a_queue_that_breaks_the_tree_is_refused(queue: Queue, error: type) -> None:
    shares = Shares()
    for each in tree():
        shares.put(each)

    with pytest.raises(error):
        shares.put(queue)
    assert [*shares.queues] == ["org", "team", "other"]


def test_a_queue_with_children_cannot_be_removed() -> None:
    shares = Shares()
    for each in tree():
        shares.put(each)

    with pytest.raises(Conflict):
        shares.remove("org")


def test_usage_is_charged_to_every_queue_above() -> None:
    shares = Shares()
    for each in tree():
        shares.put(each)

    shares.charge("team", "H100", Usage(2000, 5, 7), preemptible=True, sign=1)

    for name in ("team", "org"):
        assert shares.usage[name] == {"H100": Usage(2000, 5, 7), "*": Usage(2000, 5, 7)}
        assert shares.fixed[name] == {}
    assert shares.usage["other"] == {}
