"""Which of the volumes that exist suit a claim, and from which nodes."""

from typing import Any

import pytest

from ganglion.worlds.kubernetes.feasibility.clauses import meets, spelled
from ganglion.worlds.kubernetes.feasibility.pins import Pins, pins_of
from ganglion.worlds.kubernetes.feasibility.volume_matching import candidates_of
from ganglion.worlds.kubernetes.feasibility.volumes import SELECTED_NODE, Volumes
from tests.worlds.kubernetes.feasibility.local import (
    local_claim,
    local_class,
    local_volume,
    reference,
    stored,
)
from tests.worlds.kubernetes.feasibility.make import HOST, ZONE, Json, pod, wants


def names(volumes: Volumes, on: str = "n1", **labels: str) -> list[str]:
    """Volumes for the claim `data` on a node, in the order in which they are tried."""
    found = candidates_of(volumes.claims["ns/data"], volumes).on({HOST: on} | labels)
    return [each.metadata.name for each in found]


def pins(*bodies: Json) -> Pins:
    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    return pins_of(pod(volumes=mounted), stored(*bodies))


def test_the_smallest_volume_that_is_large_enough_comes_first() -> None:
    sizes = {"huge": 9, "small": 1, "b": 3, "a": 3}
    made = [local_volume(name, "n1", gib=gib) for name, gib in sizes.items()]
    assert names(stored(local_claim("data", gib=2), *made)) == ["a", "b", "huge"]


def test_a_volume_is_reached_from_the_nodes_of_its_affinity() -> None:
    in_y = {"required": {"nodeSelectorTerms": [{"matchExpressions": [wants(ZONE, "In", "y")]}]}}
    either = [{"matchExpressions": [wants(HOST, "In", each)]} for each in ("n1", "n4")]
    known = stored(
        local_claim("data"),
        local_volume("here", "n1", "n2"),
        local_volume("there", "n3"),
        local_volume("zonal", nodeAffinity=in_y),
        local_volume("two", nodeAffinity={"required": {"nodeSelectorTerms": either}}),
        local_volume("none", nodeAffinity={"required": {"nodeSelectorTerms": []}}),
        local_volume("wide"),
    )
    assert names(known) == ["here", "two", "wide"]
    assert names(known, "n3", **{ZONE: "y"}) == ["there", "wide", "zonal"]
    assert names(known, "n4") == ["two", "wide"]
    assert list(candidates_of(known.claims["ns/data"], known).on({})) == [known.volumes["wide"]]


UNSUITABLE: dict[str, Json] = {
    "small": local_volume("v", "n1", gib=1),
    "of another class": local_volume("v", "n1", gib=2, storageClassName="other"),
    "of another mode": local_volume("v", "n1", gib=2, volumeMode="Block"),
    "for fewer accesses": local_volume("v", "n1", gib=2, accessModes=["ReadOnlyMany"]),
    "without the label": local_volume("v", "n1", gib=2, labels={"disk": "slow"}),
    "with attributes": local_volume("v", "n1", gib=2, volumeAttributesClassName="gold"),
    "of another claim": local_volume("v", "n1", gib=2, **reference("other")),
    "of a claim of that name": local_volume("v", "n1", gib=2, **reference("data", "old")),
    "released": local_volume("v", "n1", gib=2) | {"status": {"phase": "Released"}},
    "leaving": local_volume("v", "n1", gib=2, meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    "of no size": local_volume("v", "n1", capacity={"storage": "much"}),
}
FAST = {"labels": {"disk": "fast"}}


@pytest.mark.parametrize("volume", UNSUITABLE.values(), ids=UNSUITABLE)
def test_a_volume_that_does_not_suit_is_passed_over(volume: Json) -> None:
    volume["metadata"]["labels"] = volume["metadata"]["labels"] or {"disk": "fast"}
    claim = local_claim("data", gib=2, selector={"matchLabels": {"disk": "fast"}})
    assert names(stored(claim, local_volume("fits", "n1", gib=2, **FAST))) == ["fits"]
    assert names(stored(claim, volume)) == []


def test_a_volume_that_names_the_claim_is_the_only_one_that_suits() -> None:
    others = local_volume("a", "n1"), local_volume("b", "n2")
    for uid in ("", "uid-data"):
        reserved = local_volume("mine", "n2", gib=5, **reference("data", uid))
        known = stored(local_claim("data"), *others, reserved)
        assert (names(known), names(known, "n2")) == ([], ["mine"])


def test_a_volume_that_names_the_claim_need_not_have_its_labels_or_be_available() -> None:
    volume = local_volume("mine", "n1", accessModes=["ReadOnlyMany"], **reference("data"))
    claim = local_claim("data", selector={"matchLabels": {"disk": "fast"}})
    assert names(stored(claim, volume | {"status": {"phase": "Pending"}})) == ["mine"]
    too_small = local_claim("data", gib=2)
    assert names(stored(too_small, volume, local_volume("free", "n1", gib=2))) == ["free"]


def test_changes_of_volumes_are_seen() -> None:
    known = stored(local_claim("data"))
    assert names(known) == []
    volume = next(iter(stored(local_volume("v", "n1")).volumes.values()))
    known.put(volume)
    assert names(known) == ["v"]
    known.drop(volume)
    assert names(known) == []


def test_a_claim_pins_its_pod_to_nodes_with_a_volume() -> None:
    found = pins(local_claim("data"), local_volume("a", "n1"), local_volume("b", "n2", "n3"))
    assert found.waiting == ("ns/data",)
    assert [name for name in ("n1", "n2", "n3", "n4") if meets(found.clauses, {HOST: name})] == [
        "n1",
        "n2",
        "n3",
    ]


def test_a_claim_without_a_volume_keeps_its_pod_waiting() -> None:
    found = pins(local_claim("data", gib=2), local_volume("a", "n1"))
    assert found.trouble == "no free volume of class local suits claim ns/data"


def test_a_volume_that_exists_opens_nodes_on_which_none_can_be_made() -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["x"]}]}]
    makes = local_class("local", "disk.example.com") | {"allowedTopologies": allowed}
    known = (makes, local_claim("data"), local_volume("a", "n1"))
    found = pins(*known)
    assert meets(found.clauses, {HOST: "n1"})
    assert meets(found.clauses, {HOST: "n2", ZONE: "x"})
    assert not meets(found.clauses, {HOST: "n2"})
    told: Any = local_claim("data")
    told["metadata"]["annotations"] = {SELECTED_NODE: "n2"}
    assert not meets(pins(makes, told, local_volume("a", "n1")).clauses, {HOST: "n1", ZONE: "x"})


def test_many_nodes_are_spelled_in_short() -> None:
    made = [local_volume(f"v{n}", f"n{n}") for n in range(9)]
    (clause,) = pins(local_claim("data"), *made).clauses
    assert spelled(clause) == f"{HOST} is n0 or n1 or n2 or n3 or 5 others"
