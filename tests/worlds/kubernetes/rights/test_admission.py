"""The policies of the chart inside a real API server: what they refuse, change, and leave alone."""

from collections.abc import Callable
from typing import Any

import pytest
from tools.manifests import rendered

from ganglion.worlds.kubernetes import markers
from ganglion.worlds.kubernetes.workload_kinds.kinds import KINDS
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster, Refused
from tests.worlds.kubernetes.crds import KINDS as CRDS
from tests.worlds.kubernetes.crds import definition
from tests.worlds.kubernetes.rbac import define_kinds
from tests.worlds.kubernetes.rights.admission import ADMISSION, person, policies, refused
from tests.worlds.kubernetes.troubled import priority

BY = "ganglion.dev/created-by"
VERSION = "1.36.2"
Objects = list[dict[str, Any]]
Labels = dict[str, str]
Body = dict[str, Any]
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": True}
TEMPLATES: dict[str, Callable[[Body], Body]] = {
    "JobSet": lambda t: {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": t}}}]},
    "LeaderWorkerSet": lambda t: {"leaderWorkerTemplate": {"workerTemplate": t}},
    "PyTorchJob": lambda t: {"pytorchReplicaSpecs": {"Worker": {"template": t}}},
    "MPIJob": lambda t: {"mpiReplicaSpecs": {"Worker": {"template": t}}},
    "RayCluster": lambda t: {"workerGroupSpecs": [{"groupName": "a", "template": t}]},
    "RayJob": lambda t: {"rayClusterSpec": {"headGroupSpec": {"template": t}}},
    "RayService": lambda t: {"rayClusterConfig": {"headGroupSpec": {"template": t}}},
    "Notebook": lambda t: {"template": t},
}
"""Kind of others -> its spec with a pod template."""


@pytest.fixture(autouse=True)
def kinds(helm: str, cluster: Cluster) -> None:
    assert helm
    define_kinds(cluster)
    for team in ("red", "blue"):
        cluster.add_namespace(team, team=team)
        forgotten = f"the policies of the test before to be forgotten in {team}"
        cluster.wait(lambda team=team: is_plain(cluster, pod("p", team)), forgotten)


def is_plain(cluster: Cluster, body: Body) -> bool:
    """Whether no policy refuses an object or notes who made it."""
    try:
        made = dry(cluster, body)
    except Refused:
        return False
    return BY not in made["metadata"].get("annotations", {})


def chosen(*values: str) -> Objects:
    return policies(rendered("admission.guard.enabled=false", *values, kubernetes=VERSION))


def install(cluster: Cluster, *values: str) -> None:
    objects = chosen(*values)
    assert objects
    cluster.create(*objects)


def queue(cluster: Cluster, name: str, **spec: Any) -> None:
    version, meta = "ganglion.dev/v1alpha1", {"name": name}
    cluster.create({"apiVersion": version, "kind": "Queue", "metadata": meta, "spec": spec})


def pod(name: str, team: str, to: str = "red", **more: Any) -> Body:
    return manifests.pod(name, namespace=team, labels={"ganglion.dev/queue": to}, **more)


def dry(cluster: Cluster, body: Body) -> Body:
    """What the server would make of it."""
    found: Body = cluster.call("POST", cluster.collection(body), body, params={"dryRun": "All"})
    return found


def answer(cluster: Cluster, body: Body) -> str:
    """Why the server would not make it; empty = it would."""
    try:
        dry(cluster, body)
    except Refused as error:
        return error.body
    return ""


def test_the_server_has_the_versions_that_the_chart_names(cluster: Cluster) -> None:
    found = {each["name"] for each in cluster.get(f"/apis/{ADMISSION}")["resources"]}
    assert {"validatingadmissionpolicies", "mutatingadmissionpolicies"} <= found


def test_a_pod_for_the_queue_of_others_is_refused_when_it_is_made(cluster: Cluster) -> None:
    expressions = [{"key": "old", "operator": "DoesNotExist"}]
    selector = {"matchLabels": {"team": "red"}, "matchExpressions": expressions}
    queue(cluster, "red", namespaces={"selector": selector}, max_priority=10)
    queue(cluster, "named", namespaces={"names": ["blue"]})
    queue(cluster, "open", quota={"*": 1})
    install(cluster, "admission.queues.enabled=true")
    text = "queue red takes no pods of namespace blue: see its namespaces"
    refused(cluster, lambda: dry(cluster, pod("p", "blue")), text)
    job = manifests.job("j", namespace="blue", labels={"ganglion.dev/queue": "red"})
    refused(cluster, lambda: dry(cluster, job), text)
    urgent = pod("p", "red", annotations={"ganglion.dev/priority": "11"})
    refused(cluster, lambda: dry(cluster, urgent), "the highest priority in queue red is 10")
    for good in (
        pod("p", "red", annotations={"ganglion.dev/priority": "10"}),
        pod("p", "blue", "named"),
        pod("p", "blue", "open"),
        pod("p", "blue", "red", scheduler="default-scheduler"),
        manifests.pod("p", namespace="blue"),
        manifests.job("j", namespace="red", labels={"ganglion.dev/queue": "red"}),
    ):
        dry(cluster, good)


def test_every_way_to_name_a_queue_is_read_as_the_scheduler_reads_it(cluster: Cluster) -> None:
    queue(cluster, "red", namespaces={"names": ["red"]}, max_priority=10)
    queue(cluster, "blue", namespaces={"names": ["blue"]})
    queue(cluster, "narrow", namespaces={})
    home = {"metadata": {"labels": {"ganglion.dev/queue": "narrow"}}}
    cluster.patch("/api/v1/namespaces/red", home)
    install(cluster, "admission.queues.enabled=true")

    def made(labels: Labels, inside: Labels, **more: Any) -> Body:
        job = manifests.job("j", namespace="blue", labels=inside, **more)
        job["metadata"]["labels"] = labels
        return job

    text = "queue red takes no pods of namespace blue: see its namespaces"
    refused(cluster, lambda: dry(cluster, pod("p", "blue")), text)
    for key in markers.QUEUES:
        for job in (made({key: "red"}, {}), made({key: "blue"}, {key: "red"})):
            assert text in answer(cluster, job), key
        assert answer(cluster, made({key: "red"}, {key: "blue"})) == ""
        note = manifests.pod("p", namespace="blue", annotations={key: "red"})
        assert text in answer(cluster, note), key
    # Ours goes first where one thing names several.
    both = {"kai.scheduler/queue": "red", "ganglion.dev/queue": "blue"}
    assert answer(cluster, made(both, {})) == ""
    # What names none has the queue of its namespace, unless its maker may name another.
    bare = manifests.pod("p", namespace="red")
    assert "queue narrow takes no pods" in answer(cluster, bare)
    for other in (
        manifests.pod("p", namespace="red", owner=OWNER),
        manifests.pod("p", namespace="red", annotations={"pod-group-name": "g"}),
    ):
        assert answer(cluster, other) == ""
    claim = {"ganglion.dev/priority": "11"}
    urgent = manifests.job("j", namespace="red", labels={"ganglion.dev/queue": "red"})
    urgent["metadata"]["annotations"] = claim
    assert "the highest priority in queue red is 10" in answer(cluster, urgent)
    cluster.create(priority("low", 5))
    classed = pod("p", "red", annotations=claim, priorityClassName="low")
    # The server's own admission hears of a new class a moment later.
    cluster.wait(lambda: answer(cluster, classed) == "", "a pod of a class that is low enough")


def test_kinds_of_others_are_refused_as_early_as_jobs(cluster: Cluster) -> None:
    served = {kind: (group, version) for group, version, kind in CRDS if kind in TEMPLATES}
    cluster.define(*(definition(*served[kind], kind) for kind in TEMPLATES))
    queue(cluster, "red", namespaces={"names": ["red"]})
    install(cluster, "admission.queues.enabled=true")
    text = "queue red takes no pods of namespace blue: see its namespaces"

    def made(kind: str, to: str, outside: Labels, scheduler: str = "ganglion") -> Body:
        labels = {"ganglion.dev/queue": to} if to else {}
        template = {"metadata": {"labels": labels}, "spec": {"schedulerName": scheduler}}
        meta = {"name": "x", "namespace": "blue", "labels": outside}
        body = {"apiVersion": "/".join(served[kind]), "kind": kind, "metadata": meta}
        return body | {"spec": TEMPLATES[kind](template)}

    outside = {"kueue.x-k8s.io/queue-name": "red"}
    for kind in TEMPLATES:
        refused(cluster, lambda kind=kind: dry(cluster, made(kind, "red", {})), text)
        assert text in answer(cluster, made(kind, "", outside)), kind
        assert answer(cluster, made(kind, "open", outside)) == "", kind
        assert answer(cluster, made(kind, "red", {}, "default-scheduler")) == "", kind


def test_of_kinds_without_templates_our_label_says_whose_they_are(cluster: Cluster) -> None:
    group, version, kind = "trainer.kubeflow.org", "v1alpha1", "TrainJob"
    cluster.define(definition(group, version, kind))
    queue(cluster, "red", namespaces={"names": ["red"]})
    install(cluster, "admission.queues.enabled=true")

    def made(labels: Labels) -> Body:
        meta = {"name": "x", "namespace": "blue", "labels": labels}
        return {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": meta, "spec": {}}

    text = "queue red takes no pods of namespace blue: see its namespaces"
    refused(cluster, lambda: dry(cluster, made({"ganglion.dev/queue": "red"})), text)
    dry(cluster, made({"kueue.x-k8s.io/queue-name": "red"}))
    dry(cluster, made({"ganglion.dev/queue": "open"}))


def test_the_user_is_recorded_and_nobody_can_write_another(cluster: Cluster) -> None:
    install(cluster, "admission.users.enabled=true")
    ada = person(cluster, "ada")
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "c", "namespace": "red"},
        "spec": {
            "schedule": "0 * * * *",
            "jobTemplate": {
                "metadata": {"annotations": {BY: "bob"}},
                "spec": manifests.job("j")["spec"],
            },
        },
    }

    def of_cron() -> str:
        made = dry(ada, cron)["spec"]["jobTemplate"]["metadata"]["annotations"][BY]
        return str(made)

    def noted(body: Body) -> str:
        try:
            return str(dry(ada, body)["metadata"].get("annotations", {}).get(BY))
        except Refused as error:
            # The schema of a new kind is not known at once, and the policy that protects the
            # user may be in force before the one that writes it.
            assert error.status in {503, 422}
            return ""

    plain = manifests.job("j", namespace="red")
    cluster.wait(lambda: noted(plain) == "ada", "the user to be recorded")
    cluster.wait(lambda: of_cron() == "ada", "that of a CronJob")
    assert noted(pod("p", "red", annotations={BY: "bob"})) == "ada"
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "s", "namespace": "red"},
    }
    cluster.create(definition("jobset.x-k8s.io", "v1alpha2", "JobSet"))
    cluster.wait(lambda: noted(jobset) == "ada", "that of a kind of others")
    ada.create(plain)
    path = "/apis/batch/v1/namespaces/red/jobs/j"
    for body in ({BY: "bob"}, {BY: None}):
        change = {"metadata": {"annotations": body}}
        refused(cluster, lambda each=change: ada.patch(path, each), "nobody may change it")
    assert cluster.get(path)["metadata"]["annotations"][BY] == "ada"
    ada.close()


