"""A real server, router and replicas under load: no request fails, whatever comes and goes."""

import json
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from ganglion.demo.story.callers import LoadCallers
from tests.server.process import Api, Nursery, until
from tests.transport.other_user import as_another_user, only_root

PROGRAM = """
import os, signal, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(float(sys.argv[1]))
        body = os.environ["GANGLION_GANG"].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
server.serve_forever(0.05)
"""
SCALE = {
    "targets": {"requests": 2},
    "window": "3s",
    "panic_window": "1s",
    "up": "any",
    "down": "any",
    "hold_down": "1s",
    "drain": "20s",
}
DEADLINE_S = 60


class Town:
    """A server in a process, its API, and services of one program."""

    def __init__(self, folder: Path) -> None:
        self.home, self.program = folder / "home", folder / "program.py"
        self.home.mkdir()
        self.program.write_text(PROGRAM)
        self.nursery, self.api, self.id = Nursery(self.home), Api(self.home), ""
        self.nursery.start()

    def submit(self, replicas: str, takes_s: float = 0.05, **scale: object) -> str:
        """Submit the service `chat`; returns its URL once it is routed."""
        document = {
            "name": "chat",
            "kind": "service",
            "queue": "red",
            "run": f"{sys.executable} {self.program} {takes_s}",
            "port": 8000,
            "resources": {"cpus": 0.5},
            "replicas": replicas,
            "scale": {**SCALE, **scale},
        }
        self.id = str(self.api.patiently("POST", "/workloads", json=document)["id"])
        return str(until(lambda: self.view().get("url"), DEADLINE_S))

    def view(self) -> Any:
        return self.api.patiently("GET", "/workloads/chat")

    def has(self, running: int) -> None:
        """Wait until this number of replicas runs and none is going."""

        def settled() -> bool:
            view = self.view()
            return view["running"] == running and not view["scaling"]["draining"]

        until(settled, DEADLINE_S)

    def kill(self) -> None:
        """The server dies and another one takes over."""
        self.nursery.end(signal.SIGKILL)
        self.nursery.start()

    def clear(self) -> None:
        """End the service."""
        self.api.patiently("POST", "/workloads/chat/cancel", json={"force": True})
        until(lambda: self.api.call("GET", "/workloads").json()["items"] == [], DEADLINE_S)

    def close(self) -> None:
        """Nothing is left running, not even the router."""
        self.nursery.end(signal.SIGTERM)
        self.nursery.close()
        self.api.close()
        until(lambda: not _left(self.home), DEADLINE_S)


def _left(home: Path) -> list[str]:
    """Processes that have to do with a home."""
    lines = (" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"]))
    return [line for line in lines if str(home) in line]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    made = Town(tmp_path_factory.mktemp("town"))
    yield made
    made.close()


@pytest.fixture
def town(built: Town) -> Iterator[Town]:
    yield built
    built.clear()


def test_one_to_four_to_one_and_no_request_fails(town: Town) -> None:
    url = town.submit("1..4")
    town.has(1)
    with LoadCallers(url, 8) as busy:
        town.has(4)
        so_far = busy.answers.total()
        until(lambda: busy.answers.total() > so_far + 200, DEADLINE_S)
    with LoadCallers(url, 1, pause_s=0.02) as quiet:
        town.has(1)
        so_far = quiet.answers.total()
        until(lambda: quiet.answers.total() > so_far + 20, DEADLINE_S)
    assert (busy.failures, quiet.failures) == ([], [])
    assert set(busy.answers) == {f"{town.id}/{index}" for index in range(4)}


def test_long_requests_are_finished_by_replicas_that_drain(town: Town) -> None:
    url = town.submit("1..4", takes_s=2)
    town.has(1)
    with LoadCallers(url, 8) as busy:
        town.has(4)
        until(lambda: len(busy.answers) == 4, DEADLINE_S)
    with LoadCallers(url, 1) as quiet:
        town.has(1)
    assert (busy.failures, quiet.failures) == ([], [])


def test_a_server_that_is_killed_amid_drains_loses_no_request_and_finishes_them(
    town: Town,
) -> None:
    url = town.submit("1..4", takes_s=1)
    town.has(1)
    with LoadCallers(url, 8) as busy:
        town.has(4)
    with LoadCallers(url, 1) as quiet:
        until(lambda: town.view()["scaling"]["draining"], DEADLINE_S)
        town.kill()
        so_far = quiet.answers.total()
        town.has(1)
        until(lambda: quiet.answers.total() > so_far + 2, DEADLINE_S)
    assert (busy.failures, quiet.failures) == ([], [])
    assert town.view()["url"] == url


