"""A scheduler that may write in some namespaces alone: it works there, and cannot elsewhere."""

from collections.abc import Iterator

import pytest

from tests.controlplane import manifests as make
from tests.controlplane.cluster import Cluster, Refused
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.manifests import Object
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.process import SchedulerProcess
from tests.worlds.kubernetes.rbac import (
    NAMESPACE,
    RBAC,
    SCHEDULERS,
    Right,
    chart_rights,
    define_kinds,
    manifests,
    may,
)
from tests.worlds.kubernetes.rights.admission import policies
from tests.worlds.kubernetes.scheduling import why
from tests.worlds.kubernetes.troubled import priority

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:ganglion"
WORKLOADS = "ganglion-workloads"
READ = {"get", "list", "watch"}
ANYWHERE = {"queues/status", "policies/status", "events", "persistentvolumes"}
"""What has no namespace is written by the role that holds everywhere."""


def bound_to(space: str) -> list[Object]:
    """Roles of the manifests, bound as the chart does with `rbac.namespaces`."""
    roles = {name for _, name in SCHEDULERS}
    found = [
        each
        for each in manifests("ganglion.yaml")
        if each["apiVersion"].startswith(RBAC)
        and (each["metadata"]["name"] in roles or each.get("roleRef", {}).get("name") in roles)
    ]
    for each in found:
        if each["kind"] == "ClusterRoleBinding" and each["roleRef"]["name"] == WORKLOADS:
            each["kind"] = "RoleBinding"
            each["metadata"]["namespace"] = space
    return found


@pytest.fixture
def red(cluster: Cluster, kubelets: Kubelets, proxy: Proxy) -> Iterator[SchedulerProcess]:
    """A scheduler for namespace red, as a process, with the flag and the rights of the chart."""
    define_kinds(cluster)
    for space in (NAMESPACE, "red", "blue"):
        cluster.add_namespace(space)
    cluster.create(*bound_to("red"), *policies(manifests("ganglion.yaml")))
    evicts = Right("", "pods/eviction", "create", inside=True)
    cluster.wait(lambda: may(cluster, ACCOUNT, evicts, "red"), "its rights")
    flags = (f"--namespace={NAMESPACE}", "--only-namespaces=red")
    with SchedulerProcess(proxy.kubeconfig(ACCOUNT), *flags) as process:
        yield process
        assert "forbidden" not in process.log
    tried = [each for each in proxy.seen if "/namespaces/blue/" in each.path]
    assert [f"{each.method} {each.path}" for each in tried] == []


def test_it_works_in_its_namespace_and_leaves_others_alone(
    cluster: Cluster, red: SchedulerProcess
) -> None:
    cluster.create(priority("urgent", 1000))
    cluster.add_nodes(1, gpus=4)
    theirs = make.pod("theirs", namespace="blue", gpus=2)
    waits = make.pod("waits", namespace="blue", gpus=1)
    cluster.create(theirs, waits)
    cluster.bind("theirs", "node-0", "blue")
    low = cluster.add_gang("low", 2, gpus=1, namespace="red")
    cluster.wait_bound(low, "red")
    # What runs elsewhere counts, although it is not its own.
    cluster.create(make.pod("more", namespace="red"))
    cluster.wait(lambda: why(cluster.pods("red")["more"]), "the reason")
    # To stop a gang it needs to nominate, mark and evict.
    high = cluster.add_gang("high", 2, gpus=1, namespace="red", priorityClassName="urgent")
    cluster.wait_bound(high, "red")
    left = cluster.pods("blue")
    assert left["waits"]["status"].get("conditions", []) == []
    assert "nodeName" not in left["waits"]["spec"]
    assert "deletionTimestamp" not in left["theirs"]["metadata"]


def test_its_token_writes_nowhere_else(cluster: Cluster, red: SchedulerProcess) -> None:
    writes = [e for e in chart_rights() if e.verb not in READ and not e.inside]
    own = [e._replace(inside=True) for e in writes if e.resource not in ANYWHERE]
    assert own
    assert [str(each) for each in own if not may(cluster, ACCOUNT, each, "red")] == []
    assert [str(each) for each in own if may(cluster, ACCOUNT, each, "blue")] == []
    cluster.add_nodes(1)
    cluster.create(make.pod("p", namespace="blue"))
    token = Cluster(cluster.plane, cluster.plane.token(ACCOUNT))
    about = {"metadata": {"name": "p", "namespace": "blue"}}
    path = "/api/v1/namespaces/blue/pods/p"
    eviction: Object = {"apiVersion": "policy/v1", "kind": "Eviction", **about}
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-0"}
    binding: Object = {"apiVersion": "v1", "kind": "Binding", **about, "target": target}
    try:
        for sub, body in (("eviction", eviction), ("binding", binding)):
            with pytest.raises(Refused) as refused:
                token.call("POST", f"{path}/{sub}", body)
            assert refused.value.status == 403
    finally:
        token.close()
