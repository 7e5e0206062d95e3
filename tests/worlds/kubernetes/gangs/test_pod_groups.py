"""Kubernetes' own PodGroups in each of its minor versions, with the whole scheduler at work.

The scheduler has the rights of the manifests and no others; kube-scheduler of the same version
says what a status looks like.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from benchmarks.controlplane.flags import Options
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.workload_kinds.kinds import JOB_SET
from tests.controlplane.build import NEXT, PINNED
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.crds import definitions
from tests.worlds.kubernetes.pod_groups.test_upstream import ZONE, every, gang, pods
from tests.worlds.kubernetes.rbac import Right, without
from tests.worlds.kubernetes.scheduling import scheduling

Body = w.Body
PATIENCE_S = 90.0
pytestmark = pytest.mark.xdist_group("gates")  # one process shares the API servers
Start = Callable[[Mapping[str, Options]], Cluster]

SHARED = ("GenericWorkload", "TopologyAwareWorkloadScheduling", "WorkloadWithJob")
GATES = {
    PINNED: (*SHARED, "GangScheduling"),
    NEXT: (*SHARED, "CompositePodGroup"),
}


def options(
    gates: Mapping[str, tuple[str, ...]], *minors: str, all_apis: bool = True
) -> dict[str, Options]:
    return {
        minor: Options(gates=tuple(f"{each}=true" for each in gates[minor]), all_apis=all_apis)
        for minor in minors or gates
    }


def flags(cluster: Cluster, gates: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The same gates for another program of that version."""
    named = ",".join(f"{each}=true" for each in gates[minor_of(cluster)])
    return [f"--feature-gates={named}"]


def minor_of(cluster: Cluster) -> str:
    found = cluster.get("/version")
    return f"{found['major']}.{found['minor']}"


def served(cluster: Cluster, plural: str) -> str:
    """Path of a collection in the namespace `default`, in the version that is served."""
    for each in cluster.get("/apis/scheduling.k8s.io")["versions"]:
        found = cluster.get(f"/apis/{each['groupVersion']}")["resources"]
        if any(resource["name"] == plural for resource in found):
            return f"/apis/{each['groupVersion']}/namespaces/default/{plural}"
    raise AssertionError(f"{plural} are not served")


def group(cluster: Cluster, name: str, policy: Body, kind: str = "PodGroup", **spec: object) -> str:
    """Create a group in the version that is served; its path."""
    path = served(cluster, f"{kind.lower()}s")
    version = path.removeprefix("/apis/").partition("/namespaces")[0]
    reference = {"workloadRef": {"workloadName": "w", "templateName": "t"}} if spec else {}
    needs = reference if minor_of(cluster) == NEXT else {}
    cluster.create(w.thing(version, kind, name, {"schedulingPolicy": policy, **needs, **spec}))
    return f"{path}/{name}"


def said(cluster: Cluster, path: str) -> list[tuple[str, str, str, int]]:
    """Type, status, reason and generation of the conditions of a group."""
    found = cluster.get(path).get("status", {}).get("conditions", [])
    names = ("type", "status", "reason", "observedGeneration")
    return [tuple(each.get(name) for name in names) for each in found]


def message(cluster: Cluster, path: str) -> str:
    (condition,) = cluster.get(path)["status"]["conditions"]
    return str(condition["message"])


def create(cluster: Cluster, *bodies: Body, scheduler: str = "ganglion") -> list[str]:
    names = []
    for body in bodies:
        cluster.create({**body, "spec": {**body["spec"], "schedulerName": scheduler}})
        names.append(body["metadata"]["name"])
    return names


def settled(cluster: Cluster, *paths: str, status: str) -> None:
    """Wait until each of these groups has one condition of that status."""

    def ready() -> bool:
        return all([each[1] for each in said(cluster, path)] == [status] for path in paths)

    try:
        cluster.wait(ready, status, PATIENCE_S)
    except AssertionError:
        raise AssertionError([cluster.get(path)["status"] for path in paths]) from None


@contextmanager
def both(cluster: Cluster) -> Iterator[Scheduler]:
    """Ganglion and kube-scheduler at work."""
    cluster.plane.launch("kube-scheduler", flags(cluster, GATES))
    with scheduling(cluster) as scheduler:
        yield scheduler
    cluster.plane.end("kube-scheduler")