def test_a_number_by_hand_and_what_was_learnt_survive_a_server_that_is_killed(town: Town) -> None:
    url = town.submit("1..4", takes_s=0.5, hold_down="10m")
    town.has(1)
    town.api.patiently("POST", "/workloads/chat/scale", json={"replicas": "3"})
    town.has(3)

    def starts() -> int:
        lines = town.api.call("GET", "/events?follow=false").text.splitlines()
        events = [json.loads(each[6:]) for each in lines if each.startswith("data: ")]
        mine = [each for each in events if each.get("workload") == town.id]
        learnt = [each for each in mine if each["type"] == "service_learnt"]
        return len(learnt[-1]["started_ms"]) if learnt else 0

    until(lambda: starts() == 3)
    town.kill()
    with LoadCallers(url, 8) as busy:  # they ask for four
        until(lambda: busy.answers.total() > 60, DEADLINE_S)
    assert (town.view()["scaling"]["wanted"], busy.failures) == (3, [])
    assert starts() == 3


def test_a_sleeping_service_is_woken_by_its_first_request(town: Town) -> None:
    url = town.submit("0..2", zero_after="1s")
    assert town.view()["state"] == "SUSPENDED"
    answer = httpx2.get(url, timeout=DEADLINE_S, trust_env=False)
    assert (answer.status_code, answer.text) == (200, f"{town.id}/0")
    until(lambda: town.view()["state"] == "SUSPENDED", DEADLINE_S)
    again = httpx2.get(url, timeout=DEADLINE_S, trust_env=False)
    assert again.text != answer.text


def test_a_service_is_reached_by_name_too(town: Town) -> None:
    url = httpx2.URL(town.submit("1..2"))
    town.has(1)
    answer = httpx2.get(
        f"http://127.0.0.1:{url.port}/", headers={"Host": "chat.localhost"}, trust_env=False
    )
    assert (answer.status_code, answer.text) == (200, f"{town.id}/0")


@only_root
def test_another_user_of_this_machine_needs_what_open_gives(town: Town) -> None:
    url = httpx2.URL(town.submit("1..2"))
    town.has(1)
    opened = town.api.patiently("POST", "/workloads/chat/open")
    page = opened["url"].removeprefix(f"http://{url.netloc.decode()}")

    def said(path: str, header: str = "") -> bytes:
        with socket.create_connection((url.host, url.port or 80), DEADLINE_S) as connected:
            head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n"
            connected.sendall(head.encode())
            return connected.recv(65_536)

    def needs_it() -> bool:
        token = f"X-Ganglion-Token: {opened['token']}\r\n"
        answers = (said("/chat/"), said("/chat/", token), said(page), said(page))
        return [each.split()[1] for each in answers] == [b"403", b"200", b"303", b"403"]

    assert as_another_user(needs_it)


def test_a_role_leads_to_a_service_and_goes_on_when_the_server_is_killed(town: Town) -> None:
    url, api = town.submit("1..2"), town.api

    def given(token: str) -> int:
        return httpx2.get(url, headers={"X-Ganglion-Token": token}, timeout=60).status_code

    def grant(verb: str, role: str) -> None:
        body = {"subject": "user:bob", "role": role, "queue": "red"}
        api.patiently("POST", f"/roles:{verb}", json=body)

    made = api.patiently("POST", "/tokens", json={"user": "bob", "role": "admin"})
    token = made["token"]
    assert given(token) == 404
    grant("grant", "viewer")
    until(lambda: given(token) == 403, DEADLINE_S)
    grant("grant", "submitter")
    until(lambda: given(token) == 200, DEADLINE_S)
    town.nursery.end(signal.SIGKILL)
    assert given(token) == 200
    town.nursery.start()
    api.patiently("GET", "/workloads/chat")
    grant("revoke", "submitter")
    until(lambda: given(token) == 403, DEADLINE_S)
    api.patiently("DELETE", f"/tokens/{made['about']['id']}")
    until(lambda: given(token) == 401, DEADLINE_S)
    events = api.call("GET", "/events?follow=false").text
    assert '"operation":"connect"' in events.replace(" ", "")
