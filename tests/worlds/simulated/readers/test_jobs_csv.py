"""The common job table."""

import gzip
from pathlib import Path

import pytest

from ganglion.model.errors import FieldError, FileError
from ganglion.model.events import Outcome
from ganglion.worlds.simulated.readers.jobs_csv import read_jobs

TABLE = """user,num_gpus,submit_s,vc,duration_s,status,colour
ann,1,20,vision,60,Pass,red
bob,20,0,,2.5,Failed,blue
cy,0,30,vision,0,Killed,
"""


def written(tmp_path: Path, text: str, name: str = "jobs.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def test_columns_are_found_in_any_order_and_unknown_ones_are_ignored(tmp_path: Path) -> None:
    jobs = read_jobs(written(tmp_path, TABLE))
    assert [(j.gang.submitted, j.duration_ms, j.gang.queue, j.gang.user) for j in jobs] == [
        (0, 2_500, "default", "bob"),
        (20_000, 60_000, "vision", "ann"),
        (30_000, 0, "vision", "cy"),
    ]
    assert [j.outcome for j in jobs] == [Outcome.FAILED, Outcome.SUCCEEDED, Outcome.CANCELLED]


def test_users_and_names_are_kept_so_that_run_times_can_be_learnt(tmp_path: Path) -> None:
    table = "user,num_gpus,submit_s,duration_s,job_name\nann,1,20,60,resnet\nbob,1,0,2,\n"
    jobs = read_jobs(written(tmp_path, table))
    assert [(j.gang.user, j.gang.name) for j in jobs] == [("bob", ""), ("ann", "resnet")]


def test_a_job_larger_than_a_node_is_a_gang_of_whole_nodes_and_a_rest(tmp_path: Path) -> None:
    sets = read_jobs(written(tmp_path, TABLE))[0].gang.pod_sets
    assert [(s.name, s.count, s.request.gpu.count) for s in sets] == [
        ("main", 2, 8),
        ("rest", 1, 4),
    ]


def test_a_job_without_gpus_is_one_pod_of_one_core(tmp_path: Path) -> None:
    request = read_jobs(written(tmp_path, TABLE))[2].gang.pod_sets[0].request
    assert (request.gpu.count, request.cpu_milli) == (0, 1000)


def test_a_gzipped_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    plain = read_jobs(written(tmp_path, TABLE))
    path = written(tmp_path, TABLE, "jobs.csv.gz")
    assert read_jobs(path) == plain
    assert read_jobs(path.rename(tmp_path / "renamed")) == plain


@pytest.mark.parametrize(
    ("heading", "row", "expected"),
    [
        ("job_id,num_gpu,submit_time,duration", "7,4,90,10", (90_000, 10_000)),
        ("job_id,submit_min,duration_min,num_gpus", "7,2,3,4", (120_000, 180_000)),
    ],
)
def test_other_spellings_and_units_of_columns_are_known(
    tmp_path: Path, heading: str, row: str, expected: tuple[int, int]
) -> None:
    job = read_jobs(written(tmp_path, f"{heading}\n{row}\n"))[0]
    assert (job.gang.submitted, job.duration_ms) == expected
    assert job.gang.pod_sets[0].request.gpu.count == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("submit_s,duration_s,num_gpus\n1,x,1\n", "jobs.csv:2:duration_s: 'x' is not a number"),
        ("submit_s,duration_s,num_gpus\n\n1,-4,1\n", "jobs.csv:3:duration_s: -4 is negative"),
        ("submit_s,duration_s,num_gpus\n1,2,-1\n", "num_gpus: -1 is less than 0"),
        ("submit_s,duration_s,num_gpus\n1,2,9999999\n", "more than any cluster has"),
        ("submit_s,duration_s,num_gpus\n1,nan,1\n", "'nan' is not a number"),
        ("submit_s,duration_s,num_gpus\n1,inf,1\n", "'inf' is not a number"),
        ("submit_s,duration_s,num_gpus\n1,2\n", "jobs.csv:2: 2 columns instead of 3"),
    ],
)
def test_a_bad_value_is_named_with_file_line_and_column(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(FieldError) as caught:
        read_jobs(written(tmp_path, text))
    assert said in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"submit_s,num_gpus\n1,1\n", "no column for the duration"),
        (b"submit_s,duration_s,num_gpus\n", "holds no jobs"),
        (b"submit_s,submit_s,num_gpus\n", "two columns of one name"),
        (b"\xff\xfe\x00\x01", "not UTF-8"),
        (gzip.compress(TABLE.encode())[:-12], "is the file complete?"),
        (b'submit_s,duration_s,num_gpus\n1,"2,3\n', "jobs.csv:2"),
    ],
)
def test_a_file_that_is_no_job_table_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(content)
    with pytest.raises(FileError) as caught:
        read_jobs(path)
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_a_missing_file_is_a_file_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        read_jobs(tmp_path / "nothing.csv")
