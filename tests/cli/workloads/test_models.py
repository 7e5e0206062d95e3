"""Models of services: what is to be replaced, and what names mean by now."""

import json
from typing import Any

import pytest
from tests.cli import answers
from tests.cli.harness import FakeServer, Ganglion

API = "/api/v1"
PLACE = "file:///models/chat"
OWN = {"reference": PLACE, "uri": PLACE, "version": "", "digest": "sha256:1"}
SERVICE: dict[str, Any] = answers.DETAIL | {"id": "chat-3", "kind": "service", "model": OWN}
ROW = {"workload": "chat-3", "name": "chat", "kind": "service", "queue": "a", "user": "ada"}


def row(**more: Any) -> dict[str, Any]:
    return {"items": [ROW | {"model": OWN} | more], "store": None}


def test_an_update_says_how_many_replicas_have_another_content_of_the_same_name(
    ganglion: Ganglion, server: FakeServer
) -> None:
    server.on(f"POST {API}/workloads/chat/model", SERVICE)
    server.on(f"GET {API}/models", row(outdated=2))
    done = ganglion("models", "update", "chat")
    assert done.err == ""
    assert done.out == f"chat-3: 2 replicas to be replaced by ones with {PLACE}\n"
    assert json.loads(server.requests[0].content) == {"to": "", "back": False, "surge": 1}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"moved": None}, "unknown"),
        ({"moved": None, "kind": "train"}, "not asked"),
        ({"moved": False}, "the same"),
        ({"moved": True, "now": OWN | {"digest": "sha256:2"}}, "other content"),
        ({"moved": True, "now": OWN | {"uri": "models:/chat/4"}}, "models:/chat/4"),
    ],
)
def test_what_a_name_means_by_now_is_a_model_or_why_there_is_none(
    ganglion: Ganglion, server: FakeServer, more: dict[str, Any], said: str
) -> None:
    server.on(f"GET {API}/models", row(**more))
    assert said in ganglion("models", "list").out
