"""What is installed is what an API server takes."""

import ssl
import subprocess
from typing import Any

import httpx2
import pytest
from tools.manifests import rendered

from tests.controlplane.cluster import Cluster, Refused
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.rbac import NAMESPACE, bind_chart_role, define_kinds, manifests

needs_helm = pytest.mark.usefixtures("helm")
FOREIGN = ("ServiceMonitor", "PrometheusRule")
"""Kinds of operators that the API server here does not have."""
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:ganglion"
DRY = {"dryRun": "All", "fieldManager": "test", "force": "true", "fieldValidation": "Strict"}
EVERYTHING = (
    "metrics.serviceMonitor.enabled=true",
    "metrics.prometheusRule.enabled=true",
    "metrics.dashboard.enabled=true",
    "networkPolicy.enabled=true",
    "clusters.secretName=kubeconfigs",
    "clusters.kubeconfigs[0].name=west",
    "clusters.kubeconfigs[0].key=west.conf",
    "rbac.viewGroups[0]=system:authenticated",
    "queues.default.weight=2",
    "policy.preset=kai",
    "env[0].name=HTTPS_PROXY",
    "env[0].value=http://proxy:3128",
    "tolerations[0].operator=Exists",
    "nodeSelector.pool=system",
    "imagePullSecrets[0]=registry",
    "podAnnotations.a=b",
    "scheduler.extraArgs[0]=--verbose",
)


def refusals(cluster: Cluster, items: list[Object]) -> list[str]:
    """Apply all of them without effect; what the API server has against them."""
    if cluster.find(f"/api/v1/namespaces/{NAMESPACE}") is None:
        cluster.add_namespace(NAMESPACE)
    headers = {"Content-Type": "application/apply-patch+yaml"}
    found = []
    for each in items:
        try:
            cluster.call("PATCH", cluster.path(each), each, params=DRY, headers=headers)
        except Refused as refused:
            found.append(f"{each['kind']} {each['metadata']['name']}: {refused}")
    return found


def test_every_manifest_is_taken(cluster: Cluster) -> None:
    define_kinds(cluster)
    items = [*manifests("crds.yaml"), *manifests("ganglion.yaml")]
    assert refusals(cluster, items) == []
    assert len(items) > 15


@needs_helm
def test_every_value_gives_manifests_that_are_taken(cluster: Cluster) -> None:
    define_kinds(cluster)
    items = rendered(*EVERYTHING)
    assert {each["kind"] for each in items} >= {"NetworkPolicy", "ConfigMap", "Queue", *FOREIGN}
    assert refusals(cluster, [each for each in items if each["kind"] not in FOREIGN]) == []


@needs_helm
def test_another_name_leaves_nothing_with_the_old_one(cluster: Cluster) -> None:
    items = rendered("fullnameOverride=west", "serviceAccount.name=bot", name="other")
    assert refusals(cluster, items) == []
    assert {each["metadata"]["name"].partition("-")[0] for each in items} == {"west", "bot"}


def test_its_pods_run_where_only_restricted_ones_may(cluster: Cluster) -> None:
    items = {each["kind"]: each for each in manifests("ganglion.yaml")}
    for kind in ("Namespace", "ServiceAccount", "PriorityClass"):
        cluster.create(items[kind])
    assert items["Namespace"]["metadata"]["labels"] == {
        "pod-security.kubernetes.io/enforce": "restricted"
    }
    template = items["Deployment"]["spec"]["template"]
    template["spec"]["schedulerName"] = "nobody"
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": "one", "namespace": NAMESPACE},
        "spec": template["spec"],
    }
    (pod,) = cluster.create(body)
    assert pod["spec"]["priority"] == items["PriorityClass"]["value"]
    loose = {**template["spec"], "containers": [{"name": "a", "image": "b"}]}
    with pytest.raises(Refused, match="violates PodSecurity"):
        cluster.create({**body, "metadata": {**body["metadata"], "name": "two"}, "spec": loose})


