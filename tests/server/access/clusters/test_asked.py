"""Why work of a cluster waits: asked of its scheduler, and what it delivered where none answers."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.api.asked.answers import QuestionAnswer
from ganglion.api.asked.questions import (
    WHY,
    AskedQuestion,
    ClusterQuestion,
    QuestionPoll,
    WhyQuestion,
)
from ganglion.model.queue import Queue
from ganglion.server.cluster.outbox.post import DeliveryRefused
from ganglion.server.cluster.questions.answering import WhyAnswers
from ganglion.server.cluster.questions.fetching import QuestionFetcher
from ganglion.server.delivered.desk import QuestionDesk
from ganglion.server.routes.fleet import explaining
from tests.controlplane import manifests
from tests.server.access.clusters.asking import SCHEDULER, East, StagedScheduler
from tests.server.access.office import API, Office
from tests.worlds.kubernetes.controller.stage import Stage


@pytest.fixture
def east(staff: Office) -> Iterator[East]:
    """A node of 8 GPUs: `train` has 4 of them, `late` waits for 8."""
    stage = Stage(queues=(Queue("default"),))
    stage.show(manifests.node("n0", gpus=8))
    stage.show(*manifests.gang("train", 2, gpus=2))
    made = East(staff, stage)
    made.turn()
    stage.show(*manifests.gang("late", 1, gpus=8))
    made.turn()
    yield made
    staff.context.desk.close()  # as the server does when it ends


@pytest.fixture
def asked(east: East) -> Iterator[East]:
    """Its scheduler polls."""
    answers = WhyAnswers(StagedScheduler(east.stage).scheduler)
    fetcher = QuestionFetcher(SCHEDULER, east.line(), {WHY: answers}, lambda: True)
    fetcher.start()
    there(east)
    yield east
    end(east, fetcher)


def end(east: East, fetcher: QuestionFetcher) -> None:
    """Without a request on its way: the loop of the test is gone afterwards."""
    fetcher._ending.set()
    desk(east).close()
    fetcher._thread.join()
    until(lambda: not fetcher._open)
    fetcher.stop()


def there(east: East) -> None:
    """Until a poll is held."""
    until(lambda: desk(east).held > 0)


def desk(east: East) -> QuestionDesk:
    return east.staff.context.desk


def until(ready: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(3000):
        if ready():
            return
        waited.wait(0.01)
    raise AssertionError("it did not happen")


def why(client: TestClient, name: str = "late") -> dict[str, Any]:
    answer = client.get(f"{API}/workloads/{name}/why")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_scheduler_says_why_with_changes_that_it_verified_in_names_of_the_server(
    asked: East,
) -> None:
    found = why(asked.staff.owner)
    key = found["workload"]
    assert key.startswith("east:late-")
    assert found["asked"]["answered"]
    assert (found["asked"]["cluster"], found["asked"]["trouble"]) == ("east", "")
    assert found["asked"]["pods"] == ["late-0"]
    (told,) = found["explanations"]
    assert told["gang"] == key
    assert told["text"].startswith(f"{key} waits (")
    assert told["histogram"]
    (train,) = told["holders"]
    assert train.startswith("east:train-")
    changes = [each["change"] for each in told["suggestions"]]
    assert changes
    assert [each for each in told["suggestions"] if each["gpus"]]
    assert "default/" not in str(told)
    assert told["waited"] is not None


def test_a_viewer_of_a_queue_reads_what_is_about_its_gang_alone(asked: East) -> None:
    whole = why(asked.staff.user("eve", "viewer", "east:"))["explanations"][0]
    part = why(asked.staff.user("bob", "viewer", "east:default"))
    assert part["asked"]["answered"]
    (told,) = part["explanations"]
    assert whole["suggestions"]
    assert whole["holders"]
    assert (told["suggestions"], told["holders"], told["histogram"]) == ([], [], {})
    assert told["reason"]["token"] == whole["reason"]["token"]
    other = asked.staff.user("carl", "viewer", "vision")
    assert other.get(f"{API}/workloads/late/why").status_code == 404


def test_a_gang_that_the_scheduler_has_no_more_is_shown_as_it_was_delivered(asked: East) -> None:
    asked.stage.remove(*manifests.gang("late", 1, gpus=8))
    asked.stage.turn()
    found = why(asked.staff.owner)
    assert not found["asked"]["answered"]
    assert "there is no gang" in found["asked"]["trouble"]
    assert found["asked"]["hint"] == "its end is on the way"
    assert found["explanations"][0]["phase"] == "pending"


def test_without_a_scheduler_that_asks_it_is_said_how_old_what_was_delivered_is(
    east: East,
) -> None:
    found = why(east.staff.owner)
    assert not found["asked"]["answered"]
    assert found["asked"]["at"] == east.stage.now
    assert "no scheduler of cluster east asks for questions" in found["asked"]["trouble"]
    assert "ganglion clusters" in found["asked"]["hint"]
    assert "its scheduler says more" in found["explanations"][0]["text"]
    mine = east.staff.submit(east.staff.owner, "mine", "vision", hold=True)
    assert why(east.staff.owner, mine)["asked"] is None


class Polled:
    """A scheduler that polls, and answers what it is made to."""

    def __init__(self, east: East) -> None:
        self.east, self.line = east, east.line()

    def poll(self, **more: Any) -> tuple[AskedQuestion, ...]:
        given = {"kinds": (WHY,), "room": 4, "wait_ms": 20_000, **more}
        return self.line.poll(QuestionPoll(SCHEDULER, **given))

    def __enter__(self) -> threading.Thread:
        self.asker = threading.Thread(target=self._ask)
        self.poll(wait_ms=1)
        self.asker.start()
        return self.asker

    def _ask(self) -> None:
        self.found = why(self.east.staff.owner)

    def __exit__(self, *_: object) -> None:
        self.asker.join()


def test_what_is_no_answer_to_the_question_is_refused_and_another_may_come(east: East) -> None:
    polled, owner = Polled(east), east.staff.owner
    mine = east.staff.client(east.token)
    east.staff.grant("user:west", "reporter", "west:")
    west = east.staff.client(east.staff.token("west", "reporter", "west:"))
    with polled:
        (asked,) = polled.poll()
        path = f"{API}/clusters/east/answers"
        good = {"scheduler": SCHEDULER, "id": asked.id}
        assert mine.post(path, content=b"\x81\xa2id").status_code == 422
        assert mine.post(path, content=b'{"id": 1}').status_code == 422
        assert mine.post(path, json={**good, "why": {"gang": 5}}).status_code == 422
        assert mine.post(path, content=b"x" * (20 << 20)).status_code == 413
        assert west.post(path, json=good).status_code == 403
        assert west.post(f"{API}/clusters/west/answers", json=good).status_code == 404
        assert mine.post(path, json={**good, "id": "another"}).status_code == 404
        assert mine.post(path, json={**good, "scheduler": "s0"}).status_code == 409
        assert owner.get(path).status_code == 405
        assert mine.post(path, json=good).status_code == 200
    assert "answered something else" in polled.found["asked"]["trouble"]


def test_an_answer_that_comes_too_late_is_dropped_and_what_was_delivered_is_shown(
    east: East, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining, "ANSWER_S", 0.05)
    polled = Polled(east)
    with polled:
        (asked,) = polled.poll()
    assert "did not answer within 0.05 s" in polled.found["asked"]["trouble"]
    with pytest.raises(DeliveryRefused, match="no open question"):
        polled.line.answer(QuestionAnswer(SCHEDULER, asked.id))


def test_a_poll_whose_token_was_revoked_gets_no_question(
    east: East, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining, "ANSWER_S", 0.2)
    got = list[object]()

    def poll() -> None:
        try:
            got.append(Polled(east).poll())
        except Exception as error:
            got.append(error)

    waiting = threading.Thread(target=poll)
    waiting.start()
    there(east)
    token = east.staff.owner.get(f"{API}/tokens").json()["items"]
    (mine,) = [each["id"] for each in token if each["user"] == "east"]
    done = east.staff.owner.delete(f"{API}/tokens/{mine}")
    assert done.status_code in (200, 204), done.text
    east.staff.rig.machine.time += 10_000
    found = why(east.staff.owner)
    waiting.join()
    assert not found["asked"]["answered"]
    assert not isinstance(got[0], tuple)
    with pytest.raises(DeliveryRefused, match="401"):
        Polled(east).poll(wait_ms=1)


def test_an_older_scheduler_that_delivered_before_is_no_more_asked(east: East) -> None:
    with pytest.raises(DeliveryRefused, match="409") as refused:
        east.line().poll(QuestionPoll("s0", (WHY,), wait_ms=1))
    assert refused.value.status == 409


def test_one_question_that_hangs_keeps_no_other_from_its_answer(east: East) -> None:
    hangs, let_go = threading.Event(), threading.Event()
    answers = WhyAnswers(StagedScheduler(east.stage).scheduler)

    def hanging(question: ClusterQuestion, within_s: float) -> QuestionAnswer:
        assert isinstance(question, WhyQuestion)
        if "train" in question.gang:
            hangs.set()
            let_go.wait()
        return answers(question, within_s)

    fetcher = QuestionFetcher(SCHEDULER, east.line(), {WHY: hanging}, lambda: True)
    fetcher.start()
    there(east)
    found = dict[str, Any]()
    first = threading.Thread(target=lambda: found.update(why(east.staff.owner, "train")))
    first.start()
    hangs.wait()
    assert why(east.staff.owner)["asked"]["answered"]
    let_go.set()
    first.join()
    assert found["asked"]["answered"]
    assert "it is " in found["explanations"][0]["text"]
    end(east, fetcher)
