"""Where volumes let pods run."""

from typing import Any

import msgspec
import pytest

from ganglion.worlds.kubernetes.feasibility.clauses import NODE_NAME, meets
from ganglion.worlds.kubernetes.feasibility.pins import Pins, pins_of
from ganglion.worlds.kubernetes.feasibility.volumes import BIND_COMPLETED, SELECTED_NODE, Volumes
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.storage import (
    BETA_CLASS,
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from tests.worlds.kubernetes.feasibility.make import HOST, ZONE, pod, wants


def claim(name: str = "data", volume: str = "", **rest: Any) -> PersistentVolumeClaim:
    notes = {BIND_COMPLETED: "yes"} if volume else {}
    body = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "annotations": notes | rest.pop("annotations", {}),
            "deletionTimestamp": rest.pop("deleted", ""),
            "ownerReferences": rest.pop("owners", []),
        },
        "status": {"phase": rest.pop("phase", "Pending")},
        "spec": {"volumeName": volume} | rest,
    }
    return msgspec.convert(body, PersistentVolumeClaim)


def volume(name: str = "v", labels: Any = None, terms: Any = None) -> PersistentVolume:
    spec = {} if terms is None else {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    body = {"metadata": {"name": name, "labels": labels or {}}, "spec": spec}
    return msgspec.convert(body, PersistentVolume)


def lazy(name: str = "slow", provisioner: str = "disk.example.com", **rest: Any) -> StorageClass:
    body = {"metadata": {"name": name}, "provisioner": provisioner}
    waits = {"volumeBindingMode": "WaitForFirstConsumer"}
    return msgspec.convert(body | waits | rest, StorageClass)


def mounting(*claims: str) -> Pod:
    return pod(
        volumes=[{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    )


def pins(*stored: Any, of: Pod | None = None) -> Pins:
    known = Volumes()
    for each in stored:
        known.put(each)
    return pins_of(of or mounting("data"), known)


def test_a_pod_without_claims_is_pinned_nowhere() -> None:
    assert pins(of=pod(volumes=[{"name": "scratch"}])) == Pins()


def test_a_bound_claim_pins_its_pod_to_where_the_volume_can_be_reached() -> None:
    found = pins(claim(volume="v"), volume(terms=[{"matchExpressions": [wants(HOST, "In", "n1")]}]))
    assert meets(found.clauses, {HOST: "n1"})
    assert not meets(found.clauses, {HOST: "n2"})
    assert not found.trouble


def test_a_volume_without_affinity_can_be_reached_from_everywhere() -> None:
    assert pins(claim(volume="v"), volume()) == Pins()


def test_a_volume_with_affinity_but_no_terms_can_be_reached_from_nowhere() -> None:
    assert not meets(pins(claim(volume="v"), volume(terms=[])).clauses, {HOST: "n1"})


def test_all_claims_count() -> None:
    here, there = [{"matchExpressions": [wants(ZONE, "In", each)]} for each in "ab"]
    found = pins(
        claim("data", "v"),
        claim("more", "w"),
        volume("v", terms=[here]),
        volume("w", terms=[here, there]),
        of=mounting("data", "more"),
    )
    assert meets(found.clauses, {ZONE: "a"})
    assert not meets(found.clauses, {ZONE: "b"})


def test_the_zone_labels_of_a_volume_hold_for_nodes_that_have_any() -> None:
    clauses = pins(claim(volume="v"), volume(labels={ZONE: "a__b"})).clauses
    assert meets(clauses, {ZONE: "b"})
    assert not meets(clauses, {ZONE: "c"})
    assert meets(clauses, {HOST: "n1"})
    assert not meets(clauses, {"topology.kubernetes.io/region": "r"})


def test_old_zone_labels_of_a_volume_hold_for_new_ones_of_nodes() -> None:
    old = "failure-domain.beta.kubernetes.io/zone"
    clauses = pins(claim(volume="v"), volume(labels={old: "a"})).clauses
    assert meets(clauses, {ZONE: "a"})
    assert meets(clauses, {old: "a", ZONE: "b"})
    assert not meets(clauses, {old: "b", ZONE: "a"})


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ((), "claim ns/data does not exist"),
        ((claim(volume="v"),), "volume v does not exist"),
        ((claim(volume="v", phase="Lost"),), "claim ns/data has lost its volume v"),
        ((claim(volume="v", deleted="2026-01-01T00:00:00Z"), volume()), "is being deleted"),
        ((claim(),), "claim ns/data is not bound yet"),
        (
            (claim(storageClassName="fast"), lazy("fast", volumeBindingMode="Immediate")),
            "not bound",
        ),
        ((claim(storageClassName="slow", volumeName="v"), lazy()), "claim ns/data is not bound"),
        (
            (claim(storageClassName="slow"), lazy(provisioner="kubernetes.io/no-provisioner")),
            "no free volume of class slow suits claim ns/data",
        ),
    ],
)
def test_claims_that_cannot_be_used_say_why(stored: Any, said: str) -> None:
    found = pins(*stored)
    assert said in found.trouble
    assert not found.clauses


def test_a_claim_that_waits_for_its_pod_is_settled_before_the_pod_is_bound() -> None:
    found = pins(claim(storageClassName="slow"), lazy())
    assert found == Pins(waiting=("ns/data",))
    assert pins(claim(annotations={BETA_CLASS: "slow"}), lazy()) == found


def test_a_claim_that_was_promised_to_a_node_pins_its_pod_there() -> None:
    found = pins(claim(storageClassName="slow", annotations={SELECTED_NODE: "n1"}), lazy())
    assert meets(found.clauses, {NODE_NAME: "n1"})
    assert not meets(found.clauses, {NODE_NAME: "n2"})


def test_a_class_makes_volumes_where_it_is_allowed_to() -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}]
    found = pins(claim(storageClassName="slow"), lazy(allowedTopologies=allowed))
    assert meets(found.clauses, {ZONE: "b"})
    assert not meets(found.clauses, {ZONE: "c"})


