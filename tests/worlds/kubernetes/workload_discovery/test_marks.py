"""Groups that pods name are read as the systems mean them that they were written for."""

from typing import Any

import pytest

from ganglion.model.fleet.levels import Level
from ganglion.model.workload import Topology
from ganglion.worlds.kubernetes.pod_groups.upstream import NOMINAL as UPSTREAM
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.controllers import unfold
from tests.worlds.kubernetes.workload_discovery.scene import Body, Scene, of, pods_of, seats, sizes

GROUP_LABELS = {
    "ganglion.dev/gang": {"ganglion.dev/gang-size": "3"},
    "kueue.x-k8s.io/pod-group-name": {"kueue.x-k8s.io/pod-group-total-count": "3"},
}
DESCRIBED = {
    "scheduling.x-k8s.io/pod-group": "scheduling.x-k8s.io/v1alpha1",
    "scheduling.k8s.io/group-name": "scheduling.volcano.sh/v1beta1",
    "pod-group-name": "scheduling.run.ai/v2alpha2",
}


def marked(name: str, label: str, group: str = "g", **more: Any) -> Body:
    labels = {label: group, **more.pop("labels", {})}
    return w.bare(name, labels=labels, **more)


def upstream(name: str, group: str = "g", gpus: int = 8) -> Body:
    body = w.bare(name, gpus)
    return {**body, "spec": {**body["spec"], "schedulingGroup": {"podGroupName": group}}}


def pod_group(api_version: str, name: str = "g", **spec: Any) -> Body:
    return w.thing(api_version, "PodGroup", name, spec)


@pytest.mark.parametrize("label", GROUP_LABELS)
def test_a_group_waits_until_all_its_pods_exist(label: str) -> None:
    scene = Scene()
    pods = [marked(f"p-{i}", label, annotations=GROUP_LABELS[label]) for i in range(3)]
    scene.add(*pods[:2])
    assert scene.one().lacking == "2 of 3 pods exist"
    scene.add(pods[2])
    found = scene.one()
    assert (found.lacking, found.refused) == ("", "")
    assert found.key == f"default/{label}/g"
    assert {each.split("-")[-1] for each in seats(found).values()} == {"0", "1", "2"}
    (only,) = sizes(found).values()
    assert only == (3, 3, 3)


def test_our_own_group_may_be_elastic() -> None:
    scene = Scene()
    notes = {"ganglion.dev/gang-size": "4", "ganglion.dev/gang-min": "2"}
    pods = [marked(f"p-{i}", "ganglion.dev/gang", annotations=notes) for i in range(4)]
    scene.add(*pods[:1])
    assert scene.one().lacking == "1 of at least 2 pods exist"
    scene.add(*pods)
    assert scene.one().lacking == ""
    assert list(sizes(scene.one()).values()) == [(4, 2, 4)]


@pytest.mark.parametrize("label", DESCRIBED)
def test_a_pod_group_says_how_many_have_to_start_together(label: str) -> None:
    scene = Scene()
    scene.add(*(marked(f"p-{i}", label) for i in range(4)))
    assert scene.one().lacking == "its PodGroup default/g is not known yet"
    (wanted,) = scene.grouping.wanted_owners()
    version = DESCRIBED[label]
    assert wanted.path == f"/apis/{version}/namespaces/default/podgroups/g"
    assert wanted.collection == f"/apis/{version}/podgroups"
    scene.add(pod_group(version, minMember=3))
    found = scene.one()
    assert found.lacking == ""
    assert list(sizes(found).values()) == [(4, 3, 4)]
    assert not scene.grouping.wanted_owners()
    scene.add(pod_group(version, minMember=5))
    assert scene.one().lacking == "4 of at least 5 pods exist"


