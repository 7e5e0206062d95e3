"""Requests are what the server expects, and its errors come back as they were raised."""

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from fastapi.routing import APIRoute

from ganglion.client import Client
from ganglion.client.home import read_server
from ganglion.model import errors
from ganglion.model.errors import (
    Conflict,
    EnvironmentFault,
    FieldError,
    FileError,
    GanglionError,
    InputError,
    NotFound,
)
from ganglion.server.routes import cluster, queues, workloads
from ganglion.server.routes.money import budgets, prices
from ganglion.transport.problem import problem_of

VIEW = {"id": "a-1", "name": "a", "kind": "batch", "queue": "q", "user": "u", "priority": 50}
VIEW |= {"state": "QUEUED"}
Handler = Callable[[httpx2.Request], httpx2.Response]


def client(handler: Handler) -> Client:
    return Client("http://127.0.0.1:7077", "secret", transport=httpx2.MockTransport(handler))


def answering(body: Any, status: int = 200) -> tuple[Client, list[httpx2.Request]]:
    seen: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(status, json=body)

    return client(handle), seen


_COUNTS = ("now", "head", "signed", "unsigned", "unsigned_since", "signs_within", "late_after")
ANCHORS = dict.fromkeys(_COUNTS, 1)

CALLS: dict[str, tuple[Callable[[Client], object], Any]] = {
    "GET /api/v1/audit/anchors": (lambda c: c.access.audit_anchors(), ANCHORS),
    "GET /healthz": (lambda c: c.health(), {"status": "ok"}),
    "GET /version": (lambda c: c.version(), {"version": "1"}),
    "POST /api/v1/shutdown": (lambda c: c.shutdown(cancel=True), {"ok": True}),
    "POST /api/v1/workloads": (lambda c: c.submit({"run": "x"}), {"id": "a-1", "name": "a"}),
    "POST /api/v1/workloads?dry_run=true": (lambda c: c.verdict({"run": "x"}), {}),
    "GET /api/v1/workloads?all=true&queue=q&limit=5": (
        lambda c: c.workloads(ended=True, queue="q", limit=5),
        {"items": [VIEW]},
    ),
    "GET /api/v1/workloads/a-1": (lambda c: c.workload("a-1"), VIEW),
    "GET /api/v1/workloads/a-1/3/why": (lambda c: c.why("a-1/3"), {"workload": "a-1"}),
    "PATCH /api/v1/workloads/a": (lambda c: c.update("a", held=False), VIEW),
    "POST /api/v1/workloads/a%20b/cancel": (lambda c: c.cancel("a b"), {"ok": True}),
    "POST /api/v1/workloads/a/retry": (lambda c: c.again.retry("a"), {"id": "a-2", "name": "a"}),
    "POST /api/v1/workloads/a/scale": (lambda c: c.scale("a", "2..8"), VIEW),
    "GET /api/v1/order": (lambda c: c.order(), {"items": []}),
    "GET /api/v1/order/starts?gang=a-1": (lambda c: c.daily.starts(["a-1"]), {"items": []}),
    "GET /api/v1/queues": (lambda c: c.queues(), {"items": []}),
    "PUT /api/v1/queues/q": (lambda c: c.set_queue("q", {"weight": 2}), {}),
    "POST /api/v1/queues/q/check": (
        lambda c: c.check_queue("q", {"weight": 2}),
        {"version": 1, "changes": [], "warnings": []},
    ),
    "DELETE /api/v1/queues/q": (lambda c: c.delete_queue("q"), {}),
    "GET /api/v1/nodes": (lambda c: c.nodes(), {"items": []}),
    "POST /api/v1/nodes/n/cordon": (lambda c: c.cordon("n", "why"), {}),
    "POST /api/v1/nodes/n/uncordon": (lambda c: c.uncordon("n"), {}),
    "GET /api/v1/usage?by=user&by=day&since=30d&queue=q": (
        lambda c: c.daily.usage(by=["user", "day"], since="30d", queues=["q"]),
        {"since": 1, "until": 2},
    ),
    "GET /api/v1/prices": (lambda c: c.money.prices(), {"items": []}),
    "GET /api/v1/prices:history": (lambda c: c.money.price_history(), {"items": []}),
    "PUT /api/v1/prices/H100%2080": (
        lambda c: c.money.set_price("H100 80", 2_500_000, currency="EUR"),
        {"number": 1, "flavor": "H100 80"},
    ),
    "GET /api/v1/budgets": (lambda c: c.money.budgets(), {"items": []}),
    "PUT /api/v1/budgets/q": (
        lambda c: c.money.set_budget("q", 5, carry_over=True),
        {"queue": "q", "micro": 5},
    ),
    "DELETE /api/v1/budgets/q": (lambda c: c.money.remove_budget("q"), {}),
    "GET /api/v1/gpus": (lambda c: c.gpus(), {"items": []}),
}


@pytest.mark.parametrize("request_line", CALLS)
def test_a_call_makes_its_request_with_the_token(request_line: str) -> None:
    call, body = CALLS[request_line]
    connection, seen = answering(body)
    call(connection)
    assert f"{seen[0].method} {seen[0].url.raw_path.decode()}" == request_line
    assert seen[0].headers["authorization"] == "Bearer secret"


