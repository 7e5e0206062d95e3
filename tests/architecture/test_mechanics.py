"""What the page on Kubernetes promises is held by tests that exist, and names what there is."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.manifests.checks import ELSEWHERE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")
TABLE = PAGE.partition("<!-- mechanics -->")[2].partition("<!-- /mechanics -->")[0]
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if re.match(r"\| \d", line)]
SIDES = PAGE.partition("<!-- hosts -->")[2].partition("<!-- /hosts -->")[0]
HOSTS = [line.strip("| ").split(" | ") for line in SIDES.splitlines() if re.match(r"\| \d", line)]
NOT_DONE = "*Not done:*"
TENANTS = (ROOT / "docs" / "kubernetes-tenants.md").read_text("utf-8")
ANSWERS = TENANTS.partition("<!-- tenants -->")[2].partition("<!-- /tenants -->")[0]
QUESTIONS = [line.strip("| ").split(" | ") for line in ANSWERS.splitlines()[3:] if line]
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


def holds(said: str) -> None:
    """Whether tests that a page names exist, as `path::name` below `tests/`."""
    held = NAMED.findall(said)
    assert held
    assert len(held) == said.count("::"), "each of them as `path::name`"
    for file, name in held:
        path = ROOT / "tests" / file
        assert path.is_file(), file
        assert name in functions_of(path), f"{file} has no {name}"


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
    holds(row[3])


@pytest.mark.parametrize("row", HOSTS, ids=lambda row: str(row[0]))
def test_what_a_home_and_a_cluster_do_is_held_by_tests_of_both(row: list[str]) -> None:
    _, what, home, cluster, tests = row
    assert what
    assert home
    assert NOT_DONE not in home
    holds(tests)
    files = [file for file, _ in NAMED.findall(tests)]
    assert any(not each.startswith("worlds/kubernetes/") for each in files)
    if not cluster.startswith(NOT_DONE):
        # Where two hosts run one reconciler, a test of both hosts holds it too.
        assert any(each.startswith("worlds/kubernetes/") or "_hosts" in each for each in files)
    if NOT_DONE in cluster:
        reason = cluster.partition(NOT_DONE)[2]
        assert re.search(r"\bas\b|:|;", reason), "it says why, or what does it instead"


def test_hosts_have_a_line_for_all_that_is_decided_for_both_and_all_that_is_refused() -> None:
    assert [row[0] for row in HOSTS] == [str(number + 1) for number in range(len(HOSTS))]
    assert {len(row) for row in HOSTS} == {5}
    package = ROOT / "src" / "ganglion"
    reconcilers = {
        str(each.relative_to(package))
        for each in (package / "lifecycle").rglob("*.py")
        if "; every host of " in each.read_text("utf-8").partition("\n")[0]
    }
    assert {each.rpartition("/")[2] for each in reconcilers} == {"reconciler.py", "standby.py"}
    assert len(reconcilers) == 4
    assert sorted(each for each in reconcilers if f"`{each}`" not in SIDES) == []
    refused = {*ELSEWHERE, "after", "standby", "early_stop"}
    told = [row[3].partition(NOT_DONE)[2] for row in HOSTS]
    assert sorted(key for key in refused if not any(f"`{key}`" in each for each in told)) == []


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
