"""The policy on the scheduler's own account, inside a real API server: what it keeps from it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.manifests import rendered

from ganglion.worlds.kubernetes.feasibility.volumes import SELECTED_NODE
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.names import DISRUPTION_TARGET, GIVEN_UP
from ganglion.worlds.kubernetes.writes.bind import BindOrder, bind
from ganglion.worlds.kubernetes.writes.conditions import clear_victim, mark_victim, say_why
from ganglion.worlds.kubernetes.writes.evict import evict
from ganglion.worlds.kubernetes.writes.nominate import nominate
from tests.controlplane import manifests as make
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.rbac import NAMESPACE, SCHEDULERS, manifests
from tests.worlds.kubernetes.rights.admission import person, policies, refused
from tests.worlds.kubernetes.writes.real import QUICK, on, pod, ref

USER = f"system:serviceaccount:{NAMESPACE}:ganglion"
SYSTEM = "kube-system"
NOTHING = f"the scheduler changes nothing in namespace {SYSTEM}"
PROGRAMS = "the scheduler does not change what pods run"
STATE = "the scheduler says of pods why they wait or leave, and nothing else of their state"
VOLUME = "the scheduler takes no volume from its claim"
OPERATIONS = {"create": "CREATE", "patch": "UPDATE", "update": "UPDATE", "delete": "DELETE"}
ELSEWHERE = {
    ("ganglion.dev", "queues/status", "UPDATE"),
    ("ganglion.dev", "policies/status", "UPDATE"),
    ("events.k8s.io", "events", "CREATE"),
    ("events.k8s.io", "events", "UPDATE"),
}
"""Queues and policies have no namespace; events are about its own pods."""
PODS = "/api/v1/namespaces/{}/pods/p"
JOBS = "/apis/batch/v1/namespaces/{}/jobs/j"


@pytest.fixture
def scheduler(cluster: Cluster) -> Iterator[Cluster]:
    """A client with the scheduler's name and every right, which the policy is all that limits."""
    cluster.create(*policies(manifests("ganglion.yaml")))
    user, space = person(cluster, USER), "kube-public"
    cluster.create(make.pod("canary", namespace=space))
    path, note = f"/api/v1/namespaces/{space}/pods/canary", {"metadata": {"labels": {"a": "b"}}}
    try:
        refused(cluster, lambda: user.patch(path, note), space)
        yield user
    finally:
        user.close()


def of_pod(name: str, namespace: str) -> dict[str, Any]:
    """A pod with a sidecar."""
    body = make.pod(name, namespace=namespace)
    side = {"name": "side", "image": "good", "restartPolicy": "Always"}
    body["spec"]["initContainers"] = [side]
    return body


def test_it_writes_nothing_in_the_namespaces_of_the_system(
    cluster: Cluster, scheduler: Cluster
) -> None:
    cluster.add_nodes(1)
    deployment = "/apis/apps/v1/namespaces/{}/deployments/d"
    claim = "/api/v1/namespaces/{}/persistentvolumeclaims/c"
    pods, jobs = PODS.format(SYSTEM), JOBS.format(SYSTEM)
    cluster.create(of_pod("p", SYSTEM))
    cluster.create(make.job("j", namespace=SYSTEM))
    cluster.create(deploys("d", SYSTEM))
    cluster.create(claims("c", SYSTEM))
    about = {"metadata": {"name": "p", "namespace": SYSTEM}}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", **about}
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-0"}
    binding = {"apiVersion": "v1", "kind": "Binding", **about, "target": target}
    note = {"metadata": {"annotations": {"ganglion.dev/x": "y"}}}
    attempts: list[Callable[[], object]] = [
        lambda: scheduler.patch(pods, note),
        lambda: scheduler.delete(pods, grace=0),
        lambda: scheduler.call("POST", f"{pods}/eviction", eviction),
        lambda: scheduler.call("POST", f"{pods}/binding", binding),
        lambda: scheduler.patch(f"{pods}/status", {"status": {"nominatedNodeName": "node-0"}}),
        lambda: scheduler.patch(jobs, {"spec": {"suspend": True}}),
        lambda: scheduler.patch(f"{deployment.format(SYSTEM)}/scale", {"spec": {"replicas": 0}}),
        lambda: scheduler.patch(claim.format(SYSTEM), note),
    ]
    for each in attempts:
        refused(cluster, each, NOTHING)
    found = cluster.get(pods)
    assert "nodeName" not in found["spec"]
    assert "deletionTimestamp" not in found["metadata"]
    # Others are not concerned.
    cluster.patch(jobs, {"spec": {"suspend": True}})
    cluster.call("POST", f"{pods}/binding", binding)


def test_it_runs_no_programs_of_its_own(cluster: Cluster, scheduler: Cluster) -> None:
    path = PODS.format("default")
    cluster.create(of_pod("p", "default"), make.job("j"))
    cluster.add_nodes(1)
    cluster.bind("p", "node-0")
    evil = {"name": "side", "image": "evil"}
    debug = {"name": "debug", "image": "evil"}
    main = {"name": "main", "resources": {"requests": {"cpu": "2m"}}}
    for sub, body in (
        ("", {"containers": [{"name": "main", "image": "evil"}]}),
        ("", {"initContainers": [evil]}),
        ("/ephemeralcontainers", {"ephemeralContainers": [debug]}),
        ("/resize", {"containers": [main]}),
    ):
        change = {"spec": body}
        refused(
            cluster, lambda sub=sub, c=change: scheduler.patch(path + sub, c, "strategic"), PROGRAMS
        )
        # It is the policy that says no: another user may.
        cluster.call(
            "PATCH",
            path + sub,
            change,
            params={"dryRun": "All"},
            headers={"Content-Type": "application/strategic-merge-patch+json"},
        )
    text = "the scheduler switches owners on and off, and changes nothing else of them"
    later = {"spec": {"ttlSecondsAfterFinished": 1}}
    refused(cluster, lambda: scheduler.patch(JOBS.format("default"), later), text)
    scheduler.patch(JOBS.format("default"), {"spec": {"suspend": True}})
    cluster.create(deploys("d", "default"))
    scale = "/apis/apps/v1/namespaces/default/deployments/d/scale"
    scheduler.patch(scale, {"spec": {"replicas": 2}})