def test_every_route_of_the_server_has_its_call() -> None:
    found = (workloads, cluster, queues, prices, budgets)
    routers = tuple((each.router, "/api/v1") for each in found)
    routes = {
        f"{method} {prefix}{route.path}"
        for router, prefix in (*routers, (cluster.public, ""))
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    streams = {"GET /api/v1/workloads/a/logs", "GET /api/v1/events"}
    streams |= {"GET /api/v1/queues/q"}  # the list has the same
    called = {line.partition("?")[0] for line in CALLS} | streams
    patterns = [re.compile(re.sub(r"\{[^}]*\}", "[^ ]+", route)) for route in sorted(routes)]
    assert [p.pattern for p in patterns if not any(map(p.fullmatch, called))] == []


def test_an_update_sends_only_what_changes() -> None:
    connection, seen = answering(VIEW)
    connection.update("a", held=False)
    assert json.loads(seen[0].content) == {"held": False}


def _tree(root: type[GanglionError]) -> list[type[GanglionError]]:
    return [root, *(cls for child in root.__subclasses__() for cls in _tree(child))]


CLASSES = [
    cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, GanglionError)
]
BODIES: dict[str, Callable[[type[GanglionError]], Any]] = {
    "RFC 9457": lambda cls: msgspec.to_builtins(problem_of(cls("m", hint="h"), 400, "r1")),
    "former": lambda cls: {"code": cls.code, "message": "m", "hint": "h"},
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_comes_back_as_its_class_with_code_message_and_hint(
    cls: type[GanglionError], body: Callable[[type[GanglionError]], Any]
) -> None:
    connection, _ = answering(body(cls), 400)
    with pytest.raises(GanglionError) as caught:
        connection.nodes()
    error = caught.value
    assert type(error) is cls
    assert (error.code, error.message, error.hint) == (cls.code, "m", "h")


def test_every_wrong_key_of_a_problem_comes_back_with_its_line_and_the_id_of_the_request() -> None:
    first = FieldError("m", key="a.b", file="f.yaml", line=3, hint="h")
    second = FieldError("n", key="c", line=7)
    answer = msgspec.to_builtins(problem_of(first.among([second]), 422, "r1"))
    connection, _ = answering(answer, 422)
    with pytest.raises(FieldError) as caught:
        connection.nodes()
    found = [(e.key, e.file, e.line, e.problem, e.hint) for e in caught.value.errors]
    assert found == [("a.b", "f.yaml", 3, "m", "h"), ("c", "", 7, "n", "")]
    assert (caught.value.message, caught.value.request) == ("f.yaml:3:a.b: m", "r1")


@pytest.mark.parametrize(
    ("status", "code", "cls"),
    [
        (422, "input.field.new", FieldError),
        (413, "input.file.huge", FileError),
        (401, "unauthorized", EnvironmentFault),
        (404, "lost", NotFound),
        (409, "clash", Conflict),
        (422, "odd", InputError),
        (418, "teapot", GanglionError),
    ],
)
def test_an_unknown_code_becomes_its_nearest_class(
    status: int, code: str, cls: type[GanglionError]
) -> None:
    connection, _ = answering({"code": code, "message": "m"}, status)
    with pytest.raises(cls) as caught:
        connection.nodes()
    assert type(caught.value) is cls
    assert caught.value.code == code


@pytest.mark.parametrize("content", [b"<html>oops</html>", b"", b"[]", b'{"detail": "x"}'])
def test_an_error_of_a_stranger_names_the_request_and_the_status(content: bytes) -> None:
    connection = client(lambda _: httpx2.Response(502, content=content))
    with pytest.raises(EnvironmentFault, match="GET /api/v1/nodes: the server answered 502"):
        connection.nodes()


@pytest.mark.parametrize("content", [b"hello", b'{"items": 5}', b'{"items": [{}]}'])
def test_an_answer_that_makes_no_sense_is_no_traceback(content: bytes) -> None:
    connection = client(lambda _: httpx2.Response(200, content=content))
    with pytest.raises(EnvironmentFault, match="unexpected answer"):
        connection.nodes()


def test_keys_of_a_newer_server_are_ignored() -> None:
    connection, _ = answering({"items": [VIEW | {"news": 1}], "more": 2})
    assert connection.workloads().items[0].id == "a-1"


def failing(*errors: Exception | None) -> tuple[Client, list[str]]:
    """A server whose connection breaks in these ways, then answers."""
    keys: list[str] = []
    left = list(errors)

    def handle(request: httpx2.Request) -> httpx2.Response:
        keys.append(request.headers.get("idempotency-key", ""))
        error = left.pop(0) if left else None
        if error:
            raise error
        return httpx2.Response(200, json={"id": "a-1", "name": "a", "items": []})

    return client(handle), keys


BROKEN = httpx2.RemoteProtocolError("Server disconnected")


def test_a_submit_whose_connection_breaks_is_repeated_with_the_same_key() -> None:
    connection, keys = failing(BROKEN)
    assert connection.submit({"run": "x"}).id == "a-1"
    assert len(keys) == 2
    assert keys[0] == keys[1] != ""


def test_a_submit_gives_up_after_three_broken_connections() -> None:
    connection, keys = failing(BROKEN, BROKEN, BROKEN, BROKEN)
    with pytest.raises(EnvironmentFault, match="lost the server"):
        connection.submit({"run": "x"})
    assert len(keys) == 3


def test_a_cancel_is_not_repeated() -> None:
    connection, keys = failing(BROKEN)
    with pytest.raises(EnvironmentFault, match="lost the server"):
        connection.cancel("a")
    assert len(keys) == 1


def test_nobody_listening_says_how_to_start_a_server() -> None:
    connection, _ = failing(httpx2.ConnectError("refused"))
    with pytest.raises(EnvironmentFault, match="no server is running at http") as caught:
        connection.nodes()
    assert "ganglion up" in caught.value.hint


def test_a_silent_server_is_told_from_an_absent_one() -> None:
    connection, _ = failing(httpx2.ReadTimeout("slow"))
    with pytest.raises(EnvironmentFault, match="does not answer"):
        connection.nodes()


def test_a_server_that_is_down_is_not_healthy() -> None:
    connection, _ = failing(httpx2.ConnectError("refused"))
    assert not connection.healthy()


def test_a_server_in_trouble_is_not_healthy() -> None:
    connection, _ = answering({"status": "trouble", "trouble": "disk full"})
    assert not connection.healthy()


def test_logs_arrive_byte_by_byte() -> None:
    connection = client(lambda _: httpx2.Response(200, content=b"caf\xc3\xa9\r\n\x00"))
    with connection.logs("a", rank=2, tail=5, follow=True) as chunks:
        assert b"".join(chunks) == b"caf\xc3\xa9\r\n\x00"


def test_logs_of_nothing_raise_what_the_server_said() -> None:
    connection, _ = answering({"code": "state.not_found", "message": "no rank 9"}, 404)
    with pytest.raises(NotFound, match="no rank 9"), connection.logs("a", rank=9):
        pass


def test_events_come_with_their_numbers() -> None:
    text = 'id: 4\ndata: {"type":"x","at":1}\n\n: ping\n\nid: 5\ndata: {"type":"y","at":2}\n\n'
    head = {"content-type": "text/event-stream"}
    connection = client(lambda _: httpx2.Response(200, text=text, headers=head))
    assert [(e.seq, e.event["type"]) for e in connection.events(3)] == [(4, "x"), (5, "y")]


@pytest.mark.parametrize(
    "url", ["", "7077", "ftp://host", "http://", "localhost:7077", "http://h:port"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="not the URL of a server"):
        Client(url)


@pytest.mark.parametrize("url", ["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"])
def test_a_proxy_is_not_used_for_this_machine(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:3128")
    with pytest.raises(EnvironmentFault, match="no server is running at"):
        Client(url).nodes()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GANGLION_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("GANGLION_URL", "GANGLION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_without_a_record_no_server_is_running(home: Path) -> None:
    with pytest.raises(EnvironmentFault, match="no server is running"):
        Client.from_home()


def test_the_record_of_a_running_server_is_found(home: Path) -> None:
    (home / "server.json").write_text('{"pid": 1, "url": "http://127.0.0.1:9", "started_ms": 5}')
    (home / "token").write_text("secret\n")
    assert Client.from_home().url == "http://127.0.0.1:9"


def test_the_environment_wins_over_the_record(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANGLION_URL", "http://127.0.0.1:8/")
    monkeypatch.setenv("GANGLION_TOKEN", "t")
    assert Client.from_home().url == "http://127.0.0.1:8"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"pid": "x"}'])
def test_a_broken_record_is_named(home: Path, content: bytes) -> None:
    (home / "server.json").write_bytes(content)
    with pytest.raises(FileError, match=r"server\.json"):
        read_server(home)


def test_a_token_that_cannot_be_read_is_named(home: Path) -> None:
    (home / "server.json").write_text('{"pid": 1, "url": "http://127.0.0.1:9"}')
    (home / "token").write_bytes(b"\xff\xff")
    with pytest.raises(EnvironmentFault, match="token"):
        Client.from_home()


def test_a_submit_says_in_which_directory_its_caller_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    connection, seen = answering({"id": "a-1", "name": "a", "accepted": 1, "refused": 0})
    connection.submit({"run": "true"})
    connection.submit({"run": "true", "working-dir": "/data"})
    connection.submit({"run": "true", "container": "cuda"})
    connection.bulk.submit([{"run": "true"}, {"run": "true", "cwd": "/data"}])
    sent = [json.loads(each.content) for each in seen]
    assert sent[0] == {"run": "true", "workdir": str(tmp_path)}
    assert sent[1] == {"run": "true", "working-dir": "/data"}
    assert sent[2] == {"run": "true", "container": "cuda"}
    assert sent[3]["workloads"] == [
        {"run": "true", "workdir": str(tmp_path)},
        {"run": "true", "cwd": "/data"},
    ]
