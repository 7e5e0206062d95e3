"""Results are counted by tier; deviations are apart and never passes."""

from pathlib import Path

import pytest

from conformance.deviations import load_deviations
from conformance.formats import FORMATS
from ganglion.model.errors import EnvironmentFault, NotFound
from ganglion.scenarios.model import Result
from ganglion.scenarios.runner import chosen, counts, failed, report, run_all
from ganglion.scenarios.source import load_scenarios
from ganglion.specs.policy.policy import resolve_policy
from tests.conformance.files import DATA

PASS = Result("a", "policy", True)
FAIL = Result("b", "policy", False, "it is pending, not running")
MEANT = Result("c", "ordering", False, "it is on n1, not n0", "we do x: y")


def test_deviations_are_neither_passes_nor_failures() -> None:
    assert counts([PASS, FAIL, MEANT]) == {
        "policy": {"pass": 1, "deviation": 0, "fail": 1},
        "ordering": {"pass": 0, "deviation": 1, "fail": 0},
    }
    assert failed([PASS, FAIL])
    assert not failed([PASS, MEANT])


def test_the_report_says_of_each_what_is_different() -> None:
    data = report([FAIL, MEANT])
    assert data["scenarios"][0] == {
        "id": "b",
        "tier": "policy",
        "pass": False,
        "difference": "it is pending, not running",
        "deviation": "",
    }
    assert data["scenarios"][1]["deviation"] == "we do x: y"


def test_figures_are_summed_up() -> None:
    some = [Result("a", "random", True, figures={"busy": 2}), Result("b", "random", True)]
    assert report([*some, *some])["figures"] == {"busy": 4}


def test_a_listed_deviation_is_noted_only_where_the_outcome_differs() -> None:
    scenarios = chosen(load_scenarios(DATA / "own.yaml", FORMATS), ["gang-stays-inside-one-rack"])
    listed = {"gang-stays-inside-one-rack": "we do x: y"}
    (found,) = run_all(scenarios, resolve_policy("kai"), listed)
    assert (found.verdict, found.deviation) == ("pass", "")


def test_an_unknown_id_is_an_error_with_the_nearest_one() -> None:
    with pytest.raises(NotFound) as caught:
        chosen(load_scenarios(DATA / "own.yaml", FORMATS), ["two-halfs-move-together"])
    assert "two-halves-move-together" in caught.value.hint


def test_progress_is_told_scenario_by_scenario() -> None:
    scenarios = load_scenarios(DATA / "own.yaml", FORMATS)[:2]
    told: list[tuple[int, int, str]] = []
    run_all(scenarios, resolve_policy("kai"), {}, lambda *each: told.append(each))
    assert told == [(0, 2, scenarios[0].id), (1, 2, scenarios[1].id)]


def test_deviations_are_read_from_the_table_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# X\n\n| Scenario | We do | Why |\n|---|---|---|\n| `a-b` | x | it is | y |\n")
    assert load_deviations(page) == {"a-b": "x: it is"}


def test_the_page_of_deviations_is_part_of_the_package() -> None:
    assert all(load_deviations().values())


def test_a_page_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="gone"):
        load_deviations(tmp_path / "gone.md")
