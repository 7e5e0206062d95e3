"""Logs of kubelets and views of the scheduler, which the API server passes on."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.cluster.doubles import Logs, kubelet
from tests.cli.harness import Ganglion
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent


@pytest.fixture
def logs(cluster: Cluster, kubelets: Kubelets) -> Iterator[Logs]:
    """Two nodes whose pods write."""
    found = Logs()
    with kubelet(cluster.plane, found) as port:
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        for name in cluster.add_nodes(2):
            path = f"/api/v1/nodes/{name}/status"
            cluster.patch(path, {"status": status})
        yield found
        for pod in found.text:
            found.end(pod)


def running(ganglion: Ganglion, cluster: Cluster) -> list[str]:
    """Submit a training and bind its pods; their names by rank."""
    assert ganglion("submit", "train.yaml", "-d").code == 0
    cluster.wait(lambda: len(cluster.pods("team-a")) == 2, "pods")
    for index, name in enumerate(sorted(cluster.pods("team-a"))):
        cluster.bind(name, f"node-{index}", "team-a")
    cluster.wait(
        lambda: all(p["status"]["phase"] == "Running" for p in cluster.pods("team-a").values()),
        "pods to run",
    )
    return sorted(cluster.pods("team-a"))


def test_a_rank_is_a_pod_and_parts_are_asked_of_its_kubelet(
    ganglion: Ganglion, cluster: Cluster, logs: Logs
) -> None:
    first, second = running(ganglion, cluster)
    logs.text = {first: "step 1\nstep 2\n", second: "hello\n"}
    assert ganglion("logs", "llama").out == "step 1\nstep 2\n"
    assert ganglion("logs", "llama", "--rank", "1").out == "hello\n"
    both = ganglion("logs", "llama", "--all-ranks").out
    assert both == "[rank 0] step 1\n[rank 0] step 2\n[rank 1] hello\n"
    assert ganglion("logs", "llama", "--node", "node-1").out == "[rank 1] hello\n"
    ganglion("logs", "llama", "--tail", "1", "--since", "10m")
    assert logs.asked[-1][1] == {"tailLines": ["1"], "sinceSeconds": ["600"]}
    none = ganglion("logs", "llama", "--rank", "2")
    assert "llama/0 has no pod 2" in none.err
    assert "is the first pod" in ganglion("logs", "llama", "--previous").err


def test_followed_logs_end_with_the_workload(
    ganglion: Ganglion, cluster: Cluster, logs: Logs, kubelets: Kubelets
) -> None:
    first, second = running(ganglion, cluster)
    logs.text = {first: "step 1\n", second: ""}

    def end() -> None:
        cluster.wait(lambda: logs.asked, "the log to be followed")
        for pod in cluster.pods("team-a").values():
            kubelets.end(pod)
        cluster.wait(
            lambda: all(
                p["status"]["phase"] == "Succeeded" for p in cluster.pods("team-a").values()
            ),
            "pods to end",
        )
        logs.end(first)

    ending = threading.Thread(target=end)
    ending.start()
    done = ganglion("logs", "llama", "--follow")
    ending.join()
    assert (done.code, done.out) == (0, "step 1\n"), done.err


ITEM = {
    "id": "team-a/Job/llama/uid-1",
    "name": "team-a/llama",
    "kind": "train",
    "queue": "research",
    "user": "team-a",
    "priority": 75,
    "state": "QUEUED",
    "reason": "topology",
    "message": "needs 8 GPUs in one rack; most in one rack is 4",
    "gpus": 8,
    "pods": 2,
    "gangs": 1,
    "position": 3,
    "submitted": 1,
}
OTHER = ITEM | {"id": "team-a/Job/plain/uid-2", "name": "team-a/plain"}
FOREIGN = ITEM | {"id": "team-b/Job/llama/uid-3", "name": "team-b/llama", "user": "team-b"}
REASON = {"token": "topology", "message": ITEM["message"]}
WHY = {
    "workload": ITEM["id"],
    "explanations": [
        {
            "gang": f"{ITEM['id']}/0",
            "phase": "pending",
            "reason": REASON,
            "position": 3,
            "suggestions": [{"change": "placement: prefer_rack"}],
            "text": "it waits",
        }
    ],
}


@pytest.fixture
def asked(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What the scheduler answers through the service proxy, by path."""
    answers: dict[str, object] = {"/v1/workloads": {"items": [ITEM, OTHER, FOREIGN], "next": None}}
    answers[f"/v1/workloads/{ITEM['id']}/why"] = WHY
    straight = Api.get

    async def get(api: Api, path: str, kind: type[Any], **rest: Any) -> Any:
        root, proxy, rest_of_path = path.partition("/proxy")
        if not proxy:
            return await straight(api, path, kind, **rest)
        assert root == "/api/v1/namespaces/ganglion-system/services/http:ganglion:8080"
        if rest_of_path not in answers:
            raise Absent(f'GET {path}: {{"code":"state.not_found"}}', status=404)
        return msgspec.convert(answers[rest_of_path], kind)

    monkeypatch.setattr(Api, "get", get)
    return answers


