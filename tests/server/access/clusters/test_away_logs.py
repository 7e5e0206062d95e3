"""Logs of work in clusters, by the routes that logs of the server's own work have."""

import threading
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from ganglion.api.asked.questions import LOGS, WHY
from ganglion.model.queue import Queue
from ganglion.server.cluster.questions import logs as module
from ganglion.server.cluster.questions.answering import WhyAnswers
from ganglion.server.cluster.questions.fetching import Answerer, QuestionFetcher
from ganglion.server.cluster.questions.logs import LogAnswers
from ganglion.server.routes.fleet import away_logs
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from tests.controlplane import manifests
from tests.server.access.clusters.asking import SCHEDULER, East, StagedScheduler
from tests.server.access.clusters.test_asked import end, there
from tests.server.access.office import API, Office
from tests.server.cluster.questions.kubelet import PlayedKubelet, stamped
from tests.worlds.kubernetes.controller.stage import Stage


class Logged(East):
    """A cluster with a gang of two pods that run, and its kubelets."""

    def __init__(self, staff: Office) -> None:
        stage = Stage(queues=(Queue("default"),))
        stage.show(manifests.node("n0", gpus=8))
        stage.show(*manifests.gang("train", 2, gpus=2))
        super().__init__(staff, stage)
        self.turn()
        self.kubelet = PlayedKubelet()
        self.kubelet.logs = {f"train-{n}": [stamped(n, f"rank {n}")] for n in range(2)}
        self.runs("Running")

    def runs(self, phase: str, **status: object) -> None:
        pods = manifests.gang("train", 2, gpus=2)
        for each in pods:
            each["spec"]["nodeName"] = "n0"
            each["status"] = {"phase": phase, **status}
        self.stage.show(*pods)
        self.turn()

    def fetcher(self, *kinds: str) -> QuestionFetcher:
        scheduler = StagedScheduler(self.stage).scheduler
        endpoints = {"": ApiEndpoint(name="", url="http://kubelet")}
        known: dict[str, Answerer] = {
            WHY: WhyAnswers(scheduler),
            LOGS: LogAnswers(scheduler, endpoints, self.kubelet.open),
        }
        chosen = {each: known[each] for each in kinds}
        return QuestionFetcher(SCHEDULER, self.line(), chosen, lambda: True)


@pytest.fixture
def east(staff: Office, monkeypatch: pytest.MonkeyPatch) -> Iterator[Logged]:
    monkeypatch.setattr(away_logs, "PAUSE_S", 0.01)
    monkeypatch.setattr(away_logs, "LONGEST_PAUSE_S", 0.01)
    yield Logged(staff)
    staff.context.desk.close()


@pytest.fixture
def asked(east: Logged) -> Iterator[Logged]:
    fetcher = east.fetcher(WHY, LOGS)
    fetcher.start()
    there(east)
    yield east
    end(east, fetcher)


def read(client: TestClient, query: str = "", name: str = "train") -> tuple[int, str]:
    answer = client.get(f"{API}/workloads/{name}/logs?{query}")
    return answer.status_code, answer.text


def test_the_log_of_a_rank_comes_as_it_was_written_with_a_tail_or_since_a_time(
    asked: Logged,
) -> None:
    owner = asked.staff.owner
    assert read(owner) == (200, "rank 0\n")
    assert read(owner, "rank=1") == (200, "rank 1\n")
    assert "train-1" in str(asked.kubelet.asked[-1])
    asked.kubelet.logs["train-0"] += [stamped(n, f"line {n}") for n in range(1, 9)]
    assert read(owner, "tail=2") == (200, "line 7\nline 8\n")
    assert read(owner, "since=10m")[0] == 200
    assert asked.kubelet.asked[-1][1]["sinceTime"]
    status, said = read(owner, "rank=2")
    assert (status, "its ranks are 0 to 1" in said) == (404, True)
    assert read(owner, "index=1")[0] == 404


