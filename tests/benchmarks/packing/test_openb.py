"""The packing benchmark: the protocol, the bound, the report, and the published figures."""

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from benchmarks.packing.bound import upper_bound
from benchmarks.packing.openb import BENCH, USUAL
from benchmarks.packing.protocol import (
    Curve,
    arrivals,
    gpu_milli,
    shuffled_names,
    typical_pods,
)
from benchmarks.packing.published import PUBLISHED
from benchmarks.packing.run import LEARNT, attempt, cluster, read, run_once
from benchmarks.registry import BenchOptions, load, silent
from ganglion.engine.gangs.typical_pods import FIRST
from ganglion.model.errors import FieldError, FileError, NotFound
from ganglion.model.fleet.node import Node
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet

SHARED = Path(__file__).resolve().parents[3] / "shared" / "traces" / "openb"


def gang(name: str, gpus: int = 1, milli: int = 1000, cpu: int = 1000, mem: int = 0) -> Gang:
    request = PodRequest(cpu, mem, GpuRequest(gpus, milli))
    return Gang(f"{name}/0", name, "openb", pod_sets=(PodSet(request=request),))


def request_of(each: Gang) -> PodRequest:
    return each.pod_sets[0].request


def asked(order: list[Gang]) -> int:
    return sum(gpu_milli(request_of(each)) for each in order)


def test_demand_is_made_up_to_130_percent_from_the_list_itself() -> None:
    pods = [gang(f"p{n}", milli=100 * (n % 10 + 1)) for n in range(50)]
    order = arrivals(pods, 40_000, Random(1))
    assert Counter(map(request_of, order[:50])) == Counter(map(request_of, pods))
    assert {request_of(each) for each in order[50:]} <= {request_of(each) for each in pods}
    assert 52_000 - 1000 < asked(order) <= 52_000


def test_demand_above_130_percent_is_thinned_out() -> None:
    pods = [gang(f"p{n}", gpus=n % 4 + 1) for n in range(80)]
    order = arrivals(pods, 100_000, Random(1))
    assert 126_000 < asked(order) <= 130_000
    assert not Counter(map(request_of, order)) - Counter(map(request_of, pods))


