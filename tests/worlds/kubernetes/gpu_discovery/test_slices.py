"""Parts of devices, and devices that are handed out more than once."""

import pytest

from ganglion.model.fleet.node import Device
from ganglion.specs.grammar.gpus import parse_gpus
from ganglion.worlds.kubernetes.gpu_discovery.slices import profile_mib
from ganglion.worlds.kubernetes.node_discovery.catalog import Catalog, catalog_of
from tests.worlds.kubernetes.node_discovery.samples import (
    free,
    gfd,
    gke,
    holding,
    mig_mixed,
    node,
    told,
    types,
)

GPU = "nvidia.com/gpu"


def test_mixed_slices_are_types_of_their_own_behind_the_whole_devices() -> None:
    found = told(mig_mixed(whole=2, g3=1, g1=2))
    assert types(found) == ["A100", "A100", *["A100-MIG-1G.5GB"] * 2, "A100-MIG-3G.20GB"]
    assert found.resources[2] == "nvidia.com/mig-1g.5gb"
    assert found.node.devices[2] == Device("A100-MIG-1G.5GB", 4864, island=2)
    assert found.node.kind == "A100"


def test_slices_have_at_least_the_memory_of_their_profile() -> None:
    found = told(mig_mixed(g3=1)).node.devices[0]
    assert found.memory_mib == profile_mib("3g.20gb") == 19_073
    assert profile_mib("1g.5gb.me") == profile_mib("1g.5gb")
    assert profile_mib("nonsense") == 0


def test_slices_under_the_usual_name_are_told_by_the_product() -> None:
    labels = gfd("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", 4864, 56)
    found = told(node("single", labels, gpus={GPU: 56}))
    assert types(found) == ["A100-1G.5GB"] * 56
    assert found.node.devices[1] == Device("A100-1G.5GB", 4864, island=1)
    assert set(found.resources) == {GPU}


def test_slices_of_google_are_told_by_its_own_label() -> None:
    found = told(gke(**{"cloud.google.com/gke-gpu-partition-size": "3g.71gb"}))
    assert types(found)[0] == "H200-3G.71GB"
    assert found.node.devices[0].memory_mib == profile_mib("3g.71gb")


def test_slices_that_are_being_changed_are_given_to_nobody() -> None:
    steady = mig_mixed(whole=2, g1=7)
    labels = steady.metadata.labels | {"nvidia.com/mig.config.state": "pending"}
    changing = node("mixed", labels, gpus={GPU: 2, "nvidia.com/mig-1g.5gb": 7})
    found = told(changing, ours={0: GPU, 4: "nvidia.com/mig-1g.5gb"})
    assert free(found) == [0, 4]
    assert found.troubles == ("node mixed: its MIG slices are being changed",)
    assert found.deficit.gpus == ()


def test_slices_in_use_keep_their_index_when_the_cut_changes() -> None:
    ours = {3: "nvidia.com/mig-3g.20gb"}
    found = told(mig_mixed(whole=1, g1=7, g3=1), ours=ours)
    assert types(found)[3] == "A100-MIG-3G.20GB"
    assert types(found).count("A100-MIG-3G.20GB") == 1
    assert len(found.node.devices) == 9


def test_a_time_sliced_device_promises_no_memory_and_no_whole_device() -> None:
    labels = gfd("Tesla-T4-SHARED", 15360, 4) | {
        "nvidia.com/gpu.replicas": "10",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
    }
    found = told(node("shared", labels, gpus={GPU: 40}))
    assert found.node.devices[1] == Device("T4-SLICED", 0, island=1)
    assert len(found.node.devices) == 40


def test_a_device_under_mps_promises_its_part_of_the_memory() -> None:
    labels = gfd("NVIDIA-A10G-SHARED", 23028, 1) | {
        "nvidia.com/gpu.replicas": "4",
        "nvidia.com/gpu.sharing-strategy": "mps",
    }
    found = told(node("mps", labels, gpus={GPU: 4}))
    assert found.node.devices[0] == Device("A10G-MPS", 5757)


def test_renamed_shares_are_another_type_than_those_under_the_usual_name() -> None:
    labels = gfd("Tesla-T4", 15360, 1) | {
        "nvidia.com/gpu.replicas": "10",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
    }
    found = told(node("renamed", labels, gpus={GPU: 0, "nvidia.com/gpu.shared": 10}))
    assert types(found) == ["T4-SHARED"] * 10


