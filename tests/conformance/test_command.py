"""`python -m conformance` runs files, says what differs, and fails when something does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.command import PROGRAM, conformance
from ganglion.cli.main import run
from ganglion.cli.output import screen
from tests.cli.harness import Done, Ganglion
from tests.conformance.files import DATA

OWN = str(DATA / "own.yaml")
ONE = "equal-priority-yields-to-nobody"


@pytest.fixture
def run_it(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Ganglion:
    """Run `python -m conformance` with these arguments, in this process."""
    monkeypatch.delenv("GANGLION_DEBUG", raising=False)

    def call(*args: str) -> Done:
        screen.out.cache_clear()
        screen.err.cache_clear()
        code = run(list(args), conformance, PROGRAM)
        captured = capfdbinary.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())

    return call


def test_a_pass_exits_with_zero_and_counts_tiers(run_it: Ganglion, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    done = run_it("run", OWN, "--policy", "kai", "--only", ONE, "--json", str(target))
    assert done.code == 0, done.err
    assert ONE in done.out
    found = json.loads(target.read_text())
    assert found["tiers"] == {"policy": {"pass": 1, "deviation": 0, "fail": 0}}
    assert found["scenarios"][0]["pass"] is True


def test_a_failure_exits_with_one_and_says_what_differs(run_it: Ganglion, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    text = Path(OWN).read_text()
    file.write_text(text.replace("equal: {status: pending}", "equal: {status: running}"))
    done = run_it("run", str(file), "--policy", "kai", "--only", ONE, "-o", "json")
    assert done.code == 1
    (only,) = json.loads(done.out)["scenarios"]
    assert only["difference"] == "equal/0 is pending, not running"


def test_list_names_every_scenario(run_it: Ganglion) -> None:
    done = run_it("list", OWN, "-o", "json")
    assert ONE in [each["id"] for each in json.loads(done.out)]


def test_mistakes_are_input_errors(run_it: Ganglion, tmp_path: Path) -> None:
    done = run_it("run", str(tmp_path / "none.yaml"))
    assert (done.code, "there is no file" in done.err) == (2, True)
    done = run_it("run", OWN, "--only", "nothing")
    assert "there is no scenario nothing" in done.err
    done = run_it("run", OWN, "--policy", "nothing")
    assert "neither a preset nor a file" in done.err


def test_a_checkout_runs_it_as_a_module(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    args = ("run", OWN, "--policy", "kai", "--only", ONE, "--json", str(target))
    command = [sys.executable, "-m", "conformance", *args]
    subprocess.run(command, cwd=Path(__file__).parents[2], check=True, capture_output=True)
    assert json.loads(target.read_text())["tiers"]["policy"]["pass"] == 1
