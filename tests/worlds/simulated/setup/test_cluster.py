"""Clusters of equal nodes."""

from msgspec import structs
from tests.worlds.simulated.samples import job

from ganglion.model.fleet.levels import Level
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import Amount
from ganglion.worlds.simulated.setup.cluster import GPU_TYPE, build_nodes, equal_quotas, nodes_for


def test_nodes_lie_in_racks_and_have_the_gpus_asked_for() -> None:
    nodes = build_nodes(5, gpus=4, nodes_per_rack=2)
    assert [node.domains[Level.RACK] for node in nodes] == ["r001", "r001", "r002", "r002", "r003"]
    assert all(len(node.devices) == 4 for node in nodes)
    assert [device.numa for device in nodes[0].devices] == [0, 0, 1, 1]
    assert len({node.name for node in nodes}) == 5


def test_nodes_without_gpus_have_the_cores_asked_for() -> None:
    (node,) = build_nodes(1, 0, cpus=12)
    assert (node.cpu_milli, node.devices) == (12_000, ())


def test_quotas_share_the_cluster_in_equal_whole_parts() -> None:
    queues = equal_quotas(["a", "b", "c"], build_nodes(2, 8))
    assert [queue.quota[GPU_TYPE].gpu_milli for queue in queues] == [5_000] * 3


def test_a_cluster_of_several_kinds_is_shared_in_gpus_of_any_kind() -> None:
    first, second = build_nodes(2, 8)
    mixed = (structs.replace(first, flavor="old"), second)
    (queue,) = equal_quotas(["a"], mixed)
    assert queue.quota == {ANY_FLAVOR: Amount(gpu_milli=16_000)}


def test_a_cluster_is_sized_for_the_mean_load_of_a_trace() -> None:
    # 10 jobs of 8 GPUs for 90 s each, submitted over 100 s: 72 GPUs on average, 80 at 90 %
    jobs = [job(f"j{i}", at=i * 100 // 9, gpus=8, seconds=90) for i in range(10)]
    assert nodes_for(jobs, 8, gpus=True) == 10


def test_a_cluster_has_room_for_the_largest_job_and_at_least_two_nodes() -> None:
    assert nodes_for([job("a", gpus=8, pods=7, seconds=1)], 8, gpus=True) == 8
    assert nodes_for([job("a", seconds=1), job("b", at=999)], 8, gpus=True) == 2
