"""SWF logs and the MetaCentrum table."""

from pathlib import Path

import pytest

from ganglion.model.errors import FieldError, FileError
from ganglion.model.events import Outcome
from ganglion.worlds.simulated.readers.swf import read_metacentrum, read_swf

LOG = """; Version: 2.2
;
   1  0  30 100  5  90 -1  5 200 -1 1 7 1 -1  2 1 -1 -1
   2 10   5  -1  1  50.5 -1  1  20 -1 0 8 1 -1 -1 1 -1 -1  ; the run time is unknown
   3 20   5  -1 -1  -1 -1 -1  20 -1 5 8 1 -1 -1 1 -1 -1
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "log.swf"
    path.write_text(text)
    return path


def test_jobs_that_ran_are_read_and_the_others_left_out(tmp_path: Path) -> None:
    first, second = read_swf(written(tmp_path, LOG), cpus_per_node=4)
    assert (first.gang.submitted, first.duration_ms, first.outcome) == (
        0,
        100_000,
        Outcome.SUCCEEDED,
    )
    assert (second.duration_ms, second.outcome) == (50_500, Outcome.FAILED)
    assert (first.gang.queue, second.gang.queue) == ("q2", "default")


def test_jobs_of_one_executable_have_one_name(tmp_path: Path) -> None:
    unnamed = "4 30 0 9 1 -1 -1 1 20 -1 1 7 1 3 2 1 -1 -1\n"
    jobs = read_swf(written(tmp_path, LOG + unnamed), cpus_per_node=4)
    assert [job.gang.name for job in jobs] == ["", "", "app3"]


def test_processors_become_pods_of_whole_nodes_and_a_rest(tmp_path: Path) -> None:
    first = read_swf(written(tmp_path, LOG), cpus_per_node=4)[0]
    assert [(s.count, s.request.cpu_milli) for s in first.gang.pod_sets] == [(1, 4000), (1, 1000)]


def test_the_time_limit_is_what_was_asked_for_but_never_below_the_run_time(tmp_path: Path) -> None:
    first, second = read_swf(written(tmp_path, LOG), cpus_per_node=4)
    assert (first.gang.time_limit_ms, second.gang.time_limit_ms) == (200_000, 50_500)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 2 3\n", "log.swf:6: 3 fields instead of 18"),
        ("4 x 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", "log.swf:6:submit: 'x' is not a number"),
        ("4 1 0 y 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", "log.swf:6:run: 'y' is not a number"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(FieldError) as caught:
        read_swf(written(tmp_path, LOG + line), cpus_per_node=4)
    assert said in caught.value.message


def test_a_log_of_comments_holds_no_jobs(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no jobs"):
        read_swf(written(tmp_path, "; nothing\n"), cpus_per_node=4)


def test_the_metacentrum_table_has_the_same_meaning(tmp_path: Path) -> None:
    text = (
        "job_id,submit_s,wait_s,run_s,procs,req_procs,req_time_s,req_mem_mib,status,user,queue\n"
        "0,5,0,100,6,6,300,10,1,62,q_1d\n"
        "1,6,0,-1,6,6,300,10,1,62,q_1d\n"
    )
    (job,) = read_metacentrum(written(tmp_path, text), cpus_per_node=4)
    assert (job.gang.submitted, job.duration_ms, job.gang.time_limit_ms) == (
        5_000,
        100_000,
        300_000,
    )
    assert (job.gang.queue, job.gang.user) == ("q_1d", "62")
    assert sum(s.count * s.request.cpu_milli for s in job.gang.pod_sets) == 6000
