"""Workspaces of a real cluster are suspended and taken up again by hand."""

import getpass
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import Done, Ganglion
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.worlds.kubernetes.workloads import stateful_set

from ganglion.cli.main import run

SETS = "/apis/apps/v1/namespaces/team-a/statefulsets"
SLEEPS = "ganglion.dev/suspended"
WARNING = "ganglion.dev/idle-warning"
NOTEBOOK = """
kind: workspace
name: nb
image: img:1
run: [jupyter, lab]
port: 8888
idle_timeout: 1h
nodes: 2
resources: {gpus: 1}
"""


def row(ganglion: Ganglion, name: str = "nb") -> dict[str, Any]:
    done = ganglion("ps", "-a", "-o", "json")
    assert done.code == 0, done.err
    found: list[dict[str, Any]] = json.loads(done.out)
    return next(each for each in found if each["id"] == name)


def running(ganglion: Ganglion, cluster: Cluster) -> None:
    """A workspace of two pods at work."""
    cluster.add_nodes(2)
    Path("nb.yaml").write_text(NOTEBOOK)
    done = ganglion("submit", "nb.yaml", "-d")
    assert done.code == 0, done.err
    bind(ganglion, cluster)


def bind(ganglion: Ganglion, cluster: Cluster) -> None:
    cluster.wait(lambda: len(cluster.pods("team-a")) == 2, "pods")
    for index, name in enumerate(sorted(cluster.pods("team-a"))):
        cluster.bind(name, f"node-{index}", "team-a")
    cluster.wait(lambda: row(ganglion)["state"] == "RUNNING", "it to run")


def foreign(cluster: Cluster) -> None:
    """A workspace of another maker, with a volume of its own."""
    body = stateful_set("lab", 1)
    body["metadata"] |= {"namespace": "team-a", "labels": {"ganglion.dev/kind": "workspace"}}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "home"}, "spec": claim}]
    cluster.create(body)


def as_user(cluster: Cluster, role: str, *args: str) -> int:
    """The exit code of a command of a user with a built-in role in the namespace."""
    kubeconfig = cluster.kubeconfig_of(f"has-{role}", namespace="team-a")
    group = "rbac.authorization.k8s.io"
    cluster.apply(
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": role, "namespace": "team-a"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "apiGroup": group, "name": f"has-{role}"}],
        }
    )
    return run([*args, "--kubeconfig", str(kubeconfig), "--namespace", "team-a"])


def test_a_workspace_goes_and_comes_back_with_all_of_its_pods(
    ganglion: Ganglion, cluster: Cluster, kubelets: Kubelets
) -> None:
    running(ganglion, cluster)
    warned = {"metadata": {"annotations": {WARNING: "1/2"}}}
    cluster.patch(f"{SETS}/nb", warned)
    done = ganglion("suspend", "nb", "--yes")
    assert done.code == 0, done.err
    assert done.err == (
        "nb: lost: all kernels and shells, what is in memory and GPU memory, all files; "
        "kept: name, environment, address\n"
    )
    assert "ganglion resume nb --kubeconfig " in done.out
    notes = cluster.get(f"{SETS}/nb")["metadata"]["annotations"]
    assert notes[SLEEPS] == f"suspended by {getpass.getuser()}"
    assert WARNING not in notes
    cluster.wait(lambda: row(ganglion)["state"] == "SUSPENDED", "it to be suspended")
    assert row(ganglion)["message"] == notes[SLEEPS]
    told = ganglion("describe", "nb").out
    assert "SUSPENDED" in told
    assert notes[SLEEPS] in told
    assert not cluster.pods("team-a")

    again = ganglion("resume", "nb")
    assert (again.code, again.out) == (0, "resuming nb\n"), again.err
    assert row(ganglion)["state"] != "SUSPENDED"
    bind(ganglion, cluster)
    assert SLEEPS not in cluster.get(f"{SETS}/nb")["metadata"]["annotations"]


def test_a_dry_run_only_says_what_would_be_lost(
    ganglion: Ganglion, cluster: Cluster, manager: None
) -> None:
    foreign(cluster)
    done = ganglion("suspend", "lab", "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "lab: lost: all kernels and shells, what is in memory and GPU memory, all other files; "
        "kept: name, environment, address and the files of home\n"
    )
    kept = cluster.get(f"{SETS}/lab")
    assert kept["spec"]["replicas"] == 1
    assert SLEEPS not in kept["metadata"].get("annotations", {})


def test_a_workspace_that_was_not_submitted_is_suspended_alike(
    ganglion: Ganglion, cluster: Cluster, manager: None
) -> None:
    foreign(cluster)
    assert ganglion("suspend", "la", "--yes").code == 0, "the beginning of its name does"
    assert cluster.get(f"{SETS}/lab")["spec"]["replicas"] == 0
    twice = ganglion("suspend", "lab", "--yes")
    assert twice.code == 1
    assert "lab is suspended already" in twice.err
    assert ganglion("resume", "lab").code == 0
    assert cluster.get(f"{SETS}/lab")["spec"]["replicas"] == 1
    awake = ganglion("resume", "lab")
    assert awake.code == 1
    assert "lab is not suspended" in awake.err


@pytest.fixture
def team(cluster: Cluster) -> None:
    cluster.add_namespace("team-a")


def refused(done: Done, *words: str) -> None:
    assert done.code == 1
    assert [each for each in words if each not in done.err] == []


def test_only_workspaces_are_suspended(ganglion: Ganglion, cluster: Cluster) -> None:
    foreign(cluster)
    assert ganglion("submit", "train.yaml", "-d").code == 0
    refused(ganglion("suspend", "lab", "llama", "--yes"), "llama is of kind train")
    assert cluster.get(f"{SETS}/lab")["spec"]["replicas"] == 1, "nor any of those named with it"
    refused(ganglion("suspend", "none", "--yes"), "no workspace 'none' in namespace team-a")


@pytest.mark.usefixtures("team")
def test_whoever_may_edit_a_namespace_may_suspend(
    cluster: Cluster, manager: None, capfd: pytest.CaptureFixture[str]
) -> None:
    foreign(cluster)

    def is_refused() -> bool:
        assert as_user(cluster, "view", "suspend", "lab", "--yes") == 1
        return 'cannot patch resource "statefulsets"' in capfd.readouterr().err

    cluster.wait(is_refused, "the role `view`")
    assert cluster.get(f"{SETS}/lab")["spec"]["replicas"] == 1
    cluster.wait(lambda: as_user(cluster, "edit", "suspend", "lab", "--yes") == 0, "`edit`")
    assert cluster.get(f"{SETS}/lab")["spec"]["replicas"] == 0
    assert as_user(cluster, "edit", "resume", "lab") == 0
