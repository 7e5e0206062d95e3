"""Whole gangs at once."""

from typing import Any

import msgspec
import pytest

from ganglion.worlds.kubernetes.feasibility.reading import needs_of
from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules import gang_affinity
from ganglion.worlds.kubernetes.pod_rules.barred import barred
from ganglion.worlds.kubernetes.pod_rules.gang_check import check
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.storage import PersistentVolume, PersistentVolumeClaim
from tests.worlds.kubernetes.feasibility.local import local_claim, local_volume, stored
from tests.worlds.kubernetes.feasibility.make import (
    HOST,
    ZONE,
    Json,
    apart,
    crowd,
    fleet,
    near,
    node,
    pod,
    port,
    spread,
    term,
    zones,
)

JOB = {"job": "j"}
LEVEL = zones(a="x", b="x", c="y", d="")


def gang(nodes: str, **spec: Any) -> list[tuple[Pod, str]]:
    """One member on each of these nodes."""
    return [(pod(f"m{at}", labels=JOB, **spec), where) for at, where in enumerate(nodes)]


def trouble(
    members: list[tuple[Pod, str]], them: PodIndex | None = None, there: Fleet = LEVEL, **more: Any
) -> tuple[str, str] | None:
    return check(members, them or crowd(), there, **more)


def test_members_that_want_nothing_go_together_anywhere() -> None:
    assert trouble(gang("aabcd")) is None


def test_nobody_goes_to_a_node_that_is_gone() -> None:
    assert trouble(gang("az")) == ("z", "the node is gone")


def test_members_with_the_same_port_need_a_node_each() -> None:
    assert trouble(gang("abc", containers=[port(80)])) is None
    assert trouble(gang("aba", containers=[port(80)])) == ("a", "host port TCP 80 is taken")


def test_counted_resources_of_members_add_up() -> None:
    there = fleet(node("a", allocatable={"hugepages-2Mi": "6Mi"}))
    box = {"name": "main", "resources": {"requests": {"hugepages-2Mi": "2Mi"}}}
    assert trouble(gang("aaa", containers=[box]), there=there) is None
    told = ("a", "too little hugepages-2Mi left")
    assert trouble(gang("aaaa", containers=[box]), there=there) == told


def test_members_that_keep_apart_are_apart() -> None:
    lonely = {"affinity": apart(term(ZONE, labels=JOB))}
    assert trouble(gang("ac", **lonely)) is None
    assert trouble(gang("ab", **lonely)) == ("a", f"{ZONE} has a pod it must keep away from")


def test_one_member_that_keeps_others_away_is_enough() -> None:
    (loner,) = gang("a", affinity=apart(term(HOST, labels=JOB)))
    plain = pod("plain", labels=JOB)
    assert trouble([loner, (plain, "b")]) is None
    assert trouble([loner, (plain, "a")]) is not None
    assert trouble([(plain, "a"), loner]) is not None


def test_members_that_want_company_find_it_in_each_other() -> None:
    social = {"affinity": near(term(ZONE, labels=JOB))}
    assert trouble(gang("ab", **social)) is None
    assert trouble(gang("aabb", **social)) is None
    assert trouble(gang("abc", **social)) == ("c", f"no pod it has to be near in the same {ZONE}")
    assert trouble(gang("aabbcc", **social)) is not None
    assert trouble(gang("ad", **social)) == ("d", f"no label {ZONE}")


def test_members_join_those_that_run_already() -> None:
    social = {"affinity": near(term(ZONE, labels=JOB))}
    them = crowd((pod("old", labels=JOB), "c"))
    assert trouble(gang("cc", **social), them) is None
    assert trouble(gang("ab", **social), them) is not None
    both = crowd((pod("old", labels=JOB), "c"), (pod("older", labels=JOB), "a"))
    assert trouble(gang("abc", **social), both) is None


def test_company_is_handed_on_from_member_to_member() -> None:
    first = pod("first", labels={"n": "1"})
    second = pod("second", labels={"n": "2"}, affinity=near(term(HOST, labels={"n": "1"})))
    third = pod("third", labels={"n": "3"}, affinity=near(term(ZONE, labels={"n": "2"})))
    assert trouble([(third, "b"), (second, "a"), (first, "a")]) is None
    assert trouble([(third, "c"), (second, "a"), (first, "a")]) is not None


