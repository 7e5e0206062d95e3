"""Surplus pods leave first, fairly, and never below the least; then the gang as a whole."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.preemption_rules.units import units_of
from ganglion.engine.store.victims import VictimUnit
from ganglion.model.causes import CauseKind
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.workload import Gang, PodSet, Slice


def running(*sets: tuple[PodSet, int]) -> GangRecord:
    """A gang that runs this number of pods of each set, each on a node of its own."""
    gang = Gang("g/0", "g", "q", pod_sets=tuple(each for each, _ in sets))
    pods = tuple(
        PodPlacement(each.name, index, f"{each.name}{index}", (0,), 1000)
        for each, count in sets
        for index in range(count)
    )
    return GangRecord(gang, (), None, placement=Placement(pods))


def units(record: GangRecord, **more: object) -> list[VictimUnit]:
    price = lambda record, pods, whole: len(pods)  # noqa: E731 - a price is a function
    useful = more.pop("useful", lambda unit: True)
    return list(units_of(record, CauseKind.PREEMPTED, price, useful, **more))  # type: ignore[arg-type]


def names(found: list[VictimUnit]) -> list[list[str]]:
    return [[pod.node for pod in unit.pods] for unit in found]


def test_a_rigid_gang_leaves_as_a_whole() -> None:
    (only,) = units(running((PodSet("a", 2), 2)))
    assert only.whole
    assert names([only]) == [["a0", "a1"]]


def test_the_last_pods_leave_first_and_the_rest_together() -> None:
    found = units(running((PodSet("a", 4, 2), 4)))
    assert names(found) == [["a3"], ["a2"], ["a0", "a1"]]
    assert [unit.whole for unit in found] == [False, False, True]


def test_the_set_with_most_surplus_gives_first() -> None:
    found = units(running((PodSet("a", 2, 1), 2), (PodSet("b", 3, 1), 3)))
    assert names(found)[:3] == [["b2"], ["b1"], ["a1"]]


def test_slices_leave_together() -> None:
    sets = PodSet("a", 6, 2, slices=(Slice(2),))
    assert names(units(running((sets, 6)))) == [["a4", "a5"], ["a2", "a3"], ["a0", "a1"]]


def test_pods_of_no_use_stay_with_the_gang() -> None:
    found = units(
        running((PodSet("a", 3, 1), 3)),
        useful=lambda unit: unit.whole or unit.pods[0].node == "a1",
    )
    assert names(found) == [["a1"], ["a0", "a2"]]


def test_a_protected_gang_only_shrinks() -> None:
    assert names(units(running((PodSet("a", 3, 1), 3)), whole=False)) == [["a2"], ["a1"]]


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=3
    )
)
def test_every_pod_leaves_once_and_the_least_stays_to_the_end(
    sizes: list[tuple[int, int, int]],
) -> None:
    sets = []
    for number, (least, more, surplus) in enumerate(sizes):
        pod_set = PodSet(f"s{number}", least + max(more, surplus), least)
        sets.append((pod_set, least + surplus))
    record = running(*sets)
    found = units(record)
    assert record.placement
    left = [pod for unit in found for pod in unit.pods]
    assert sorted(left, key=lambda p: p.node) == sorted(record.placement.pods, key=lambda p: p.node)
    last = found[-1]
    assert last.whole
    assert all(sum(p.pod_set == s.name for p in last.pods) == s.least for s, _ in sets)
