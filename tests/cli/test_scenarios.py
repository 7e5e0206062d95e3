"""`ganglion scenarios` runs files, says what differs, and fails when something does."""

import json
from pathlib import Path

from tests.cli.harness import Ganglion
from tests.scenarios.files import DATA

OWN = str(DATA / "own.yaml")
ONE = "equal-priority-yields-to-nobody"


def test_a_pass_exits_with_zero_and_counts_tiers(ganglion: Ganglion, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    done = ganglion(
        "scenarios", "run", OWN, "--policy", "kai", "--only", ONE, "--json", str(target)
    )
    assert done.code == 0, done.err
    assert ONE in done.out
    found = json.loads(target.read_text())
    assert found["tiers"] == {"policy": {"pass": 1, "deviation": 0, "fail": 0}}
    assert found["scenarios"][0]["pass"] is True


def test_a_failure_exits_with_one_and_says_what_differs(ganglion: Ganglion, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    text = Path(OWN).read_text()
    file.write_text(text.replace("equal: {status: pending}", "equal: {status: running}"))
    done = ganglion("scenarios", "run", str(file), "--policy", "kai", "--only", ONE, "-o", "json")
    assert done.code == 1
    (only,) = json.loads(done.out)["scenarios"]
    assert only["difference"] == "equal/0 is pending, not running"


def test_list_names_every_scenario(ganglion: Ganglion) -> None:
    done = ganglion("scenarios", "list", OWN, "-o", "json")
    assert ONE in [each["id"] for each in json.loads(done.out)]


def test_mistakes_are_input_errors(ganglion: Ganglion, tmp_path: Path) -> None:
    done = ganglion("scenarios", "run", str(tmp_path / "none.yaml"))
    assert (done.code, "there is no file" in done.err) == (2, True)
    done = ganglion("scenarios", "run", OWN, "--only", "nothing")
    assert "there is no scenario nothing" in done.err
    done = ganglion("scenarios", "run", OWN, "--policy", "nothing")
    assert "neither a preset nor a file" in done.err
