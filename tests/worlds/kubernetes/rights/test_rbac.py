"""The scheduler may do what it needs, and nothing else."""

import pytest

from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.rbac import (
    Right,
    bind_chart_role,
    chart_rights,
    manifests,
    may,
    without,
)

USER = "scheduler"
NEVER = (
    Right("", "secrets", "get"),
    Right("", "secrets", "list", inside=True),
    Right("", "configmaps", "get", inside=True),
    Right("", "nodes", "get"),
    Right("", "nodes", "update"),
    Right("", "nodes", "patch"),
    Right("", "nodes/status", "patch"),
    Right("", "pods", "create"),
    Right("", "pods", "update"),
    Right("", "pods/exec", "create"),
    Right("", "pods/binding", "update"),
    Right("", "persistentvolumes", "update"),
    Right("", "persistentvolumes", "delete"),
    Right("apps", "deployments", "patch"),
    Right("apps", "replicasets", "patch"),
    Right("batch", "jobs", "delete"),
    Right("coordination.k8s.io", "leases", "update", inside=True, name="another"),
    Right("coordination.k8s.io", "leases", "get", name="ganglion"),
    Right("ganglion.dev", "queues", "patch"),
    Right("ganglion.dev", "policies", "update"),
    Right("rbac.authorization.k8s.io", "clusterroles", "get"),
)


def test_the_rights_of_the_manifests_are_the_rights_that_hold(cluster: Cluster) -> None:
    bind_chart_role(cluster, USER)
    assert [str(each) for each in chart_rights() if not may(cluster, USER, each)] == []


def test_nothing_beyond_them_is_allowed(cluster: Cluster) -> None:
    bind_chart_role(cluster, USER)
    assert [str(each) for each in NEVER if may(cluster, USER, each)] == []


def test_a_user_who_lacks_one_right_lacks_that_one(cluster: Cluster) -> None:
    gone = Right("", "pods/binding", "create")
    bind_chart_role(cluster, USER, without(gone))
    refused = [each for each in chart_rights() if not may(cluster, USER, each)]
    assert refused == [gone]


def test_whoever_is_bound_can_read_what_the_scheduler_reads(cluster: Cluster) -> None:
    kubeconfig = bind_chart_role(cluster, USER)
    assert kubeconfig.exists()
    own = Cluster(cluster.plane, cluster.plane.token(USER))
    try:
        assert own.list("/api/v1/pods") == []
    finally:
        own.close()


@pytest.mark.parametrize("role", [("ClusterRole", "ganglion"), ("Role", "ganglion-leader")])
def test_no_rule_has_a_wildcard(role: tuple[str, str]) -> None:
    (found,) = [
        each
        for each in manifests("ganglion.yaml")
        if (each["kind"], each["metadata"]["name"]) == role
    ]
    words = [word for rule in found["rules"] for part in rule.values() for word in part]
    assert words
    assert [word for word in words if "*" in word] == []


def test_the_lease_is_one_by_name() -> None:
    leases = [each for each in chart_rights() if each.resource == "leases"]
    assert {(each.verb, each.name, each.inside) for each in leases} == {
        ("create", "", True),  # the API cannot limit it to a name
        ("get", "ganglion", True),
        ("update", "ganglion", True),
    }
