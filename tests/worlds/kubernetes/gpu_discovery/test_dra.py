"""Slices of drivers are counted as drivers mean them."""

from typing import Any

import msgspec

from ganglion.worlds.kubernetes.gpu_discovery.dra import NOTHING, published
from ganglion.worlds.kubernetes.types.dra import ResourceSlice
from tests.worlds.kubernetes.node_discovery.samples import resource_slice


def gpus(count: int, first: int = 0, **attributes: Any) -> list[dict[str, Any]]:
    return [
        {"name": f"gpu-{index}", "attributes": attributes} for index in range(first, first + count)
    ]


def test_devices_are_counted_by_node_and_driver() -> None:
    found = published(
        [
            resource_slice("a", "n1", gpus(8)),
            resource_slice("b", "n1", [{"name": "channel-0"}], driver="compute-domain.nvidia.com"),
            resource_slice("c", "n2", gpus(4)),
        ]
    )
    assert found.counts == {
        "n1": {"compute-domain.nvidia.com": 1, "gpu.nvidia.com": 8},
        "n2": {"gpu.nvidia.com": 4},
    }
    assert found.troubles == ()


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    old = resource_slice("a", "n1", gpus(8), generation=1)
    new = resource_slice("b", "n1", gpus(7), generation=2)
    assert published([old, new]).counts == published([new, old]).counts
    assert published([old, new]).counts == {"n1": {"gpu.nvidia.com": 7}}


def test_a_pool_counts_once_all_of_it_is_there() -> None:
    first = resource_slice("a", "n1", gpus(4), of=2)
    second = resource_slice("b", "n1", gpus(4, first=4), of=2)
    assert published([first]).counts == {}
    assert published([first]).troubles == (
        "pool n1 of gpu.nvidia.com has 1 of 2 slices: not counted yet",
    )
    assert published([second, first]).counts == {"n1": {"gpu.nvidia.com": 8}}


def test_a_device_of_a_wider_pool_names_its_node_itself() -> None:
    devices = [{"name": "a", "nodeName": "n1"}, {"name": "b", "nodeName": "n2"}, {"name": "c"}]
    wide = resource_slice("a", "", devices, driver="fabric.example.com")
    assert published([wide]).counts == {
        "n1": {"fabric.example.com": 1},
        "n2": {"fabric.example.com": 1},
    }


def test_only_attributes_on_which_all_devices_agree_are_the_nodes() -> None:
    devices = [
        {
            "name": f"gpu-{index}",
            "attributes": {
                "uuid": {"string": f"GPU-{index}"},
                "productName": {"string": "NVIDIA GB200"},
                "resource.kubernetes.io/numaNode": {"int": 0},
                "driverVersion": {"version": "580.1.0"},
            },
        }
        for index in range(4)
    ]
    assert published([resource_slice("a", "n1", devices)]).attributes == {
        "n1": {
            "gpu.nvidia.com/driverVersion": "580.1.0",
            "gpu.nvidia.com/productName": "NVIDIA GB200",
            "resource.kubernetes.io/numaNode": "0",
        }
    }


def test_the_form_of_older_versions_is_read_too() -> None:
    body = {
        "metadata": {"name": "a"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": 3, "resourceSliceCount": 1},
            "devices": [{"name": "g", "basic": {"attributes": {"type": {"string": "gpu"}}}}],
        },
    }
    found = published([msgspec.convert(body, ResourceSlice)])
    assert found.attributes == {"n1": {"gpu.nvidia.com/type": "gpu"}}


def test_without_slices_there_is_nothing() -> None:
    assert published([]) == NOTHING


def test_a_slice_without_devices_is_a_part_of_its_pool() -> None:
    counters = resource_slice("a", "n1", [], of=2)
    empty = msgspec.structs.replace(
        counters, spec=msgspec.structs.replace(counters.spec, devices=None)
    )
    gpu = resource_slice("b", "n1", gpus(2), of=2)
    assert published([empty, gpu]).counts == {"n1": {"gpu.nvidia.com": 2}}
