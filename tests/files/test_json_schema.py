import json

import jsonschema_rs
import pytest

from ganglion.files.json_schema import DRAFT, workload_schema
from ganglion.files.schema import KEYS
from ganglion.files.workload import document, parse_workloads
from ganglion.files.yaml import parse_documents

SCHEMA = workload_schema()
VALID = jsonschema_rs.validator_for(SCHEMA)


def test_the_schema_is_json_of_the_current_draft() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert SCHEMA["$schema"] == DRAFT
    assert SCHEMA["$id"].startswith("urn:")
    jsonschema_rs.meta.validate(SCHEMA)


def test_every_canonical_key_is_described() -> None:
    assert tuple(SCHEMA["properties"]) == KEYS[""]
    assert all(each["description"] for each in SCHEMA["properties"].values())


def test_other_names_stand_beside_their_key() -> None:
    assert "num_nodes" in SCHEMA["properties"]["nodes"]["x-aliases"]
    assert "accelerators" in SCHEMA["$defs"]["Resources"]["properties"]["gpus"]["x-aliases"]


TEXTS = [
    "run: x",
    "run: [a, b]\nnodes: 2..4\nresources: {gpus: 'H100:8', cpus: 0.5, memory: 64Gi}",
    "run: x\nplacement: prefer_rack\npriority: high\ntime_limit: 2:00:00\nretry: 3",
    "run: x\nplacement: {required: rack, forbidden: node}\npreemptible: {grace: 2m}",
    "run: x\nenv: [A, B=3]\ncheckpoint: 10m\nparams: {lr: [1e-4], seed: 0..4}",
    "run: x\nenv: {A: null, B: 3}\ncheckpoint: true\nafter: a\nhold: yes",
    "run: x\npod_sets: [{name: a, nodes: 2, groups: [{size: 2, required: rack}]}]",
    "run: x\nresources: {gpus: {memory: 10GB}, shm_size: 1GB}\ntime_limit: 1d12h",
    "run: x\nconstraints: {labels: {zone: [a]}, isolation: queue, residency: [eu]}\nlabels: {a: b}",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_accepted_in_canonical_keys_is_valid(text: str) -> None:
    (written,) = parse_documents(text)
    assert not [error.message for error in VALID.iter_errors(written.data)]
    (doc,) = parse_workloads(text)
    assert not [error.message for error in VALID.iter_errors(document(doc))]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"run": "x", "noeds": 2},
        {"run": "x", "nodes": 0},
        {"run": "x", "nodes": "4-2"},
        {"run": "x", "resources": {"gpsu": 1}},
        {"run": "x", "resources": {"memory": "64"}},
        {"run": "x", "time_limit": "2:00"},
        {"run": "x", "name": "My Job"},
        {"run": "x", "priority": 101},
        {"run": "x", "groups": [{"level": "rack"}]},
    ],
)
def test_what_is_refused_is_marked_in_editors_too(data: dict[str, object]) -> None:
    assert not VALID.is_valid(data)
