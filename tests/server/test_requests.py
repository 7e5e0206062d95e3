"""The id of a request goes from the client to the log and to the ledger."""

import asyncio
import json
from typing import Any

import httpx2
import msgspec
import pytest
import structlog
from fastapi.testclient import TestClient

from ganglion.client import Client
from ganglion.model.errors import GanglionError, NotFound
from ganglion.model.events import Event, GangSubmitted, NodeLost
from ganglion.server.rest.request_id import Identified, request_id
from tests.server.conftest import Rig
from tests.server.test_workloads import API, post


def recorded(rig: Rig) -> list[tuple[str, str]]:
    """Sort of every event, with the request that it comes from."""
    return [(each.kind, json.loads(each.body).get("request", "")) for each in rig.ledger.events()]


def test_events_name_the_request_that_they_come_from(client: TestClient, rig: Rig) -> None:
    begin = rig.ledger.head
    body = {"name": "a", "run": "true", "resources": {"gpus": 1}}
    client.post(f"{API}/workloads", json=body, headers={"X-Request-Id": "mine-1"})
    client.patch(f"{API}/workloads/a", json={"priority": 5}, headers={"X-Request-Id": "mine-2"})
    found = recorded(rig)[begin:]
    assert ("gang_submitted", "mine-1") in found
    assert ("gang_updated", "mine-2") in found
    # What the engine decides and what the world reports comes from no request.
    assert {request for kind, request in found if kind in ("gang_placed", "gang_started")} <= {""}


def test_events_name_the_user_who_asked_for_them(client: TestClient, rig: Rig) -> None:
    begin = rig.ledger.head
    body = {"name": "a", "run": "true", "resources": {"gpus": 1}}
    client.post(f"{API}/workloads", json=body)
    client.patch(f"{API}/workloads/a", json={"priority": 5})
    actors = {
        each.kind: json.loads(each.body).get("actor", "")
        for each in list(rig.ledger.events())[begin:]
    }
    assert actors["gang_submitted"] == actors["gang_updated"] == "ada"
    # What the engine decides and what the world reports comes from no user.
    assert {actors.get(kind, "") for kind in ("gang_placed", "gang_started")} == {""}


def test_a_refused_command_marks_nothing_of_others(rig: Rig) -> None:
    begin = rig.ledger.head

    def refuses(_draft: Any) -> None:
        raise NotFound("nothing")

    for command in (refuses,):
        with pytest.raises(NotFound):
            rig.do(command)
    rig.submit("a")
    assert {request for _, request in recorded(rig)[begin:]} == {""}


def test_what_a_command_logs_names_its_request(client: TestClient, rig: Rig) -> None:
    seen: list[Any] = []
    asked = rig.service.ask

    def ask(command: Any, timeout_s: float = 30.0) -> Any:
        def spied(draft: Any) -> Any:
            seen.append(structlog.contextvars.get_contextvars().get("request"))
            return command(draft)

        return asked(spied, timeout_s)

    rig.service.ask = ask  # type: ignore[method-assign]
    headers = {"X-Request-Id": "mine-3"}
    client.post(f"{API}/nodes/n0/cordon", json={"reason": "fan"}, headers=headers)
    assert seen == ["mine-3"]
    assert "request" not in structlog.contextvars.get_contextvars()


def test_a_websocket_has_the_id_that_its_client_made() -> None:
    seen: list[Any] = []

    async def app(*_: Any) -> None:
        seen.append((request_id(), structlog.contextvars.get_contextvars().get("request")))

    scope = {"type": "websocket", "path": "/", "headers": [(b"x-request-id", b"mine-4")]}
    asyncio.run(Identified(app)(scope, *([None] * 2)))  # type: ignore[arg-type]  # not used
    assert seen == [("mine-4", "mine-4")]


def test_events_of_ledgers_without_requests_are_read() -> None:
    decode = msgspec.json.Decoder(Event)
    old = decode.decode(b'{"type":"node_lost","at":5,"name":"n0"}')
    assert old == NodeLost(5, "n0")
    assert old.request == ""
    assert msgspec.json.encode(old) == b'{"type":"node_lost","at":5,"name":"n0"}'
    assert "request" in GangSubmitted.__struct_fields__


def test_the_clients_id_is_in_its_errors(client: TestClient) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        answer = client.request(request.method, request.url.path, headers=dict(request.headers))
        return httpx2.Response(answer.status_code, content=answer.content, headers=answer.headers)

    sdk = Client("http://localhost", "secret", transport=httpx2.MockTransport(handle))
    with pytest.raises(NotFound) as caught:
        sdk.workload("none")
    assert len(caught.value.request) == 32
    post(client)
    assert sdk.workload("a").id == "a-1"


def test_a_server_that_cannot_be_reached_leaves_an_id_too() -> None:
    def gone(_request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    sdk = Client("http://localhost", "secret", transport=httpx2.MockTransport(gone))
    with pytest.raises(GanglionError) as caught:
        sdk.nodes()
    assert len(caught.value.request) == 32
