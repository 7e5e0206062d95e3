"""What the page on Kubernetes promises is held by tests that exist, and names what there is."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from ganglion.worlds.kubernetes import names

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")
TABLE = PAGE.partition("<!-- mechanics -->")[2].partition("<!-- /mechanics -->")[0]
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if re.match(r"\| \d", line)]
TENANTS = (ROOT / "docs" / "kubernetes-tenants.md").read_text("utf-8")
ANSWERS = TENANTS.partition("<!-- tenants -->")[2].partition("<!-- /tenants -->")[0]
QUESTIONS = [line.strip("| ").split(" | ") for line in ANSWERS.splitlines()[3:] if line]
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


@cache
def functions_of(path: Path) -> frozenset[str]:
    """Names of the functions of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef))


def test_every_mechanic_has_its_line() -> None:
    assert len(ROWS) >= 34
    assert [row[0] for row in ROWS] == [str(number + 1) for number in range(len(ROWS))]
    assert {len(row) for row in ROWS} == {4}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0]))
def test_every_mechanic_is_held_by_tests_that_exist(row: list[str]) -> None:
    held = NAMED.findall(row[3])
    assert held
    assert len(held) == row[3].count("::"), "each of them as `path::name`"
    for file, name in held:
        path = ROOT / "tests" / file
        assert path.is_file(), file
        assert name in functions_of(path), f"{file} has no {name}"


@pytest.mark.parametrize("row", QUESTIONS, ids=lambda row: str(row[0])[:40])
def test_every_answer_about_tenants_is_held_by_tests_that_exist(row: list[str]) -> None:
    question, answer, tests = row
    assert question.endswith("?")
    assert answer
    held = NAMED.findall(tests)
    assert held
    assert len(held) == tests.count("::"), "each of them as `path::name`"
    for file, name in held:
        path = ROOT / "tests" / "worlds" / "kubernetes" / file
        assert path.is_file(), file
        assert name in functions_of(path), f"{file} has no {name}"


def test_every_name_that_people_may_write_is_on_the_page() -> None:
    prefix = f"{names.GROUP}/"
    known = {
        each for each in vars(names).values() if str(each).startswith(prefix) and each != prefix
    }
    assert len(known) > 10
    assert sorted(each for each in known if f"`{each}`" not in PAGE) == []
