"""Where gangs go."""

import pytest

from ganglion.model.fleet.levels import Level
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Constraints, Gang, Kind, PodSet, Slice, Topology
from tests.engine.build import gang, node, started, state_of, submit, where

RACKS = [node(f"n{i}", rack=f"r{i // 2}", block=f"b{i // 4}") for i in range(8)]
"""8 nodes x 8 GPUs: 4 racks of 2 in 2 blocks."""


def test_a_gang_lands_on_one_node_when_one_holds_it() -> None:
    plan = submit(state_of(*RACKS), gang("a", pods=4, gpus=2))

    assert plan.starts[0].placement.level is Level.NODE


def test_a_gang_too_large_for_a_node_lands_in_one_rack() -> None:
    plan = submit(state_of(*RACKS), gang("a", pods=2, gpus=8))

    assert plan.starts[0].placement.level is Level.RACK
    assert plan.starts[0].placement.domain == "block=b0/rack=r0"


def test_the_tightest_rack_that_holds_it_is_taken() -> None:
    nodes = [node("a0", rack="a"), node("a1", rack="a"), node("b0", rack="b"), node("b1", rack="b")]
    state = state_of(*nodes, node("a2", rack="a"))

    assert set(where(submit(state, gang("g", pods=2, gpus=8)), "g")) == {"b0", "b1"}


def test_a_required_level_is_never_crossed() -> None:
    state = state_of(*RACKS)
    submit(state, *(gang(f"f{i}", gpus=8) for i in range(3)))

    plan = submit(state, gang("g", pods=3, gpus=8, topology=Topology(required=Level.RACK)))

    assert started(plan) == []
    assert state.gangs.reason("g/0").token == "topology"
    assert state.gangs.reason("g/0").never


def test_a_gang_is_all_or_nothing() -> None:
    state = state_of(node("n0"), node("n1"))

    assert started(submit(state, gang("g", pods=3, gpus=8))) == []
    assert state.fleet.tree.pods == [0, 0]


@pytest.mark.parametrize(("free_nodes", "expected"), [(4, 4), (3, 3), (2, 2)])
def test_an_elastic_gang_takes_what_there_is(free_nodes: int, expected: int) -> None:
    state = state_of(*(node(f"n{i}") for i in range(free_nodes)))

    plan = submit(state, gang("g", pods=4, gpus=8, pod={"min_count": 2}))

    assert len(plan.starts[0].placement.pods) == expected


def test_an_elastic_gang_grows_by_whole_slices() -> None:
    state = state_of(*(node(f"n{i}") for i in range(4)))
    submit(state, gang("other", gpus=8))
    pod = {"min_count": 2, "slices": (Slice(2, required=Level.NODE),)}

    plan = submit(state, gang("g", pods=7, gpus=4, pod=pod))

    assert len(plan.starts[0].placement.pods) == 6


def test_an_elastic_gang_waits_below_its_least() -> None:
    assert started(submit(state_of(node("n0")), gang("g", 4, 8, pod={"min_count": 2}))) == []