def test_it_makes_up_no_state_of_pods(cluster: Cluster, scheduler: Cluster) -> None:
    path = f"{PODS.format('default')}/status"
    cluster.create(of_pod("p", "default"))
    not_ready = {"type": "Ready", "status": "False"}
    for status in (
        {"phase": "Failed"},
        {"podIPs": [{"ip": "10.0.0.1"}], "podIP": "10.0.0.1"},
        {"conditions": [not_ready]},
    ):
        body = {"status": status}
        refused(cluster, lambda b=body: scheduler.patch(path, b, "strategic"), STATE)
    cluster.patch(path, {"status": {"conditions": [not_ready]}}, "strategic")
    given = {"type": GIVEN_UP, "status": "True"}
    scheduler.patch(path, {"status": {"conditions": [given]}}, "strategic")
    types = {each["type"] for each in cluster.get(path)["status"]["conditions"]}
    assert types == {"Ready", GIVEN_UP}


def test_it_takes_no_volume_from_its_claim(cluster: Cluster, scheduler: Cluster) -> None:
    cluster.create(volume("free"))
    ours = {"namespace": "default", "name": "c", "uid": "1"}
    kept = {"namespace": "default", "name": "other", "uid": "2"}
    cluster.create(volume("kept", claimRef=kept))
    path = "/api/v1/persistentvolumes/"
    for ref_ in (ours, None):
        body = {"spec": {"claimRef": ref_}}
        refused(cluster, lambda b=body: scheduler.patch(f"{path}kept", b), VOLUME)
    theirs = {"spec": {"claimRef": ours | {"namespace": SYSTEM}}}
    refused(cluster, lambda: scheduler.patch(f"{path}free", theirs), NOTHING)
    larger = {"spec": {"capacity": {"storage": "2Gi"}}}
    text = "the scheduler switches owners on and off, and changes nothing else of them"
    refused(cluster, lambda: scheduler.patch(f"{path}free", larger), text)
    scheduler.patch(f"{path}free", {"spec": {"claimRef": ours}})
    cluster.create(claims("c", "default"))
    node = {"metadata": {"annotations": {SELECTED_NODE: "node-0"}}}
    scheduler.patch("/api/v1/namespaces/default/persistentvolumeclaims/c", node)


def test_what_the_scheduler_writes_is_let_through(cluster: Cluster, scheduler: Cluster) -> None:
    kubeconfig: Path = cluster.kubeconfig_of(USER)
    cluster.add_nodes(1)
    cluster.create(of_pod("p", "default"))
    who, seen = ref(cluster, "p"), pod(cluster, "p")

    async def story(api: Api) -> list[bool]:
        said = await say_why(api, seen, "no room", QUICK)
        promised = await nominate(api, [(who, "node-0")], QUICK)
        marked = await mark_victim(api, who, "a/b", QUICK)
        cleared = await clear_victim(api, who, QUICK)
        order = BindOrder(who.namespace, who.name, who.uid, "node-0", devices=(0,))
        bound = await bind(api, order, QUICK)
        again = await mark_victim(api, who, "a/b", QUICK)
        gone = await evict(api, who, pace=QUICK)
        outcomes = (said, promised[who.uid], marked, cleared, again, gone)
        return [bound.is_bound, *(not each.message for each in outcomes)]

    assert all(on(kubeconfig, story))
    conditions = cluster.get(PODS.format("default"))["status"]["conditions"]
    assert DISRUPTION_TARGET in {each["type"] for each in conditions}


def test_every_right_to_write_in_a_namespace_is_guarded() -> None:
    assert unguarded(manifests("ganglion.yaml")) == ELSEWHERE


def test_so_are_those_that_a_value_adds(helm: str) -> None:
    assert helm
    assert unguarded(rendered("features.resourceClaims=true")) == ELSEWHERE


def unguarded(objects: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """What its roles let it write, and the policy does not look at: group, resource, operation."""
    (policy,) = [e for e in policies(objects) if e["kind"] == "ValidatingAdmissionPolicy"]
    roles = [e["rules"] for e in objects if e["kind"] == "ClusterRole" and is_its_own(e)]
    assert len(roles) == 2
    writes = {
        (group, resource, OPERATIONS[verb])
        for rules in roles
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb in OPERATIONS
    }
    return writes - {
        (group, resource, operation)
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for operation in rule["operations"]
    }


def is_its_own(role: dict[str, Any]) -> bool:
    return (role["kind"], role["metadata"]["name"]) in SCHEDULERS


def deploys(name: str, namespace: str) -> dict[str, Any]:
    labels = {"app": name}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": make.pod(name)["spec"]},
    }
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def claims(name: str, namespace: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def volume(name: str, **more: Any) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/tmp/x"},
        **more,
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": spec,
    }