def test_a_group_of_upstream_says_how_many_have_to_start_together() -> None:
    scene = Scene()
    scene.add(*(upstream(f"p-{i}") for i in range(2)))
    assert scene.one().lacking == "its PodGroup default/g is not known yet"
    policy = {"gang": {"minCount": 2}}
    limits = {"topology": [{"key": "topology.kubernetes.io/zone"}]}
    group = pod_group(UPSTREAM, schedulingPolicy=policy, schedulingConstraints=limits)
    scene.add(group)
    found = scene.one()
    assert found.lacking == ""
    assert list(sizes(found).values()) == [(2, 2, 2)]
    assert found.topology.required is Level.ZONE


def test_pods_of_a_basic_group_of_upstream_do_not_need_each_other() -> None:
    scene = Scene()
    scene.add(upstream("a"), upstream("b"))
    scene.add(pod_group(UPSTREAM, schedulingPolicy={"basic": {}}))
    assert [each.name for each in scene.gangs()] == ["a", "b"]
    assert {each.lacking for each in scene.gangs()} == {""}


def test_the_field_of_upstream_comes_before_every_label() -> None:
    body = upstream("a")
    body["metadata"]["labels"] = {"ganglion.dev/gang": "other", "pod-group-name": "third"}
    scene = Scene()
    scene.add(body)
    assert scene.one().key == "default/PodGroup.scheduling.k8s.io/g"


def test_volcano_has_a_fewest_by_task_and_names_the_queue() -> None:
    scene = Scene()
    tasks = {"ps": 1, "worker": 4}
    for task, count in tasks.items():
        for i in range(count):
            note = {"volcano.sh/task-spec": task, "volcano.sh/task-index": str(i)}
            scene.add(marked(f"{task}-{i}", "scheduling.k8s.io/group-name", annotations=note))
    group = pod_group(
        "scheduling.volcano.sh/v1beta1",
        minMember=3,
        minTaskMember={"ps": 1, "worker": 2},
        queue="research",
    )
    scene.add(group)
    found = scene.one()
    assert sizes(found) == {"ps": (1, 1, 1), "worker": (4, 2, 4)}
    assert found.queue == "research"
    assert seats(found)["worker-3"] == "worker-3"


def test_kai_has_sub_groups_with_levels_and_may_forbid_preemption() -> None:
    scene = Scene()
    for part, count in {"prefill": 2, "decode": 3}.items():
        for i in range(count):
            labels = {"kai.scheduler/subgroup-name": part}
            scene.add(marked(f"{part}-{i}", "pod-group-name", labels=labels))
    scene.add(
        pod_group(
            "scheduling.run.ai/v2alpha2",
            minMember=5,
            queue="serving",
            preemptibility="non-preemptible",
            topologyConstraint={"requiredTopologyLevel": "zone"},
            subGroups=[
                {
                    "name": "prefill",
                    "minMember": 2,
                    "topologyConstraint": {"requiredTopologyLevel": "rack"},
                },
                {"name": "decode", "minMember": 3},
            ],
        )
    )
    found = scene.one()
    assert sizes(found) == {"decode": (3, 3, 3), "prefill": (2, 2, 2)}
    assert [each.topology.required for each in found.sets] == [None, Level.RACK]
    assert (found.topology.required, found.queue, found.preemptible) == (
        Level.ZONE,
        "serving",
        False,
    )


KAI, VOLCANO = "scheduling.run.ai/v2alpha2", "scheduling.volcano.sh/v1beta1"
RACK = {"requiredTopologyLevel": "rack"}


def parts(**more: Body) -> list[Body]:
    """Two leaders and two workers; `more` for each of the sub-groups."""
    return [{"name": name, "minMember": 1, **more.get(name, {})} for name in ("lead", "work")]


def described_by(mark: str, api_version: str, **spec: object) -> FoundGang:
    """What is read of a group of two pods in two sub-groups with this PodGroup."""
    scene = Scene()
    for part in ("lead", "work"):
        labels = {"kai.scheduler/subgroup-name": part}
        scene.add(marked(f"{part}-0", mark, labels=labels))
    scene.add(pod_group(api_version, **spec))
    return scene.one()