def test_slices_stay_within_their_level() -> None:
    state = state_of(*RACKS)
    slices = (Slice(4, required=Level.RACK), Slice(2, required=Level.NODE))

    plan = submit(state, gang("g", pods=8, gpus=4, pod={"slices": slices}))

    nodes = where(plan, "g")
    racks = [int(name[1:]) // 2 for name in nodes]
    assert [len(set(racks[at : at + 4])) for at in (0, 4)] == [1, 1]
    assert [len(set(nodes[at : at + 2])) for at in (0, 2, 4, 6)] == [1] * 4


def test_a_slice_within_an_island_gets_linked_devices() -> None:
    state = state_of(node("n0", island=4))
    submit(state, gang("first"))

    plan = submit(state, gang("g", pods=4, pod={"slices": (Slice(4, required=Level.ISLAND),)}))

    assert {pod.devices[0] // 4 for pod in plan.starts[0].placement.pods} == {1}


def test_a_preferred_slice_level_gives_way() -> None:
    state = state_of(*RACKS[:2])
    slices = (Slice(2, preferred=Level.NODE),)
    submit(
        state,
        gang("f0", gpus=5, cpu=1000),
        gang("f1", gpus=5, request=PodRequest(gpu=GpuRequest(5))),
    )

    assert started(submit(state, gang("g", pods=2, gpus=3, pod={"slices": slices}))) == ["g"]


def test_forbidden_levels_keep_pods_apart() -> None:
    state = state_of(*RACKS)

    plan = submit(state, gang("g", pods=4, topology=Topology(forbidden=Level.RACK)))

    assert len({int(name[1:]) // 2 for name in where(plan, "g")}) == 4
    assert started(submit(state, gang("h", 5, topology=Topology(forbidden=Level.RACK)))) == []


def test_pod_sets_of_a_gang_are_placed_together() -> None:
    sets = (
        PodSet("leader", request=PodRequest(cpu_milli=4000)),
        PodSet("workers", count=2, request=PodRequest(gpu=GpuRequest(8))),
    )
    state = state_of(*RACKS)

    plan = submit(state, Gang("g/0", "g", "team", pod_sets=sets, topology=Topology(Level.RACK)))

    assert plan.starts[0].placement.level is Level.RACK
    assert [pod.pod_set for pod in plan.starts[0].placement.pods] == [
        "leader",
        "workers",
        "workers",
    ]


def test_a_gang_gets_one_device_type() -> None:
    state = state_of(node("n0", kind="H100"), node("n1", kind="A100"), node("n2", kind="A100"))

    assert set(where(submit(state, gang("g", pods=2, gpus=8)), "g")) == {"n1", "n2"}


def test_device_types_are_taken_in_the_order_of_preference() -> None:
    request = PodRequest(gpu=GpuRequest(8, types=("H100", "A100")))
    state = state_of(*(node(f"{k}{i}", kind=k) for k in ("A100", "H100") for i in (0, 1)))

    plan = submit(state, gang("g", pods=2, request=request), gang("h", pods=2, request=request))

    assert set(where(plan, "g")) == {"H1000", "H1001"}
    assert set(where(plan, "h")) == {"A1000", "A1001"}


def test_replicas_of_a_service_avoid_each_others_rack_then_node() -> None:
    state = state_of(*RACKS[:4])
    replicas = [
        Gang(
            f"s/{i}",
            "s",
            "team",
            kind=Kind.SERVICE,
            index=i,
            pod_sets=(PodSet(request=PodRequest(gpu=GpuRequest(1))),),
        )
        for i in range(5)
    ]

    plan = submit(state, *replicas)

    nodes = [start.placement.pods[0].node for start in plan.starts]
    assert {int(name[1:]) // 2 for name in nodes[:2]} == {0, 1}
    assert len(set(nodes[:4])) == 4


def test_training_packs_onto_the_node_already_in_use() -> None:
    state = state_of(*RACKS)

    plan = submit(state, *(gang(f"g{i}") for i in range(8)))

    assert len({start.placement.pods[0].node for start in plan.starts}) == 1


def test_shares_of_a_device_fill_it_before_another_is_opened() -> None:
    state = state_of(node("n0"))
    half = PodRequest(gpu=GpuRequest(1, milli=500))

    plan = submit(state, *(gang(f"g{i}", request=half) for i in range(4)))

    assert sorted(s.placement.pods[0].devices[0] for s in plan.starts) in ([0, 0, 1, 1],)


def test_a_share_in_memory_is_rounded_up_to_the_device() -> None:
    request = PodRequest(gpu=GpuRequest(1, share_mib=30 * 1024))

    plan = submit(state_of(node("n0")), gang("g", request=request))

    assert plan.starts[0].placement.pods[0].milli == 375


def test_isolated_queues_never_share_a_node() -> None:
    alone = Constraints(isolation="queue")
    state = state_of(node("n0"), node("n1"))

    plan = submit(state, gang("a", constraints=alone), gang("b"), gang("c", constraints=alone))

    assert where(plan, "a") == where(plan, "c") != where(plan, "b")


def test_residency_is_a_wall() -> None:
    homes = [node(f"n-{r}", domains={Level.REGION: r}) for r in ("eu", "us")]
    state = state_of(*homes)

    plan = submit(state, gang("a", constraints=Constraints(residency=("us",))))

    assert where(plan, "a") == ["n-us"]
    submit(state, gang("b", constraints=Constraints(residency=("mars",))))
    assert state.gangs.reason("b/0").token == "constraint"
    assert state.gangs.reason("b/0").never


def test_pods_on_one_part_of_a_node_need_pod_slots_too() -> None:
    few = node("n0", max_pods=4)
    request = PodRequest(cpu_milli=500)

    assert started(submit(state_of(few), gang("g", pods=6, request=request))) == []
    assert started(submit(state_of(few), gang("g", pods=4, request=request))) == ["g"]
