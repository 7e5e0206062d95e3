"""What is asked of a scheduler through the API server, and what its refusals mean."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from ganglion.api.reasons import Verdict
from ganglion.api.workloads import WorkloadPage
from ganglion.cli.cluster import scheduler
from ganglion.cli.cluster.scheduler import MOST_TRIES, SchedulerViews
from ganglion.model.errors import StateError
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import error_of

EMPTY = WorkloadPage([])
STANDS_BY = b'{"status": 503, "code": "environment.standby", "detail": "ganglion-1 leads"}'
STOOD_BY = b'{"code": "environment.standby", "message": "ganglion-1 leads", "hint": ""}'
UNKNOWN = b'{"status": 404, "code": "state.not_found", "detail": "there is no chat"}'


class Answers:
    """Gives these answers, one after the other; the last one again and again."""

    def __init__(self, *answers: WorkloadPage | Verdict | tuple[int, bytes]) -> None:
        self._answers, self.asked = list(answers), 0
        self.sent = list[object]()

    async def create(self, path: str, body: object, kind: type, **_: object) -> object:
        self.sent.append(body)
        return await self.get(path, kind)

    async def get(self, path: str, _kind: type, **_: object) -> WorkloadPage | Verdict:
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, tuple):
            raise error_of(f"GET {path}", *answer)
        return answer


def views(answers: Answers) -> SchedulerViews:
    return SchedulerViews(cast("Api", answers), "research")


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "PAUSE_S", 0)


@pytest.mark.parametrize("body", [STANDS_BY, STOOD_BY])
def test_one_that_leads_is_looked_for_behind_those_that_stand_by(body: bytes) -> None:
    answers = Answers((503, body), (503, body), EMPTY)
    assert asyncio.run(views(answers).workloads()) == []
    assert answers.asked == 3


@pytest.mark.parametrize("bodies", [[STANDS_BY], [STOOD_BY], [b"no endpoints", STANDS_BY]])
def test_where_none_leads_that_is_said_once_with_what_they_say(
    bodies: Sequence[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    answers = Answers(*((503, body) for body in bodies))
    asked = views(answers)
    assert asyncio.run(asked.workloads()) is None
    assert answers.asked == MOST_TRIES
    assert "no leader was reached (ganglion-1 leads)" in " ".join(capsys.readouterr().err.split())
    assert asyncio.run(asked.workloads()) is None
    assert (answers.asked, capsys.readouterr().err) == (MOST_TRIES, "")


def test_a_workload_that_it_does_not_know_is_no_reason_to_give_it_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers = Answers((404, UNKNOWN))
    asked = views(answers)
    assert asyncio.run(asked.workload("chat")) is None
    assert asyncio.run(asked.workload("chat")) is None
    assert (answers.asked, capsys.readouterr().err) == (2, "")


def test_objects_are_tried_by_one_that_leads_and_refusals_say_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    verdict = Verdict(stops=("team-b/Job/x/uid-1",))
    answers = Answers((503, STANDS_BY), verdict)
    assert asyncio.run(views(answers).verdict([{"kind": "Job"}])) == verdict
    assert answers.sent == [{"objects": [{"kind": "Job"}]}] * 2
    wrong = b'{"status": 422, "code": "input", "detail": "there is no queue nowhere"}'
    with pytest.raises(StateError, match="would not place it: there is no queue nowhere"):
        asyncio.run(views(Answers((422, wrong))).verdict([]))
    assert capsys.readouterr().err == ""
    old = Answers((404, b'{"code": "state.not_found", "detail": "no such path"}'))
    assert asyncio.run(views(old).verdict([])) is None


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (404, b'{"kind": "Status", "code": 404}', "there is no such service"),
        (403, b"", "you may not use its service"),
        (500, b"state.not_found", "it does not answer"),
    ],
)
def test_a_service_that_cannot_be_used_is_given_up_and_named(
    status: int, body: bytes, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = Answers((status, body))
    asked = views(answers)
    assert asyncio.run(asked.workload("chat")) is None
    assert why in " ".join(capsys.readouterr().err.split())
    assert asyncio.run(asked.workload("chat")) is None
    assert answers.asked == 1
