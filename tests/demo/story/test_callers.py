"""Callers count every request, answered or not."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.server.process import until

from ganglion.demo.story.callers import LoadCallers


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/good" else 503)
        self.end_headers()
        self.wfile.write(b"me")

    def log_message(self, format: str, *args: object) -> None:
        """Tests are quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_answers_are_counted(url: str) -> None:
    with LoadCallers(f"{url}/good", 3) as callers:
        until(lambda: callers.answers["me"] > 9)
    assert callers.failures == []


def test_failures_are_counted(url: str) -> None:
    with LoadCallers(f"{url}/bad", 2, pause_s=0.01) as callers:
        until(lambda: len(callers.failures) > 3)
    assert (set(callers.failures), callers.answers.total()) == ({"HTTP 503 me"}, 0)


def test_nobody_there_is_a_failure() -> None:
    with LoadCallers("http://127.0.0.1:1/", 1, pause_s=0.01) as callers:
        until(lambda: callers.failures)
    assert "ConnectError" in callers.failures[0]
