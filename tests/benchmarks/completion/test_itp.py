"""`jct-itp`: which clusters run, how they are sized, and the figures of the open ones."""

from pathlib import Path

import pytest
from tests.effort import TIMES

from benchmarks.completion import itp as jct_itp
from benchmarks.completion.itp import BENCH
from benchmarks.registry import BenchOptions, silent
from ganglion.model.errors import FieldError, NotFound

HEADER = "job_id,submit_s,duration_s,num_gpus,user,vc,status,gpu_type\n"


def write(folder: Path, **clusters: int) -> Path:
    rows = [
        f"{vc}-{n},{60 * n},600,{1 + n % 2},,{vc},,"
        for vc, count in clusters.items()
        for n in range(count)
    ]
    (folder / "jobs.csv").write_text(HEADER + "\n".join(rows) + "\n")
    return folder


def test_small_clusters_are_left_out_and_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jct_itp, "FEWEST_JOBS", 20)
    options = BenchOptions(write(tmp_path, a=20, b=19), policies=("fifo",))
    made = BENCH.run(options, silent)
    assert list(made.data["clusters"]) == ["a"]
    assert made.data["left_out"] == ["b"]
    assert any("Left out" in note and "b" in note for note in made.notes)


def test_a_small_cluster_runs_when_it_is_named(tmp_path: Path) -> None:
    options = BenchOptions(write(tmp_path, a=20, b=19), "b", policies=("fifo",))
    assert list(BENCH.run(options, silent).data["clusters"]) == ["b"]


def test_an_unknown_vc_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no vc 'z'") as caught:
        BENCH.run(BenchOptions(write(tmp_path, a=2, b=2), "z"), silent)
    assert caught.value.hint == "found: a, b"


def test_a_table_of_small_clusters_only_asks_for_a_name(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="has 1,000 jobs") as caught:
        BENCH.run(BenchOptions(write(tmp_path, a=2)), silent)
    assert "a (2 jobs)" in caught.value.hint


def test_every_seed_is_a_cluster_of_made_up_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jct_itp, "FEWEST_JOBS", 1)
    monkeypatch.setattr(jct_itp, "synthetic", lambda seed: [(seed, 1000, 1), (9000, 1000, 1)])
    made = BENCH.run(BenchOptions(seeds=2, policies=("fifo",)), silent)
    assert list(made.data["clusters"]) == ["seed0", "seed1"]
    assert made.data["synthetic"]


def test_a_workload_needs_traces() -> None:
    with pytest.raises(FieldError, match="without traces"):
        BENCH.run(BenchOptions(workload="a"), silent)


# average JCT in s of an independent replay of the same protocol, and the nodes it comes to
OPEN = {
    "cluster01": (4, 1569, 97_801, 57_854, 48_333),
    "cluster05": (2, 3629, 244_901, 93_731, 74_955),
}


@pytest.mark.parametrize("name", sorted(OPEN)[: None if TIMES > 1 else 1])
def test_real_clusters_agree_with_an_independent_replay(shared: Path, name: str) -> None:
    folder = shared / "itp_elasticflow"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    nodes, jobs, *expected = OPEN[name]
    data = BENCH.run(BenchOptions(folder, name, policies=("fifo", "sjf", "srsf")), silent).data
    assert (data["clusters"][name]["nodes"], data["clusters"][name]["jobs"]) == (nodes, jobs)
    for policy, figure in zip(("fifo", "sjf", "srsf"), expected, strict=True):
        assert data["avg_jct_s"][policy] == pytest.approx(figure, rel=0.05), policy
