"""Submitted workloads are the gangs that their files describe."""

from typing import Any

import msgspec
import pytest
from tests.worlds.kubernetes.submit.make import Manifest, compiled

from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes.types.meta import Anything, OwnerReference
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang
from ganglion.worlds.kubernetes.workload_discovery.grouping import Grouping

INDEX = "batch.kubernetes.io/job-completion-index"


def owner_of(main: Manifest) -> dict[str, Any]:
    name = main["metadata"]["name"]
    ids = {"apiVersion": main["apiVersion"], "kind": main["kind"], "name": name}
    return ids | {"uid": f"uid-{name}", "controller": True}


def gangs(text: str) -> list[FoundGang]:
    """What is found when the Jobs' controllers have made all pods."""
    mains = [each for each in compiled(text) if each["kind"] == "Job"]
    for other in mains[1:] if "pod_sets" in text else ():
        other["metadata"]["ownerReferences"] = [owner_of(mains[0])]
    known = {}
    for each in mains:
        meta = each["metadata"] | {"uid": f"uid-{each['metadata']['name']}"}
        known[meta["uid"]] = msgspec.convert({**each, "metadata": meta}, Anything)

    def look(ref: OwnerReference, _namespace: str) -> Anything | None:
        return known.get(ref.uid)

    grouping = Grouping(look)
    for main in mains:
        for index in range(main["spec"]["parallelism"]):
            grouping.put(_pod(main, index))
    return [found for key in grouping.all_keys() if (found := grouping.found(key))]


def _pod(main: Manifest, index: int) -> Pod:
    template, name = main["spec"]["template"], f"{main['metadata']['name']}-{index}-x"
    meta = {
        **template["metadata"],
        "name": name,
        "namespace": "team-a",
        "uid": f"uid-{name}",
        "annotations": template["metadata"]["annotations"] | {INDEX: str(index)},
        "ownerReferences": [owner_of(main)],
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    meta["labels"] = meta["labels"] | {INDEX: str(index)}
    return msgspec.convert({"metadata": meta, "spec": template["spec"]}, Pod)


def test_a_training_is_one_gang() -> None:
    (gang,) = gangs(
        "{name: a, image: i, run: [a], nodes: 2..4, gpus: 8, placement: rack,"
        " queue: q, preemptible: false, time_limit: 1h, checkpoint: {interval: 5m}}"
    )
    assert (gang.refused, gang.lacking, gang.name, gang.queue) == ("", "", "a", "q")
    assert (gang.sets[0].count, gang.sets[0].least) == (4, 2)
    assert str(gang.topology.required) == "rack"
    assert (gang.preemptible, gang.time_limit_ms) == (False, 3_600_000)
    assert gang.checkpoint is not None
    assert gang.checkpoint.interval_ms == 300_000


def test_the_jobs_of_several_pod_sets_are_one_gang() -> None:
    (gang,) = gangs(
        "{name: a, image: i, run: [a], pod_sets: [{name: l, nodes: 2}, {name: w, nodes: 3}]}"
    )
    assert (gang.refused, gang.lacking) == ("", "")
    assert {each.name: each.count for each in gang.sets} == {"l": 2, "w": 3}


@pytest.mark.parametrize(
    ("text", "count", "pods"),
    [
        ("{name: a, image: i, run: ['{x}'], params: {x: 0..3}}", 4, 1),
        ("{name: a, image: i, run: ['{x}'], nodes: 2, params: {x: 0..2}}", 3, 2),
    ],
)
def test_every_trial_is_a_gang_of_its_own(text: str, count: int, pods: int) -> None:
    found = gangs(text)
    assert [sum(each.count for each in gang.sets) for gang in found] == [pods] * count
    assert all(not gang.refused and not gang.lacking for gang in found)
    if pods == 1:
        assert {gang.kind for gang in found} == {Kind.SWEEP}
