"""Placement level by level: the tightest domain that holds the pods."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.placement.place import Demand
from ganglion.engine.placement.tas import place_tightly, suits
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.topology.pod_shape import shapes_of
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Node
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet, Slice, Topology
from tests.engine.build import gang, node, state_of


def hall() -> ClusterState:
    return state_of(
        node("n1", 4, block="b1", rack="r1"),
        node("n2", 4, block="b1", rack="r1"),
        node("n3", 4, block="b1", rack="r2"),
        node("n4", 8, block="b2", rack="r3"),
        node("n5", 1, block="b2", rack="r3"),
    )


def demand(asked: Gang) -> Demand:
    return Demand(asked, shapes_of(asked, ()))


def places(state: ClusterState, asked: Gang, even: bool = False) -> dict[str, int] | None:
    found = place_tightly(state.fleet.indexes, demand(asked), even=even)
    return dict(Counter(pod.node for pod in found.pods)) if found else None


def of(pods: int, slices: tuple[Slice, ...] = (), **topology: Level) -> Gang:
    return gang("w", pods, pod={"topology": Topology(**topology), "slices": slices})


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (of(4, required=Level.RACK), {"n3": 4}),
        (of(9, required=Level.RACK), {"n4": 8, "n5": 1}),
        (of(12, required=Level.BLOCK), {"n1": 4, "n2": 4, "n3": 4}),
        (of(13, required=Level.BLOCK), None),
        (of(13, preferred=Level.BLOCK), {"n4": 8, "n3": 4, "n5": 1}),
        (of(6, preferred=Level.NODE), {"n4": 6}),
        (of(9, preferred=Level.NODE), {"n4": 8, "n5": 1}),
        (of(1), {"n5": 1}),
        (of(6), {"n4": 6}),
    ],
)
def test_the_tightest_domain_that_holds_them_all(asked: Gang, expected: dict[str, int]) -> None:
    assert places(hall(), asked) == expected


def test_slices_stay_whole() -> None:
    by_rack = of(12, (Slice(4, Level.RACK),), preferred=Level.BLOCK)
    by_node = of(6, (Slice(3, Level.NODE),), required=Level.BLOCK)

    assert places(hall(), by_rack) == {"n1": 4, "n2": 4, "n3": 4}
    assert places(hall(), by_node) == {"n4": 6}


def test_inner_slices_stay_whole_too() -> None:
    nested = of(8, (Slice(4, Level.RACK), Slice(2, Level.NODE)), required=Level.BLOCK)
    state = state_of(
        node("n1", 1, block="b", rack="r1"),
        node("n2", 4, block="b", rack="r1"),
        node("n3", 3, block="b", rack="r2"),
        node("n4", 4, block="b", rack="r2"),
    )

    assert places(state, nested) == {"n2": 4, "n3": 2, "n4": 2}


def test_pods_are_spread_evenly_where_that_is_asked_for() -> None:
    state = state_of(node("n1", 15, block="b", rack="r1"), node("n2", 15, block="b", rack="r2"))

    assert places(state, of(25, preferred=Level.RACK), even=True) == {"n1": 12, "n2": 13}
    assert places(state, of(25, preferred=Level.RACK)) == {"n1": 15, "n2": 10}


def leader_and_workers(level: Level, workers: int) -> Gang:
    return Gang(
        "w/0",
        "w",
        "team",
        pod_sets=(
            PodSet("leader", 1, request=PodRequest(1000)),
            PodSet("workers", workers, request=PodRequest(2000)),
        ),
        topology=Topology(preferred=level),
    )


def test_a_leader_takes_the_room_of_no_worker_where_it_can() -> None:
    state = state_of(node("n1", 0, cpu_milli=8000), node("n2", 0, cpu_milli=3000))

    found = place_tightly(state.fleet.indexes, demand(leader_and_workers(Level.NODE, 5)))

    assert found
    assert [(pod.pod_set, pod.node) for pod in found.pods] == [
        ("leader", "n2"),
        *[("workers", "n1")] * 4,
        ("workers", "n2"),
    ]


def test_what_it_does_not_know_is_left_to_others() -> None:
    assert suits(demand(of(2, required=Level.RACK)))
    for other in (
        gang("w", 2, pod={"min_count": 1}),
        gang("w", 2, topology=Topology(forbidden=Level.RACK)),
        gang("w", 2, pod={"topology": Topology(required=Level.NUMA)}),
    ):
        assert not suits(demand(other))


NODES = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["b1", "b2"]), st.sampled_from(["r1", "r2"])),
    min_size=1,
    max_size=8,
)
LEVELS = st.sampled_from([None, Level.BLOCK, Level.RACK, Level.NODE])


@given(NODES, st.integers(1, 9), LEVELS, LEVELS, st.booleans())
def test_all_pods_get_a_seat_that_is_free_and_the_tree_is_as_before(
    rows: list[tuple[int, str, str]],
    pods: int,
    required: Level | None,
    preferred: Level | None,
    even: bool,
) -> None:
    nodes: list[Node] = [
        node(f"n{i}", gpus, block=block, rack=f"{block}{rack}")
        for i, (gpus, block, rack) in enumerate(rows)
    ]
    state = state_of(*nodes)
    before = list(state.fleet.tree.conditions)
    asked = gang("w", pods, pod={"topology": Topology(required, preferred)})

    found = place_tightly(state.fleet.indexes, demand(asked), even=even)

    assert state.fleet.tree.conditions == before
    if found is None:
        held = Counter[str]()
        for each in nodes:
            held[_home(each, required)] += len(each.devices)
        assert max(held.values()) < pods
    else:
        seats = [(pod.node, device) for pod in found.pods for device in pod.devices]
        assert len(set(seats)) == len(found.pods) == pods
        by_name = {each.name: each for each in nodes}
        assert len({_home(by_name[pod.node], required) for pod in found.pods}) == 1


def _home(where: Node, level: Level | None) -> str:
    return "" if level is None else where.domains.get(level, where.name)


def test_fractions_of_devices_are_seated_one_by_one() -> None:
    half = gang("w", 3, request=PodRequest(gpu=GpuRequest(1, 500)))

    assert places(state_of(node("n1", 2)), half) == {"n1": 3}
