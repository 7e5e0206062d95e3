"""The log of requests names each of them, what came of it, and no secret."""

import logging

import httpx2
import pytest

from ganglion.client import Client
from ganglion.client.trail import LOG, shown
from ganglion.model.errors import EnvironmentFault, NotFound

URL = "http://127.0.0.1:7077"


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == LOG]


@pytest.fixture(autouse=True)
def listening(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOG)


def test_a_request_is_one_line_with_its_id_and_the_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(404, json={"code": "state.not_found", "message": "m"})

    with pytest.raises(NotFound):
        Client(URL, "secret", transport=httpx2.MockTransport(handle)).workload("a b")
    (line,) = lines(caplog)
    head, _, tail = line.partition(" 404 ")
    ms, _, rest = tail.partition(" ms ")
    assert head == "GET /api/v1/workloads/a%20b"
    assert float(ms) >= 0
    assert rest == f"request {seen[0].headers['X-Request-Id']} via {URL}"
    assert "secret" not in line


def test_a_broken_connection_and_its_repeat_say_why(caplog: pytest.LogCaptureFixture) -> None:
    answers: list[httpx2.Response | httpx2.ReadError] = [
        httpx2.ReadError("cut off"),
        httpx2.Response(200, json={"version": "1"}),
    ]

    def handle(_: httpx2.Request) -> httpx2.Response:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    Client(URL, "secret", transport=httpx2.MockTransport(handle)).version()
    failed, again, done = lines(caplog)
    assert failed.startswith("GET /version failed (ReadError: cut off) ")
    assert again == "again at once: ReadError: cut off"
    assert done.startswith("GET /version 200 ")
    assert failed.partition(" request ")[2] == done.partition(" request ")[2]


def test_a_token_that_is_read_anew_says_so_and_is_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tokens = ["token-before", "token-after"]

    def handle(request: httpx2.Request) -> httpx2.Response:
        good = request.headers["Authorization"] == "Bearer token-after"
        return httpx2.Response(200 if good else 401, json={"version": "1"})

    Client(URL, lambda: tokens.pop(0), transport=httpx2.MockTransport(handle)).version()
    first, again, second = lines(caplog)
    assert first.startswith("GET /version 401 ")
    assert again == "again at once: the server has a new token"
    assert second.startswith("GET /version 200 ")
    assert "token-" not in first + again + second


def test_a_server_that_is_not_there_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    def handle(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    address = "http://me:password1@127.0.0.1:7077"
    with pytest.raises(EnvironmentFault):
        Client(address, "secret", transport=httpx2.MockTransport(handle)).version()
    (line,) = lines(caplog)
    assert "failed (ConnectError: refused)" in line
    assert line.endswith("via http://<redacted>@127.0.0.1:7077")


def test_credentials_in_a_query_are_not_shown() -> None:
    url = httpx2.URL(f"{URL}/x?queue=a%20b&token=abc&text=hf_{'a1' * 10}&all=true")
    assert (
        shown(url.raw_path.decode()) == "/x?queue=a%20b&token=<redacted>&text=<redacted>&all=true"
    )
