"""The documentation of policies is true."""

import re
from pathlib import Path

import pytest

from ganglion.specs.cluster.cluster import parse_cluster
from ganglion.specs.policy.policy import load_policy, parse_policy
from ganglion.specs.policy.presets import PRESETS
from ganglion.specs.policy.schema import ALIASES, SCOPES

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs" / "policies"
BLOCKS = [
    text
    for each in sorted(FOLDER.glob("*.md"))
    for text in re.findall(r"^```yaml\n(.*?)^```", each.read_text(), re.MULTILINE | re.DOTALL)
    if "apiVersion" not in text  # other schedulers' objects, to compare
]


def test_the_table_names_every_key_every_other_name_and_every_preset() -> None:
    text = (FOLDER / "reference.md").read_text("utf-8")
    names = {key for model in SCOPES.values() for key in model.model_fields}
    names |= {other for table in ALIASES.values() for other in table} | set(PRESETS)
    assert sorted(name for name in names if f"`{name}`" not in text) == []


@pytest.mark.parametrize("text", BLOCKS)
def test_every_policy_in_the_documentation_is_one(text: str) -> None:
    if re.search(r"^policy:", text, re.MULTILINE):
        parse_cluster(text)
    else:
        parse_policy(text)


@pytest.mark.parametrize("path", sorted((ROOT / "examples/policies").glob("*.yaml")))
def test_every_example_of_a_policy_is_one(path: Path) -> None:
    assert load_policy(path).queues


def test_names_of_other_schedulers_are_documented_where_they_are_compared() -> None:
    text = (FOLDER / "presets.md").read_text()
    theirs = {
        *("withinClusterQueue", "reclaimWithinCohort", "borrowWithinCohort"),
        *("maxPriorityThreshold", "preemptMinRuntime", "reclaimMinRuntime", "overQuotaWeight"),
        *("nominalQuota", "borrowingLimit", "lendingLimit", "deserved", "queueingStrategy"),
    }
    known = {other for table in ALIASES.values() for other in table}
    assert theirs <= known
    assert sorted(name for name in theirs if not re.search(rf"\b{name}\b", text)) == []