def test_a_group_waits_whole_and_its_status_is_as_kube_scheduler_writes_it(
    each_minor: Start,
) -> None:
    cluster = each_minor(options(GATES))
    cluster.add_nodes(2, prefix="ours", labels={"pool": "ours"})
    cluster.add_nodes(2, prefix="theirs", labels={"pool": "theirs"})
    with both(cluster):
        ours, theirs = (group(cluster, name, gang(3)) for name in ("ours", "theirs"))
        mine = create(cluster, *pods("ours", 3, nodeSelector={"pool": "ours"}))
        other = pods("theirs", 3, nodeSelector={"pool": "theirs"})
        others = create(cluster, *other, scheduler="default-scheduler")
        settled(cluster, ours, theirs, status="False")
        assert said(cluster, ours) == said(cluster, theirs)
        assert said(cluster, ours)[0][1:3] == ("False", "Unschedulable")
        assert not cluster.bound()
        cluster.add_nodes(1, prefix="our", labels={"pool": "ours"})
        cluster.add_nodes(1, prefix="their", labels={"pool": "theirs"})
        cluster.wait_bound([*mine, *others])
        settled(cluster, ours, theirs, status="True")
        assert said(cluster, ours) == said(cluster, theirs)
        assert message(cluster, ours) == message(cluster, theirs)


def test_a_basic_group_starts_with_its_first_pod_as_with_kube_scheduler(each_minor: Start) -> None:
    cluster = each_minor(options(GATES))
    cluster.add_nodes(1, prefix="ours", labels={"pool": "ours"})
    cluster.add_nodes(1, prefix="theirs", labels={"pool": "theirs"})
    with both(cluster):
        paths = [group(cluster, name, {"basic": {}}) for name in ("ours", "theirs")]
        ours, more = pods("ours", 2, nodeSelector={"pool": "ours"})
        theirs, others = pods("theirs", 2, nodeSelector={"pool": "theirs"})
        create(cluster, ours)
        create(cluster, theirs, scheduler="default-scheduler")
        cluster.wait(lambda: len(cluster.bound()) == 2, "one pod of each")
        create(cluster, more)
        create(cluster, others, scheduler="default-scheduler")
        settled(cluster, *paths, status="True")
        assert said(cluster, paths[0]) == said(cluster, paths[1])


def test_fields_that_cannot_be_held_are_refused_on_the_group_as_kube_scheduler_does(
    each_minor: Start,
) -> None:
    cluster = each_minor(options(GATES, NEXT))
    cluster.add_nodes(2)
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7}
    cluster.create({**body, "metadata": {"name": "seven"}})
    with both(cluster):
        ours, theirs = (
            group(cluster, name, gang(1), priorityClassName="seven") for name in ("ours", "theirs")
        )
        create(cluster, *pods("ours", 1))
        create(cluster, *pods("theirs", 1), scheduler="default-scheduler")
        settled(cluster, ours, theirs, status="False")
        assert said(cluster, ours) == said(cluster, theirs)
        assert said(cluster, ours)[0][2] == "SchedulerError"
        assert message(cluster, ours).startswith("PodGroup ours spec.priority: it is 7")


def test_groups_of_a_group_start_together_in_one_domain(each_minor: Start) -> None:
    cluster = each_minor(options(GATES, NEXT))
    key = "topology.kubernetes.io/zone"
    cluster.add_nodes(2, prefix="a", labels={key: "a"})
    cluster.add_nodes(1, prefix="b", labels={key: "b"})
    with scheduling(cluster):
        top = group(cluster, "all", every(2), "CompositePodGroup", schedulingConstraints=ZONE)
        up = {"parentCompositePodGroupName": "all"}
        paths = [group(cluster, "one", gang(2), **up), group(cluster, "two", gang(1), **up)]
        one, two = pods("one", 2), pods("two", 1)
        names = create(cluster, *one)
        reasons = lambda: str(cluster.pods())  # noqa: E731 - short
        cluster.wait(lambda: "1 of 2 groups of CompositePodGroup all" in reasons(), "the reason")
        names += create(cluster, *two)
        settled(cluster, top, *paths, status="False")
        assert said(cluster, top)[0][:3] == (
            "CompositePodGroupInitiallyScheduled",
            "False",
            "Unschedulable",
        )
        assert not cluster.bound()
        cluster.add_nodes(1, prefix="c", labels={key: "a"})
        cluster.wait_bound(names)
        assert not [node for node in cluster.bound().values() if node.startswith("b")]
        settled(cluster, top, *paths, status="True")


def test_groups_of_a_group_that_cannot_start_alone_are_refused_on_each_object(
    each_minor: Start,
) -> None:
    cluster = each_minor(options(GATES, NEXT))
    cluster.add_nodes(3)
    with scheduling(cluster):
        up = {"parentCompositePodGroupName": "all"}
        paths = [group(cluster, name, gang(1), **up) for name in ("one", "two")]
        paths.append(group(cluster, "all", every(1), "CompositePodGroup", disruptionMode=None))
        create(cluster, *pods("one", 1), *pods("two", 1))
        settled(cluster, *paths, status="False")
        field = "CompositePodGroup all spec.schedulingPolicy.gang.minGroupCount: 1 of 2 groups"
        assert all(message(cluster, each).startswith(field) for each in paths)
        assert {said(cluster, each)[0][2] for each in paths} == {"SchedulerError"}