def test_a_long_log_is_read_whole_by_several_questions(
    asked: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST", 400)
    asked.kubelet.chunk = 1000
    lines = [f"line {n} " + "x" * 20 for n in range(40)]
    asked.kubelet.logs["train-0"] = [stamped(50 * n, each) for n, each in enumerate(lines)]
    assert read(asked.staff.owner) == (200, "\n".join(lines) + "\n")
    assert len(asked.kubelet.asked) > 5


def test_who_may_see_the_queue_reads_the_log_and_no_other_user_does(asked: Logged) -> None:
    mine = asked.staff.user("eve", "viewer", "east:default")
    assert read(mine) == (200, "rank 0\n")
    assert read(asked.staff.user("bob", "viewer", "vision"))[0] == 404
    assert read(asked.staff.client(asked.token))[0] in (403, 404)


def test_a_log_is_followed_until_its_pod_has_ended(asked: Logged) -> None:
    got, lines = list[str](), asked.kubelet.logs["train-0"]
    follow = threading.Thread(target=lambda: got.append(read(asked.staff.owner, "follow=true")[1]))
    follow.start()
    first = asked.kubelet.asked
    for n in range(2, 6):
        seen = len(first)
        lines.append(stamped(n * 900, f"step {n}"))
        while len(first) < seen + 2:  # a look that began after the line was there
            follow.join(0.005)
    asked.kubelet.pods = manifests.gang("train", 2, gpus=2)
    for each in asked.kubelet.pods:
        each["status"] = {"phase": "Succeeded"}
    own = asked.stage.controller.scene.gangs.founds["default/ganglion.dev/gang/train"].members
    for pod, member in zip(asked.kubelet.pods, own, strict=True):
        pod["metadata"]["uid"] = member.pod.metadata.uid
    lines.append(stamped(9000, "done"))
    asked.runs("Succeeded")
    follow.join(20)
    assert got == ["rank 0\nstep 2\nstep 3\nstep 4\nstep 5\ndone\n"]


@pytest.mark.parametrize(
    ("refuses", "status", "said", "hint"),
    [
        ((403, "pods/log is forbidden"), 503, "may not read logs of pods", "history.logs"),
        ((404, "pods train-0 not found"), 404, "the log of train-0 is gone", "was deleted"),
        ((400, "container is waiting"), 409, "has no log: container is waiting", "follow"),
        ((500, "dial tcp: no route"), 503, "kubelet of node n0 does not send", "get nodes"),
    ],
)
def test_what_a_cluster_refuses_is_said_with_what_helps(
    asked: Logged, refuses: tuple[int, str], status: int, said: str, hint: str
) -> None:
    asked.kubelet.refuses = refuses
    found, text = read(asked.staff.owner)
    assert found == status
    assert said in text
    assert hint in text


def test_a_kubelet_that_hangs_is_named_and_holds_nothing_else_up(
    asked: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(away_logs, "ANSWER_S", 0.9)
    monkeypatch.setattr(module, "SPARE_S", 0.4)
    asked.kubelet.hangs = True
    status, text = read(asked.staff.owner)
    assert status == 503
    assert "the kubelet of node n0 did not send the log within" in text
    assert asked.staff.owner.get(f"{API}/workloads/train/why").json()["asked"]["answered"]


def test_a_container_that_has_not_started_says_what_it_waits_for(asked: Logged) -> None:
    waits = {"reason": "ImagePullBackOff", "message": "no such image"}
    asked.runs("Pending", containerStatuses=[{"name": "main", "state": {"waiting": waits}}])
    status, text = read(asked.staff.owner)
    assert status == 409
    assert "has not started yet: ImagePullBackOff no such image" in text


def test_without_the_right_switched_on_the_log_is_said_to_be_elsewhere(east: Logged) -> None:
    assert read(east.staff.owner)[0] == 503
    fetcher = east.fetcher(WHY)
    fetcher.start()
    there(east)
    status, text = read(east.staff.owner)
    end(east, fetcher)
    assert status == 503
    assert "does not answer such questions (logs)" in text
    assert "switched off there" in text
