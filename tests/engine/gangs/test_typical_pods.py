"""The typical workload is learnt from submissions, rarely and the same way every time."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.typical_pods import COVERED_PCT, FIRST, KEPT, Census
from ganglion.model.events import GangSubmitted, TypicalPods
from ganglion.model.resources import GpuRequest, PodRequest
from tests.engine.build import gang, node, state_of


def test_nothing_is_learnt_from_a_few_pods() -> None:
    census = Census()
    census.add(gang("a", pods=FIRST - 1))

    assert census.due() is None


def named(gpus: int, cpu: int = 0) -> PodRequest:
    return PodRequest(cpu_milli=cpu, gpu=GpuRequest(gpus, types=("H100",)))


def test_the_common_requests_are_kept_and_the_rare_that_name_no_type_left_out() -> None:
    census = Census()
    census.add(gang("common", pods=FIRST, gpus=1))
    census.add(gang("rare", pods=FIRST * (100 - COVERED_PCT) // 200, gpus=8))

    assert [request.gpu.count for request, _ in census.due() or ()] == [1]


def test_rare_requests_for_the_same_gpus_by_name_are_one_with_their_mean_cpu() -> None:
    census = Census()
    census.add(gang("common", pods=100 * FIRST, gpus=1))
    for cpu in (2, 4, 9):
        census.add(gang(f"rare{cpu}", request=named(8, cpu)))

    _, (request, count) = census.due() or ()
    assert (request.gpu.count, request.cpu_milli, count) == (8, 5, 3)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 99)), min_size=FIRST, max_size=200))
def test_every_pod_that_names_a_type_is_counted_in_what_is_learnt(
    pods: list[tuple[int, int]],
) -> None:
    """Else the price of what they name is too low."""
    census, asked = Census(), Counter[int]()
    for number, (gpus, cpu) in enumerate(pods):
        census.add(gang(f"g{number}", request=named(gpus, cpu)))
        asked[gpus] += 1

    learnt = Counter[int]()
    for request, count in census.due() or ():
        learnt[request.gpu.count] += count
    assert all(learnt[gpus] == asked[gpus] for gpus in range(1, 9))


def test_the_number_of_requests_is_bounded() -> None:
    census = Census()
    for cpu in range(4 * KEPT):
        census.add(gang(f"g{cpu}", request=named(cpu % (2 * KEPT) + 1, cpu)))

    assert len(census.due() or ()) == 2 * KEPT


def test_the_order_of_submission_does_not_matter() -> None:
    gangs = [gang(f"g{i}", cpu=i % 7) for i in range(FIRST)]
    learnt = set()
    for seed in range(3):
        Random(seed).shuffle(gangs)
        census = Census()
        for each in gangs:
            census.add(each)
        learnt.add(census.due())

    assert len(learnt) == 1


def test_what_was_learnt_is_a_decision_and_comes_again_only_when_pods_have_doubled() -> None:
    state = state_of(node("n0"))
    first = [GangSubmitted(1, gang(f"a{i}")) for i in range(FIRST)]
    more = [GangSubmitted(2, gang(f"b{i}")) for i in range(FIRST)]

    learnt = [event for event in cycle(state, first, 1).decisions if isinstance(event, TypicalPods)]

    assert [event.learnt for event in learnt] == [True]
    assert state.fleet.table.typical == learnt[0].pods
    assert not any(isinstance(e, TypicalPods) for e in cycle(state, more[:-1], 2).decisions)
    assert any(isinstance(e, TypicalPods) for e in cycle(state, more[-1:], 3).decisions)


def test_learning_the_same_again_is_not_repeated_in_every_cycle() -> None:
    state = state_of(node("n0"))
    for turn in range(3):
        fresh = [GangSubmitted(1, gang(f"t{turn}-{i}")) for i in range(FIRST)]
        cycle(state, fresh, 1)

    assert not any(isinstance(event, TypicalPods) for event in cycle(state, [], 2).decisions)


def test_a_decree_ends_the_learning() -> None:
    state = state_of(node("n0"))
    decreed = ((gang("a").pod_sets[0].request, 1),)
    state.apply(TypicalPods(0, decreed))

    plan = cycle(state, [GangSubmitted(1, gang(f"a{i}")) for i in range(FIRST)], 1)

    assert not any(isinstance(event, TypicalPods) for event in plan.decisions)
    assert state.fleet.table.typical == decreed
