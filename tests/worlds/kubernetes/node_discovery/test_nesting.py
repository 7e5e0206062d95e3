"""Domains that contradict each other are named, without a guess which is right."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.fleet.levels import ABOVE_NODE, DEPTH, Level
from ganglion.model.fleet.node import Node
from ganglion.worlds.kubernetes.node_discovery.nesting import check_levels
from tests.worlds.kubernetes.node_discovery.samples import bare_metal, gb200, told


def placed(name: str, **domains: str) -> Node:
    levels = {Level(key.replace("_", "-")): value for key, value in domains.items()}
    return Node(name, 0, 0, domains=levels)


def racks(nodes: list[Node]) -> dict[str, str | None]:
    levels = check_levels(nodes)
    return {node.name: levels.settled(node).domains.get(Level.RACK) for node in nodes}


def test_domains_that_nest_are_left_as_they_are() -> None:
    trays = [told(gb200(index, index // 18)).node for index in range(36)]
    racks_of = (f"rack-{index // 18}" for index in range(36))
    nodes = [
        Node(each.name, 0, 0, domains=each.domains | {Level.RACK: rack})
        for each, rack in zip(trays, racks_of, strict=True)
    ]
    found = check_levels(nodes)
    assert found.troubles == ()
    assert [found.settled(node) for node in nodes] == nodes


def test_a_rack_under_two_blocks_is_named_and_left_out_for_its_nodes_only() -> None:
    nodes = [
        *(told(bare_metal(f"dgx-{index:02}", "r1", "b1")).node for index in range(8)),
        told(bare_metal("dgx-99", "r1", "b2")).node,
        told(bare_metal("dgx-50", "r2", "b2")).node,
    ]
    assert check_levels(nodes).troubles == (
        "rack r1 lies in block b2 (dgx-99) and block b1 (dgx-00, dgx-01, dgx-02, dgx-03,"
        " dgx-04, dgx-05 and 2 more): rack is left out for these nodes",
    )
    found = racks(nodes)
    assert found.pop("dgx-50") == "r2"
    assert set(found.values()) == {None}
    assert check_levels(nodes).settled(nodes[0]).domains == {Level.BLOCK: "b1"}


def test_an_nvlink_domain_is_believed_before_a_rack() -> None:
    nodes = [
        placed("a", rack="r1", nvlink_domain="n1"),
        placed("b", rack="r2", nvlink_domain="n1"),
        placed("c", rack="r2"),
    ]
    assert check_levels(nodes).troubles == (
        "nvlink-domain n1 lies in rack r1 (a) and rack r2 (b): rack is left out for these nodes",
    )
    assert racks(nodes) == {"a": None, "b": None, "c": "r2"}


def test_zones_of_two_regions_may_not_share_a_name() -> None:
    nodes = [placed("a", region="west", zone="1"), placed("b", region="east", zone="1")]
    found = check_levels(nodes)
    assert [found.settled(node).domains for node in nodes] == [
        {Level.REGION: "west"},
        {Level.REGION: "east"},
    ]


def test_a_label_that_is_missing_contradicts_nobody() -> None:
    nodes = [placed("a", block="b1", rack="r1"), placed("b", rack="r1")]
    assert check_levels(nodes).troubles == ()
    assert racks(nodes) == {"a": "r1", "b": "r1"}


def test_a_level_that_is_left_out_contradicts_no_other() -> None:
    nodes = [
        placed("a", zone="z1", block="b1", rack="r1"),
        placed("b", zone="z2", block="b1", rack="r9"),
        placed("c", zone="z1", block="b2", rack="r1"),
    ]
    assert racks(nodes) == {"a": "r1", "b": "r9", "c": "r1"}
    assert len(check_levels(nodes).troubles) == 1


def test_clusters_may_lie_in_one_zone() -> None:
    nodes = [placed("a", cluster="east", zone="z"), placed("b", cluster="west", zone="z")]
    assert check_levels(nodes).troubles == ()


def test_the_order_of_nodes_does_not_matter() -> None:
    nodes = [placed("a", block="b1", rack="r1"), placed("b", block="b2", rack="r1")]
    assert check_levels(nodes) == check_levels(reversed(nodes))


names = st.sampled_from(["1", "2", "3"])
fleets = st.lists(st.dictionaries(st.sampled_from(ABOVE_NODE), names), max_size=12).map(
    lambda each: [Node(f"n{index}", 0, 0, domains=domains) for index, domains in enumerate(each)]
)


@given(fleets)
def test_what_is_left_nests(nodes: list[Node]) -> None:
    levels = check_levels(nodes)
    settled = [levels.settled(node) for node in nodes]
    assert check_levels(settled).troubles == ()
    for narrow in ABOVE_NODE:
        for wide in ABOVE_NODE:
            if DEPTH[wide] < DEPTH[narrow]:
                homes: dict[tuple[str, str], set[str]] = {}
                for node in settled:
                    if narrow in node.domains and wide in node.domains:
                        name = node.domains.get(Level.CLUSTER, ""), node.domains[narrow]
                        homes.setdefault(name, set()).add(node.domains[wide])
                assert all(len(each) == 1 for each in homes.values())


@given(fleets)
def test_nothing_is_left_out_without_a_trouble_that_names_it(nodes: list[Node]) -> None:
    levels = check_levels(nodes)
    told_of = " ".join(levels.troubles)
    for node in nodes:
        kept = levels.settled(node).domains
        assert kept.items() <= node.domains.items()
        for level in node.domains.keys() - kept.keys():
            assert f"{level} is left out" in told_of
            assert node.name in told_of
