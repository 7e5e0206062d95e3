"""Events and logs as they happen, over a real connection."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastapi.testclient import TestClient

from ganglion.ledger.records import Batch
from ganglion.model.events import NodeLost, Outcome
from ganglion.server.app import guarded, make_app
from ganglion.server.requests.context import ServerContext
from ganglion.server.rest.listening.address import bind
from ganglion.server.rest.listening.listen import HttpListener
from ganglion.server.state import feed as feeds
from tests.server.conftest import Rig
from tests.server.process import until
from tests.server.test_workloads import API, detail, post, problem, wait_for

Event = dict[str, Any]


@pytest.fixture
def live(context: ServerContext) -> Iterator[httpx2.Client]:
    """A client of a server that really listens."""
    up = threading.Event()
    with bind("127.0.0.1", 0) as taken:
        app = guarded(make_app(context), "secret", loopback=True)
        listener = HttpListener(app, up.set, context.feed.close)
        thread = threading.Thread(target=listener.run, kwargs={"sockets": [taken]})
        thread.start()
        assert up.wait(10)
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        headers = {"Authorization": "Bearer secret"}
        with httpx2.Client(base_url=url, headers=headers, timeout=10) as client:
            yield client
        listener.halt()
        thread.join(10)
        assert not thread.is_alive()


def read(lines: Iterator[str]) -> dict[str, str]:
    """The next message of a stream of server-sent events; comments are left out."""
    found: dict[str, str] = {}
    for line in lines:
        if not line and found:
            return found
        key, _, value = line.partition(": ")
        if key:
            found[key] = value
    raise EOFError


def test_events_are_replayed_and_then_come_live(live: httpx2.Client, rig: Rig) -> None:
    with live.stream("GET", f"{API}/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        old = [read(lines) for _ in range(rig.ledger.head)]
        assert [int(each["id"]) for each in old] == list(range(1, rig.ledger.head + 1))
        live.post(f"{API}/workloads", json={"name": "a", "run": "true"})
        new = [json.loads(read(lines)["data"]) for _ in range(3)]
        assert [each["type"] for each in new] == ["gang_submitted", "gang_placed", "gang_started"]
        assert new[0]["gang"]["id"] == "a-1/0"


def test_a_reader_goes_on_where_it_stopped(live: httpx2.Client, rig: Rig) -> None:
    for params, headers in (({"after": 2}, {}), ({"after": 0}, {"Last-Event-ID": "2"})):
        with live.stream("GET", f"{API}/events", params=params, headers=headers) as response:
            assert read(response.iter_lines())["id"] == "3"


def test_a_reader_that_does_not_follow_gets_what_there_is(client: TestClient, rig: Rig) -> None:
    told = client.get(f"{API}/events", params={"follow": False})
    assert told.text.count("\ndata: ") == rig.ledger.head == 3


def test_a_reader_of_another_ledger_is_told(client: TestClient) -> None:
    problem(client.get(f"{API}/events?after=99"), 409, "state.conflict", "ends at event 3")
    bad = client.get(f"{API}/events", headers={"Last-Event-ID": "x"})
    problem(bad, 422, "input.field", "Last-Event-ID")


def test_a_silent_stream_shows_that_it_lives(
    context: ServerContext, live: httpx2.Client, rig: Rig
) -> None:
    context.feed._beat_s = 0.05
    with live.stream("GET", f"{API}/events", params={"after": rig.ledger.head}) as response:
        lines = response.iter_lines()
        assert next(lines) == ": events"
        assert next(line for line in lines if line.startswith(":")) == ": alive"


def test_streams_end_when_the_server_ends(
    context: ServerContext, live: httpx2.Client, rig: Rig
) -> None:
    with live.stream("GET", f"{API}/events", params={"after": rig.ledger.head}) as response:
        lines = response.iter_lines()
        assert next(lines) == ": events"
        context.feed.close()
        end = read(lines)
        assert end["event"] == "end"
        assert json.loads(end["data"])["code"] == "shutting_down"


def test_a_consumer_that_falls_behind_is_dropped_with_a_word(rig: Rig) -> None:
    feed = feeds.Feed(rig.ledger, most_behind=100, beat_s=0.01)

    async def consume() -> list[bytes]:
        feed.attach()
        stream = feed.stream(rig.ledger.head)
        seen = [await anext(stream), await anext(stream)]
        feed.publish(rig.ledger.append(Batch(1, [NodeLost(1, f"x{i}") for i in range(300)])))
        return [*seen, *[part async for part in stream]]

    parts = asyncio.run(asyncio.wait_for(consume(), 10))
    assert parts[:2] == [b": events\n\n", b": alive\n\n"]
    assert len(parts) == 3
    assert parts[2].startswith(b"event: end\n")
    assert b"slow_consumer" in parts[2]
    assert b"300 events behind" in parts[2]


def test_a_consumer_that_begins_far_behind_is_given_everything(rig: Rig) -> None:
    feed = feeds.Feed(rig.ledger, most_behind=100, beat_s=0.01)
    feed.publish(rig.ledger.append(Batch(1, [NodeLost(1, f"x{i}") for i in range(1300)])))

    async def consume() -> int:
        feed.attach()
        got = 0
        async for part in feed.stream(0):
            got += part.count(b"\ndata: ")
            if part == b": alive\n\n":
                break
        return got

    assert asyncio.run(asyncio.wait_for(consume(), 10)) == rig.ledger.head == 1303


def test_a_consumer_that_takes_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "STUCK_S", 0.05)

    async def chunks() -> Any:
        while True:
            yield b"x"

    async def never(_message: Any) -> None:
        await anyio.sleep_forever()

    with pytest.raises(TimeoutError):
        anyio.run(feeds.Patient(chunks()).stream_response, never)


def log_of(rig: Rig, gang: str, attempt: int = 1, rank: int = 0) -> Path:
    path = rig.home.root / "logs" / gang / str(attempt) / f"rank-{rank}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_a_log_is_read_whole_and_by_its_end(client: TestClient, rig: Rig) -> None:
    post(client)
    log_of(rig, "a-1/0").write_bytes(b"one\ntwo\n\xff\xfe\nfour\n")
    wait_for(client, "a", "RUNNING")
    response = client.get(f"{API}/workloads/a/logs")
    assert response.content == b"one\ntwo\n\xff\xfe\nfour\n"
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert client.get(f"{API}/workloads/a/logs?tail=1").content == b"four\n"
    rig.machine.time = time.time_ns() // 1_000_000 + 600_000
    assert client.get(f"{API}/workloads/a/logs?since=1m").content == b""
    assert client.get(f"{API}/workloads/a/logs?since=1h").content == response.content
    bad = client.get(f"{API}/workloads/a/logs?since=soon")
    problem(bad, 422, "input.field", "since")


def test_a_log_is_followed_until_its_attempt_ends(live: httpx2.Client, rig: Rig) -> None:
    live.post(f"{API}/workloads", json={"name": "a", "run": "true"})
    path = log_of(rig, "a-1/0")
    path.write_bytes(b"one\n")
    with live.stream("GET", f"{API}/workloads/a/logs?follow=true") as response:
        parts = response.iter_bytes()
        assert next(parts) == b"one\n"
        with path.open("ab") as file:
            file.write(b"two\n")
        rig.machine.end("a-1/0")
        assert b"".join(parts) == b"two\n"


def test_following_waits_for_the_start(live: httpx2.Client, rig: Rig) -> None:
    live.post(f"{API}/workloads", json={"name": "a", "run": "true", "hold": True})
    log_of(rig, "a-1/0").write_bytes(b"begun\n")
    with live.stream("GET", f"{API}/workloads/a/logs?follow=true") as response:
        live.patch(f"{API}/workloads/a", json={"held": False})
        parts = response.iter_bytes()
        assert next(parts) == b"begun\n"
        until(lambda: rig.machine.live)  # the start is carried out after it is sent
        rig.machine.end("a-1/0")
        assert list(parts) == []


def test_the_log_of_the_attempt_before_is_kept(client: TestClient, rig: Rig) -> None:
    post(client)
    problem(client.get(f"{API}/workloads/a/logs?previous=true"), 404, "state.not_found", "before")
    wait_for(client, "a", "RUNNING")
    log_of(rig, "a-1/0", 1).write_bytes(b"first\n")
    log_of(rig, "a-1/0", 2).write_bytes(b"second\n")
    rig.machine.end("a-1/0", Outcome.NODE_LOST)
    until(lambda: detail(client, "a")["gangs"][0]["attempt"] == 2)
    assert client.get(f"{API}/workloads/a/logs").content == b"second\n"
    assert client.get(f"{API}/workloads/a/logs?previous=true").content == b"first\n"


def test_logs_that_cannot_be_are_refused(client: TestClient) -> None:
    post(client, hold=True)
    early = client.get(f"{API}/workloads/a/logs")
    problem(early, 409, "state.conflict", "a-1/0 has not started yet", "ganglion why")
    problem(client.get(f"{API}/workloads/a/logs?rank=7"), 404, "state.not_found", "no rank 7")
    problem(client.get(f"{API}/workloads/a/logs?index=7"), 404, "state.not_found", "no gang 7")
    client.post(f"{API}/workloads/a/cancel")
    late = client.get(f"{API}/workloads/a-1/logs")
    problem(late, 404, "state.not_found", "ended before it started")


def test_an_attempt_that_wrote_nothing_has_an_empty_log(client: TestClient) -> None:
    post(client)
    wait_for(client, "a", "RUNNING")
    assert client.get(f"{API}/workloads/a/logs").content == b""
