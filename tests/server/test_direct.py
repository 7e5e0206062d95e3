"""A plain submit takes a shorter way, on which it is answered as on the long one."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.types import Receive, Scope, Send

from ganglion.server.access.gate import CALLER
from ganglion.server.access.permissions import Permissions
from ganglion.server.direct import Direct
from ganglion.server.requests.context import ServerContext
from ganglion.server.rest.listening.guard import MOST_BYTES
from tests.server.process import until
from tests.server.test_workloads import API

LONG_WAY = {"force": "false"}
"""A query: only the framework looks at those."""


def plain(name: str = "a", **others: Any) -> str:
    return json.dumps({"name": name, "run": "true", "resources": {"gpus": 1}, **others})


REFUSED = (
    (plain(note="x" * 20_000), "", 422),
    (plain(run=""), "", 422),
    (plain(queue="none"), "", 422),
    (plain(resources={"gpus": 1_000}), "", 422),
    (plain(), "with space", 422),
    (plain(), "k" * 201, 422),
    (plain("taken"), "", 409),
    (plain("other"), "key-of-taken", 409),
    ("", "", 422),
    ("[]", "", 422),
    ('{"name": NaN}', "", 422),
    (b"\xff\xfe", "", 422),
    ("[" * 100_000, "", 422),
    (b" " * (MOST_BYTES + 1), "", 413),
)


def post(client: TestClient, content: str | bytes, key: str, params: dict[str, str]) -> Any:
    headers = {"X-Request-Id": "mine"} | ({"Idempotency-Key": key} if key else {})
    found = client.post(f"{API}/workloads", content=content, params=params, headers=headers)
    return found.status_code, dict(found.headers), found.json()


def away(client: TestClient) -> None:
    """End what has the name `a`; the world is asked a moment later whether it has."""
    client.post(f"{API}/workloads/a/cancel")
    client.delete(f"{API}/schedules/a")
    until(lambda: not client.get(f"{API}/workloads").json()["items"])


def test_the_answer_is_that_of_the_framework(client: TestClient) -> None:
    for others in ({}, {"secrets": {"A": "b"}}, {"schedule": "@daily"}, {"labels": {"a": "b"}}):
        short = post(client, plain(**others), "", {})
        assert short[0] == 201, short
        away(client)
        long = post(client, plain(**others), "", LONG_WAY)
        first, second = short[2].pop("id"), long[2].pop("id")
        assert str(short).replace(first, second) == str(long)
        away(client)
    assert post(client, plain("taken"), "key-of-taken", {})[0] == 201
    again = [post(client, plain("taken"), "key-of-taken", each) for each in ({}, LONG_WAY)]
    assert again[0] == again[1]
    assert again[0][2]["name"] == "taken"
    for content, key, status in REFUSED:
        short, long = (post(client, content, key, each) for each in ({}, LONG_WAY))
        assert short == long
        assert short[0] == status, short


def test_a_plain_submit_does_not_enter_the_framework(context: ServerContext) -> None:
    entered: list[str] = []

    async def framework(scope: Scope, _receive: Receive, _send: Send) -> None:
        entered.append(scope["method"] + scope["path"] + scope["query_string"].decode())
        raise NotImplementedError

    direct, known = Direct(framework, context), Permissions(context.service, "ada")

    async def behind_the_gate(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"][CALLER] = known.owner()
        await direct(scope, receive, send)

    client = TestClient(behind_the_gate)
    assert client.post(f"{API}/workloads", content=plain()).status_code == 201
    assert not entered
    for path in (f"{API}/workloads?force=true", f"{API}/workloads/bulk", f"{API}/queues"):
        with pytest.raises(NotImplementedError):
            client.post(path, content=plain())
    assert len(entered) == 3
