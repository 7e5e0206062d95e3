"""What nodes of real clusters are to the model."""

import pytest

from ganglion.model.errors import InputError
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Device
from ganglion.worlds.kubernetes.gpu_discovery.dra import published
from ganglion.worlds.kubernetes.gpu_discovery.foreign import ForeignUse, held_of
from ganglion.worlds.kubernetes.node_discovery.nodes import describe
from ganglion.worlds.kubernetes.requests import Ask
from tests.worlds.kubernetes.node_discovery.samples import (
    CLUSTER_UUID,
    aks,
    bare_metal,
    coreweave,
    eks,
    free,
    gb200,
    gfd,
    gke,
    holding,
    node,
    oci,
    resource_slice,
    told,
    types,
)


def test_eks_is_described_without_feature_discovery() -> None:
    found = told(eks()).node
    assert found.devices == (Device("H100"),) * 8
    assert found.kind == "H100"
    assert found.domains == {
        Level.REGION: "us-east-1",
        Level.ZONE: "us-east-1a",
        Level.BLOCK: "nn-2a",
        Level.RACK: "nn-3a",
    }
    assert found.cordoned == ""


def test_gke_is_described_by_its_own_labels() -> None:
    found = told(gke()).node
    assert types(told(gke())) == ["H200"] * 8
    assert found.domains == {
        Level.REGION: "europe-west4",
        Level.ZONE: "europe-west4-b",
        Level.BLOCK: "1c5ae31b9cb8",
        Level.RACK: "60c1bb0e7a5d",
    }


def test_a_subblock_of_google_is_an_nvlink_domain_where_links_span_nodes() -> None:
    accelerator = {"cloud.google.com/gke-accelerator": "nvidia-gb200"}
    found = told(gke(**accelerator)).node
    assert found.domains[Level.NVLINK] == "60c1bb0e7a5d"


@pytest.mark.parametrize("zone", ["0", "1", "2"])
def test_fault_domains_of_azure_are_no_zones(zone: str) -> None:
    assert told(aks(zone=zone)).node.domains == {Level.REGION: "eastus2"}
    assert told(aks(zone="eastus2-1")).node.domains[Level.ZONE] == "eastus2-1"


def test_oracle_is_described_by_its_rdma_labels() -> None:
    found = told(oci()).node
    assert found.kind == "H100"
    assert found.domains[Level.RACK] == "4tjxbt4s6ua"
    assert found.domains[Level.BLOCK] == "7xmzl4p4wba"


def test_coreweave_is_placed_by_its_leaf_groups_and_not_by_its_racks() -> None:
    found = told(coreweave()).node
    assert found.devices[0] == Device("H100", 77_247)
    assert found.domains == {
        Level.REGION: "US-EAST-04",
        Level.BLOCK: "us-east-04a-h100/3",
        Level.RACK: "us-east-04a-h100/12",
    }


def test_bare_metal_is_described_by_discovery_and_by_hand() -> None:
    found = told(bare_metal()).node
    assert found.devices == (Device("A100", 81920),) * 8
    assert found.domains == {Level.BLOCK: "b1", Level.RACK: "r1"}


def test_an_nvl72_is_one_nvlink_domain() -> None:
    found = [told(gb200(index)).node for index in range(18)]
    assert {each.domains[Level.NVLINK] for each in found} == {f"{CLUSTER_UUID}.1"}
    assert found[0].devices == (Device("GB200", 189471),) * 4
    assert found[1].domains[Level.RACK] == "leaf-1"


def test_cards_without_links_are_islands_of_their_own() -> None:
    sample = node("l40s", gfd("NVIDIA-L40S", 46068, 4), gpus={"nvidia.com/gpu": 4})
    assert [device.island for device in told(sample).node.devices] == [0, 1, 2, 3]


def test_what_pods_may_have_counts_and_not_what_the_machine_has() -> None:
    found = told(node(cpu="95500m", memory="512Gi")).node
    assert (found.cpu_milli, found.memory_mib, found.max_pods) == (95_500, 512 * 1024, 110)


def test_others_reduce_a_node() -> None:
    held = held_of([Ask(1500, 2048), Ask(500, 1024, "nvidia.com/gpu", 2)])
    found = told(eks(), held=held)
    assert found.node.cpu_milli == 93_500
    assert found.node.memory_mib == 509 * 1024
    assert found.node.max_pods == 108
    assert free(found) == [0, 1, 2, 3, 4, 5]
    assert found.troubles == ()


def test_a_node_is_never_less_than_empty_and_the_deficit_is_remembered() -> None:
    found = told(node(cpu="2", memory="4Gi"), held=ForeignUse(Ask(2500, 5120), 120))
    assert (found.node.cpu_milli, found.node.memory_mib, found.node.max_pods) == (0, 0, 0)
    assert (found.deficit.cpu_milli, found.deficit.memory_mib, found.deficit.pods) == (
        500,
        1024,
        10,
    )
    assert found.troubles == (
        "node n: others use 500m CPU, 1024 MiB of memory, 10 pod slots more than pods may have",
    )