def is_policy(body: Body, name: str) -> bool:
    return body["metadata"]["name"] == f"ganglion-{name}" and "matchConstraints" in body["spec"]


def covered(policy: Body) -> set[tuple[str, str]]:
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    return {(g, r) for rule in rules for g in rule["apiGroups"] for r in rule["resources"]}


def test_every_kind_that_a_user_is_read_from_is_recorded_and_protected() -> None:
    wanted = {(k.group, k.plural) for k in KINDS.values() if not k.plural.endswith("podgroups")}
    found = [
        covered(each) for each in chosen("admission.users.enabled=true") if is_policy(each, "users")
    ]
    assert len(found) == 2
    assert [wanted - each for each in found] == [set(), set()]
    (queues,) = [
        covered(each)
        for each in chosen("admission.queues.enabled=true")
        if is_policy(each, "queues")
    ]
    assert wanted - queues == {("apps", "replicasets")}  # a Deployment's


def test_pods_of_labelled_namespaces_get_scheduler_and_queue(cluster: Cluster) -> None:
    labels = {"ganglion.dev/inject": "true", "ganglion.dev/queue": "red"}
    cluster.patch("/api/v1/namespaces/red", {"metadata": {"labels": labels}})
    install(cluster, "admission.inject.enabled=true", "scheduler.name=canary")

    def made(team: str, **more: Any) -> tuple[str, str]:
        found = dry(cluster, manifests.pod("p", namespace=team, **more))
        queue = found["metadata"].get("labels", {}).get("ganglion.dev/queue", "")
        return found["spec"]["schedulerName"], queue

    usual = {"scheduler": "default-scheduler"}
    cluster.wait(lambda: made("red", **usual) == ("canary", "red"), "the policy in force")
    assert made("red", labels={"ganglion.dev/queue": "own"}, **usual) == ("canary", "own")
    assert made("red", scheduler="another") == ("another", "")
    # What is named elsewhere is not overridden: on the pod in other words, by its maker or group.
    for key in markers.QUEUES[1:]:
        assert made("red", labels={key: "own"}, **usual) == ("canary", "")
        assert made("red", annotations={key: "own"}, **usual) == ("canary", "")
    for key in (markers.COSCHEDULING, markers.VOLCANO, markers.KAI):
        assert made("red", annotations={key: "g"}, **usual) == ("canary", "")
    assert made("red", owner=OWNER, **usual) == ("canary", "")
    assert made("blue", **usual) == ("default-scheduler", "")
