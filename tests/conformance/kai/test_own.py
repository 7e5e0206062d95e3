"""Scenarios of our own end as the rules say, and an expectation that is wrong is noticed."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conformance.files import DATA, differences

OWN = [DATA / "own.yaml", DATA / "more.yaml"]
OTHERS = {"running": "pending", "pending": "running", "started": "pending", "reserved": "pending"}
Document = dict[str, Any]


@pytest.mark.parametrize("file", OWN, ids=lambda each: str(each.stem))
def test_every_outcome_is_the_expected_one(file: Path) -> None:
    assert differences(file, "kai") == {}


def scenarios() -> list[Document]:
    return [each for file in OWN for each in yaml.safe_load(file.read_text())["scenarios"]]


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda each: str(each["id"]))
def test_a_wrong_expectation_fails(scenario: Document, tmp_path: Path) -> None:
    kind = next(iter(scenario["expect"]))
    name, outcome = next(iter(scenario["expect"][kind].items()))
    outcome["status"] = OTHERS.get(outcome["status"], "running")
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump({"scenarios": [scenario]}))
    (difference,) = differences(file, "kai").values()
    assert name in difference


def test_a_wrong_node_fails(tmp_path: Path) -> None:
    first = scenarios()[0]
    first["expect"]["jobs"]["early"]["node"] = "a"
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump({"scenarios": [first]}))
    (difference,) = differences(file, "kai").values()
    assert "early/0 is on b, not a" in difference
