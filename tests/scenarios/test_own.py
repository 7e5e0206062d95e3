"""Scenarios in the words of our own files test a policy: a wrong expectation is noticed."""

from pathlib import Path

import pytest

from ganglion.model.errors import FieldError
from ganglion.scenarios.model import Result
from ganglion.scenarios.own import FORMAT
from ganglion.scenarios.runner import run_all
from ganglion.scenarios.source import load_scenarios
from ganglion.specs.policy.policy import resolve_policy

FILE = Path(__file__).parent / "team.yaml"
TEXT = FILE.read_text("utf-8")


def results(file: Path, policy: str = "default") -> list[Result]:
    return run_all(load_scenarios(file, (FORMAT,)), resolve_policy(policy))


def different(tmp_path: Path, old: str, new: str) -> str:
    """What differs in the one scenario that does, with a text of the file replaced."""
    assert old in TEXT
    file = tmp_path / "team.yaml"
    file.write_text(TEXT.replace(old, new), "utf-8")
    (found,) = (each.difference for each in results(file) if not each.passed)
    return found


@pytest.mark.parametrize("policy", ["default", "kai"])
def test_outcomes_are_the_expected_ones(policy: str) -> None:
    assert [(each.id, each.difference) for each in results(FILE, policy) if not each.passed] == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("asks: running", "asks: waiting", "asks is running, not waiting"),
        ("own: running", "own: waiting", "own is running, not waiting"),
        ("waiting, stopped: true", "waiting, stopped: false", "lent was asked to stop"),
        ("stopped: false", "stopped: true", "first was not asked to stop"),
        ("reason: capacity", "reason: quota", "second waits for capacity, not quota"),
        ("{state: waiting, reason: capacity}", "running", "second is waiting, not running ("),
        ("nodes: [h-0, h-1]", "nodes: [h-0]", "first is on h-0, h-1, not h-0"),
        ("replicas: 2", "replicas: 3", "chat is partly running, not running"),
    ],
)
def test_a_wrong_expectation_is_a_difference(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert says in different(tmp_path, old, new)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("own: running", "mine: running", "no workload is called mine"),
        ("name: lent", "name: own", "team.yaml:14:scenarios[0].running[1]: a second workload"),
        ("queue: research, run", "queue: org, run", "no queue 'org' takes workloads"),
        (
            "{gpus: 4}}\n    submit:\n      - {name: asks",
            "{gpus: 9}}\n    submit:\n      - {name: asks",
            "lent does not start",
        ),
        ("name: asks, queue", "name: asks, color: red, queue", "team.yaml:16:"),
        ("after: 10m", "after: soon", "soon"),
        ("own: running", "own: runing", "team.yaml:17:scenarios[0].expect"),
        ('T4:16GB:1"}, {name: b', 'T4:16GB:x"}, {name: b', "team.yaml:33:"),
    ],
)
def test_a_mistake_fails_its_scenario_with_the_place(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    assert says in different(tmp_path, old, new)


def test_a_policy_file_brings_its_queues(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("queues: [{name: product, limit: {H100: 4}}, {name: research}]\n")
    (one, *_) = results(FILE, str(policy))
    assert "lent does not start" in one.difference


def test_the_policy_is_not_part_of_the_cluster(tmp_path: Path) -> None:
    assert "the policy is that of --policy" in different(
        tmp_path, "cluster: {nodes", "cluster: {policy: kai, nodes"
    )


def test_a_file_of_another_scheduler_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "kai.yaml"
    file.write_text("scenarios: [{id: x, jobs: []}]\n")
    with pytest.raises(FieldError, match="holds no scenarios") as caught:
        load_scenarios(file, (FORMAT,))
    assert "each has `submit`" in caught.value.hint