def test_the_scheduler_says_why(
    ganglion: Ganglion, cluster: Cluster, asked: dict[str, object]
) -> None:
    assert ganglion("submit", "train.yaml", "-d").code == 0
    done = ganglion("ps", "-o", "json")
    assert done.err == ""
    by_id = {each["id"]: each for each in json.loads(done.out)}
    assert set(by_id) == {"llama", "plain"}, "those of other namespaces are not shown"
    assert by_id["llama"]["reason"] == "topology"
    assert by_id["llama"]["position"] == 3
    why = ganglion("why", "llama")
    assert "most in one rack is 4" in why.out
    assert "prefer_rack" in why.out


def test_a_share_given_in_memory_is_the_fraction_that_the_scheduler_knows(
    ganglion: Ganglion, cluster: Cluster, asked: dict[str, object], tmp_path: Path
) -> None:
    share = ITEM | {"id": "team-a/Job/share/uid-4", "name": "team-a/share", "gpus": 0.25}
    asked["/v1/workloads"] = {"items": [share | {"gpus_held": 0.25}], "next": None}
    text = "name: share\nimage: a\nrun: [a]\nresources: {gpus: {memory: 20GB}}\n"
    (tmp_path / "share.yaml").write_text(text)
    assert ganglion("submit", "share.yaml", "-d").code == 0
    (row,) = json.loads(ganglion("ps", "-o", "json").out)
    assert (row["gpus"], row["gpus_held"]) == (0.25, 0.25)


def test_a_scheduler_that_knows_nothing_of_it_leaves_the_word_to_the_cluster(
    ganglion: Ganglion, cluster: Cluster, asked: dict[str, object]
) -> None:
    del asked[f"/v1/workloads/{ITEM['id']}/why"]
    assert ganglion("submit", "train.yaml", "-d").code == 0
    why = ganglion("why", "llama")
    assert why.code == 0, why.err
    assert "its pods have not been made yet" in why.out


def test_what_a_training_has_saved_is_described(
    ganglion: Ganglion, cluster: Cluster, asked: dict[str, object]
) -> None:
    saved = {"at": 1, "step": 1200, "path": "/ck/1200.pt"}
    gang = {"id": f"{ITEM['id']}/0", "index": 0, "phase": "pending", "attempt": 1, "ranks": 2}
    detail = ITEM | {"document": {}, "gangs": [gang | {"saved": saved}]}
    asked[f"/v1/workloads/{ITEM['id']}"] = detail
    assert ganglion("submit", "train.yaml", "-d").code == 0
    told = ganglion("describe", "llama")
    assert "step 1,200, saved " in told.out, told.err
    assert "/ck/1200.pt" in told.out
