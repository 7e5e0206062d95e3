from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.causes import CordonKind
from ganglion.model.errors import FieldError, InputError
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.kinds import Weighted
from ganglion.model.policy import Order, Policy
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.specs.cluster.cluster import load_cluster, parse_cluster
from ganglion.specs.policy.presets import preset

FULL = """\
levels: [zone, block, rack, nvlink-domain]
pools:
- name: h100
  nodes: 32
  per_block: 16
  per_rack: 8
  per_nvlink: 4
  zone: z1
  gpus: H100:80GB:8
  cpus: 96
  memory: 1TiB
  islands: 2
  numa: 2
  labels: {tier: gold}
- {name: t4, racks: [r9, r10], nodes: 3, gpus: T4:16GB:2, cpus: 8, memory: 64Gi, flavor: cheap}
nodes:
- {name: odd-1, rack: h100-r1, cpus: 4, memory: 1Gi, cordoned: broken fan, max_pods: 5}
queues:
- {name: org}
- name: research
  parent: org
  quota: {h100: 16, cpu: 500m}
  limit: {"*": {gpus: 32, memory: 2TiB}}
  lend_limit: {cheap: 1}
  weight: 2
  priority: 7
  max_pending: 10
policy: {order: fifo, strict: yes, scores: {ganglion: 2, fgd: 1}, filters: [mine], tries: 3}
"""


def test_a_whole_cluster_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(FULL)
    cluster = load_cluster(path)
    assert len(cluster.nodes) == 36
    first, last = cluster.nodes[0], cluster.nodes[31]
    assert first.name == "h100-00"
    assert (first.cpu_milli, first.memory_mib, first.kind) == (96_000, 1 << 20, "H100")
    assert first.devices[3] == Device("H100", 76_294, numa=0, island=0)
    assert first.devices[4] == Device("H100", 76_294, numa=1, island=1)
    assert first.labels == {"tier": "gold"}
    assert last.domains == {
        Level.ZONE: "z1",
        Level.BLOCK: "h100-b1",
        Level.RACK: "h100-r3",
        Level.NVLINK: "h100-d7",
    }
    assert cluster.queues == (
        Queue("org"),
        Queue(
            name="research",
            parent="org",
            quota={"H100": Amount(gpu_milli=16_000), "cpu": Amount(cpu_milli=500)},
            limit={"*": Amount(gpu_milli=32_000, memory_mib=2 << 20)},
            lend_limit={"cheap": Amount(gpu_milli=1_000)},
            over_quota_weight=2,
            priority=7,
            max_pending=10,
        ),
    )
    assert cluster.policy == Policy(
        Order.FIFO,
        strict=True,
        scores=(Weighted("ganglion", 2), Weighted("fgd")),
        filters=("mine",),
        tries=3,
    )


def test_named_racks_share_the_nodes_of_a_pool_evenly() -> None:
    nodes = [node for node in parse_cluster(FULL).nodes if node.name.startswith("t4")]
    assert [node.domains[Level.RACK] for node in nodes] == ["r9", "r9", "r10"]
    assert {node.kind for node in nodes} == {"cheap"}


def test_a_node_inherits_the_wider_domains_of_its_rack() -> None:
    odd = parse_cluster(FULL).nodes[-1]
    assert odd == Node(
        name="odd-1",
        cpu_milli=4_000,
        memory_mib=1_024,
        domains={Level.ZONE: "z1", Level.BLOCK: "h100-b0", Level.RACK: "h100-r1"},
        max_pods=5,
        cordoned="broken fan",
        cordoned_by=CordonKind.PERSON,
    )


def test_a_node_holds_models_by_their_digest() -> None:
    text = "nodes: [{{name: a, cpus: 1, holds: {{'{}': 140GiB}}}}]".format
    (node,) = parse_cluster(text("sha256:00")).nodes
    assert node.holds == {"sha256:00": 140 * 1024}
    for wrong in ("models:/chat/3", "hf://org/llama", "llama"):
        with pytest.raises(FieldError, match="no digest of a model"):
            parse_cluster(text(wrong))


def test_queues_and_policy_may_come_without_nodes() -> None:
    found = parse_cluster("queues: [{name: a, quota: {B200: 8}}]\npolicy: {order: fair}")
    assert found.queues == (Queue("a", quota={"B200": Amount(gpu_milli=8_000)}),)
    assert (found.nodes, found.policy) == ((), Policy())


