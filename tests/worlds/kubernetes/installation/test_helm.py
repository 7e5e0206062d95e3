"""The chart is installed, upgraded and removed by Helm itself."""

import subprocess
from pathlib import Path

import pytest
from tools.manifests import CHART, helm

from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.rbac import NAMESPACE, manifests

pytestmark = pytest.mark.usefixtures("helm")
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/ganglion"
QUEUES = "/apis/ganglion.dev/v1alpha1/queues"


POLICIES = ("queues.enabled", "users.enabled", "inject.enabled")


def policies(cluster: Cluster) -> set[str]:
    """The admission policies that are there."""
    root = "/apis/admissionregistration.k8s.io/v1"
    return {
        f"{kind} {each['metadata']['name']}"
        for kind in ("validating", "mutating")
        for each in cluster.list(f"{root}/{kind}admissionpolicies")
    }


def writes(cluster: Cluster) -> set[str]:
    """What the scheduler may write of workloads."""
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/ganglion-workloads"
    return {each for rule in cluster.get(path)["rules"] for each in rule["resources"]}


def run(kubeconfig: Path, tmp_path: Path, *words: str) -> str:
    """What Helm says."""
    folders = ("HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")
    home = dict.fromkeys(folders, str(tmp_path))
    done = subprocess.run(
        [helm(), "--kubeconfig", str(kubeconfig), "--namespace", NAMESPACE, *words],
        capture_output=True,
        text=True,
        env=home,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_comes_changes_and_goes(cluster: Cluster, tmp_path: Path) -> None:
    kubeconfig = cluster.kubeconfig
    first = ("--set", "queues.research.quota.H100=16", "--set", "policy.preset=kai")
    said = run(
        kubeconfig, tmp_path, "install", "ganglion", str(CHART), "--create-namespace", *first
    )
    try:
        assert "schedulerName: ganglion" in said
        assert "GANGLION_SCHEDULER" not in said
        assert cluster.get(f"{QUEUES}/research")["spec"] == {"quota": {"H100": 16}}
        assert cluster.get(DEPLOYMENT)["spec"]["replicas"] == 2
        more = ("--reuse-values", "--set", "replicas=3", "--set", "features.services=false")
        more += tuple(part for each in POLICIES for part in ("--set", f"admission.{each}=true"))
        run(kubeconfig, tmp_path, "upgrade", "ganglion", str(CHART), *more)
        assert cluster.get(DEPLOYMENT)["spec"]["replicas"] == 3
        assert cluster.get(f"{QUEUES}/research")["metadata"]["generation"] == 1
        assert policies(cluster) == {
            *(f"validating ganglion-{each}" for each in ("guard", "queues", "users")),
            *(f"mutating ganglion-{each}" for each in ("users", "users-cronjobs", "inject")),
        }
        assert "deployments/scale" not in writes(cluster)
        run(kubeconfig, tmp_path, "rollback", "ganglion")
        assert policies(cluster) == {"validating ganglion-guard"}
        assert "deployments/scale" in writes(cluster)
        assert cluster.get(DEPLOYMENT)["spec"]["replicas"] == 2
    finally:
        run(kubeconfig, tmp_path, "uninstall", "ganglion")
    left = [
        each["metadata"]["name"]
        for each in manifests("ganglion.yaml")
        if each["kind"] != "Namespace" and cluster.find(cluster.path(each)) is not None
    ]
    assert left == []
    assert policies(cluster) == set()
    assert cluster.list(QUEUES) == []  # the definition stays, as Helm has it


def test_a_second_helm_user_is_told_where_the_command_line_has_to_look(
    cluster: Cluster, tmp_path: Path
) -> None:
    told = ("install", "west", str(CHART), "--create-namespace", "--dry-run=client")
    said = run(cluster.kubeconfig, tmp_path, *told)
    assert f"export GANGLION_SCHEDULER={NAMESPACE}/west-ganglion:8080" in said
