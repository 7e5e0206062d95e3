"""The policies of the chart inside a real API server: what they refuse, change, and leave alone."""

from typing import Any

import pytest
from tools.manifests import rendered

from ganglion.worlds.kubernetes.workload_kinds.kinds import KINDS, POD
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster, Refused
from tests.worlds.kubernetes.admission import ADMISSION, person, policies, refused
from tests.worlds.kubernetes.crds import definition
from tests.worlds.kubernetes.rbac import define_kinds

BY = "ganglion.dev/created-by"
VERSION = "1.36.2"
Objects = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def kinds(helm: str, cluster: Cluster) -> None:
    assert helm
    define_kinds(cluster)
    for team in ("red", "blue"):
        cluster.add_namespace(team, team=team)
        forgotten = f"the policies of the test before to be forgotten in {team}"
        cluster.wait(lambda team=team: is_plain(cluster, pod("p", team)), forgotten)


def is_plain(cluster: Cluster, body: dict[str, Any]) -> bool:
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


def pod(name: str, team: str, to: str = "red", **more: Any) -> dict[str, Any]:
    return manifests.pod(name, namespace=team, labels={"ganglion.dev/queue": to}, **more)


def dry(cluster: Cluster, body: dict[str, Any]) -> dict[str, Any]:
    """What the server would make of it."""
    found: dict[str, Any] = cluster.call(
        "POST", cluster.collection(body), body, params={"dryRun": "All"}
    )
    return found


def dry_patch(cluster: Cluster, path: str, body: dict[str, Any]) -> None:
    headers = {"Content-Type": "application/merge-patch+json"}
    cluster.call("PATCH", path, body, params={"dryRun": "All"}, headers=headers)


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

    def noted(body: dict[str, Any]) -> str:
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


def test_every_kind_that_a_user_is_read_from_is_recorded_and_protected() -> None:
    found = [
        each
        for each in chosen("admission.users.enabled=true")
        if each["metadata"]["name"] == "ganglion-users"
        and "spec" in each
        and "matchConstraints" in each["spec"]
    ]
    assert len(found) == 2
    for each in found:
        rules = each["spec"]["matchConstraints"]["resourceRules"]
        covered = {(g, r) for rule in rules for g in rule["apiGroups"] for r in rule["resources"]}
        wanted = {(k.group, k.plural) for k in KINDS.values() if k.ident != POD}
        missing = {each for each in wanted if not each[1].endswith("podgroups")} - covered
        assert missing == set()


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
    assert made("blue", **usual) == ("default-scheduler", "")
