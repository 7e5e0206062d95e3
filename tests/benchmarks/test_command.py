"""`python -m benchmarks` lists, runs, writes figures, and answers mistakes with what there is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.harness import Done, Ganglion

from benchmarks.command import PROGRAM, benchmarks
from benchmarks.registry import BENCHES
from ganglion.cli.main import run
from ganglion.cli.output import screen

HEADER = "job_id,submit_s,duration_s,num_gpus,user,vc,status,model\n"


@pytest.fixture
def bench(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Ganglion:
    """Run `python -m benchmarks` with these arguments, in this process."""
    monkeypatch.delenv("GANGLION_DEBUG", raising=False)

    def call(*args: str) -> Done:
        screen.out.cache_clear()
        screen.err.cache_clear()
        code = run(list(args), benchmarks, PROGRAM)
        captured = capfdbinary.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())

    return call


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    (tmp_path / "trace1.csv").write_text(HEADER + "0,0,10,8,,,,a\n1,0,20,64,,,,b\n")
    return tmp_path


def test_without_a_name_all_benchmarks_are_listed(bench: Ganglion) -> None:
    done = bench("-o", "json")
    listed = {each["name"]: each for each in json.loads(done.out)}
    assert list(listed) == list(BENCHES)
    assert "srsf" in listed["jct-muri"]["policies"]


def test_a_run_prints_tables_and_notes(bench: Ganglion, traces: Path) -> None:
    done = bench("jct-muri", "--traces", str(traces), "--policy", "srsf")
    assert done.code == 0, done.err
    assert "trace1: 8 nodes of 8 GPUs, 2 jobs" in done.out
    assert "AVG JCT S" in done.out
    assert "restart costs nothing" in done.out
    assert done.err == ""


def test_figures_go_to_a_file_and_to_stdout(bench: Ganglion, traces: Path) -> None:
    target = traces / "out.json"
    args = ("--traces", str(traces), "--policy", "fifo", "--json", str(target), "-o", "json")
    done = bench("jct-muri", *args)
    assert json.loads(done.out)["avg_jct_s"] == {"fifo": 20.0}
    assert json.loads(target.read_text()) == json.loads(done.out)
    assert str(target) in done.err


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("nope",), 1, "no benchmark 'nope'"),
        (("jct-muri", "--policy", "lifo"), 2, "jct-muri has no policy 'lifo'"),
        (("jct-muri", "--traces", "/nowhere"), 2, "no folder /nowhere"),
        (("jct-muri", "--json", "/nowhere/x.json"), 1, "cannot write /nowhere/x.json"),
        (("jct-muri", "--workload", "1"), 2, "without traces"),
        (("jct-muri", "--seeds", "0"), 2, "0 is not in the range"),
        (("jct-muri", "--days", "1..2"), 2, "jct-muri has its own number of days"),
        (("serve-genai", "--days", "x"), 2, "'x' is not FIRST..LAST"),
        (("serve-genai", "--days", "3..2"), 2, "'3..2' has no days"),
    ],
)
def test_mistakes_are_answered_in_words(
    bench: Ganglion, args: tuple[str, ...], code: int, says: str
) -> None:
    done = bench(*args)
    assert (done.code, done.out) == (code, "")
    assert says in done.err


def test_a_mistake_is_answered_with_the_command_that_helps(bench: Ganglion) -> None:
    assert "python -m benchmarks --help" in bench("jct-muri", "--nothing").err


def test_a_checkout_runs_it_as_a_module(traces: Path) -> None:
    target = traces / "out.json"
    args = ("jct-muri", "--traces", str(traces), "--policy", "fifo", "--json", str(target))
    command = [sys.executable, "-m", "benchmarks", *args]
    subprocess.run(command, cwd=Path(__file__).parents[2], check=True, capture_output=True)
    assert json.loads(target.read_text())["avg_jct_s"] == {"fifo": 20.0}
