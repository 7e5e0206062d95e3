"""Levels are discovered from labels, and settings outrank what is discovered."""

import pytest

from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import Level
from ganglion.worlds.kubernetes.node_discovery.presets import FABRICS, NOWHERE, Fabric
from ganglion.worlds.kubernetes.node_discovery.topology import (
    TopologySources,
    domains_of,
    level_of,
    sources_from,
)
from ganglion.worlds.kubernetes.types.node import Node
from tests.worlds.kubernetes.node_discovery.samples import (
    CLUSTER_UUID,
    aks,
    coreweave,
    eks,
    gb200,
    gke,
    oci,
    told,
)


@pytest.mark.parametrize("fabric", FABRICS, ids=[each.source for each in FABRICS])
def test_every_source_gives_its_rack_and_block(fabric: Fabric) -> None:
    rack, block = fabric.rack, fabric.block
    labels = {rack: "r1"} | ({block: "b1"} if block else {})
    expected = {Level.RACK: "r1"} | ({Level.BLOCK: "b1"} if block else {})
    assert domains_of(labels) == expected


def test_tiers_of_different_sources_are_not_mixed() -> None:
    labels = {
        "fabric.topograph.run/tier-0": "leaf-1",
        "topology.kubernetes.io/rack": "r1",
        "topology.kubernetes.io/block": "b1",
    }
    assert domains_of(labels) == {Level.RACK: "leaf-1"}


@pytest.mark.parametrize("value", [*sorted(NOWHERE), "Unknown", "NULL"])
def test_a_node_that_does_not_know_its_place_has_none(value: str) -> None:
    labels = {
        "topology.kubernetes.io/zone": value,
        "oci.oraclecloud.com/rdma.local_block_id": value,
        "oci.oraclecloud.com/rdma.network_block_id": value,
    }
    assert domains_of(labels) == {}


def test_an_nvlink_fabric_that_was_never_set_up_joins_nobody() -> None:
    unset = "00000000-0000-0000-0000-000000000000.0"
    assert domains_of({"nvidia.com/gpu.clique": unset}) == {}
    known = f"{CLUSTER_UUID}.32766"
    assert domains_of({"nvidia.com/gpu.clique": known}) == {Level.NVLINK: known}


def test_a_capacity_reservation_is_no_nvlink_domain_of_machines_without_one() -> None:
    labels = {"network.topology.nvidia.com/accelerator": "cr-0123"}
    assert domains_of(labels) == {}
    assert domains_of(labels, spans_nodes=True) == {Level.NVLINK: "cr-0123"}


def test_old_labels_of_zones_still_count() -> None:
    labels = {"failure-domain.beta.kubernetes.io/zone": "z"}
    assert domains_of(labels) == {Level.ZONE: "z"}


def test_settings_outrank_what_is_discovered() -> None:
    sources = sources_from({"example.com/row": "block", "example.com/hall": "zone"})
    found = told(eks(), sources=sources).node.domains
    assert found == {Level.REGION: "us-east-1", Level.RACK: "nn-3a"}
    labels = {"example.com/row": "row-7", "topology.k8s.aws/network-node-layer-2": "nn-2"}
    assert domains_of(labels, sources=sources) == {Level.BLOCK: "row-7"}


def test_of_several_labels_for_a_level_the_first_that_is_there_counts() -> None:
    sources = sources_from({"a/rack": "rack", "b/rack": "rack"})
    assert domains_of({"b/rack": "b", "a/rack": "a"}, sources=sources) == {Level.RACK: "a"}
    assert domains_of({"b/rack": "b"}, sources=sources) == {Level.RACK: "b"}


def test_a_level_can_be_left_out() -> None:
    found = domains_of(oci().metadata.labels, sources=sources_from({}, ("block", "zone")))
    assert found.keys() == {Level.REGION, Level.RACK}


def test_names_that_repeat_in_every_block_can_be_told_apart() -> None:
    labels = {"topology.kubernetes.io/rack": "r1", "topology.kubernetes.io/block": "b2"}
    found = domains_of(labels, sources=sources_from({}, relative=["rack"]))
    assert found == {Level.BLOCK: "b2", Level.RACK: "b2/r1"}
    alone = {"topology.kubernetes.io/rack": "r1"}
    assert domains_of(alone, sources=sources_from({}, relative=["rack"])) == {Level.RACK: "r1"}


def test_numbers_of_leaf_groups_count_within_their_fabric() -> None:
    found = told(coreweave()).node.domains
    assert found[Level.BLOCK] == "us-east-04a-h100/3"
    nodes = seen(coreweave("a", "12"), coreweave("b", "13"))
    assert level_of("backend.coreweave.cloud/leafgroup", nodes) is Level.RACK


def test_a_part_of_an_nvlink_domain_counts_within_it() -> None:
    whole = {"accelerator.topograph.run/domain": "rack-7"}
    assert domains_of(whole) == {Level.NVLINK: "rack-7"}
    part = whole | {"accelerator.topograph.run/sub-domain": "1"}
    assert domains_of(part) == {Level.NVLINK: "rack-7/1"}


@pytest.mark.parametrize("name", ["row", "node", "fleet", "gpu", ""])
def test_a_level_that_groups_no_nodes_is_refused(name: str) -> None:
    with pytest.raises(FieldError, match="no level above nodes") as refused:
        sources_from({"example.com/x": name})
    assert "nvlink-domain" in refused.value.hint


def test_the_default_is_to_discover_everything() -> None:
    assert TopologySources() == sources_from({})


def seen(*nodes: Node) -> list[tuple[dict[str, str], dict[Level, str]]]:
    return [(each.metadata.labels, told(each).node.domains) for each in nodes]


def test_a_label_stands_for_the_level_that_divides_nodes_in_the_same_way() -> None:
    nodes = seen(eks("a", "nn-3a"), eks("b", "nn-3b"))
    assert level_of("topology.k8s.aws/network-node-layer-3", nodes) is Level.RACK
    assert level_of("topology.kubernetes.io/zone", nodes) is Level.ZONE
    assert level_of("kubernetes.io/hostname", nodes) is Level.NODE


def test_a_label_that_divides_nodes_otherwise_stands_for_no_level() -> None:
    nodes = seen(eks("a"), gke("b"))
    assert level_of("topology.k8s.aws/network-node-layer-3", nodes) is None
    assert level_of("topology.kubernetes.io/zone", nodes) is Level.ZONE
    assert level_of("example.com/absent", nodes) is None
    faults = seen(aks("a", "0"), aks("b", "1"))
    assert level_of("topology.kubernetes.io/zone", faults) is None


def test_cliques_stand_for_nvlink_domains() -> None:
    nodes = seen(gb200(0, 1), gb200(1, 2))
    assert level_of("nvidia.com/gpu.clique", nodes) is Level.NVLINK