def test_google_tells_shares_by_its_own_labels() -> None:
    labels = {
        "cloud.google.com/gke-accelerator": "nvidia-l4",
        "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing",
        "cloud.google.com/gke-max-shared-clients-per-gpu": "8",
    }
    assert types(told(node("l4", labels, gpus={GPU: 8}))) == ["L4-SLICED"] * 8


def test_a_fresh_node_announces_its_shares() -> None:
    labels = gfd("Tesla-T4-SHARED", 15360, 2) | {
        "nvidia.com/gpu.replicas": "10",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
    }
    assert types(told(node("new", labels))) == ["T4-SLICED"] * 20


def test_a_fresh_node_announces_its_slices() -> None:
    sample = mig_mixed(g1=14)
    fresh = told(node("new", sample.metadata.labels))
    assert types(fresh) == ["A100-MIG-1G.5GB"] * 14
    assert free(fresh) == []


@pytest.mark.parametrize(
    ("extra", "annotations"),
    [
        ({"aliyun.com/gpu-mem": 141}, {}),
        ({"volcano.sh/vgpu-number": 80}, {}),
        ({}, {"hami.io/node-nvidia-register": "[]"}),
    ],
)
def test_gpus_that_another_scheduler_shares_out_are_left_alone(
    extra: dict[str, int], annotations: dict[str, str]
) -> None:
    sample = node("vgpu", gpus={GPU: 80, **extra}, annotations=annotations)
    found = told(sample, held=holding(3))
    assert found.node.devices == ()
    mark = next(iter({**annotations, **extra}))
    assert found.troubles == (
        f"node vgpu: {mark} shows that another scheduler shares out its GPUs",
    )


def test_a_resource_of_shares_that_nobody_offers_leaves_the_gpus_in_use() -> None:
    assert len(told(node(gpus={GPU: 8, "aliyun.com/gpu-mem": 0})).node.devices) == 8


def test_other_vendors_are_devices_too() -> None:
    instinct = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.vram": "192G"}
    found = told(node("amd", instinct, gpus={"amd.com/gpu": 8}))
    assert found.node.devices == (Device("MI300X", 196_608),) * 8
    gaudi = told(node("gaudi", gpus={"habana.ai/gaudi": 8}))
    assert types(gaudi) == ["GAUDI"] * 8
    intel = told(node("max", {"gpu.intel.com/product": "Max_1550"}, gpus={"gpu.intel.com/i915": 2}))
    assert types(intel) == ["MAX-1550-I915"] * 2
    assert types(told(node("xe", gpus={"gpu.intel.com/xe": 1}))) == ["INTEL"]
    assert types(told(node("npu", gpus={"huawei.com/Ascend910": 1}))) == ["HUAWEI-ASCEND910"]


def test_partitions_of_amd_are_types_of_their_own() -> None:
    labels = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.vram": "192G"}
    own = told(node("cpx", labels, gpus={"amd.com/cpx_nps4": 64}))
    assert own.node.devices[1] == Device("MI300X-PART-CPX_NPS4", 24_576, island=1)
    alike = labels | {"amd.com/gpu.compute-memory-partition": "cpx_nps4"}
    usual = told(node("alike", alike, gpus={"amd.com/gpu": 64}))
    assert types(usual) == ["MI300X-CPX_NPS4"] * 64
    whole = labels | {"amd.com/gpu.compute-memory-partition": "spx_nps1"}
    assert types(told(node("whole", whole, gpus={"amd.com/gpu": 8}))) == ["MI300X"] * 8


def test_devices_that_a_plugin_offers_twice_are_counted_once() -> None:
    neuron = {"aws.amazon.com/neuron": 16, "aws.amazon.com/neuroncore": 32}
    found = told(node("trn", gpus=neuron), held=holding(3, "aws.amazon.com/neuroncore"))
    assert types(found) == ["NEURON"] * 16
    assert len(free(found)) == 14


def test_every_type_can_be_asked_for_by_name() -> None:
    samples = [mig_mixed(whole=1, g1=1, g3=1), node(gpus={"amd.com/cpx_nps4": 1})]
    for kind in {kind for sample in samples for kind in types(told(sample))}:
        assert parse_gpus(f"{kind}:1").types == (kind,)


