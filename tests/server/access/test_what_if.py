"""Owners of a part of the queues try changes of it on the past, and learn no names of others."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from fastapi.testclient import TestClient
from msgspec.structs import replace

from ganglion.server.whatif.answering import WhatIfAnswer, main
from ganglion.server.whatif.questions import DONE, WhatIfQuestions
from tests.server.access.conftest import Staffed
from tests.server.access.office import API, Office, office

HIDDEN = "zeppelin"
VISION = {"parent": "research", "weight": 2}


class Lab:
    """A server that takes questions, which a test answers."""

    def __init__(self, staff: Office, questions: WhatIfQuestions) -> None:
        self.staff, self.questions = staff, questions

    def ask(self, client: TestClient, **body: Any) -> tuple[int, Any]:
        answer = client.post(f"{API}/whatif", json={"since": "1d", **body})
        return answer.status_code, answer.json()

    def answered(self, client: TestClient, **body: Any) -> str:
        """Ask, answer as the process of the server does, and return what the caller is shown."""
        status, asked = self.ask(client, **body)
        assert status == 202, asked
        queued = self.questions._tasks.get_nowait()
        assert queued is not None
        key, task = queued
        raw = main(msgspec.json.encode(task))
        found = msgspec.json.decode(raw, type=WhatIfAnswer)
        self.questions._change(
            key, lambda each: replace(each, state=DONE, report=found.report, message=found.message)
        )
        return client.get(f"{API}/whatif/{key}").text


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    rig = Staffed(tmp_path_factory.mktemp("lab") / "home")
    questions = WhatIfQuestions(rig.home.root, rig.home.ledger)
    rig.service.start()
    with office(rig, questions=questions) as staff:
        for number in range(2):
            staff.submit(staff.owner, f"{HIDDEN}-{number}", "secretlab", resources={"gpus": 8})
            staff.submit(staff.owner, f"mine-{number}", "vision", resources={"gpus": 8})
        yield Lab(staff, questions)
    rig.service.stop()
    rig.ledger.close()


@pytest.fixture(scope="module")
def olga(lab: Lab) -> TestClient:
    return lab.staff.user("olga", "owner", "research")


def test_the_answer_names_the_own_part_and_sums_up_all_others(lab: Lab, olga: TestClient) -> None:
    shown = lab.answered(olga, rules={"vision": VISION})
    assert HIDDEN not in shown
    assert "secretlab" not in shown
    found = msgspec.json.decode(shown)
    assert found["changes"] == ["queue vision: weight"]
    groups = {(each["by"], each["name"]): each["jobs"] for each in found["report"]["groups"]}
    assert groups == {("queue", "vision"): 2, ("others", ""): 2}
    assert lab.staff.owner.get(f"{API}/whatif/{found['id']}").status_code == 200
    eve = lab.staff.user("eve", "owner", "secretlab")
    assert eve.get(f"{API}/whatif/{found['id']}").status_code == 404


def test_what_went_wrong_names_no_queue_of_others(lab: Lab, olga: TestClient) -> None:
    assert lab.staff.owner.put(f"{API}/queues/young", json={"parent": "research"}).is_success
    shown = lab.answered(olga, until="1s", queues=["young=weight:2"])
    assert "secretlab" not in shown
    lab.staff.owner.delete(f"{API}/queues/young")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"queues": ["vision=weight:2"]}, 202),
        ({"rules": {"audio": {"parent": "research"}}}, 202),
        ({"queues": ["research=weight:2"]}, 403),
        ({"rules": {"research": {"parent": "org"}}}, 403),
        ({"queues": ["secretlab=weight:2"]}, 403),
        ({"rules": {"secretlab": {"parent": "org"}}}, 403),
        ({"rules": {"secretlab": {"parent": "research"}}}, 403),
        ({"queues": ["nowhere=weight:2"]}, 403),
        ({"queues": ["vision=quota:900"]}, 422),
        ({"rules": {"vision": {"parent": "research", "preemption": {"reclaim": "any"}}}}, 422),
        ({"policy": {"text": "order: fifo"}}, 403),
        ({"nodes": ["+1xH100"]}, 403),
        ({"prices": ["H100=2"]}, 403),
    ],
)
def test_an_owner_tries_what_it_may_set(
    lab: Lab, olga: TestClient, body: dict[str, Any], status: int
) -> None:
    got, said = lab.ask(olga, **body)
    assert got == status, said
    assert HIDDEN not in str(said)
    while not lab.questions._tasks.empty():
        lab.questions._tasks.get_nowait()
    lab.questions._known.clear()


@pytest.mark.parametrize("role", ["viewer", "submitter", "maintainer"])
def test_who_may_not_set_a_queue_may_not_try_it(lab: Lab, role: str) -> None:
    client = lab.staff.user(f"some-{role}", role, "research")
    for body in ({"queues": ["vision=weight:2"]}, {"rules": {"vision": VISION}}):
        assert lab.ask(client, **body)[0] == 403
