"""Services are scaled by hand; what they do and what is wrong with them is shown."""

import json
from typing import Any

import pytest
from tests.cli import answers
from tests.cli.harness import NOW_S, FakeServer, Ganglion

API = "/api/v1"
NOW_MS = round(NOW_S * 1_000)
SERVICE: dict[str, Any] = answers.DETAIL | {
    "id": "chat-3",
    "kind": "service",
    "running": 2,
    "url": "http://127.0.0.1:7078/chat/",
    "alarms": {"metrics.lost": "held: chat-3/0: nothing within 2 s"},
    "scaling": {
        "floor": 1,
        "ceiling": 8,
        "wanted": 4,
        "draining": ["chat-3/7"],
        "at": NOW_MS,
        "cause": "requests 12: 4 replicas",
    },
}


@pytest.mark.parametrize("replicas", ["4", "2..8", "0"])
def test_the_server_gets_what_was_asked_for(
    ganglion: Ganglion, server: FakeServer, replicas: str
) -> None:
    server.on(f"POST {API}/workloads/chat/scale", SERVICE)
    done = ganglion("scale", "chat", replicas)
    assert (done.code, done.err) == (0, "")
    assert done.out == "chat-3: 4 replicas wanted, between 1 and 8, 2 running\n"
    assert json.loads(server.requests[-1].content) == {"replicas": replicas}


def test_a_service_that_does_not_scale_has_no_bounds(
    ganglion: Ganglion, server: FakeServer
) -> None:
    scaling = SERVICE["scaling"] | {"floor": None, "ceiling": None, "wanted": 1}
    server.on(f"POST {API}/workloads/chat/scale", SERVICE | {"scaling": scaling})
    assert ganglion("scale", "chat", "1").out == "chat-3: 1 replica wanted, 2 running\n"


def test_programs_get_data(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"POST {API}/workloads/chat/scale", SERVICE)
    found = json.loads(ganglion("scale", "chat", "4", "-o", "json").out)
    assert found["scaling"]["wanted"] == 4


def test_describe_says_where_it_is_how_it_scales_and_what_is_wrong(
    ganglion: Ganglion, server: FakeServer
) -> None:
    server.on(f"GET {API}/workloads/chat", SERVICE)
    lines = ganglion("describe", "chat").out.splitlines()
    facts = dict(line.split(maxsplit=1) for line in lines[1:] if len(line.split()) > 1)
    assert facts["URL"] == "http://127.0.0.1:7078/chat/"
    assert facts["Replicas"].startswith("4 of 1..8 since ")
    assert facts["Replicas"].endswith(": requests 12: 4 replicas; 7 drain")
    assert facts["Alarms"] == "metrics.lost: held: chat-3/0: nothing within 2 s"


def test_ps_says_that_something_needs_a_person(ganglion: Ganglion, server: FakeServer) -> None:
    shown = {
        key: each for key, each in SERVICE.items() if key not in ("url", "scaling", "document")
    }
    page = {"items": [shown | {"gangs": 4}], "next": None}
    server.on(f"GET {API}/workloads", page)
    assert "! metrics.lost" in ganglion("ps").out
