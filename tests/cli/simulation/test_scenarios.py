"""`ganglion scenarios` tests a policy, says what differs, and fails when something does."""

import json
from pathlib import Path

from tests.cli.harness import Ganglion

TEAM = Path(__file__).parents[2] / "scenarios" / "team.yaml"
ONE = "equals-wait-for-one-another"


def test_a_pass_exits_with_zero_and_writes_results(ganglion: Ganglion, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    done = ganglion("scenarios", "run", str(TEAM), "--only", ONE, "--json", str(target))
    assert done.code == 0, done.err
    assert json.loads(target.read_text())["tiers"] == {
        "scenarios": {"pass": 1, "deviation": 0, "fail": 0}
    }


def test_a_failure_exits_with_one_and_says_what_differs(ganglion: Ganglion, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(TEAM.read_text().replace("asks: running", "asks: waiting"))
    done = ganglion("scenarios", "run", str(file), "-o", "json")
    assert done.code == 1
    assert json.loads(done.out)["scenarios"][0]["difference"] == "asks is running, not waiting"


def test_list_names_every_scenario(ganglion: Ganglion) -> None:
    done = ganglion("scenarios", "list", str(TEAM), "-o", "json")
    assert ONE in [each["id"] for each in json.loads(done.out)]
