"""Scaling over HTTP."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

API = "/api/v1"


@pytest.fixture
def chat(client: TestClient) -> str:
    """A service of one replica that does not scale by itself."""
    body: dict[str, Any] = {"name": "chat", "kind": "service", "run": "true", "port": 80}
    return str(client.post(f"{API}/workloads", json=body).json()["id"])


def test_a_number_and_a_range(client: TestClient, chat: str) -> None:
    shown = client.post(f"{API}/workloads/chat/scale", json={"replicas": 3}).json()
    assert [gang["id"] for gang in shown["gangs"]] == [f"{chat}/{index}" for index in range(3)]
    assert (shown["scaling"]["wanted"], shown["scaling"]["ceiling"]) == (3, None)
    assert shown["scaling"]["cause"] == "scaled by ada"
    shown = client.post(f"{API}/workloads/chat/scale", json={"replicas": "4..8"}).json()
    assert (shown["scaling"]["wanted"], shown["scaling"]["ceiling"]) == (4, 8)
    listed = client.get(f"{API}/workloads").json()["items"][0]
    assert (listed["gangs"], listed["alarms"]) == (4, {})


@pytest.mark.parametrize(
    "replicas", ["many", "-1", "4..2", "99999", 1.5, True, None, "1..", "0..0"]
)
def test_nonsense_is_refused(client: TestClient, chat: str, replicas: object) -> None:
    answer = client.post(f"{API}/workloads/{chat}/scale", json={"replicas": replicas})
    assert answer.status_code in (400, 422)
    assert answer.json()["code"].startswith("input")


def test_what_is_no_service_or_is_over_cannot_be_scaled(client: TestClient, chat: str) -> None:
    client.post(f"{API}/workloads", json={"name": "train", "run": "true", "kind": "train"})
    answer = client.post(f"{API}/workloads/train/scale", json={"replicas": 2})
    assert (answer.status_code, answer.json()["code"]) == (409, "state.conflict")
    assert client.post(f"{API}/workloads/no/scale", json={"replicas": 2}).status_code == 404
    client.post(f"{API}/workloads/{chat}/cancel", json={"force": True})
    answer = client.post(f"{API}/workloads/{chat}/scale", json={"replicas": 2})
    assert answer.status_code in (404, 409)
