"""Commands of requests that wait for their turn: their answers, and who waits for them."""

import asyncio
import threading

import pytest
from fastapi.testclient import TestClient

from ganglion.model.errors import Conflict, EnvironmentFault
from ganglion.server.routes.models import requests
from ganglion.server.state.transaction import Transaction
from tests.server.conftest import Rig

JOB = {"run": "true", "workdir": "/"}


def test_a_coroutine_gets_the_answer_of_the_turn(rig: Rig) -> None:
    async def ask() -> list[str]:
        asked = asyncio.create_task(rig.service.answer(lambda draft: [*draft.state.queues.by_name]))
        await asyncio.sleep(0)
        await asyncio.to_thread(rig.service.turn)
        return await asked

    assert asyncio.run(ask()) == ["default"]


def test_a_coroutine_gets_what_a_command_raises(rig: Rig) -> None:
    def refuse(_draft: Transaction) -> None:
        raise Conflict("not so")

    async def ask() -> None:
        asked = asyncio.create_task(rig.service.answer(refuse))
        await asyncio.sleep(0)
        await asyncio.to_thread(rig.service.turn)
        await asked

    with pytest.raises(Conflict, match="not so"):
        asyncio.run(ask())


def test_an_answer_that_does_not_come_in_time_says_that_the_server_is_busy(rig: Rig) -> None:
    asked = rig.service.answer(lambda _draft: None, timeout_s=0.01)
    with pytest.raises(EnvironmentFault, match="busy"):
        asyncio.run(asked)
    assert rig.service.turn()  # no caller waits for the answer any more, and that stops no turn


def test_a_submit_occupies_no_thread_while_it_waits(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[str]()
    checked = requests.submit.checked  # type: ignore[attr-defined]

    def noted(*args: object, **others: object) -> object:
        seen.append(threading.current_thread().name)
        return checked(*args, **others)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(requests.submit, "checked", noted)  # type: ignore[attr-defined]
    assert client.post("/api/v1/workloads", json=JOB | {"name": "short"}).status_code == 201
    long = {"name": "long", "env": {"X": "x" * requests.LONG}}
    assert client.post("/api/v1/workloads", json=JOB | long).status_code == 201
    loop, thread = seen
    assert not loop.startswith("AnyIO worker")
    assert thread.startswith("AnyIO worker")