def test_kais_smallest_number_of_sub_groups_is_all_of_them_or_refused() -> None:
    kai = "pod-group-name", KAI
    assert described_by(*kai, minSubGroup=2, subGroups=parts()).refused == ""
    refused = described_by(*kai, minSubGroup=1, subGroups=parts()).refused
    assert "spec.minSubGroup" in refused
    assert "1 of 2 sub-groups" in refused
    above = {"name": "all", "minSubGroup": 2}
    nested = parts(lead={"parent": "all"}, work={"parent": "all"})
    found = described_by(*kai, subGroups=[above, *nested])
    assert (found.refused, sizes(found)) == ("", {"lead": (1, 1, 1), "work": (1, 1, 1)})
    refused = described_by(*kai, subGroups=[above | {"minSubGroup": 1}, *nested]).refused
    assert "spec.subGroups[0].minSubGroup" in refused


def test_a_level_of_kai_that_no_pod_set_can_be_held_to_is_refused() -> None:
    kai = "pod-group-name", KAI
    above = {"name": "all", "topologyConstraint": RACK}
    nested = parts(lead={"parent": "all"}, work={"parent": "all"})
    refused = described_by(*kai, subGroups=[above, *nested]).refused
    assert "spec.subGroups[0].topologyConstraint" in refused
    lost = parts(lead={"parent": "nowhere"})
    assert "no sub-group 'nowhere'" in described_by(*kai, subGroups=lost).refused


@pytest.mark.parametrize(
    ("said", "level"),
    [
        ({}, Topology(required=Level.RACK)),
        ({"mode": "hard", "highestTierAllowed": 2}, Topology(required=Level.BLOCK)),
        ({"mode": "soft", "highestTierAllowed": 3}, Topology(preferred=Level.ZONE)),
        ({"highestTierName": "nvlink-domain"}, Topology(required=Level.NVLINK)),
    ],
)
def test_tiers_of_volcanos_network_are_levels(said: Body, level: Topology) -> None:
    volcano = "scheduling.k8s.io/group-name", VOLCANO
    found = described_by(*volcano, minMember=2, networkTopology=said)
    assert (found.refused, found.topology) == ("", level)


@pytest.mark.parametrize(
    ("spec", "key"),
    [
        ({"networkTopology": {"highestTierAllowed": 5}}, "networkTopology.highestTierAllowed"),
        ({"networkTopology": {"highestTierAllowed": 0}}, "networkTopology.highestTierAllowed"),
        ({"networkTopology": {"highestTierName": "spine"}}, "topology-required"),
        ({"networkTopology": {"mode": "firm"}}, "networkTopology.mode"),
        ({"subGroupPolicy": [{"name": "tp", "subGroupSize": 4}]}, "spec.subGroupPolicy"),
    ],
)
def test_what_of_volcanos_network_has_no_level_is_refused_by_name(spec: Body, key: str) -> None:
    volcano = "scheduling.k8s.io/group-name", VOLCANO
    assert key in described_by(*volcano, minMember=2, **spec).refused