def room(name: str, zone: str | None, size: str | None, largest: str | None = None) -> Any:
    topology = None if zone is None else {"matchLabels": {ZONE: zone} if zone else {}}
    body = {
        "metadata": {"name": name, "namespace": "ns"},
        "storageClassName": "slow",
        "nodeTopology": topology,
        "capacity": size,
        "maximumVolumeSize": largest,
    }
    return msgspec.convert(body, CSIStorageCapacity)


def test_a_driver_that_tells_its_room_makes_volumes_only_where_there_is_some() -> None:
    wanted = claim(storageClassName="slow", resources={"requests": {"storage": "10Gi"}})
    rooms = [
        room("a", "a", "10Gi"),
        room("b", "b", "9Gi"),
        room("c", "c", "20Gi", "5Gi"),
        room("d", "d", None),
        room("e", None, "99Gi"),
    ]
    driver = msgspec.convert(
        {"metadata": {"name": "disk.example.com"}, "spec": {"storageCapacity": True}}, CSIDriver
    )
    clauses = pins(wanted, lazy(), driver, *rooms).clauses
    assert [meets(clauses, {ZONE: zone}) for zone in "abcde"] == [True, False, False, False, False]
    assert meets(pins(wanted, lazy(), driver, room("all", "", "10Gi")).clauses, {})
    assert pins(wanted, lazy(), *rooms).clauses == ()
    assert pins(claim(storageClassName="slow"), lazy(), driver).clauses == ()


def test_a_volume_made_for_a_pod_has_to_be_its_own() -> None:
    mine = pod(name="p", uid="u", volumes=[{"name": "tmp", "ephemeral": {}}])
    owner = [{"kind": "Pod", "name": "p", "uid": "u", "controller": True}]
    assert pins(claim("p-tmp", "v", owners=owner), volume(), of=mine) == Pins()
    assert "another owner" in pins(claim("p-tmp", "v"), volume(), of=mine).trouble
    assert pins(of=mine).trouble == "claim ns/p-tmp does not exist"
