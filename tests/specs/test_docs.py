import re
from pathlib import Path

import jsonschema_rs
import pytest

from ganglion.compat.workloads import load_workloads, parse_any
from ganglion.specs.cluster.cluster import load_cluster, parse_cluster
from ganglion.specs.cluster.schema import SCOPES as CLUSTER_SCOPES
from ganglion.specs.grammar.words import CAUSES, KIND_ALIASES, PRIORITIES
from ganglion.specs.reading.yaml import parse_documents
from ganglion.specs.workload.aliases import ALIASES
from ganglion.specs.workload.schema import SCOPES
from ganglion.specs.workload.workload import (
    parse_workloads,
    to_workload,
    workload_schema,
)

ROOT = Path(__file__).parents[2]
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", blocks("workload-file.md", "yaml"))
def test_every_workload_in_the_documentation_is_one(text: str) -> None:
    for doc in parse_workloads(text):
        to_workload(doc, user="ada", default_queue="default")


@pytest.mark.parametrize(
    "text",
    [
        *blocks("workload-file.md", "yaml"),
        *(path.read_text() for path in EXAMPLES.glob("*.yaml") if path.stem != "cluster"),
    ],
)
def test_editors_find_no_fault_with_documented_workloads(text: str) -> None:
    (written,) = parse_documents(text)
    jsonschema_rs.validate(workload_schema(), written.data)


@pytest.mark.parametrize("text", blocks("cluster-file.md", "yaml"))
def test_every_cluster_in_the_documentation_is_one(text: str) -> None:
    assert parse_cluster(text).nodes


@pytest.mark.parametrize("text", blocks("slurm.md", "bash"))
def test_every_script_in_the_documentation_is_honoured_in_full(text: str) -> None:
    (doc,) = parse_any(text)
    assert doc.warnings == ()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_what_it_says(path: Path) -> None:
    if path.stem.startswith("cluster"):
        assert load_cluster(path).nodes
    else:
        (doc,) = load_workloads(path)
        to_workload(doc, user="ada", default_queue="default")


def test_the_example_script_is_honoured_in_full() -> None:
    (doc,) = load_workloads(EXAMPLES / "slurm.sh")
    assert doc.warnings == ()


def test_the_page_on_workload_files_names_every_key_and_word() -> None:
    text = (DOCS / "workload-file.md").read_text()
    names = {key for model in SCOPES.values() for key in model.model_fields}
    assert sorted(name for name in names | {*PRIORITIES, *CAUSES} if f"`{name}`" not in text) == []


def test_the_reference_lists_every_other_name_beside_its_key() -> None:
    text = (DOCS / "reference" / "workload.md").read_text()
    assert sorted(each for each in KIND_ALIASES if f"`{each}` is `" not in text) == []
    for table in ALIASES.values():
        for other, real in table.items():
            key = next(each for each in reversed(real.split(".")) if f"| `{each}` |" in text)
            rows = [line for line in text.splitlines() if line.startswith(f"| `{key}` |")]
            assert any(f"`{other}`" in row for row in rows), other


def test_the_reference_of_clusters_names_every_key() -> None:
    text = (DOCS / "cluster-file.md").read_text()
    models = [CLUSTER_SCOPES[scope] for scope in ("", "pools", "nodes")]
    names = {key for model in models for key in model.model_fields}
    assert sorted(name for name in names - {"policy", "pools"} if f"`{name}`" not in text) == []