def a_zoo() -> Catalog:
    shared = gfd("NVIDIA-H100-80GB-HBM3-SHARED", 81559, 8) | {"nvidia.com/gpu.replicas": "2"}
    return catalog_of(
        [
            told(mig_mixed(whole=1, g1=7)),
            told(gke()),
            told(node("shared", shared, gpus={GPU: 16})),
            told(node("amd", gpus={"amd.com/gpu": 8})),
            told(node("cpus")),
        ]
    )


def test_a_resource_means_its_types_and_whole_devices_come_first() -> None:
    assert a_zoo().types_of(GPU) == ("A100", "H200", "H100-SLICED")
    assert a_zoo().types_of("nvidia.com/mig-1g.5gb", 2) == ("A100-MIG-1G.5GB",)
    assert a_zoo().types_of("habana.ai/gaudi") == ()


def test_several_shares_are_not_several_devices() -> None:
    assert a_zoo().types_of(GPU, 2) == ("A100", "H200")


def test_a_type_belongs_to_one_resource() -> None:
    found = a_zoo()
    every = [kind for kinds in found.types.values() for kind in kinds]
    assert len(every) == len(set(every))
    assert found.resource_of("H100-SLICED") == GPU
    assert found.resource_of("B200") == ""


A100 = gfd("NVIDIA-A100-SXM4-40GB", 40_960, 1)
GPUS = {"sevenths": 1, "of two GPUs": 2, "unequal": 1, "beside a whole one": 2}
LAYOUTS: dict[str, dict[str, int]] = {
    "sevenths": {"mig-1g.5gb": 7},
    "of two GPUs": {"mig-1g.5gb": 4, "mig-2g.10gb": 5},
    "unequal": {"mig-4g.20gb": 1, "mig-3g.20gb": 1},
    "beside a whole one": {"gpu": 1, "mig-3g.20gb": 2, "mig-1g.5gb.me": 1},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_instances_of_a_gpu_are_metered_as_parts_that_add_up_to_it(layout: str) -> None:
    offered = {f"nvidia.com/{name}": count for name, count in LAYOUTS[layout].items()}
    found = told(node("n", A100, gpus=offered))
    assert sum(found.node.parts) == GPUS[layout] * 1_000
    for device, part in zip(found.node.devices, found.node.parts, strict=True):
        slices = int(device.type.split("MIG-")[1][0]) if "MIG" in device.type else 7
        assert abs(part - 1_000 * slices / 7) < 1
    assert found.troubles == ()


@pytest.mark.parametrize(
    ("product", "offered", "more", "parts"),
    [
        (
            "NVIDIA-A30",
            {"nvidia.com/mig-1g.6gb": 2, "nvidia.com/mig-2g.12gb": 1},
            {},
            (250, 250, 500),
        ),
        ("NVIDIA-H100-80GB-HBM3", {"nvidia.com/mig-7g.80gb": 2}, {}, ()),
        ("NVIDIA-H200", {"nvidia.com/mig-1c.3g.71gb": 2}, {}, (142, 143)),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", {GPU: 2}, {}, (142, 143)),
        ("Tesla-T4", {GPU: 3}, {"nvidia.com/gpu.replicas": "3"}, (333, 333, 334)),
        ("Tesla-T4", {"nvidia.com/gpu.shared": 2}, {"nvidia.com/gpu.replicas": "2"}, (500, 500)),
        ("Tesla-T4-SHARED", {"nvidia.com/gpu.shared": 2}, {}, (0, 0)),
        ("NVIDIA-A100-SXM4-40GB", {"nvidia.com/mig-9g.5gb": 1, GPU: 1}, {}, (1_000, 0)),
        ("NVIDIA-L40S", {"nvidia.com/mig-1g.5gb": 1}, {}, (0,)),
    ],
)
def test_parts_are_known_by_profile_model_and_replicas_or_are_said_to_be_unknown(
    product: str, offered: dict[str, int], more: dict[str, str], parts: tuple[int, ...]
) -> None:
    found = told(node("n", gfd(product, 0, 1) | more, gpus=offered))
    assert found.node.parts == parts
    unknown = [each for each in found.troubles if "its part of one is unknown" in each]
    assert len(unknown) == (0 in parts)
    assert [found.node.part(each) for each in range(len(parts))] == [
        each or 1_000 for each in parts
    ]