def test_members_that_wait_for_each_other_never_start() -> None:
    one = pod("one", labels={"n": "1"}, affinity=near(term(ZONE, labels={"n": "2"})))
    two = pod("two", labels={"n": "2"}, affinity=near(term(ZONE, labels={"n": "1"})))
    assert trouble([(one, "a"), (two, "a")]) is not None


def test_it_matters_who_goes_first_and_the_right_one_does() -> None:
    wide = pod("wide", labels=JOB, affinity=near(term(ZONE, labels=JOB)))
    narrow = pod("narrow", labels=JOB, affinity=near(term(HOST, labels=JOB)))
    for members in ([(wide, "a"), (narrow, "b")], [(narrow, "b"), (wide, "a")]):
        assert trouble(members) is None


def test_hopeless_gangs_are_given_up_and_good_ones_need_one_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = fleet(*(node(f"n{number}") for number in range(300)))
    social: Json = {"affinity": near(term(HOST, labels=JOB))}
    scattered = [(pod(f"m{n}", labels=JOB, **social), f"n{n}") for n in range(300)]
    tried: list[int] = []

    def nobody(
        self: object, present: object, groups: list[gang_affinity.AlikeMembers]
    ) -> list[gang_affinity.AlikeMembers]:
        tried.append(1)
        return groups

    monkeypatch.setattr(gang_affinity._Search, "_follow", nobody)
    assert trouble(scattered, there=there) is not None
    assert len(tried) == 257
    monkeypatch.undo()
    monkeypatch.setattr(gang_affinity, "_TRIES", 1)
    assert trouble(gang("aaa", **social)) is None
    monkeypatch.setattr(gang_affinity, "_TRIES", 0)
    assert trouble(gang("aaa", **social)) is not None


def test_spreading_is_judged_with_everybody_in_place() -> None:
    even = {"topologySpreadConstraints": [spread(ZONE, JOB)]}
    assert trouble(gang("aacc", **even)) is None
    assert trouble(gang("abc", **even)) is None
    assert trouble(gang("aabc", **even)) == ("a", f"{ZONE} x would have too many pods like it")
    assert trouble(gang("acd", **even)) == ("d", f"no label {ZONE}")
    assert trouble(gang("c", **even), crowd((pod("old", labels=JOB), "c"))) is not None


def test_a_claim_for_one_pod_is_for_one_member() -> None:
    volumes = Volumes()
    notes = {"pv.kubernetes.io/bind-completed": "yes"}
    body = {"metadata": {"name": "data", "namespace": "ns", "annotations": notes}}
    spec = {"spec": {"accessModes": ["ReadWriteOncePod"], "volumeName": "v"}}
    volumes.put(msgspec.convert(body | spec, PersistentVolumeClaim))
    volumes.put(msgspec.convert({"metadata": {"name": "v"}}, PersistentVolume))
    mounting = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
    assert trouble(gang("a", **mounting), crowd(volumes=volumes)) is None
    assert trouble(gang("ab", **mounting), crowd(volumes=volumes)) is not None


