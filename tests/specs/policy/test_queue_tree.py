"""What can be wrong between the queues of a tree."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.specs.policy.queue_tree import (
    above_parent,
    below_quota,
    entitled_to_nothing,
    overcommitted,
    parents_first,
)

TREES = st.permutations([f"q{number}" for number in range(8)]).flatmap(
    lambda names: st.tuples(
        *(st.sampled_from(["", *names[:place]]) for place in range(len(names)))
    ).map(lambda parents: [Queue(*each) for each in zip(names, parents, strict=True)])
)


def gpus(**flavors: int) -> dict[str, Amount]:
    return {flavor: Amount(gpu_milli=1000 * count) for flavor, count in flavors.items()}


@given(TREES.flatmap(st.permutations))
def test_parents_come_before_their_children(queues: list[Queue]) -> None:
    ordered = parents_first(queues)
    assert sorted(each.name for each in ordered) == sorted(each.name for each in queues)
    seen = {""}
    for queue in ordered:
        assert queue.parent in seen
        seen.add(queue.name)


def test_a_quota_is_compared_with_the_parents_for_the_same_flavor_and_for_all() -> None:
    org = Queue("org", quota=gpus(H100=8) | {"*": Amount(gpu_milli=10_000, cpu_milli=500)})
    fine = Queue("fine", "org", quota=gpus(H100=8, A100=2))
    more = Queue("more", "org", quota=gpus(H100=9))
    spread = Queue("spread", "org", quota=gpus(H100=8, A100=3))
    cores = Queue("cores", "org", quota={"*": Amount(cpu_milli=501)})
    found = list(above_parent([org, fine, more, spread, cores]))
    assert [(each.queue, each.flavor) for each in found] == [
        ("more", "H100"),
        ("spread", "*"),
        ("cores", "*"),
    ]
    assert "0.501 CPUs of 0.5" in found[2].problem


def test_a_parent_that_names_no_quota_bounds_nothing() -> None:
    queues = [Queue("org"), Queue("a", "org", quota=gpus(H100=9))]
    assert list(above_parent(queues)) == list(overcommitted(queues)) == []


def test_what_children_are_guaranteed_together_is_added_up() -> None:
    org = Queue("org", quota=gpus(H100=8))
    under = [Queue(name, "org", quota=gpus(H100=5)) for name in "ab"]
    (found,) = overcommitted([org, *under])
    assert (found.queue, found.flavor) == ("org", "H100")
    assert "10 GPUs together" in found.problem
    assert list(overcommitted([org, under[0]])) == []


def test_a_limit_below_the_quota_and_a_queue_entitled_to_nothing_are_found() -> None:
    odd = Queue("odd", quota=gpus(H100=8), limit=gpus(H100=4))
    assert [each.queue for each in below_quota([odd])] == ["odd"]
    poor, parent = Queue("poor", over_quota_weight=0), Queue("org", over_quota_weight=0)
    child = Queue("child", "org")
    assert [each.queue for each in entitled_to_nothing([poor, parent, child])] == ["poor"]