def test_the_order_depends_on_the_seed_alone() -> None:
    pods = [gang(f"p{n}", milli=n + 1) for n in range(30)]
    made = [[request_of(each) for each in arrivals(pods, 2_000, Random(s))] for s in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


def test_every_arrival_is_a_gang_of_its_own() -> None:
    order = arrivals([gang("p")], 40_000, Random(1))
    assert len({each.id for each in order}) == len(order) == 52


def test_names_put_the_nodes_in_one_random_order() -> None:
    nodes = [Node(f"n{number}", 1, 1) for number in range(12)]
    made = sorted(shuffled_names(nodes, Random(3)), key=lambda node: node.name)
    assert sorted(node.name.split("-")[1] for node in made) == sorted(n.name for n in nodes)
    assert [node.name.split("-")[1] for node in made] != [n.name for n in nodes]


def test_typical_pods_are_the_most_frequent_and_ignore_memory() -> None:
    usual = [gang(f"a{n}", mem=n) for n in range(95)]
    rare = [gang(f"b{n}", cpu=n) for n in range(5)]
    assert typical_pods(rare + usual) == ((PodRequest(1000, 0, GpuRequest(1)), 95),)


def test_typical_pods_go_on_until_95_percent_are_covered() -> None:
    pods = [gang(f"p{n}", cpu=n // 10) for n in range(100)]
    assert [often for _, often in typical_pods(pods)] == [10] * 10


def test_a_bucket_is_the_mean_over_the_pods_that_round_to_it() -> None:
    arrived = np.array([104, 105, 114, 115, 126])
    curve = Curve(1000, arrived, np.array([0, 100, 200, 400, 500]), np.full(5, 90.0))
    assert curve.allocated_pct() == {10: 0.0, 11: 15.0, 12: 40.0, 13: 50.0}
    assert curve.frag_amount_pct()[13] == pytest.approx(9)
    assert curve.frag_ratio_pct()[13] == pytest.approx(18)


def test_the_bound_of_pieces_that_waste_is_what_patterns_hold() -> None:
    # one 600 or one 400 + 400 per device; 600 + 400 fill it
    assert upper_bound({600: 100}, 10) == pytest.approx(6_000, rel=1e-3)
    assert upper_bound({600: 4, 400: 100}, 10) == pytest.approx(4 * 1000 + 6 * 800, rel=2e-3)


def test_the_bound_of_little_demand_is_the_demand() -> None:
    assert upper_bound({300: 2, 1000: 1}, 10) == pytest.approx(1_600)


@settings(max_examples=examples(15))
@given(
    st.lists(st.sampled_from([110, 230, 320, 470, 590, 810, 1000]), min_size=1, max_size=30),
    st.integers(1, 8),
)
def test_first_fit_never_beats_the_bound(pieces: list[int], devices: int) -> None:
    free = [1000] * devices
    for piece in sorted(pieces, reverse=True):
        at = next((i for i, left in enumerate(free) if left >= piece), None)
        if at is not None:
            free[at] -= piece
    assert 1000 * devices - sum(free) <= upper_bound(Counter(pieces), devices) * (1 + 1e-9)


NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(
    f"n{n},32000,262144,{0 if n == 9 else 4},{'' if n == 9 else 'AB'[n % 2]}\n" for n in range(10)
)
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n" + "".join(
    f"p{n:03d},{1000 * (n % 9)},{1024 * (n % 5)},{gpus},{milli},{spec}\n"
    for n, (gpus, milli, spec) in enumerate(
        [(1, 1000, ""), (1, 470, "A"), (0, 0, ""), (2, 1000, ""), (1, 530, "A|B")] * 8
    )
)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES)
    (tmp_path / "openb_pod_list_default.csv").write_text(PODS)
    (tmp_path / "openb_pod_list_other.csv").write_text(PODS)
    return tmp_path


def test_nodes_without_gpus_are_left_out(traces: Path) -> None:
    source = read(traces / "openb_node_list_gpu_node.csv", traces / "openb_pod_list_default.csv")
    assert len(source.nodes) == 9
    assert source.capacity == 36_000


def test_a_pod_gets_one_attempt(traces: Path) -> None:
    source = read(traces / "openb_node_list_gpu_node.csv", traces / "openb_pod_list_default.csv")
    state = cluster(source, "ganglion", Random(1))
    assert attempt(state, gang("fits", gpus=4)) is not None
    assert attempt(state, gang("never", gpus=5)) is None
    assert [str(record.phase) for record in state.gangs.records.values()] == ["starting", "ended"]
    state.validate()


def test_learnt_is_told_nothing_and_learns_from_what_arrives(traces: Path) -> None:
    source = read(traces / "openb_node_list_gpu_node.csv", traces / "openb_pod_list_default.csv")
    state = cluster(source, LEARNT, Random(1))
    assert state.fleet.table.typical == ()
    for number in range(FIRST):
        attempt(state, gang(f"p{number}"), learn=True)
    assert state.fleet.table.typical == ((request_of(gang("p")), FIRST),)


@pytest.mark.parametrize("policy", BENCH.policies)
def test_the_same_seed_gives_the_same_curve(traces: Path, policy: str) -> None:
    source = read(traces / "openb_node_list_gpu_node.csv", traces / "openb_pod_list_default.csv")
    one, same, other = (run_once(source, policy, seed).curve for seed in (42, 42, 43))
    assert one.used.tolist() == same.used.tolist()
    assert one.arrived.tolist() != other.arrived.tolist()
    free = one.capacity - one.used
    assert (one.used <= np.minimum(one.arrived, one.capacity)).all()
    assert (one.fragment >= 0).all()
    assert (one.fragment <= free + 1e-6).all()


def test_the_report_has_what_it_promises(traces: Path) -> None:
    assert load("pack-openb") is BENCH
    calls: list[str] = []
    report = BENCH.run(
        BenchOptions(traces, seeds=2), lambda done, total, label: calls.append(label)
    )
    data = report.data
    assert data["seeds"] == [42, 43]
    assert tuple(data["policies"]) == USUAL
    assert data["gpus"] == 36
    ours = data["policies"]["ganglion"]["allocated_pct_at_130"]
    assert data["allocated_pct_at_130"] == {"mean": ours["mean"], "sd": ours["sd"]}
    assert len(ours["per_seed"]) == 2
    assert ours["mean"] <= data["upper_bound_pct"] <= 100
    assert data["published"]["fgd"]["allocated_pct_at_130"] == 95.39
    assert "ganglion seed 42" in calls
    assert [row[0] for row in report.tables[0].rows] == [*USUAL, "upper bound"]


def test_an_unpublished_workload_has_no_published_figures(traces: Path) -> None:
    options = BenchOptions(traces, workload="other", seeds=1, policies=("bestfit",))
    data = BENCH.run(options, silent).data
    assert data["published"] == {}
    assert data["allocated_pct_at_130"]["sd"] == 0


def test_missing_traces_workloads_and_lists_are_named(traces: Path) -> None:
    with pytest.raises(FieldError, match="needs traces"):
        BENCH.run(BenchOptions(), silent)
    with pytest.raises(NotFound, match="no workload 'nope'") as caught:
        BENCH.run(BenchOptions(traces, workload="nope"), silent)
    assert "default, other" in caught.value.hint
    (traces / "openb_node_list_gpu_node.csv").unlink()
    with pytest.raises(NotFound, match="openb_node_list_gpu_node"):
        BENCH.run(BenchOptions(traces), silent)
    with pytest.raises(FileError, match="no folder"):
        BENCH.run(BenchOptions(traces / "nowhere"), silent)


def test_pods_that_want_no_gpu_at_all_are_refused(traces: Path) -> None:
    path = traces / "openb_pod_list_other.csv"
    path.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,0,0\n")
    with pytest.raises(FieldError, match="no pod asks for GPUs"):
        BENCH.run(BenchOptions(traces, workload="other"), silent)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the openb traces are not here")
@pytest.mark.parametrize(
    ("workload", "policy", "low", "high"),
    [
        ("default", "bestfit", 93.08 - 0.4, 93.08 + 0.4),
        ("default", "fgd", 95.39 - 0.4, 95.39 + 0.4),
        ("default", "ganglion", 95.39, 100),
        ("multigpu50", "ganglion", 97.18, 100),
    ],
)
def test_published_figures_are_met(workload: str, policy: str, low: float, high: float) -> None:
    options = BenchOptions(SHARED, workload, seeds=1, policies=(policy,))
    assert low <= BENCH.run(options, silent).data["allocated_pct_at_130"]["mean"] <= high


def test_fgd_is_the_best_published_policy_of_every_workload() -> None:
    for figures in PUBLISHED.values():
        assert max(figures, key=lambda name: figures[name][1]) == "fgd"