@pytest.mark.parametrize("policy", ["gang", "default"])
def test_jobs_whose_controller_makes_the_group_are_one_gang(each_minor: Start, policy: str) -> None:
    cluster = each_minor(options(GATES))
    cluster.add_nodes(2)
    body = w.job("train", 3)
    if policy == "gang" and minor_of(cluster) == NEXT:
        body["spec"]["scheduling"] = {"schedulingPolicy": {"gang": {}}}
    body["spec"]["template"]["spec"]["schedulerName"] = "ganglion"
    cluster.plane.launch("kube-controller-manager", flags(cluster, GATES))
    with scheduling(cluster) as scheduler:
        cluster.create(body)
        cluster.wait(lambda: len(cluster.pods()) == 3, "its pods")
        (made,) = cluster.list(served(cluster, "podgroups"))
        path = f"{served(cluster, 'podgroups')}/{made['metadata']['name']}"
        groups = [pod["spec"].get("schedulingGroup") for pod in cluster.pods().values()]
        assert groups == [{"podGroupName": made["metadata"]["name"]}] * 3
        settled(cluster, path, status="False")
        with scheduler.read() as controller:
            (found,) = controller.scene.gangs.founds.values()
            assert (len(found.members), found.refused) == (3, "")
            assert found.owner is not None
            assert found.owner.kind == "Job"
        assert not cluster.bound()
        cluster.add_nodes(1, prefix="more")
        cluster.wait(lambda: len(cluster.bound()) == 3, "the gang")
        settled(cluster, path, status="True")


def test_jobs_of_a_job_set_that_have_groups_made_for_them_are_these_gangs(
    each_minor: Start,
) -> None:
    cluster = each_minor(options(GATES, NEXT))
    cluster.add_nodes(3)
    cluster.define(*(each for each in definitions() if each["spec"]["group"] == JOB_SET[0]))
    (made,) = cluster.create(w.job_set("llm"))
    head = {"apiVersion": made["apiVersion"], "kind": "JobSet", "name": "llm", "controller": True}
    owned = {"ownerReferences": [{**head, "uid": made["metadata"]["uid"]}]}
    sizes = {"driver": 1, "worker": 2}
    parts = [{"name": name, "schedulingPolicy": gang(count)} for name, count in sizes.items()]
    whose = {"apiGroup": JOB_SET[0], "kind": "JobSet", "name": "llm"}
    spec = {"controllerRef": whose, "podGroupTemplates": parts}
    cluster.create(w.thing("scheduling.k8s.io/v1beta1", "Workload", "llm", spec, **owned))
    cluster.plane.launch("kube-controller-manager", flags(cluster, GATES))
    with scheduling(cluster) as scheduler:
        for name, count in sizes.items():
            note = {"scheduling.k8s.io/group-template-name": name}
            body = w.job(f"llm-{name}", count, annotations=note, **owned)
            body["spec"]["template"]["spec"]["schedulerName"] = "ganglion"
            cluster.create(body)
        cluster.wait(lambda: len(cluster.bound()) == 3, "both gangs", PATIENCE_S)
        path = served(cluster, "podgroups")
        groups = [each["metadata"]["name"] for each in cluster.list(path)]
        assert len(groups) == 2
        with scheduler.read() as controller:
            found = {key: len(each.members) for key, each in controller.scene.gangs.founds.items()}
        assert sorted(found.values()) == [1, 2]
        assert found.keys() == {f"default/PodGroup.scheduling.k8s.io/{name}" for name in groups}
        settled(cluster, *(f"{path}/{name}" for name in groups), status="True")


def test_without_the_right_to_write_their_status_gangs_start_and_groups_say_nothing(
    each_minor: Start,
) -> None:
    cluster = each_minor(options(GATES, PINNED))
    cluster.add_nodes(2)
    gone = Right("scheduling.k8s.io", "podgroups/status", "patch")
    with scheduling(cluster, rights=without(gone)):
        path = group(cluster, "g", gang(2))
        cluster.wait_bound(create(cluster, *pods("g", 2)), limit_s=PATIENCE_S)
        assert said(cluster, path) == []


def test_a_server_without_these_groups_works_as_ever(each_minor: Start) -> None:
    plain: dict[str, tuple[str, ...]] = {PINNED: (), NEXT: ()}
    cluster = each_minor(options(plain, all_apis=False))
    cluster.add_nodes(2)
    with scheduling(cluster):
        create(cluster, *cluster_gang())
        cluster.wait(lambda: len(cluster.bound()) == 2, "the gang")


def cluster_gang() -> list[Body]:
    notes = {"ganglion.dev/gang-size": "2"}
    return [
        w.bare(f"p-{index}", labels={"ganglion.dev/gang": "g"}, annotations=notes)
        for index in range(2)
    ]
