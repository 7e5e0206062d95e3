"""A source of metrics may hang, lie or vanish: no other one waits for it."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from ganglion.model.behaviour import Signal
from ganglion.server.signals import scraper
from ganglion.server.signals.scraper import Job, ScrapedRound, Scraper
from ganglion.transport.egress import Egress
from tests.server.process import until

PAGE = "vllm:num_requests_waiting 3\nvllm:num_requests_running 1\n"
ANSWERS = {
    "sum(a)": '{"status":"success","data":{"resultType":"vector","result":[{"metric":{"x":"1"},'
    '"value":[1,"2.5"]},{"metric":{},"value":[1,"1.5"]}]}}',
    "scalar": '{"status":"success","data":{"resultType":"scalar","result":[1,"7"]}}',
    "empty": '{"status":"success","data":{"resultType":"vector","result":[]}}',
    "matrix": '{"status":"success","data":{"resultType":"matrix","result":[]}}',
    "nan": '{"status":"success","data":{"resultType":"scalar","result":[1,"NaN"]}}',
    "junk": "<html>",
}


class Handler(BaseHTTPRequestHandler):
    leave = threading.Event()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/hang":
            self.leave.wait(30)
        elif url.path == "/trickle":
            self._trickle()
        elif url.path == "/broken":
            self.send_error(500)
        elif url.path == "/api/v1/query":
            self._say(ANSWERS[parse_qs(url.query)["query"][0]])
        else:
            self._say("x" * (9 << 20) if url.path == "/endless" else PAGE)

    def _say(self, text: str) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def _trickle(self) -> None:
        self.send_response(200)
        self.end_headers()
        while not self.leave.wait(0.1):
            self.wfile.write(b"# ")

    def log_message(self, format: str, *args: object) -> None:
        """Tests are quiet."""


class Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Clients leave in the middle of answers here."""


@pytest.fixture
def url() -> Iterator[str]:
    Handler.leave.clear()
    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    Handler.leave.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def asks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scraper]:
    monkeypatch.setattr(scraper, "EVERY_S", 0.05)
    monkeypatch.setattr(scraper, "PATIENCE_S", 1.0)
    made = Scraper(Egress(["127.0.0.1"]))
    made.start()
    yield made
    made.stop()


def _found(asks: Scraper, service: str = "s") -> ScrapedRound:
    return until(lambda: asks.found(service), 20)


def test_pages_of_all_replicas_are_read(asks: Scraper, url: str) -> None:
    asks.want({"s": Job({"a": f"{url}/metrics", "b": f"{url}/metrics"})})
    found = _found(asks)
    assert {key: page.gauges[Signal.WAITING] for key, page in found.pages.pages.items()} == {
        "a": 3,
        "b": 3,
    }
    assert found.pages.silent == {}
    assert until(lambda: asks.found("s") is not found)


def test_who_hangs_trickles_breaks_or_never_ends_is_silent(asks: Scraper, url: str) -> None:
    bad = ("hang", "trickle", "broken", "endless")
    asks.want({"s": Job({each: f"{url}/{each}" for each in (*bad, "good")})})
    found = _found(asks)
    assert list(found.pages.pages) == ["good"]
    said = found.pages.silent
    assert set(said) == set(bad)
    assert "nothing within 1 s" in said["hang"]
    assert "nothing within 1 s" in said["trickle"]
    assert "HTTP 500" in said["broken"]
    assert "more than 8 MiB" in said["endless"]


def test_who_is_not_there_is_silent_at_once(asks: Scraper) -> None:
    asks.want({"s": Job({"a": "http://127.0.0.1:1/metrics", "b": "http://[bad/metrics"})})
    assert set(_found(asks).pages.silent) == {"a", "b"}


def test_one_services_trouble_is_not_anothers(asks: Scraper, url: str) -> None:
    asks.want({"s": Job({"a": f"{url}/metrics"}), "bad": Job({"a": f"{url}/hang"})})
    assert _found(asks).pages.pages
    assert _found(asks, "bad").pages.silent


def test_prometheus_is_asked(asks: Scraper, url: str) -> None:
    asks.want({"s": Job(prometheus=url, queries={Signal.QUERY: "sum(a)", Signal.TOKENS: "scalar"})})
    found = _found(asks)
    assert (found.answers, found.trouble) == ({Signal.QUERY: 4.0, Signal.TOKENS: 7.0}, "")


@pytest.mark.parametrize("query", ["matrix", "junk"])
def test_prometheus_that_talks_nonsense_is_silent(asks: Scraper, url: str, query: str) -> None:
    asks.want({"s": Job(prometheus=url, queries={Signal.QUERY: query})})
    found = _found(asks)
    assert found.answers == {}
    assert f"does not answer {query!r}" in found.trouble


def test_a_query_without_a_result_is_no_answer(asks: Scraper, url: str) -> None:
    asks.want({"s": Job(prometheus=url, queries={Signal.QUERY: "empty"})})
    assert (_found(asks).answers, _found(asks).trouble) == ({}, "")


def test_services_that_are_gone_are_forgotten(asks: Scraper, url: str) -> None:
    asks.want({"s": Job({"a": f"{url}/metrics"})})
    _found(asks)
    asks.want({})
    until(lambda: asks.found("s") is None)
    asks.want({"t": Job({"a": f"{url}/metrics"})})
    assert _found(asks, "t").pages.pages


def test_it_ends_though_somebody_hangs(url: str) -> None:
    made = Scraper()
    made.start()
    made.want({"s": Job({"a": f"{url}/hang"})})
    time.sleep(0.1)
    begun = time.monotonic()
    made.stop()
    assert time.monotonic() - begun < 10