def test_the_schedulers_requests_have_a_share_of_their_own(cluster: Cluster) -> None:
    flows = [
        each
        for each in manifests("ganglion.yaml")
        if each["apiVersion"].startswith("flowcontrol.apiserver.k8s.io/")
    ]
    bind_chart_role(cluster, ACCOUNT)
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/ganglion"
    try:
        made = [each for each in cluster.create(*flows) if each["kind"] == "FlowSchema"]
        uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in made}
        for path, name in (("/api/v1/pods", "ganglion"), (lease, "ganglion-leader")):
            cluster.wait(lambda p=path, n=name: flow_of(cluster, ACCOUNT, p) == uids[n], name)
        assert flow_of(cluster, "ada", "/api/v1/pods") not in uids.values()
    finally:
        for each in flows:
            cluster.delete(cluster.path(each))


def flow_of(cluster: Cluster, user: str, path: str) -> str:
    """UID of the FlowSchema that a user's request comes under."""
    answer = httpx2.get(
        cluster.plane.url + path,
        headers={"Authorization": f"Bearer {cluster.plane.token(user)}"},
        verify=ssl.create_default_context(cafile=cluster.plane.ca),
        trust_env=False,
    )
    return str(answer.headers["X-Kubernetes-PF-FlowSchema-UID"])


@pytest.mark.parametrize("kind", ["Queue", "Policy"])
def test_status_is_written_apart_from_the_spec(cluster: Cluster, kind: str) -> None:
    define_kinds(cluster)
    body = thing(kind, "one", {})
    cluster.create(body)
    path = cluster.path(body)
    cluster.patch(path, {"status": {"inForce": {"generation": 9, "spec": {}}}})
    assert "status" not in cluster.get(path)
    cluster.patch(f"{path}/status", {"status": {"inForce": {"generation": 9, "spec": {}}}})
    assert cluster.get(path)["status"]["inForce"]["generation"] == 9
    assert cluster.get(path)["metadata"]["generation"] == 1


def test_the_list_of_queues_shows_what_people_look_for(cluster: Cluster) -> None:
    define_kinds(cluster)
    body = thing("Queue", "team", {"parent": "org", "quota": {"H100": 16}})
    cluster.create(body)
    status: Any = {
        "used": {"H100": 12},
        "share": "75%",
        "pending": 4,
        "conditions": [
            {
                "type": "Accepted",
                "status": "True",
                "reason": "Accepted",
                "message": "in force",
                "lastTransitionTime": "2026-11-22T10:00:00Z",
            }
        ],
    }
    cluster.patch(f"{cluster.path(body)}/status", {"status": status})
    table = cluster.call(
        "GET",
        cluster.collection(body),
        headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"},
    )
    shown = {
        column["name"]: cell
        for column, cell in zip(table["columnDefinitions"], table["rows"][0]["cells"], strict=True)
    }
    assert shown["Name"] == "team"
    assert (shown["Parent"], shown["Quota"], shown["Used"]) == (
        "org",
        '{"H100":16}',
        '{"H100":12}',
    )
    assert (shown["Share"], shown["Pending"], shown["Accepted"]) == ("75%", 4, "True")
    assert {"Age", "Message"} <= shown.keys()


def thing(kind: str, name: str, spec: object) -> Object:
    return {
        "apiVersion": "ganglion.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


@needs_helm
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("replicas=9", "/replicas"),
        ("replicas=two", "/replicas"),
        ("image.tagg=1", "tagg"),
        ("scheduler.logLevel=loud", "/scheduler/logLevel"),
        ("priorityClass.value=2000000000", "/priorityClass/value"),
        ("image.digest=sha256:12", "/image/digest"),
        ("clusters.kubeconfigs[0].name=west", "/clusters/kubeconfigs"),
        ("queues.Bad_Name.weight=1", "Bad_Name"),
    ],
)
def test_values_that_make_no_sense_are_refused(wrong: str, told: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        rendered(wrong)
    assert told in refused.value.stderr
