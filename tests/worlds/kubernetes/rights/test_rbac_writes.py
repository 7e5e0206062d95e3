"""What the scheduler writes needs its rights, and with all of them everything is written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import ForbiddenRequest
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.leader_election.lead import Lead
from ganglion.worlds.kubernetes.names import GATE
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.sign_in.config import load
from ganglion.worlds.kubernetes.workload_discovery.found import GangOwner
from ganglion.worlds.kubernetes.write_rules.series import About, Happened
from ganglion.worlds.kubernetes.writes.bind import BindOrder, bind
from ganglion.worlds.kubernetes.writes.conditions import mark_victim, say_why
from ganglion.worlds.kubernetes.writes.evict import evict
from ganglion.worlds.kubernetes.writes.gate import ungate
from ganglion.worlds.kubernetes.writes.nominate import nominate
from ganglion.worlds.kubernetes.writes.outcome import WriteVerdict
from ganglion.worlds.kubernetes.writes.owners import suspend_owner
from tests.controlplane import manifests as make
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.rbac import (
    NAMESPACE,
    Right,
    bind_chart_role,
    chart_rights,
    define_kinds,
    without,
)
from tests.worlds.kubernetes.writes.real import QUICK, on, pod, ref, run_pod

LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
Act = Callable[[Cluster, Path], bool]
"""Does something as the user of a kubeconfig; whether it was done."""


def binds(cluster: Cluster, kubeconfig: Path) -> bool:
    cluster.add_nodes(1)
    cluster.add_pods(1)
    who = ref(cluster, "pod-0")
    order = BindOrder(who.namespace, who.name, who.uid, "node-0", devices=(0,))
    return on(kubeconfig, lambda api: bind(api, order, QUICK)).is_bound


def running(cluster: Cluster) -> None:
    cluster.add_nodes(1)
    cluster.add_pods(1, labels={"app": "a"})
    cluster.bind("pod-0", "node-0")
    run_pod(cluster, "pod-0")


def evicts(cluster: Cluster, kubeconfig: Path) -> bool:
    running(cluster)
    who = ref(cluster, "pod-0")
    return on(kubeconfig, lambda api: evict(api, who, pace=QUICK)).verdict is WriteVerdict.DONE


def evicts_past_two_budgets(cluster: Cluster, kubeconfig: Path) -> bool:
    running(cluster)
    for name in ("one", "two"):
        body = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {"minAvailable": 0, "selector": {"matchLabels": {"app": "a"}}},
        }
        (made,) = cluster.create(body)
        counts = {"currentHealthy": 1, "desiredHealthy": 0, "expectedPods": 1}
        seen = {"observedGeneration": made["metadata"]["generation"], "disruptionsAllowed": 1}
        cluster.patch(f"{cluster.path(body)}/status", {"status": counts | seen})
    who = ref(cluster, "pod-0")
    return on(kubeconfig, lambda api: evict(api, who, pace=QUICK)).verdict is WriteVerdict.DONE


def promises(cluster: Cluster, kubeconfig: Path) -> bool:
    cluster.add_pods(1)
    who = ref(cluster, "pod-0")
    found = on(kubeconfig, lambda api: nominate(api, [(who, "node-0")], QUICK))
    return found[who.uid].verdict is WriteVerdict.DONE


def marks_victims(cluster: Cluster, kubeconfig: Path) -> bool:
    cluster.add_pods(1)
    who = ref(cluster, "pod-0")
    return (
        on(kubeconfig, lambda api: mark_victim(api, who, "a/b", QUICK)).verdict is WriteVerdict.DONE
    )


def says_why(cluster: Cluster, kubeconfig: Path) -> bool:
    cluster.add_pods(1)
    seen = pod(cluster, "pod-0")
    return (
        on(kubeconfig, lambda api: say_why(api, seen, "no room", QUICK)).verdict
        is WriteVerdict.DONE
    )


def lifts_gates(cluster: Cluster, kubeconfig: Path) -> bool:
    cluster.add_pods(1, scheduler="default-scheduler", schedulingGates=[{"name": GATE}])
    who = ref(cluster, "pod-0")
    return (
        on(kubeconfig, lambda api: ungate(api, who, "node-0", QUICK)).verdict is WriteVerdict.DONE
    )


def suspends_jobs(cluster: Cluster, kubeconfig: Path) -> bool:
    body = make.job("train")
    (made,) = cluster.create(body)
    uid, path = made["metadata"]["uid"], cluster.path(body)
    owner = GangOwner("batch/v1", "Job", "default", "train", uid, path, ("spec", "suspend"))
    found = on(kubeconfig, lambda api: suspend_owner(api, owner, "a/b", QUICK))
    return found.verdict is WriteVerdict.DONE and bool(cluster.get(path)["spec"]["suspend"])


def writes_events(cluster: Cluster, kubeconfig: Path) -> bool:
    cluster.add_pods(1)
    about = About("v1", "Pod", "default", "pod-0", ref(cluster, "pod-0").uid)
    happened = Happened(about, "FailedScheduling", "Scheduling", "no room")

    async def twice(api: Api) -> int:
        recorder = Recorder(api, "test")
        for _ in range(2):
            recorder.record(happened)
            await recorder.flush(everything=True)
        return recorder.dropped

    return on(kubeconfig, twice) == 0


def writes_status(kind: str) -> Act:
    def act(cluster: Cluster, kubeconfig: Path) -> bool:
        define_kinds(cluster)
        body = {
            "apiVersion": "ganglion.dev/v1alpha1",
            "kind": kind,
            "metadata": {"name": "one"},
            "spec": {},
        }
        cluster.create(body)
        path = f"{cluster.path(body)}/status"
        status = {"status": {"inForce": {"generation": 1, "spec": {}}}}
        try:
            on(kubeconfig, lambda api: api.patch(path, status, Patch.MERGE))
        except ForbiddenRequest:
            return False
        return "status" in cluster.get(cluster.path(body))

    return act


def leads_first(cluster: Cluster, kubeconfig: Path) -> bool:
    return _leads(cluster, kubeconfig)


def leads_after_another(cluster: Cluster, kubeconfig: Path) -> bool:
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "ganglion", "namespace": NAMESPACE},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": 1},
    }
    cluster.create(body)
    return _leads(cluster, kubeconfig)


def _leads(cluster: Cluster, kubeconfig: Path) -> bool:
    times = {"lease_s": 3.0, "renew_s": 2.0, "retry_s": 0.2}
    lead = Lead(load(kubeconfig), NAMESPACE, "ganglion", "test", **times)
    lead.start()
    try:
        cluster.wait(lambda: lead.held.is_set() or lead.trouble is not None, "the Lease")
        return lead.holds()
    finally:
        lead.stop()


LEASE = ("coordination.k8s.io", "leases")
CASES: list[tuple[Act, Right]] = [
    (binds, Right("", "pods/binding", "create")),
    (evicts, Right("", "pods/eviction", "create")),
    (evicts_past_two_budgets, Right("", "pods", "delete")),
    (evicts_past_two_budgets, Right("policy", "poddisruptionbudgets", "list")),
    (promises, Right("", "pods/status", "patch")),
    (marks_victims, Right("", "pods/status", "patch")),
    (says_why, Right("", "pods/status", "patch")),
    (lifts_gates, Right("", "pods", "patch")),
    (lifts_gates, Right("", "pods", "get")),
    (suspends_jobs, Right("batch", "jobs", "patch")),
    (suspends_jobs, Right("batch", "jobs", "get")),
    (writes_events, Right("events.k8s.io", "events", "create")),
    (writes_events, Right("events.k8s.io", "events", "patch")),
    (writes_status("Queue"), Right("ganglion.dev", "queues/status", "patch")),
    (writes_status("Policy"), Right("ganglion.dev", "policies/status", "patch")),
    (leads_first, Right(*LEASE, "create", inside=True)),
    (leads_first, Right(*LEASE, "get", inside=True, name="ganglion")),
    (leads_after_another, Right(*LEASE, "update", inside=True, name="ganglion")),
]
NAMES = [f"{act.__name__}-{right}" for act, right in CASES]


@pytest.mark.parametrize("act", dict.fromkeys(act for act, _ in CASES))
def test_what_the_scheduler_writes_is_within_its_rights(cluster: Cluster, act: Act) -> None:
    assert act(cluster, bind_chart_role(cluster, "scheduler"))


@pytest.mark.parametrize(("act", "right"), CASES, ids=NAMES)
def test_without_a_right_what_needs_it_is_not_written(
    cluster: Cluster, act: Act, right: Right
) -> None:
    assert not act(cluster, bind_chart_role(cluster, "scheduler", without(right)))


def test_every_right_to_write_on_what_is_always_there_is_needed_by_something() -> None:
    tried = {right for _, right in CASES}
    always = {"", "events.k8s.io", "ganglion.dev", "coordination.k8s.io", "batch"}
    written = {
        each
        for each in chart_rights()
        if each.group in always and each.verb not in ("get", "list", "watch")
    }
    volumes = ("persistentvolumeclaims", "persistentvolumes")
    assert written - tried == {Right("", each, "patch") for each in volumes}
