"""The API server refuses what it can know to be wrong, and takes everything that is right."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.controlplane.cluster import Cluster, Refused
from tests.worlds.kubernetes.rbac import define_kinds

from ganglion.model.resources import Amount
from ganglion.worlds.kubernetes.config.read import configuration
from ganglion.worlds.kubernetes.config.status import QueueFigures, patch_of, status_of
from ganglion.worlds.kubernetes.types.meta import Anything

API = "/apis/ganglion.dev/v1alpha1"
NOW = "2026-11-22T11:00:00Z"
BEGIN = "2026-12-01T08:00Z"
BOOKING = {"name": "x", "nodes": ["n1"], "begin": BEGIN, "length": "4h"}

RIGHT_QUEUES: list[dict[str, Any]] = [
    {},
    {"quota": {"H100": 16, "*": "32", "cpu": 0.5}},
    {"quota": {"H100": {"gpus": 16, "cpus": "512", "memory": "4TiB"}}},
    {"parent": "org", "weight": 0, "priority": -3, "strict": True, "max_pending": "3"},
    {"limit": {"H100": 4}, "lend_limit": {"H100": "0.5"}, "user_limit": {"*": 1}},
    {"borrowing_limit": {"*": 4}, "timeshare": "1h30m"},
    {"preemption": {"preempt": "lower_or_newer", "threshold": 3, "protected": "1:00:00"}},
    {"flavors": {"order": ["H100"], "borrow_first": False}},
]
WRONG_QUEUES: list[tuple[dict[str, Any], str]] = [
    ({"quota": {"H100": -1}}, "spec.quota.H100"),
    ({"quota": {"H100": "-1"}}, "spec.quota.H100"),
    ({"limit": {"H100": "many"}}, "spec.limit.H100"),
    ({"limit": {"H100": {"gpus": -16}}}, "spec.limit.H100.gpus"),
    ({"quotas": {"H100": 1}}, "spec.quotas"),
    ({"parent": "one"}, "cannot be its own parent"),
    ({"parent": "Org"}, "spec.parent"),
    ({"weight": -1}, "spec.weight"),
    ({"weight": 1.5}, "spec.weight"),
    ({"strict": "maybe"}, "spec.strict"),
    ({"preemption": {"preempt": "sometimes"}}, "spec.preemption.preempt"),
    ({"timeshare": "soon"}, "spec.timeshare"),
]
RIGHT_POLICIES: list[dict[str, Any]] = [
    {},
    {"preset": "kai", "scores": ["binpack"], "evict": {"dead_zone": "5%"}},
    {"scores": {"ganglion": 3}, "usage": {"levels": ["queue"], "correction": "50%"}},
    {"priorities": {"prod": 90, "batch": {"value": 3, "preemptible": False}}},
    {"heads_only": True, "preset": "kueue"},
    {"heads_only": True, "entitlement": "dominant"},
    {"bookings": [BOOKING]},
]
WRONG_POLICIES: list[tuple[dict[str, Any], str]] = [
    ({"preset": "slurm"}, "spec.preset"),
    ({"heads_only": True}, "heads_only needs entitlement"),
    ({"heads_only": True, "preset": "kai"}, "heads_only needs entitlement"),
    ({"evict": {"dead_zone": 5}}, "spec.evict.dead_zone"),
    ({"queues": []}, "spec.queues"),
    ({"bookings": [BOOKING, BOOKING]}, "Duplicate value"),
    ({"bookings": [{**BOOKING, "end": BEGIN}]}, "give either end or length"),
    ({"bookings": [{**BOOKING, "users": ["ada"]}]}, "name the queues of those users too"),
    ({"future": {"backfill": "none"}}, "spec.future.backfill"),
]


def answer(cluster: Cluster, kind: str, spec: object, name: str = "one") -> str:
    """What the API server says to an object, without keeping it; empty = it takes it."""
    body = {
        "apiVersion": "ganglion.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    params = {"dryRun": "All", "fieldValidation": "Strict"}
    try:
        cluster.call("POST", cluster.collection(body), body, params=params)
    except Refused as refused:
        return refused.body
    return ""


def test_what_is_right_is_taken_and_understood(cluster: Cluster) -> None:
    define_kinds(cluster)
    for spec in RIGHT_QUEUES:
        assert answer(cluster, "Queue", spec) == ""
        read = configuration([thing("Queue", "org", {}), thing("Queue", "one", spec)], [])
        assert {each.name for each in read.queues} == {"org", "one"}
    for spec in RIGHT_POLICIES:
        assert answer(cluster, "Policy", spec) == ""
        assert configuration([], [thing("Policy", "default", spec)]).verdicts[0].accepted


def test_the_objects_of_the_documentation_are_taken_and_understood(cluster: Cluster) -> None:
    define_kinds(cluster)
    text = (Path(__file__).parents[4] / "docs" / "install.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    documents = [each for block in blocks for each in yaml.safe_load_all(block)]
    items = [each for each in documents if "kind" in each]
    assert {each["kind"] for each in items} == {"Queue", "Policy"}
    for each in items:
        assert answer(cluster, each["kind"], each["spec"], each["metadata"]["name"]) == ""
    found = configuration(
        [thing("Queue", "acme", {}), *(_of(items, "Queue"))], list(_of(items, "Policy"))
    )
    assert [each.message for each in found.verdicts if not each.accepted] == []


def _of(items: list[dict[str, Any]], kind: str) -> list[Anything]:
    return [msgspec.convert(each, Anything) for each in items if each["kind"] == kind]


def test_what_is_wrong_is_refused_where_it_is_written(cluster: Cluster) -> None:
    define_kinds(cluster)
    said = [(answer(cluster, "Queue", spec), words, spec) for spec, words in WRONG_QUEUES]
    said += [(answer(cluster, "Policy", spec), words, spec) for spec, words in WRONG_POLICIES]
    assert [(text, spec) for text, words, spec in said if words not in text] == []


@pytest.mark.parametrize("name", ["a.b", "x" * 64])
def test_a_queue_has_a_name_that_labels_can_carry(cluster: Cluster, name: str) -> None:
    define_kinds(cluster)
    assert "the name of a queue is at most 63" in answer(cluster, "Queue", {}, name)


def test_a_status_is_taken_whole_and_comes_to_rest(cluster: Cluster) -> None:
    define_kinds(cluster)
    for name, spec in (("org", {}), ("team", {"parent": "org", "quota": {"H100": 0.5}})):
        cluster.create(msgspec.to_builtins(thing("Queue", name, spec)))
    figures = QueueFigures({"H100": Amount(gpu_milli=500)}, {"H100": Amount(gpu_milli=1000)}, 3, 1)
    for _ in range(2):
        items = read(cluster)
        found = configuration(items.values(), [])
        patches = {
            each.name: patch_of(
                items[each.name].status, status_of(each, items[each.name].status, NOW, figures)
            )
            for each in found.verdicts
        }
        for name, patch in patches.items():
            cluster.patch(f"{API}/queues/{name}/status", {"status": patch})
    assert patches == {"org": {}, "team": {}}
    assert read(cluster)["team"].status["share"] == "50%"


def test_an_object_that_turns_wrong_keeps_what_counted_across_restarts(cluster: Cluster) -> None:
    define_kinds(cluster)
    cluster.create(msgspec.to_builtins(thing("Queue", "team", {"quota": {"H100": 4}})))
    write(cluster)
    # The API server cannot know that this says one thing twice.
    wrong = {"limit": {"*": 4}, "borrowing_limit": {"*": 1}, "quota": {"H100": 9}}
    cluster.patch(f"{API}/queues/team", {"spec": wrong})
    write(cluster)
    (condition,) = read(cluster)["team"].status["conditions"]
    assert (condition["status"], condition["observedGeneration"]) == ("False", 2)
    assert "spec.borrowing_limit.*" in condition["message"]
    (queue,) = configuration(read(cluster).values(), []).queues
    assert (queue.quota, queue.limit) == ({"H100": Amount(gpu_milli=4000)}, {})


def thing(kind: str, name: str, spec: dict[str, Any]) -> Anything:
    made = {
        "apiVersion": "ganglion.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    return msgspec.convert(made, Anything)


def read(cluster: Cluster) -> dict[str, Anything]:
    found = [msgspec.convert(each, Anything) for each in cluster.list(f"{API}/queues")]
    return {each.metadata.name: each for each in found}


def write(cluster: Cluster) -> None:
    items = read(cluster)
    for each in configuration(items.values(), []).verdicts:
        before = items[each.name].status
        patch = patch_of(before, status_of(each, before, NOW))
        cluster.patch(f"{API}/queues/{each.name}/status", {"status": patch})