def test_every_member_goes_where_its_own_claims_let_it() -> None:
    volumes = Volumes()
    members = []
    for name in "ab":
        notes = {"pv.kubernetes.io/bind-completed": "yes"}
        meta = {"name": f"data-{name}", "namespace": "ns", "annotations": notes}
        body = {"metadata": meta, "spec": {"volumeName": name}}
        volumes.put(msgspec.convert(body, PersistentVolumeClaim))
        here = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [name]}]}
        affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [here]}}}
        volumes.put(
            msgspec.convert({"metadata": {"name": name}, "spec": affinity}, PersistentVolume)
        )
        mounts = [{"name": "v", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
        members.append(pod(f"m-{name}", volumes=mounts))
    them = crowd(volumes=volumes)
    assert trouble(list(zip(members, "ab", strict=True)), them) is None
    swapped = trouble(list(zip(members, "ba", strict=True)), them)
    assert swapped == ("b", f"wanted: {HOST} is a")


def test_no_member_goes_to_a_node_that_was_cordoned_meanwhile() -> None:
    there = fleet(node("a", unschedulable=True))
    assert trouble(gang("a"), there=there) is not None
    tolerant = {"tolerations": [{"operator": "Exists"}]}
    assert trouble(gang("a", **tolerant), there=there) is None


def test_pods_that_will_have_left_are_in_nobodys_way() -> None:
    them = crowd((pod("old", containers=[port(80)]), "a"))
    assert trouble(gang("a", containers=[port(80)]), them) is not None
    assert trouble(gang("a", containers=[port(80)]), them, gone=["old"]) is None


def test_members_that_are_known_already_are_not_in_their_own_way() -> None:
    members = gang("ab", containers=[port(80)])
    assert trouble(members, crowd(*members)) is None


@pytest.mark.parametrize("nodes", ["ab", "aa"])
def test_a_check_leaves_no_traces(nodes: str) -> None:
    them = crowd((pod("old", labels=JOB, containers=[port(81)]), "c"))
    asked = needs_of(pod(labels=JOB, affinity=near(term(ZONE, labels=JOB)), containers=[port(80)]))
    before = barred(asked, them, LEVEL)
    trouble(gang(nodes, containers=[port(80)]), them, gone=["old"])
    assert barred(asked, them, LEVEL) == before
    assert them.size == 1


def test_members_without_identity_are_different_pods() -> None:
    same = pod("m", uid="", containers=[port(80)])
    meta = msgspec.structs.replace(same.metadata, uid="")
    nameless = msgspec.structs.replace(same, metadata=meta)
    assert trouble([(nameless, "a"), (nameless, "a")]) is not None


LOCAL = fleet(*(node(name) for name in "ab"))


def storing(members: str, *bodies: Json) -> tuple[list[tuple[Pod, str]], PodIndex]:
    """A member with a claim of its own on each of these nodes, and what is known of storage."""
    claims = [local_claim(f"c{at}") for at in range(len(members))]
    made = [(mounting(f"c{at}", name=f"m{at}"), where) for at, where in enumerate(members)]
    return made, PodIndex(stored(*claims, *bodies), LOCAL)


def mounting(*claims: str, name: str) -> Pod:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return pod(name, volumes=volumes)


def test_members_with_claims_of_their_own_need_a_volume_each() -> None:
    volumes = local_volume("one", "a"), local_volume("two", "a"), local_volume("three", "b")
    left = ("a", "no volume is left for claim ns/c2")
    for nodes, told in {"aba": None, "ab": None, "aab": None, "aaa": left}.items():
        members, them = storing(nodes, *volumes)
        assert trouble(members, them, LOCAL) == told


def test_members_that_share_a_claim_need_one_volume_that_both_reach() -> None:
    near = local_volume("near", "a")
    for volume, told in ((local_volume("wide", "a", "b"), None), (near, "b")):
        them = PodIndex(
            stored(local_claim("data"), volume, local_volume("other", "b", gib=9)), LOCAL
        )
        members = [(mounting("data", name="m0"), "a"), (mounting("data", name="m1"), "b")]
        found = trouble(members, them, LOCAL)
        assert (found and found[0]) == told


def test_a_volume_is_kept_for_the_claim_of_a_pod_that_is_about_to_start() -> None:
    (first, second), them = storing("aa", local_volume("one", "a"))
    them.put(*first)
    assert trouble([second], them, LOCAL) == ("a", "no volume is left for claim ns/c1")
    assert trouble([first], them, LOCAL) is None
    them.drop("m0")
    assert trouble([second], them, LOCAL) is None


def test_the_smallest_claim_of_a_pod_takes_the_smallest_volume() -> None:
    claims = local_claim("large", gib=3), local_claim("small", gib=2)
    volumes = local_volume("x", "a", gib=3), local_volume("y", "a", gib=2)
    them = PodIndex(stored(*claims, *volumes), LOCAL)
    found = them.mounted.choose(("ns/large", "ns/small"), "a").volumes
    assert {key: each.metadata.name for key, each in found.items()} == {
        "ns/small": "y",
        "ns/large": "x",
    }


def test_a_volume_whose_claim_was_bound_to_another_is_free_again() -> None:
    (first, second), them = storing("aa", local_volume("one", "a"))
    them.put(*first)
    (bound,) = stored(local_claim("c0", volumeName="another")).claims.values()
    them.volumes.put(bound)
    assert trouble([second], them, LOCAL) is None
