"""`jct-muri`: which trace runs, and how it stands against the published figures."""

from pathlib import Path

import pytest

from benchmarks.completion import muri as jct_muri
from benchmarks.completion.muri import BENCH, PUBLISHED
from benchmarks.registry import BenchOptions, Report, silent
from ganglion.model.errors import NotFound

HEADER = "job_id,submit_s,duration_s,num_gpus,user,vc,status,model\n"


def write(folder: Path, *names: str, rows: str = "0,0,10,8,,,,a\n1,0,20,64,,,,b\n") -> Path:
    for name in names:
        (folder / f"{name}.csv").write_text(HEADER + rows)
    return folder


def run(folder: Path, workload: str | None = None, *policies: str) -> Report:
    return BENCH.run(BenchOptions(folder, workload, policies=policies or ("fifo",)), silent)


@pytest.mark.parametrize("workload", ["2", "trace2"])
def test_a_trace_is_named_with_or_without_its_prefix(tmp_path: Path, workload: str) -> None:
    data = run(write(tmp_path, "trace1", "trace2"), workload).data
    assert list(data["clusters"]) == ["trace2"]
    assert data["clusters"]["trace2"]["nodes"] == 8


def test_trace_1_is_what_runs_when_none_is_named(tmp_path: Path) -> None:
    assert list(run(write(tmp_path, "trace1", "trace3")).data["clusters"]) == ["trace1"]


def test_the_only_trace_runs_whatever_its_name(tmp_path: Path) -> None:
    assert list(run(write(tmp_path, "trace7")).data["clusters"]) == ["trace7"]
    assert list(run(write(tmp_path, "mine"), "mine").data["clusters"]) == ["mine"]


def test_jobs_submitted_together_are_served_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows = "0,0,30,64,,,,a\n1,0,10,64,,,,b\n"
    assert run(write(tmp_path, "trace1", rows=rows)).data["avg_jct_s"] == {"fifo": 35}


def test_an_unknown_trace_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        run(write(tmp_path, "trace1", "trace3"), "9")
    assert caught.value.hint == "found: 1, 3"


def test_a_trace_of_jobs_that_never_fit_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no job of .*trace1.csv fits"):
        run(write(tmp_path, "trace1", rows="0,0,10,65,,,,a\n"))


def test_published_figures_are_not_held_against_another_job_list(tmp_path: Path) -> None:
    made = run(write(tmp_path, "trace1"))
    assert made.data["published_avg_jct_s"] == {}
    assert not any("Published" in note for note in made.notes)


def test_published_figures_stand_beside_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SRSF runs the 8-GPU job first: 10 s and 30 s
    monkeypatch.setitem(PUBLISHED, "trace1", (2, {"srsf": 16, "themis": 99}))
    made = run(write(tmp_path, "trace1"), None, "srsf")
    assert made.data["compared"] == {
        "srsf": {"published_avg_jct_s": 16, "ours_over_published": 1.25}
    }
    assert "Ours against it: srsf +25.0 %." in made.notes


def test_made_up_jobs_have_no_published_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jct_muri, "synthetic", lambda seed: [(seed, 1000, 1)])
    made = BENCH.run(BenchOptions(seeds=2, policies=("fifo",)), silent)
    assert list(made.data["clusters"]) == ["seed0", "seed1"]
    assert made.data["compared"] == {}


def test_trace_1_is_within_seven_percent_of_the_paper(shared: Path) -> None:
    folder = shared / "philly_muri"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    data = run(folder, "1", "srsf").data
    assert data["avg_jct_s"]["srsf"] == pytest.approx(980_141, rel=0.07)
    assert data["bounds"]["avg_jct_s"] == pytest.approx(672_359, rel=1e-5)