def test_surplus_is_taken_from_the_largest_set() -> None:
    scene = Scene()
    bodies = unfold(w.kubeflow("PyTorchJob", "pytorchReplicaSpecs", Master=1, Worker=4))
    for each in pods_of(bodies):
        each["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "g"
    scene.add(*bodies, pod_group("scheduling.x-k8s.io/v1alpha1", minMember=3))
    found = scene.one()
    assert sizes(found) == {"master": (1, 1, 1), "worker": (4, 2, 4)}
    assert seats(found)["kf-worker-3"] == "worker-3"


def test_pods_of_a_group_that_ask_for_different_things_are_different_sets() -> None:
    scene = Scene()
    note = {"kueue.x-k8s.io/pod-group-total-count": "3"}
    for name, gpus in (("lead", 0), ("w-0", 8), ("w-1", 8)):
        scene.add(
            w.bare(name, gpus, labels={"kueue.x-k8s.io/pod-group-name": "g"}, annotations=note)
        )
    assert sorted(sizes(scene.one()).values()) == [(1, 1, 1), (2, 2, 2)]
    names = set(sizes(scene.one()))
    scene.remove(w.bare("w-1", uid="pod-default-w-1"))
    assert scene.one().lacking == "2 of 3 pods exist"
    assert set(sizes(scene.one())) == names


def test_the_seat_in_a_group_follows_kueues_index_and_survives_the_pod() -> None:
    scene = Scene()
    note = {
        "kueue.x-k8s.io/pod-group-total-count": "3",
        "kueue.x-k8s.io/pod-group-pod-index-label": "rank",
    }
    label = "kueue.x-k8s.io/pod-group-name"
    for rank, name in enumerate("cab"):
        scene.add(marked(name, label, labels={"rank": str(rank)}, annotations=note))
    ranks = {pod: seat.rpartition("-")[2] for pod, seat in seats(scene.one()).items()}
    assert ranks == {"c": "0", "a": "1", "b": "2"}
    scene.remove(w.bare("a", uid="pod-default-a"))
    scene.add(marked("z", label, labels={"rank": "1"}, annotations=note))
    assert seats(scene.one())["z"].endswith("-1")


def test_a_group_without_a_size_is_refused() -> None:
    scene = Scene()
    scene.add(marked("a", "ganglion.dev/gang"))
    assert scene.one().refused == (
        "no pod of group 'g' says how many there are; "
        "give them the annotation ganglion.dev/gang-size"
    )


def test_pods_that_disagree_on_the_size_are_refused() -> None:
    scene = Scene()
    for name, size in (("a", "2"), ("b", "3")):
        note = {"kueue.x-k8s.io/pod-group-total-count": size}
        scene.add(marked(name, "kueue.x-k8s.io/pod-group-name", annotations=note))
    assert scene.one().refused == (
        "the pods of group 'g' disagree on kueue.x-k8s.io/pod-group-total-count: a says 2, b says 3"
    )


def test_a_group_with_more_pods_than_it_says_is_refused() -> None:
    scene = Scene()
    note = {"ganglion.dev/gang-size": "1"}
    scene.add(*(marked(name, "ganglion.dev/gang", annotations=note) for name in "ab"))
    assert scene.one().refused == "group 'g' has 2 pods, but ganglion.dev/gang-size is 1"


def test_pods_of_other_owners_cannot_borrow_the_name_of_a_group() -> None:
    note = {"ganglion.dev/gang-size": "2"}
    body = w.job("mine", 2)
    body["spec"]["template"]["metadata"] = {
        "labels": {"ganglion.dev/gang": "g"},
        "annotations": note,
    }
    scene = of(body)
    scene.add(marked("zz-other", "ganglion.dev/gang", annotations=note))
    mine, other = sorted(scene.gangs(), key=lambda each: bool(each.refused))
    assert (len(mine.members), mine.lacking, mine.refused) == (2, "", "")
    assert other.key == "default/Pod/zz-other/pod-default-zz-other"
    assert other.refused == (
        "it names group 'g', which belongs to Job mine; give the group another name"
    )


def test_groups_of_other_namespaces_are_other_groups() -> None:
    note = {"ganglion.dev/gang-size": "1"}
    one = marked("a", "ganglion.dev/gang", annotations=note)
    other = marked("a", "ganglion.dev/gang", annotations=note)
    other["metadata"]["namespace"] = "elsewhere"
    scene = Scene()
    scene.add(one, other)
    assert [each.key for each in scene.gangs()] == [
        "default/ganglion.dev/gang/g",
        "elsewhere/ganglion.dev/gang/g",
    ]


def test_a_pod_group_of_somebody_admits_only_what_that_made() -> None:
    mine, other = unfold(w.job("mine", 2)), unfold(w.job("other", 1))
    for each in pods_of([*mine, *other]):
        each["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "g"
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "mine", "uid": "job-default-mine"}
    group = pod_group("scheduling.x-k8s.io/v1alpha1", minMember=2)
    group["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    scene = Scene()
    scene.add(*other, *mine, group)
    good, bad = sorted(scene.gangs(), key=lambda each: bool(each.refused))
    assert len(good.members) == 2
    assert bad.refused.startswith("it names group 'g', which belongs to Job mine")
    assert good.owner is not None
    assert good.owner.suspend == ("spec", "suspend")


def test_a_pod_group_that_nobody_owns_is_open_to_its_namespace() -> None:
    bodies = [*unfold(w.job("one", 1)), *unfold(w.job("two", 1))]
    for each in pods_of(bodies):
        each["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "g"
    scene = Scene()
    scene.add(*bodies, pod_group("scheduling.x-k8s.io/v1alpha1", minMember=2))
    found = scene.one()
    assert (len(found.members), found.lacking) == (2, "")
    assert found.owner is not None
    assert (found.owner.kind, found.owner.suspend) == ("PodGroup", ())


def test_a_malformed_pod_group_refuses_its_own_pods_only() -> None:
    scene = Scene()
    scene.add(marked("a", "scheduling.x-k8s.io/pod-group"), w.bare("b"))
    scene.add(pod_group("scheduling.x-k8s.io/v1alpha1", minMember="many"))
    good, bad = sorted(scene.gangs(), key=lambda each: bool(each.refused))
    assert good.name == "b"
    assert bad.refused == ("spec.minMember: should be a whole number from 0 to 1000000, not 'many'")


def test_numbers_that_are_none_refuse_their_own_gang_only() -> None:
    scene = Scene()
    for number, size in enumerate(("9" * 5000, "-1", "1.5", "two")):
        note = {"ganglion.dev/gang-size": size}
        scene.add(marked(f"p{number}", "ganglion.dev/gang", f"g{number}", annotations=note))
    assert len(scene.gangs()) == 4
    problem = "ganglion.dev/gang-size: should be a number of pods, not "
    assert {each.refused.startswith(problem) for each in scene.gangs()} == {True}


def test_pods_whose_owner_is_not_known_yet_are_no_strangers() -> None:
    note = {"ganglion.dev/gang-size": "2"}
    body = w.job("mine", 2)
    body["spec"]["template"]["metadata"] = {
        "labels": {"ganglion.dev/gang": "g"},
        "annotations": note,
    }
    job, *pods = unfold(body)
    scene = Scene()
    scene.add(*pods)
    assert scene.one().lacking == "its Job default/mine is not known yet"
    scene.add(job)
    assert (scene.one().lacking, scene.one().refused) == ("", "")


def test_a_group_may_span_several_owners_that_one_answers_for() -> None:
    note = {"ganglion.dev/gang-size": "3"}
    first, second = w.job("lead", 1), w.job("work", 2)
    for name, body in (("lead", first), ("work", second)):
        body["spec"]["template"]["metadata"] = {
            "labels": {"ganglion.dev/gang": "g", "ganglion.dev/pod-set": name},
            "annotations": note,
        }
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "lead", "uid": "job-default-lead"}
    second["metadata"]["ownerReferences"] = [{**ref, "controller": True}]
    scene = Scene()
    scene.add(*unfold(second), *unfold(first))
    found = scene.one()
    assert (found.lacking, found.refused) == ("", "")
    assert sizes(found) == {"lead": (1, 1, 1), "work": (2, 2, 2)}
    assert seats(found)["work-1-x"] == "work-1"
    assert found.owner is not None
    assert (found.owner.name, found.owner.suspend) == ("lead", ())


def test_the_set_of_a_job_may_have_a_name() -> None:
    body = w.job("train", 2)
    body["spec"]["template"]["metadata"]["labels"] = {"ganglion.dev/pod-set": "rank"}
    found = of(body).one()
    assert sizes(found) == {"rank": (2, 2, 2)}
    assert seats(found)["train-1-x"] == "rank-1"