def test_machines_that_differ_by_a_little_memory_are_alike() -> None:
    sizes = {told(node(memory=f"{2_113_453_100 - off}Ki")).node.memory_mib for off in (0, 9000)}
    assert len(sizes) == 1
    assert 2_113_453_100 // 1024 - sizes.pop() <= 2048


def test_a_fresh_node_has_its_devices_once_its_plugin_has_started() -> None:
    labels = gfd("NVIDIA-H100-80GB-HBM3", 81559, 8)
    fresh = told(node("new", labels))
    assert types(fresh) == ["H100"] * 8
    assert free(fresh) == []
    assert fresh.troubles == ("node new: 8 nvidia.com/gpu are announced, none works yet",)
    assert fresh.node.kind == "H100"
    started = told(node("new", labels, gpus={"nvidia.com/gpu": 8}))
    assert free(started) == list(range(8))


def test_gpus_that_no_plugin_will_offer_are_not_waited_for() -> None:
    labels = gfd("NVIDIA-H100-80GB-HBM3", 81559, 8)
    drivers = published([resource_slice("s", "n", [{"name": "gpu-0"}])])
    assert told(node("n", labels), published=drivers).node.devices == ()
    machines = labels | {"nvidia.com/gpu.workload.config": "vm-passthrough"}
    assert told(node("n", machines)).node.devices == ()


def test_a_fresh_node_of_which_nothing_tells_is_a_node_of_cpus() -> None:
    found = told(node("new", {"node.kubernetes.io/instance-type": "p5.48xlarge"}))
    assert found.node.devices == ()
    assert found.node.kind == "cpu"


def test_a_plugin_that_restarts_takes_the_free_devices_with_it() -> None:
    sample = node("n", gpus={"nvidia.com/gpu": 8}, working={"nvidia.com/gpu": 0})
    found = told(sample, ours={0: "nvidia.com/gpu", 3: "nvidia.com/gpu"})
    assert free(found) == [0, 3]
    assert len(found.node.devices) == 8
    assert found.deficit.gpus == (("nvidia.com/gpu", 2),)


def test_devices_in_use_outlive_their_resource() -> None:
    found = told(node("rebooted"), ours={5: "nvidia.com/gpu"})
    assert len(found.node.devices) == 6
    assert free(found) == [5]
    assert found.deficit.gpus == (("nvidia.com/gpu", 1),)


def test_a_dead_gpu_is_a_free_one_as_long_as_there_is_one() -> None:
    sample = node("n", gpus={"nvidia.com/gpu": 8}, working={"nvidia.com/gpu": 7})
    found = told(sample, ours=dict.fromkeys(range(6), "nvidia.com/gpu"))
    assert free(found) == [0, 1, 2, 3, 4, 5, 6]
    assert found.deficit.gpus == ()


def test_a_gpu_that_died_in_use_is_missed_and_nothing_wraps() -> None:
    sample = node("n", gpus={"nvidia.com/gpu": 8}, working={"nvidia.com/gpu": 6})
    found = told(sample, held=holding(2), ours=dict.fromkeys(range(6), "nvidia.com/gpu"))
    assert free(found) == [0, 1, 2, 3, 4, 5]
    assert found.deficit.gpus == (("nvidia.com/gpu", 2),)
    assert found.troubles == (
        "node n: 2 of 8 nvidia.com/gpu do not work",
        "node n: 2 more nvidia.com/gpu in use than work; which have died is unknown",
    )


def test_devices_of_dynamic_allocation_are_counted_and_left_alone() -> None:
    devices = [{"name": f"gpu-{index}"} for index in range(4)]
    found = told(node("n"), published=published([resource_slice("s", "n", devices)]))
    assert found.node.devices == ()
    assert found.troubles == (
        "node n: gpu.nvidia.com offers 4 devices by dynamic resource allocation,"
        " left to kube-scheduler",
    )


def test_attributes_of_network_devices_tell_the_place_where_labels_do_not() -> None:
    attributes = {
        "gce.dra.net/block": {"string": "b7"},
        "gce.dra.net/subBlock": {"string": "s3"},
        "dra.net/rdma": {"bool": True},
    }
    nics = [{"name": f"eth{index}", "attributes": attributes} for index in range(8)]
    slices = [resource_slice("s", "n", nics, driver="dra.net")]
    found = told(node("n"), published=published(slices))
    assert found.node.domains == {Level.BLOCK: "b7", Level.RACK: "s3"}


def test_labels_and_cluster_are_taken_over() -> None:
    found = describe(eks(), ForeignUse(), {}, {"disk": "ssd"}, "west").node
    assert found.labels == {"disk": "ssd"}
    assert found.domains[Level.CLUSTER] == "west"


def test_a_broken_quantity_is_refused() -> None:
    with pytest.raises(InputError, match="no quantity"):
        told(node(cpu="many"))
