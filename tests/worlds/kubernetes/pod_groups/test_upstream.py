"""Kubernetes' own PodGroups, and groups of them, are read as kube-scheduler means them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.fleet.levels import Level
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.workload_discovery.scene import Body, Scene, sizes

OLD, NEW, NESTED = (f"scheduling.k8s.io/{each}" for each in ("v1alpha2", "v1beta1", "v1alpha3"))
ZONE = {"topology": [{"key": "topology.kubernetes.io/zone"}]}
NODE = {"topology": [{"key": "kubernetes.io/hostname"}]}


def pod(name: str, group: str, gpus: int = 8, **spec: Any) -> Body:
    body = w.bare(name, gpus)
    return {**body, "spec": {**body["spec"], "schedulingGroup": {"podGroupName": group}, **spec}}


def pods(group: str, count: int, **more: Any) -> list[Body]:
    return [pod(f"{group}-{index}", group, **more) for index in range(count)]


def gang(least: int) -> Body:
    return {"gang": {"minCount": least}}


def every(count: int) -> Body:
    return {"gang": {"minGroupCount": count}}


def group(name: str, policy: Body, version: str = NEW, parent: str = "", **spec: Any) -> Body:
    up = {"parentCompositePodGroupName": parent} if parent else {}
    return w.thing(version, "PodGroup", name, {"schedulingPolicy": policy, **up, **spec})


def composite(name: str, policy: Body, parent: str = "", **spec: Any) -> Body:
    up = {"parentCompositePodGroupName": parent} if parent else {}
    return w.thing(NESTED, "CompositePodGroup", name, {"schedulingPolicy": policy, **up, **spec})


def of(*bodies: Body) -> Scene:
    scene = Scene()
    scene.add(*bodies)
    return scene


def one(*bodies: Body) -> FoundGang:
    return of(*bodies).one()


def test_groups_of_a_group_are_one_gang_that_starts_with_all_of_them() -> None:
    scene = of(*pods("a", 2), *pods("b", 3, gpus=4), group("a", gang(2), parent="all"))
    assert {each.lacking for each in scene.gangs()} == {
        "its CompositePodGroup default/all is not known yet",
        "its PodGroup default/b is not known yet",
    }
    scene.add(group("b", gang(2), parent="all"))
    kinds = {each.kind for each in scene.grouping.wanted_owners()}
    assert kinds == {"CompositePodGroup"}
    scene.add(composite("all", every(2), schedulingConstraints=ZONE))
    found = scene.one()
    assert (found.lacking, found.refused) == ("", "")
    assert found.key == "default/CompositePodGroup.scheduling.k8s.io/all"
    assert sorted(sizes(found).values()) == [(2, 2, 2), (3, 2, 3)]
    assert found.topology.required is Level.ZONE
    assert [each.metadata.name for each in found.groups] == ["a", "all", "b"]
    assert not scene.grouping.wanted_owners()


def test_each_group_of_a_group_may_have_a_domain_of_its_own() -> None:
    parts = [group(each, gang(2), parent="all", schedulingConstraints=NODE) for each in "ab"]
    found = one(*pods("a", 2), *pods("b", 2), *parts, composite("all", every(2)))
    assert {each.topology.required for each in found.sets} == {Level.NODE}
    assert found.topology.required is None


def test_a_group_of_groups_waits_for_each_of_them_and_for_their_pods() -> None:
    scene = of(composite("all", every(2)), *pods("a", 2), group("a", gang(2), parent="all"))
    assert scene.one().lacking == "1 of 2 groups of CompositePodGroup all have pods"
    scene.add(group("b", gang(3), parent="all"), *pods("b", 2))
    assert scene.one().lacking == "2 of at least 3 pods of PodGroup b exist"
    scene.add(*pods("b", 3))
    assert scene.one().lacking == ""
    scene.remove({"kind": "Pod", "metadata": {"uid": scene.one().members[-1].pod.metadata.uid}})
    assert scene.one().lacking == "2 of at least 3 pods of PodGroup b exist"
    assert sorted(sizes(scene.one()).values()) == [(2, 2, 2), (3, 3, 3)]


def test_groups_are_nested_as_deep_as_the_api_allows() -> None:
    tree = [composite("top", every(1)), composite("mid", every(2), parent="top")]
    parts = [*pods("a", 1), *pods("b", 1), *(group(each, gang(1), parent="mid") for each in "ab")]
    assert one(*tree, *parts).key.endswith("/top")
    assert one(*tree, *parts).lacking == ""
    circle = [composite("top", every(1), parent="mid"), tree[1]]
    for found in of(*circle, *parts).gangs():
        assert "parentCompositePodGroupName: there are more than 4 levels" in found.refused


def test_groups_of_a_basic_group_start_each_on_its_own() -> None:
    parts = [*pods("a", 2), *pods("b", 1), *(group(e, gang(1), parent="all") for e in "ab")]
    keys = [each.key for each in of(composite("all", {"basic": {}}), *parts).gangs()]
    assert [key.rpartition("/")[2] for key in keys] == ["a", "b"]


def test_a_basic_group_within_a_gang_needs_one_pod_of_its_own() -> None:
    parts = [*pods("a", 2), *pods("b", 3)]
    groups = [group("a", gang(2), parent="all"), group("b", {"basic": {}}, parent="all")]
    found = one(*parts, *groups, composite("all", every(2)))
    assert sorted(sizes(found).values()) == [(2, 2, 2), (3, 1, 3)]


@pytest.mark.parametrize(
    ("version", "mode", "least"),
    [
        (OLD, None, 2),
        (OLD, "Pod", 2),
        (OLD, "PodGroup", 3),
        (NEW, {"single": {}}, 2),
        (NEW, {"all": {}}, 3),
    ],
)
def test_a_group_that_is_disrupted_whole_has_no_pod_to_spare(
    version: str, mode: Any, least: int
) -> None:
    found = one(*pods("g", 3), group("g", gang(2), version, disruptionMode=mode))
    assert (found.lacking, found.refused) == ("", "")
    assert list(sizes(found).values()) == [(3, least, 3)]


REFUSED = {
    "CompositePodGroup all spec.schedulingPolicy.gang.minGroupCount: 1 of 2 groups is not": (
        composite("all", every(1)),
    ),
    "CompositePodGroup mid spec.schedulingConstraints.topology: a level for groups of groups": (
        composite("mid", every(2), parent="all", schedulingConstraints=ZONE),
        composite("all", every(1)),
    ),
    "CompositePodGroup mid spec.schedulingPolicy.basic: groups that start independently": (
        composite("mid", {"basic": {}}, parent="all"),
        composite("all", every(1)),
    ),
    "CompositePodGroup all spec.schedulingConstraints.topology: groups that start independently": (
        composite("all", {"basic": {}}, schedulingConstraints=ZONE),
    ),
    "CompositePodGroup all spec.disruptionMode.all: groups that start independently cannot": (
        composite("all", {"basic": {}}, disruptionMode={"all": {}}),
    ),
    "CompositePodGroup all spec.priority: it is 7, and that of pod a-0 is 0": (
        composite("all", every(2), priority=7),
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_a_group_of_groups_cannot_be_held_to_is_refused_by_its_field(why: str) -> None:
    tree = REFUSED[why]
    parent = tree[0]["metadata"]["name"]
    groups = [group(each, gang(1), parent=parent) for each in "ab"]
    found = of(*pods("a", 1), *pods("b", 1), *groups, *tree).gangs()
    assert all(each.refused.startswith(why) for each in found), [each.refused for each in found]
    is_gang = "basic" not in tree[-1]["spec"]["schedulingPolicy"]
    names = set.union(*(_names(each) for each in found))
    assert names == {"a", "b"} | {each["metadata"]["name"] for each in tree if is_gang}


def _names(found: FoundGang) -> set[str]:
    return {each.metadata.name for each in found.groups}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"resourceClaims": [{"name": "c"}]}, "PodGroup g spec.resourceClaims: claims that"),
        ({"priority": 5}, "PodGroup g spec.priority: it is 5, and that of pod g-0 is 0"),
        ({"preemptionPolicy": "Never"}, "PodGroup g spec.preemptionPolicy: it is Never"),
        ({"disruptionMode": "Half"}, "PodGroup g spec.disruptionMode: should be Pod or PodGroup"),
        (
            {"schedulingConstraints": {"topology": [{"key": "shelf"}]}},
            "spec.schedulingConstraints.topology: 'shelf' is neither a level",
        ),
    ],
)
def test_what_a_pod_group_cannot_be_held_to_is_refused_by_its_field(spec: Body, why: str) -> None:
    found = one(*pods("g", 2), group("g", gang(2), **spec))
    assert found.refused.startswith(why)
    assert _names(found) == {"g"}


def test_pods_of_two_kinds_cannot_share_a_domain_within_other_groups() -> None:
    mixed = [pod("a-0", "a", 8), pod("a-1", "a", 4)]
    parts = [group("a", gang(2), parent="all", schedulingConstraints=NODE)]
    found = one(*mixed, *parts, composite("all", every(1)))
    assert found.refused.startswith("PodGroup a spec.schedulingConstraints.topology: pods of 2 ki")


def test_priorities_that_agree_are_no_reason_to_refuse() -> None:
    body = group("g", gang(2), priority=5, preemptionPolicy="Never")
    found = one(*pods("g", 2, priority=5, preemptionPolicy="Never"), body)
    assert (found.refused, found.priority) == ("", 5)


def test_a_pod_that_joins_a_group_of_another_workload_is_refused_alone() -> None:
    job = {**w.job("train"), "metadata": {"name": "train", "uid": "u-1", "namespace": "default"}}
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u-1"}
    owned = {"ownerReferences": [{**ref, "controller": True}]}
    mine = [{**each, "metadata": {**each["metadata"], **owned}} for each in pods("a", 2)]
    part = group("a", gang(2), parent="all")
    part["metadata"] |= owned
    scene = of(job, part, composite("all", every(1)), *mine, pod("thief", "a"))
    found = {bool(each.refused): each for each in scene.gangs()}
    assert [each.pod.metadata.name for each in found[False].members] == ["a-0", "a-1"]
    assert "belongs to Job train" in found[True].refused


def job_of(name: str = "train", **spec: Any) -> tuple[Body, Body]:
    """A Job of two pods, and what its pods and its group say of who made them."""
    body = w.job(name, 2)
    body = {
        **body,
        "metadata": {**body["metadata"], "uid": "u-1"},
        "spec": {**body["spec"], **spec},
    }
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": "u-1", "controller": True}
    return body, {"ownerReferences": [ref]}


def made_by(owned: Body, body: Body) -> Body:
    return {**body, "metadata": {**body["metadata"], **owned}}


def test_pods_of_a_job_whose_controller_makes_a_gang_are_that_gang_alone() -> None:
    body, owned = job_of(scheduling={"schedulingPolicy": {"gang": {}}})
    mine = [made_by(owned, each) for each in pods("g", 2)]
    found = one(body, *mine, made_by(owned, group("g", gang(2))))
    assert found.key == "default/PodGroup.scheduling.k8s.io/g"
    assert (found.lacking, found.refused) == ("", "")
    assert found.owner is not None
    assert (found.owner.kind, found.owner.suspend) == ("Job", ("spec", "suspend"))


def test_a_group_that_a_job_has_by_default_takes_no_gang_apart() -> None:
    body, owned = job_of()
    mine = [made_by(owned, each) for each in pods("g", 2)]
    scene = of(*mine, made_by(owned, group("g", {"basic": {}})))
    assert {each.lacking for each in scene.gangs()} == {"its Job default/train is not known yet"}
    scene.add(body)
    found = scene.one()
    assert (found.key, sizes(found)) == ("default/Job/train/u-1", {"main": (2, 2, 2)})
    assert _names(found) == {"g"}


def test_pods_of_a_job_that_asks_for_a_basic_group_are_each_on_their_own() -> None:
    body, owned = job_of(scheduling={"schedulingPolicy": {"basic": {}}})
    mine = [made_by(owned, each) for each in pods("g", 2)]
    scene = of(body, *mine, made_by(owned, group("g", {"basic": {}})))
    assert [each.name for each in scene.gangs()] == ["g-0", "g-1"]


WORDS = st.sampled_from(["basic", "gang", "minCount", "minGroupCount", "topology", "key", "all"])
FIELDS = (
    *("schedulingPolicy", "schedulingConstraints", "disruptionMode", "priority"),
    *("parentCompositePodGroupName", "resourceClaims", "preemptionPolicy"),
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
SPECS = st.dictionaries(st.sampled_from(FIELDS), ANYTHING)


@given(SPECS, SPECS, st.sampled_from(["", "all"]))
def test_a_group_that_says_anything_is_a_gang_or_refused(
    one_spec: Body, other: Body, parent: str
) -> None:
    body = w.thing(NEW, "PodGroup", "g", one_spec)
    if parent:
        body["spec"] = {**one_spec, "parentCompositePodGroupName": parent}
    top = w.thing(NESTED, "CompositePodGroup", "all", other)
    scene = of(body, top, *pods("g", 2))
    assert sum(len(each.members) for each in scene.gangs()) == 2
