"""Fragmentation against hand-computed cases."""

from ganglion.model.fleet.node import Device, Node
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.worlds.simulated.metrics.fragmentation import CapacityUnit, Fragments, NodeRoom


def node(gpus: int = 4, kind: str = "A", cpu: int = 16_000) -> Node:
    return Node("n", cpu, 1_000, devices=(Device(kind),) * gpus)


def pod(count: int, milli: int = 1000, *types: str, cpu: int = 0) -> PodRequest:
    return PodRequest(cpu_milli=cpu, gpu=GpuRequest(count, milli, types=types))


def test_devices_with_less_than_a_pod_takes_are_lost_to_it() -> None:
    room = NodeRoom(node())
    room.take(pod(1, 300), (0,), 300, 1)
    # 700 are left on device 0, which a whole-GPU pod cannot use; the other three it can
    assert Fragments(((pod(1), 1),)).of(room) == 700


def test_everything_free_is_lost_to_a_pod_that_does_not_fit() -> None:
    room = NodeRoom(node())
    room.take(pod(1, 300), (0,), 300, 1)
    assert Fragments(((pod(4), 1),)).of(room) == 3_700


def test_typical_pods_count_by_how_frequent_they_are() -> None:
    room = NodeRoom(node())
    room.take(pod(1, 300), (0,), 300, 1)
    fragments = Fragments(((pod(1), 3), (pod(4), 1), (pod(1, 500), 2)))
    assert fragments.weight == 6
    assert fragments.of(room) == 3 * 700 + 3_700


def test_other_models_and_missing_cpu_make_all_of_it_unusable() -> None:
    assert Fragments(((pod(1, 1000, "B"), 1),)).of(NodeRoom(node())) == 4_000
    assert Fragments(((pod(1, 1000, "A"), 1),)).of(NodeRoom(node())) == 0
    starved = NodeRoom(node())
    starved.take(PodRequest(cpu_milli=15_000), (), 0, 1)
    fragments = Fragments(((pod(1, cpu=2_000), 1),))
    assert fragments.of(NodeRoom(node())) == 0
    assert fragments.of(starved) == 4_000


def test_a_failed_device_is_neither_free_nor_usable() -> None:
    room = NodeRoom(node())
    room.heal(2, False)
    assert (room.free_milli, room.size_milli, room.whole_free, room.untouched) == (
        3_000,
        3_000,
        3,
        False,
    )
    room.heal(2, True)
    assert (room.free_milli, room.untouched) == (4_000, True)


def test_without_gpus_cores_are_counted() -> None:
    room = NodeRoom(node(0), CapacityUnit.CPU)
    assert room.take(PodRequest(cpu_milli=10_000), (), 0, 1) == 10_000
    assert (room.free_milli, room.size_milli, room.whole_free) == (6_000, 16_000, 6)
    fragments = Fragments(((PodRequest(cpu_milli=8_000), 1), (PodRequest(cpu_milli=2_000), 3)))
    assert fragments.of(room) == 6_000
