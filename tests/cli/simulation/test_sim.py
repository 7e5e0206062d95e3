"""`ganglion sim` prints, writes files, and answers mistakes."""

import json
from pathlib import Path

import pytest
from tests.cli.harness import Ganglion

SMALL = ("sim", "--synthetic", "40", "--nodes", "2")


def test_a_run_without_a_trace_prints_its_figures(ganglion: Ganglion) -> None:
    done = ganglion(*SMALL)
    assert done.code == 0, done.err
    for word in ("2 nodes, 16 GPUs", "waiting time", "bounded slowdown", "GPU-hours"):
        assert word in done.out
    assert "simulated" in done.err


def test_files_and_stdout_carry_the_same_figures_and_equal_bytes_each_time(
    ganglion: Ganglion, tmp_path: Path
) -> None:
    written = []
    for name in ("one", "two"):
        files = [tmp_path / f"{name}.json", tmp_path / f"{name}.html"]
        args = ("--json", str(files[0]), "--html", str(files[1]), "--check", "-o", "json")
        done = ganglion(*SMALL, "--faults", "heavy", *args)
        assert done.code == 0, done.err
        assert done.out == files[0].read_text()
        written.append([file.read_bytes() for file in files])
    assert written[0] == written[1]
    assert json.loads(written[0][0])["jobs"]["total"] == 40


def test_a_trace_is_replayed(ganglion: Ganglion, tmp_path: Path) -> None:
    trace = tmp_path / "jobs.csv"
    trace.write_text("submit_s,duration_s,num_gpus,vc\n0,100,8,a\n0,100,8,b\n0,9,80,b\n")
    done = ganglion("sim", "--trace", str(trace), "--nodes", "1", "-o", "json")
    data = json.loads(done.out)
    assert data["jobs"]["succeeded"] == 2
    assert data["wait_s"]["max"] == 100
    assert [each["gang"] for each in data["never"]] == ["job-3/0"]


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("--trace", "nothing.csv"), 2, "cannot read nothing.csv"),
        (("--synthetic", "0"), 2, "0 is not in the range"),
        (("--faults", "gremlins"), 2, "unknown fault 'gremlins'"),
        (("--policy", "luck"), 1, "no plugin luck"),
        (("--json", "/nowhere/at/all.json"), 1, "cannot write /nowhere/at/all.json"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(
    ganglion: Ganglion, args: tuple[str, ...], code: int, said: str
) -> None:
    done = ganglion("sim", *args)
    assert done.code == code
    assert said in done.err
    assert "Traceback" not in done.err