def test_a_cluster_names_a_preset_or_a_policy_file(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("preset: kai\nqueues: [{name: a, quota: {h100: 4}}]")
    (tmp_path / "cluster.yaml").write_text(
        "pools: [{name: a, nodes: 1, gpus: H100:8}]\npolicy: ./policy.yaml"
    )
    found = load_cluster(tmp_path / "cluster.yaml")
    assert found.policy == preset("kai")
    assert found.queues == (Queue("a", quota={"H100": Amount(gpu_milli=4_000)}),)
    assert found.policy_file is not None
    assert found.policy_file.text.startswith("preset: kai")
    assert parse_cluster("policy: slurm-like").policy == preset("slurm-like")
    assert parse_cluster("queues: [{name: a}]").policy_file is None


def test_gpus_without_model_are_called_gpu() -> None:
    (node,) = parse_cluster("pools: [{name: a, nodes: 1, gpus: 2}]").nodes
    assert [device.type for device in node.devices] == ["GPU", "GPU"]


def test_all_problems_of_a_cluster_are_told_at_once_from_the_top() -> None:
    text = (
        "pools:\n- {name: a, nodes: 0, gpsu: 8}\n- {nodes: 2, cpus: many}\n"
        "queues:\n- {name: q, qouta: {H100: 1}, max_pending: x}\npolicy: {order: odd, trise: 3}"
    )
    with pytest.raises(FieldError) as caught:
        parse_cluster(text, "c.yaml")
    assert [(each.line, each.column, each.key) for each in caught.value.errors] == [
        (2, 13, "pools[0].nodes"),
        (2, 23, "pools[0].gpsu"),
        (3, 3, "pools[1]"),
        (3, 14, "pools[1].cpus"),
        (5, 13, "queues[0].qouta"),
        (5, 31, "queues[0].max_pending"),
        (6, 10, "policy.order"),
        (6, 22, "policy.trise"),
    ]
    assert {each.file for each in caught.value.errors} == {"c.yaml"}


def test_contradictions_of_pools_and_queues_are_told_at_once() -> None:
    text = (
        "pools:\n- {name: a, nodes: 2, gpus: H100:8, numa: 3}\n"
        "queues:\n- {name: q, parent: r}\n- {name: q}"
    )
    with pytest.raises(FieldError) as caught:
        parse_cluster(text, "c.yaml")
    assert [(each.line, each.key) for each in caught.value.errors] == [
        (2, "pools[0].numa"),
        (4, "queues[0].parent"),
        (5, "queues[1].name"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "key", "problem", "hint"),
    [
        ("polls: []", 1, "polls", "unknown key", "`pools`?"),
        ("pools:\n- nodes: 2", 2, "pools[0]", "`name` is missing", ""),
        ("pools:\n- name: a\n  nodes: 0", 3, "pools[0].nodes", "too small", ""),
        ("pools:\n- name: a\n  count: -1", 3, "pools[0].count", "negative", ""),
        (
            "pools:\n- {name: a, nodes: 9}\n- {name: b, nodes: 200000}",
            1,
            "pools",
            "together more than",
            "",
        ),
        (
            "pools:\n- name: a\n  nodes: 4\n  per_rack: 3\n  per_block: 4",
            4,
            "pools[0].per_rack",
            "3 does not divide 4",
            "two wider domains",
        ),
        (
            "pools:\n- {name: a, nodes: 4, per_rack: 2, racks: [x]}",
            2,
            "pools[0].per_rack",
            "given twice",
            "",
        ),
        (
            "pools:\n- {name: a, nodes: 4, per_zone: 2, zone: x}",
            2,
            "pools[0].per_zone",
            "given twice",
            "",
        ),
        ("pools:\n- {name: a, nodes: 1, gpus: 0.5}", 2, "pools[0].gpus", "whole GPUs", "H100"),
        ("pools:\n- {name: a, nodes: 1, gpus: 'H100,A100:8'}", 2, "pools[0].gpus", "one model", ""),
        (
            "pools:\n- {name: a, nodes: 1, gpus: 8, numa: 3}",
            2,
            "pools[0].numa",
            "8 GPUs do not divide into 3",
            "divisor",
        ),
        ("pools:\n- {name: a b, nodes: 1}", 2, "pools[0].name", "usable name", ""),
        ("nodes:\n- {name: a}\n- {name: a}", 3, "nodes[1].name", "exists already", ""),
        (
            "nodes:\n- {name: a-0}\npools: [{name: a, nodes: 2}]",
            2,
            "nodes[0].name",
            "`a-0` exists already",
            "",
        ),
        (
            "nodes:\n- {name: a, rack: r1, block: b1}\n- {name: b, rack: r1, block: b2}",
            3,
            "nodes[1]",
            "rack r1 lies under two blocks: b1 and b2",
            "check `b`",
        ),
        (
            "levels: [rack]\nnodes:\n- {name: a, zone: z}",
            3,
            "nodes[0]",
            "names a zone, which `levels` lacks",
            "add `zone`",
        ),
        ("levels: [rack, zone]", 1, "levels", "widest first", "[zone, rack]"),
        ("levels: [rak]", 1, "levels", "no topology level", "`rack`?"),
        ("queues:\n- {name: a}\n- {name: a}", 3, "queues[1].name", "exists already", ""),
        (
            "queues:\n- {name: eng}\n- {name: a, parent: egn}",
            3,
            "queues[1].parent",
            "no queue `egn`",
            "`eng`?",
        ),
        (
            "queues:\n- {name: a, parent: b}\n- {name: b, parent: a}",
            2,
            "queues[0].parent",
            "in a circle: a > b > a",
            "root",
        ),
        ("queues:\n- {name: a, parent: a}", 2, "queues[0].parent", "circle: a > a", ""),
        (
            "pools: [{name: a, nodes: 1, gpus: 'H100:8'}]\nqueues:\n- {name: q, quota: {H10: 1}}",
            3,
            "queues[0].quota.H10",
            "no node has the flavor `H10`",
            "`H100`?",
        ),
        (
            "pools: [{name: a, nodes: 1, gpus: T4}]\nqueues:\n- {name: q, limit: {t4: 1, T4: 2}}",
            3,
            "queues[0].limit.T4",
            "given twice",
            "",
        ),
        ("queues:\n- {name: q, quota: {H100: -3}}", 2, "queues[0].quota.H100", "negative", ""),
        (
            "queues:\n- {name: q, quota: {H100: {gpsu: 3}}}",
            2,
            "queues[0].quota.H100.gpsu",
            "unknown key",
            "`gpus`?",
        ),
        ("queues:\n- {name: q, quota: 3}", 2, "queues[0].quota", "keys and values", ""),
        ("policy: {order: fiar}", 1, "policy.order", "not known", "`fair`?"),
        ("policy: {scores: []}", 1, "policy.scores", "at least one", ""),
        ("policy: {scores: {ganglion: 0}}", 1, "policy.scores.ganglion", "too small", ""),
        ("policy: 3", 1, "policy", "no preset `3`", "kueue"),
        ("nodes: []\n---\nb: 2", 3, "", "one document", ""),
    ],
)
def test_an_error_names_file_line_key_and_what_to_do(
    text: str, line: int, key: str, problem: str, hint: str
) -> None:
    with pytest.raises(FieldError, match=problem) as caught:
        parse_cluster(text, "cluster.yaml")
    error = caught.value
    assert (error.file, error.line, error.key) == ("cluster.yaml", line, key)
    assert hint in error.hint


counts = st.integers(1, 12)
pools = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("abc"), "nodes": counts},
        optional={
            "per_rack": counts,
            "per_block": counts,
            "gpus": st.sampled_from([0, 4, "H100:80GB:8"]),
            "numa": st.sampled_from([1, 2]),
            "racks": st.lists(st.sampled_from("rst"), min_size=1, max_size=3),
            "block": st.sampled_from("xy"),
        },
    ),
    max_size=3,
)


@given(pools)
def test_every_domain_of_a_cluster_lies_in_one_wider_domain(found: list[dict[str, object]]) -> None:
    try:
        nodes = parse_cluster(str({"pools": found})).nodes
    except InputError:
        return
    assert len({node.name for node in nodes}) == len(nodes) == sum(p["nodes"] for p in found)  # type: ignore[misc]
    outer: dict[str, str] = {}
    for node in nodes:
        rack, block = node.domains.get(Level.RACK), node.domains.get(Level.BLOCK)
        if rack and block:
            assert outer.setdefault(rack, block) == block


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "nodes", "gpus", "quota", "*", "x"]), inner)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["pools", "nodes", "queues", "policy", "levels"]), anything))
def test_any_data_is_a_cluster_or_an_input_error(data: dict[str, object]) -> None:
    try:
        parse_cluster(str(data).replace("None", "null").replace("True", "true"), "f")
    except InputError as error:
        assert error.message.isprintable()
