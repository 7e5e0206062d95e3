import json

import jsonschema_rs
import pytest

from ganglion.model.queue import Preemption, Queue
from ganglion.model.resources import Amount
from ganglion.specs.policy.presets import PRESETS, preset
from ganglion.specs.policy.printing import policy_document
from ganglion.specs.policy.schema import SCOPES as POLICY_SCOPES
from ganglion.specs.reading.yaml import parse_documents
from ganglion.specs.workload.json_schema import DRAFT, policy_schema, workload_schema
from ganglion.specs.workload.schema import KEYS
from ganglion.specs.workload.workload import document, parse_workloads

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
    "run: x\nreplicas: 0..8\nscale: {targets: {requests: 8, ttft: 500ms}, up: 4 or 100%/15s}",
    "run: x\nreplicas: 1..8\nscale: {targets: {kv_cache: 80%}, standby: 2, hints: "
    "[{cron: 0 8 * * *, lasts: 10h, replicas: 4}], panic: 2, source: metrics}",
    "run: x\nidle_timeout: 30m\nidle: {hours: 'mon-fri 08:00-20:00 UTC', gpu: 2%, traffic: 1000}",
    "run: x\nparams: {a: 0..9}\nsearch: 3\nparallel: 2..4\nearly_stop: loss\nschedule: 0 3 * * *",
    "run: x\ntrials: [{a: 1}, {a: 2}]\nafter: [any:b]\nsingleton: yes\n"
    "retry: {limits: {oom: 0}, replace: yes}\nschedule: {cron: 0 3 * * *, overlap: allow}",
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


POLICY = policy_schema()
VALID_POLICY = jsonschema_rs.validator_for(POLICY)


def test_the_schema_of_policies_describes_every_key_and_its_other_names() -> None:
    jsonschema_rs.meta.validate(POLICY)
    assert json.loads(json.dumps(POLICY)) == POLICY
    for scope, model in POLICY_SCOPES.items():
        described = POLICY["$defs"][model.__name__] if scope else POLICY
        assert tuple(described["properties"]) == tuple(model.model_fields)
        assert all(each["description"] for each in described["properties"].values()), scope
    rules = POLICY["$defs"]["PreemptionFile"]["properties"]
    assert rules["preempt"]["x-aliases"] == ["withinClusterQueue"]
    assert rules["reclaim"]["examples"] == ["never", "lower", "lower_or_newer", "any"]


@pytest.mark.parametrize("name", PRESETS)
def test_a_policy_in_full_is_valid(name: str) -> None:
    queue = Queue("a", quota={"H100": Amount(1_000, 500)}, preemption=Preemption(), strict=True)
    printed = policy_document(preset(name), [queue])
    assert [error.message for error in VALID_POLICY.iter_errors(printed)] == []


@pytest.mark.parametrize(
    "data",
    [
        {"evikt": {}},
        {"evict": {"restart": "soon"}},
        {"queues": [{"quota": {"H100": 1}}]},
        {"queues": [{"name": "a", "weight": -1}]},
        {"tries": 0},
    ],
)
def test_what_is_no_policy_is_marked_in_editors_too(data: dict[str, object]) -> None:
    assert not VALID_POLICY.is_valid(data)
