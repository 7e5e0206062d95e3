"""Files of a folder are found by what tells them apart, and errors name what is there."""

from pathlib import Path

import pytest

from benchmarks.common.traces import choose, csv_files, main_file, workload_files
from ganglion.model.errors import FileError, NotFound


def folder(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / name).touch()
    return tmp_path


def test_the_workload_is_what_follows_the_prefix(tmp_path: Path) -> None:
    here = folder(tmp_path, "trace1.csv.gz", "trace1_pr.csv", "cluster_trace.csv", "README.md")
    assert list(workload_files(here, "trace")) == ["1", "1_pr", "cluster_trace"]


def test_files_without_the_prefix_can_be_left_out(tmp_path: Path) -> None:
    here = folder(tmp_path, "pods_a.csv.gz", "pods_.csv", "nodes.csv.gz")
    assert list(workload_files(here, "pods_", only=True)) == ["a"]


def test_an_unpacked_file_is_preferred(tmp_path: Path) -> None:
    here = folder(tmp_path, "jobs.csv.gz", "jobs.csv")
    assert csv_files(here) == {"jobs": here / "jobs.csv"}


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no folder .*nowhere"):
        csv_files(tmp_path / "nowhere")


def test_a_file_in_place_of_a_folder_is_said_to_be_one(tmp_path: Path) -> None:
    here = folder(tmp_path, "jobs.csv")
    with pytest.raises(FileError, match="is not a folder"):
        csv_files(here / "jobs.csv")


def test_a_missing_workload_is_answered_with_those_there_are(tmp_path: Path) -> None:
    found = workload_files(folder(tmp_path, "trace1.csv", "trace2.csv"), "trace")
    with pytest.raises(NotFound, match="no workload '9'") as caught:
        choose(found, "9", tmp_path)
    assert caught.value.hint == "found: 1, 2"


def test_a_folder_without_tables_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="has no CSV files"):
        choose(csv_files(folder(tmp_path, "README.md")), "1", tmp_path)


def test_the_only_table_is_taken_whatever_its_name(tmp_path: Path) -> None:
    here = folder(tmp_path, "mine.csv")
    assert main_file(here, "jobs") == here / "mine.csv"


def test_the_usual_table_is_taken_among_several(tmp_path: Path) -> None:
    here = folder(tmp_path, "jobs.csv.gz", "jobs_with_deadlines.csv.gz")
    assert main_file(here, "jobs") == here / "jobs.csv.gz"
