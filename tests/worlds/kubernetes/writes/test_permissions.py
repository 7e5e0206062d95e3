"""What the writes need to be allowed, and nothing more."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.names import GATE
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.workload_discovery.found import GangOwner
from ganglion.worlds.kubernetes.write_rules.series import About, Happened
from ganglion.worlds.kubernetes.writes.bind import BindOrder, bind
from ganglion.worlds.kubernetes.writes.conditions import clear_victim, mark_victim, say_why
from ganglion.worlds.kubernetes.writes.evict import evict
from ganglion.worlds.kubernetes.writes.gate import ungate
from ganglion.worlds.kubernetes.writes.nominate import nominate
from ganglion.worlds.kubernetes.writes.outcome import WriteOutcome
from ganglion.worlds.kubernetes.writes.owners import resume_owner, suspend_owner
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.writes.real import QUICK, on, pod, ref, run_pod
from tests.worlds.kubernetes.writes.test_evict import add_budget

JOB = "/apis/batch/v1/namespaces/default/jobs/j"
NEEDED = {
    ("", "pods"): ("get", "patch", "delete"),
    ("", "pods/binding"): ("create",),
    ("", "pods/status"): ("patch",),
    ("", "pods/eviction"): ("create",),
    ("policy", "poddisruptionbudgets"): ("list",),
    ("events.k8s.io", "events"): ("create", "patch"),
    ("batch", "jobs"): ("get", "patch"),
}
RIGHTS = [(group, what, verb) for (group, what), verbs in NEEDED.items() for verb in verbs]
Right = tuple[str, str, str]


def granted(cluster: Cluster, user: str, rights: list[Right]) -> Path:
    """A kubeconfig of a user who may do this once the server has noticed."""
    rules = [{"apiGroups": [g], "resources": [what], "verbs": [v]} for g, what, v in rights]
    group = "rbac.authorization.k8s.io"
    meta, version = {"name": user}, f"{group}/v1"
    cluster.create({"apiVersion": version, "kind": "ClusterRole", "metadata": meta, "rules": rules})
    cluster.create(
        {
            "apiVersion": version,
            "kind": "ClusterRoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": user},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        }
    )
    cluster.wait(lambda: all(may(cluster, user, right) for right in rights), "the rights")
    return cluster.kubeconfig_of(user)


def may(cluster: Cluster, user: str, right: Right) -> bool:
    group, what, verb = right
    resource, _, sub = what.partition("/")
    asked = {"namespace": "default", "verb": verb, "group": group, "resource": resource}
    review: dict[str, Any] = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": {**asked, "subresource": sub}},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(cluster.call("POST", path, review)["status"]["allowed"])


def everything(cluster: Cluster) -> Callable[[Api], Awaitable[list[bool]]]:
    """Every kind of write once; whether each succeeded."""
    cluster.add_pods(3)
    cluster.create(manifests.pod("gated", schedulingGates=[{"name": GATE}]))
    for name, app in (("single", "s"), ("double", "a")):
        cluster.create(manifests.pod(name, nodeName="node-0", labels={"app": app}))
        run_pod(cluster, name)
    add_budget(cluster, "one", 5)
    add_budget(cluster, "two", 5)
    (made,) = cluster.create(manifests.job("j"))
    owner = GangOwner(
        "batch/v1", "Job", "default", "j", made["metadata"]["uid"], JOB, ("spec", "suspend")
    )
    zero, one, two = (ref(cluster, f"pod-{index}") for index in range(3))
    waits = pod(cluster, "pod-2")
    about = About("v1", "Pod", "default", "pod-2", waits.metadata.uid)

    async def write(api: Api) -> list[bool]:
        told = Recorder(api, "i")
        told.record(Happened(about, "FailedScheduling", "Scheduling"))
        await told.flush()
        told.record(Happened(about, "FailedScheduling", "Scheduling"))
        await told.flush(everything=True)
        order = BindOrder("default", zero.name, zero.uid, "node-0", (0,))
        outcomes: list[WriteOutcome] = [
            await say_why(api, waits, "no room", QUICK),
            *(await nominate(api, [(two, "node-0")], QUICK)).values(),
            await mark_victim(api, one, "b", QUICK),
            await clear_victim(api, one, QUICK),
            await bind(api, order, QUICK),
            await ungate(api, ref(cluster, "gated"), "node-0", QUICK),
            await evict(api, ref(cluster, "single"), None, QUICK),
            await evict(api, ref(cluster, "double"), None, QUICK),
            await suspend_owner(api, owner, "b", QUICK),
            await resume_owner(api, owner, QUICK),
        ]
        return [*(each.holds for each in outcomes), told.dropped == 0]

    return write


def test_the_documented_rights_are_enough(cluster: Cluster) -> None:
    kubeconfig = granted(cluster, "enough", RIGHTS)
    assert all(on(kubeconfig, everything(cluster)))


@pytest.mark.parametrize("missing", RIGHTS, ids=["-".join(right) for right in RIGHTS])
def test_no_right_is_without_need(cluster: Cluster, missing: Right) -> None:
    user = "without-" + "-".join(missing).strip("-").replace("/", "-").replace(".", "-")
    kubeconfig = granted(cluster, user, [right for right in RIGHTS if right != missing])
    assert not all(on(kubeconfig, everything(cluster)))
