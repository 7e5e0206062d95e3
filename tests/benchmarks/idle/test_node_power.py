import gzip
from pathlib import Path

import pytest

from benchmarks.idle.node_power import BENCH, POLICIES, Demand, judged, read
from benchmarks.registry import BenchOptions, silent
from ganglion.model.errors import FieldError, FileError


def trace(folder: Path, rows: list[tuple[int, int]]) -> Path:
    lines = [f"{minute},{need},{most}" for minute, (need, most) in enumerate(rows)]
    text = "\n".join(["minute,active_nodes,total_nodes", *lines]) + "\n"
    (folder / "nodes_per_minute.csv.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def test_figures_are_those_of_the_definition() -> None:
    found = judged(Demand([2, 4, 1], [9] * 3), [3, 3, 6])
    assert found.node_hours == 12 / 60
    assert found.short_pct == pytest.approx(100 / 3)
    assert (found.missing, found.wakes, found.of_bound) == (1, 3, 12 / 7)


def test_the_reference_keeps_the_maximum_of_a_window_and_is_a_minute_late() -> None:
    demand = Demand([1, 7, 1, 1, 1], [50] * 5)
    assert POLICIES["window-60+5"](demand, 1) == [50, 6, 12, 12, 12]
    assert POLICIES["window-60+5"](demand, 3) == [50, 50, 50, 6, 12]


def test_all_policies_run_on_a_trace(tmp_path: Path) -> None:
    rows = [(20 + minute // 10 % 7, 40) for minute in range(500)]
    report = BENCH.run(BenchOptions(traces=trace(tmp_path, rows)), silent)
    found = report.data["wake_minutes"]["1"]
    assert [*found] == [*POLICIES]
    assert found["all-on"]["node_hours"] == pytest.approx(500 * 40 / 60)
    assert found["adaptive"]["node_hours"] < found["all-on"]["node_hours"]
    assert all(each["of_bound"] >= 1 for each in found.values())


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "minute,active_nodes,total_nodes\n0,x,3\n"])
def test_a_file_that_is_no_such_trace_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "nodes_per_minute.csv"
    path.write_text(text)
    with pytest.raises(FileError, match="nodes_per_minute"):
        read(path)


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nodes_per_minute.csv.gz"
    path.write_bytes(b"no archive")
    with pytest.raises(FileError, match="cannot be read"):
        read(path)


def test_it_needs_a_trace() -> None:
    with pytest.raises(FieldError, match="replays a trace"):
        BENCH.run(BenchOptions(), silent)
