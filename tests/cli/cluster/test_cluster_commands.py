"""The same commands on a real cluster: its controllers make the pods, kubelets are doubles."""

import json
from pathlib import Path

import pytest
import yaml
from tests.cli.harness import Done, Ganglion
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets

from ganglion.cli.main import run


def rows(done: Done) -> list[dict[str, object]]:
    assert done.code == 0, done.err
    found: list[dict[str, object]] = json.loads(done.out)
    return found


def test_a_dry_run_prints_what_the_server_would_take(ganglion: Ganglion, cluster: Cluster) -> None:
    done = ganglion("submit", "train.yaml", "--dry-run", "-o", "yaml")
    assert done.code == 0, done.err
    made = list(yaml.safe_load_all(done.out))
    assert [each["kind"] for each in made] == ["Job", "Service", "ConfigMap", "Secret"]
    assert made[0]["metadata"]["namespace"] == "team-a"
    told = ganglion("submit", "train.yaml", "--dry-run")
    assert told.code == 0, told.err
    assert "Job team-a/llama" in told.out
    assert cluster.list("/apis/batch/v1/namespaces/team-a/jobs") == []


def test_what_is_printed_can_be_applied(ganglion: Ganglion, cluster: Cluster) -> None:
    done = ganglion("submit", "train.yaml", "--dry-run", "-o", "json")
    cluster.create(json.loads(done.out)["items"][0])
    assert rows(ganglion("ps", "-o", "json"))[0]["id"] == "llama"


def test_a_missing_image_is_told_by_its_key(ganglion: Ganglion, tmp_path: Path) -> None:
    (tmp_path / "bare.yaml").write_text("name: a\nrun: [a]\n")
    done = ganglion("submit", "bare.yaml", "-d")
    assert done.code == 2
    assert "image" in done.err
    assert "a cluster runs containers" in done.err


def test_what_is_wrong_with_several_jobs_is_told_before_any_is_submitted(
    ganglion: Ganglion, tmp_path: Path
) -> None:
    good = "{name: c, run: [x], image: img:1}"
    jobs = f"{good}\n---\n{{name: a, run: [x], env: [NONE, NEITHER]}}\n---\n"
    (tmp_path / "jobs.yaml").write_text(
        jobs + "{name: b, run: [x], image: i, notify: {mail: a@b.c}}"
    )
    done = ganglion("submit", "jobs.yaml")
    assert done.code == 2
    for said in ("variable NONE is", "variable NEITHER is", "a: image", "b: notify"):
        assert said in done.err, said
    assert "nothing runs or waits" in ganglion("ps").err


def test_a_priority_class_that_is_not_there_is_told_at_once(
    ganglion: Ganglion, cluster: Cluster
) -> None:
    done = ganglion("submit", "train.yaml", "-d", "--priority", "gold")
    assert done.code == 2
    assert "the cluster has no PriorityClass 'gold'" in done.err
    assert cluster.list("/apis/batch/v1/namespaces/team-a/jobs") == []


def test_from_submit_to_the_end(ganglion: Ganglion, cluster: Cluster, kubelets: Kubelets) -> None:
    cluster.add_nodes(2)
    done = ganglion("submit", "train.yaml", "-d")
    assert (done.code, done.out) == (0, "llama\n"), done.err
    assert "s3cret" not in str(cluster.get("/apis/batch/v1/namespaces/team-a/jobs/llama"))

    pods = cluster.wait(lambda: p if len(p := cluster.pods("team-a")) == 2 else None, "pods")
    assert {pod["spec"]["schedulerName"] for pod in pods.values()} == {"ganglion"}
    (row,) = rows(ganglion("ps", "-o", "json"))
    assert (row["state"], row["gpus"], row["pods"], row["queue"]) == ("QUEUED", 8, 2, "research")
    assert (row["gpus_held"], row["running"], row["waiting"]) == (0, 0, 1)

    again = ganglion("submit", "train.yaml", "-d")
    assert again.code == 1
    assert "Job team-a/llama exists already" in again.err

    said = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "quota: needs 8 GPUs; research has 4 left",
    }
    for name in pods:
        path = f"/api/v1/namespaces/team-a/pods/{name}/status"
        cluster.patch(path, {"status": {"conditions": [said]}}, "strategic")
    why = ganglion("why", "llama")
    assert "research has 4 left" in why.out
    assert "quota" in why.out
    assert "cannot be used" in why.err, "whoever reads it knows that the scheduler did not say it"

    first, second = sorted(pods)
    cluster.bind(first, "node-0", "team-a")
    (row,) = rows(ganglion("ps", "-o", "json"))
    assert (row["gpus"], row["gpus_held"]) == (8, 4), "what has a node is held, the rest is not"
    cluster.bind(second, "node-1", "team-a")
    cluster.wait(lambda: rows(ganglion("ps", "-o", "json"))[0]["state"] == "RUNNING", "it to run")
    (row,) = rows(ganglion("ps", "-o", "json"))
    assert (row["gpus_held"], row["running"], row["waiting"]) == (8, 1, 0)
    told = ganglion("describe", "lla")
    assert "node-0" in told.out
    assert "node-1" in told.out
    assert "s3cret" not in told.out

    for pod in cluster.pods("team-a").values():
        kubelets.end(pod)
    cluster.wait(lambda: rows(ganglion("ps", "-a", "-o", "json"))[0]["state"] == "SUCCEEDED", "end")
    assert rows(ganglion("ps", "-o", "json")) == []

    gone = ganglion("cancel", "llama")
    assert gone.code == 0, gone.err
    cluster.wait(lambda: rows(ganglion("ps", "-a", "-o", "json")) == [], "it to be gone")
    services = "/api/v1/namespaces/team-a/services/llama"
    cluster.wait(lambda: cluster.find(services) is None, "what belongs to it to be gone")


def test_a_failure_says_which_pod_and_with_what(
    ganglion: Ganglion, cluster: Cluster, kubelets: Kubelets
) -> None:
    cluster.add_nodes(1)
    assert ganglion("submit", "train.yaml", "-d").code == 0
    pods = cluster.wait(lambda: p if len(p := cluster.pods("team-a")) == 2 else None, "pods")
    for name in pods:
        cluster.bind(name, "node-0", "team-a")
    cluster.wait(
        lambda: all(p["status"]["phase"] == "Running" for p in cluster.pods("team-a").values()),
        "pods to run",
    )
    kubelets.end(cluster.pods("team-a")[min(pods)], 3)
    cluster.wait(lambda: rows(ganglion("ps", "-a", "-o", "json"))[0]["state"] == "FAILED", "end")
    (row,) = rows(ganglion("ps", "-a", "-o", "json"))
    assert row["exit_code"] == 3
    assert "ended with exit code 3" in str(row["message"])


def test_a_workload_that_is_not_there_is_not_found(ganglion: Ganglion) -> None:
    for command in ("why", "describe", "cancel", "logs"):
        done = ganglion(command, "nothing")
        assert done.code == 1
        assert "there is no workload 'nothing'" in done.err


def test_logs_before_there_are_pods_say_so(ganglion: Ganglion) -> None:
    assert ganglion("submit", "train.yaml", "-d").code == 0
    done = ganglion("logs", "llama")
    assert done.code == 1
    assert "has no pod 0 yet" in done.err


def test_a_namespace_without_a_cluster_is_wrong_usage(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert run(["ps", "--namespace", "team-a"]) == 2
    assert b"give --context" in capfdbinary.readouterr().err
