"""Scenarios of our own end as the rules say, and an expectation that is wrong is noticed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.scenarios.files import DATA, differences

OWN = DATA / "own.yaml"
OTHERS = {"running": "pending", "pending": "running", "started": "pending", "reserved": "pending"}


def test_every_outcome_is_the_expected_one() -> None:
    assert differences(OWN, "kai") == {}


def corrupted() -> Iterator[tuple[str, dict[str, object]]]:
    """Every scenario with one expected status turned round."""
    for each in yaml.safe_load(OWN.read_text())["scenarios"]:
        kind = next(iter(each["expect"]))
        name, outcome = next(iter(each["expect"][kind].items()))
        outcome["status"] = OTHERS[outcome["status"]]
        yield f"{each['id']}: {name}", {"scenarios": [each]}


@pytest.mark.parametrize(("name", "document"), list(corrupted()))
def test_a_wrong_expectation_fails(name: str, document: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(document))
    found = differences(file, "kai")
    assert name.partition(": ")[2] in next(iter(found.values()))


def test_a_wrong_node_fails(tmp_path: Path) -> None:
    document = yaml.safe_load(OWN.read_text())
    first = document["scenarios"][0]
    first["expect"]["jobs"]["early"]["node"] = "a"
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump({"scenarios": [first]}))
    (difference,) = differences(file, "kai").values()
    assert "early/0 is on b, not a" in difference
