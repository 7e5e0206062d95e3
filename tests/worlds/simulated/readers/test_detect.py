"""Telling formats apart."""

from pathlib import Path

import pytest

from ganglion.model.errors import FileError
from ganglion.worlds.simulated.readers.detect import TraceFormat, detect, read_trace

SWF_LINE = " ".join(["1"] * 18) + "\n"
META = "job_id,submit_s,run_s,procs,req_time_s\n0,0,5,2,9\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("; Version: 2.2\n" + SWF_LINE, TraceFormat.SWF),
        (SWF_LINE, TraceFormat.SWF),
        (META, TraceFormat.SWF),
        ("num_gpus,submit_s,duration_s\n1,0,1\n", TraceFormat.JOBS),
        ("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,1000\n", TraceFormat.OPENB),
    ],
)
def test_the_format_is_told_from_the_first_line(
    tmp_path: Path, text: str, expected: TraceFormat
) -> None:
    path = tmp_path / "trace"
    path.write_text(text)
    assert detect(path) is expected
    assert len(read_trace(path)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "no known trace format"),
        ("sn,cpu_milli,memory_mib,gpu,model\n", "a list of nodes, not a trace"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "trace"
    path.write_text(text)
    with pytest.raises(FileError, match=said):
        detect(path)


def test_two_jobs_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text(SWF_LINE + SWF_LINE)
    with pytest.raises(FileError, match="two jobs job-1"):
        read_trace(path)
